/* What a plan's tiles meet: how many blocks are empty, full, limited, bits, masked, and the pairs in them. */
#ifndef FOVEA_SRC_RUN_EXPLAIN_TILES_H
#define FOVEA_SRC_RUN_EXPLAIN_TILES_H

#include "../plan/plan.h"

#include <fovea/explain.h>

/* Sets rows, tiles, blocks and pairs. Walks the tiles as a run without mask would, and reads no tensor. */
void fovea_explain_blocks(const fovea_plan *plan, fovea_explanation *to);

#endif

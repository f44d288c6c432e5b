/* Few tiles and many keys: the keys of a tile are dealt to several tasks, and what comes of them is merged in a
 * second phase. Parts are single blocks, or aligned ranges of 2^k spans, whose states are nodes of the tree of
 * spans: merged in its order they give the bits that one task gives. Where the result is a state, its nodes are the
 * parts, each the result of its task. */
#ifndef FOVEA_SRC_PLAN_PARTS_H
#define FOVEA_SRC_PLAN_PARTS_H

#include "tiles.h"

/* Sets part_keys, the parts of every entry, and the memory for their states. The number of tiles is known, the
 * tasks are not counted yet. */
void fovea_plan_parts(fovea_plan *plan, int64_t tiles);

/* The keys of one part, where fovea_has_parts(). */
fovea_interval fovea_part_keys(const fovea_plan *plan, const fovea_task *task);

/* Rows of a part's state, and floats of the whole: maximum, sum and output of every row, and before them whether
 * there is a state at all; a multiple of 64 bytes. */
int64_t fovea_part_rows(const fovea_plan *plan);
uint64_t fovea_part_floats(const fovea_plan *plan, int64_t rows);

#endif

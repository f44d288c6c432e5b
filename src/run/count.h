/* Counts how much of the score matrix a run computes. */
#ifndef FOVEA_SRC_RUN_COUNT_H
#define FOVEA_SRC_RUN_COUNT_H

#include "../visible/visible_block.h"
#include "run.h"

/* Walks every task as attention does, in the scratch of worker 0, and computes no scores. */
void fovea_count_run(const fovea_run *run, fovea_counts *counts);

/* The pairs that a tile computes in a block, padding included: rows or keys are computed in whole vectors. */
int64_t fovea_pairs_computed(const fovea_plan *plan, const fovea_visible_block *block, int keys_in_lanes);

#endif

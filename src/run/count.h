/* Counts how much of the score matrix a run computes. */
#ifndef FOVEA_SRC_RUN_COUNT_H
#define FOVEA_SRC_RUN_COUNT_H

#include "run.h"
#include "sight.h"

/* Walks every task as attention does, in the scratch of worker 0, and computes no scores. */
void fovea_count_run(const fovea_run *run, fovea_counts *counts);

/* The pairs of a tile and the current block that rows see, and those that are computed. */
int64_t fovea_pairs_seen(const fovea_task_context *context, const fovea_tile *t, const fovea_sight *sight);
int64_t fovea_pairs_computed(const fovea_task_context *context, const fovea_tile *t, const fovea_sight *sight);

/* Adds the keys of the current block that the tile's rows see, whatever their scores are, to fovea_seen_counts().
 */
void fovea_count_seen(const fovea_task_context *context, fovea_tile *t, const fovea_sight *sight);

#endif

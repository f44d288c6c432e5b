/* Scores as an output of a run: a tile keeps the scores of its blocks in the caller's rows, and its last step makes
 * them weights. Rows of scores are read and written by the tasks of their own tile only. */
#ifndef FOVEA_SRC_RUN_SCORES_H
#define FOVEA_SRC_RUN_SCORES_H

#include "sight.h"

/* Copies the scores of the current block, after all terms, to the tile's rows. Blocks that the tile passed over
 * since then get -Inf. */
void fovea_keep_block(const fovea_task_context *context, fovea_tile *t, const fovea_sight *sight);
/* The same of a tile that is decoded. `scored`: the keys that have scores, counted from the block's first. */
void fovea_keep_decoded(const fovea_task_context *context, fovea_tile *t, fovea_interval scored);

/* Gives -Inf to the tile's keys behind the last block. */
void fovea_keep_rest(const fovea_task_context *context, fovea_tile *t);

/* The rows' scores of the keys that the tile meets, and 0 for all other keys: what store() makes weights of. Sets
 * `rows`, and returns how many scores a row has. */
int64_t fovea_kept_scores(const fovea_task_context *context, const fovea_tile *t, float **rows);

#endif

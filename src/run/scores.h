/* Scores as an output of a run: a tile keeps the scores of its blocks in the caller's rows, and its last step makes
 * them weights. Rows of scores are read and written by the tasks of their own tile only. */
#ifndef FOVEA_SRC_RUN_SCORES_H
#define FOVEA_SRC_RUN_SCORES_H

#include "task.h"

/* Whether the scores that the softmax takes are kept, for weights; or scores of other terms. */
static inline int fovea_keeps_weights(const fovea_task_context *context) {
  return context->plan->problem.score_output == FOVEA_SCORES_WEIGHTS;
}
static inline int fovea_keeps_scores(const fovea_task_context *context) {
  return fovea_scores_again(context->plan);
}

/* Whether the scores of some row of the tile are wanted; and, of these, those of the current block. */
int fovea_tile_is_scored(const fovea_task_context *context, const fovea_tile *t);
int fovea_block_is_scored(const fovea_task_context *context, const fovea_tile *t);

/* Copies the scores of the current block, after all terms, to the tile's rows. Blocks that the tile passed over
 * since then get -Inf. */
void fovea_keep_block(const fovea_task_context *context, fovea_tile *t, const fovea_visible_block *visible);
/* The same of a tile that is decoded. `scored`: the keys that have scores, counted from the block's first. */
void fovea_keep_decoded(const fovea_task_context *context, fovea_tile *t, fovea_interval scored);

/* Copies the scores of the current block, as they are, to scratch, row by row. Returns which keys: whole vectors,
 * counted from the block's first. */
fovea_interval fovea_row_scores(const fovea_task_context *context, const fovea_tile *t,
                                const fovea_visible_block *visible);

/* Gives -Inf to the wanted keys of the tile behind the last block. */
void fovea_keep_rest(const fovea_task_context *context, fovea_tile *t);

/* Gives 0, or -Inf if scores are no weights, to the wanted keys that the tile does not meet. Sets `rows` to the
 * rows' scores of the wanted keys that it meets (NULL: of a row that is not wanted), and returns how many these
 * are. */
int64_t fovea_kept_scores(const fovea_task_context *context, const fovea_tile *t, float **rows);

#endif

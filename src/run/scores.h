/* Scores as an output of a run: a tile keeps the scores of its blocks in the caller's rows, and its last step makes
 * them weights. Rows of scores are read and written by the tasks of their own tile only. */
#ifndef FOVEA_SRC_RUN_SCORES_H
#define FOVEA_SRC_RUN_SCORES_H

#include "engine.h"

/* Where the scores of the task's entry go. */
typedef struct fovea_score_rows {
  const fovea_plan *plan;
  const fovea_entry *entry;
  float *scores; /* the caller's */
} fovea_score_rows;

static inline fovea_score_rows fovea_score_rows_of(const fovea_task_context *context) {
  return (fovea_score_rows){context->plan, context->task->entry, context->tensors->scores};
}

/* Whether the scores that the softmax takes are kept, for weights. */
static inline int fovea_keeps_weights(const fovea_plan *plan) {
  return plan->problem.scores.kind == FOVEA_SCORES_WEIGHTS;
}

/* If scores are wanted: whether scores of some row of the tile are wanted, and of some key of the block at
 * `base`. */
int fovea_tile_is_scored(const fovea_plan *plan, const fovea_tile *t);
int fovea_block_is_scored(const fovea_plan *plan, int64_t base);

/* How an engine copies the scores of a block to rows, from key keys.begin on; NULL: the row is not wanted. Keys
 * without a score get -Inf. */
typedef void fovea_copy_scores(const fovea_kernels *kernels, const fovea_tile *t,
                               const fovea_visible_block *visible, fovea_interval keys, float *const *rows);

/* Copies the scores of the current block, after all terms, to the tile's rows. Blocks that the tile passed over
 * since then get -Inf. */
void fovea_keep_block(fovea_score_rows output, fovea_tile *t, const fovea_visible_block *visible,
                      fovea_copy_scores *copy);

/* Gives -Inf to the wanted keys of the tile after the last block. */
void fovea_keep_rest(fovea_score_rows output, fovea_tile *t);

/* Gives 0, or -Inf if scores are no weights, to the wanted keys that the tile does not meet. Sets `rows` to the
 * rows' scores of the wanted keys that it meets (NULL: of a row that is not wanted), and returns how many these
 * are. */
int64_t fovea_kept_scores(fovea_score_rows output, const fovea_tile *t, float **rows);

#endif

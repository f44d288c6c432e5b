/* The keys with the largest scores of each row: a tile lists candidates block by block, and its last step writes
 * them.
 */
#ifndef FOVEA_SRC_RUN_TOP_K_H
#define FOVEA_SRC_RUN_TOP_K_H

#include "task.h"

static inline int fovea_lists_keys(const fovea_task_context *context) {
  return context->plan->problem.top_k > 0;
}

/* Empties the lists of a tile. */
void fovea_begin_top_k(const fovea_task_context *context, fovea_tile *t);

/* Adds the keys of the current block, whose scores are those that the softmax takes. */
void fovea_list_block(const fovea_task_context *context, fovea_tile *t, const fovea_visible_block *visible);
/* The same of a tile that is decoded, keys begin to end - 1 of the block, whole vectors. */
void fovea_list_decoded(const fovea_task_context *context, fovea_tile *t, int begin, int end);

/* Keep the lists of a part in shared scratch, and merge them into the tile's, in the order of their keys. */
void fovea_keep_part_top_k(const fovea_task_context *context, fovea_tile *t, float *kept);
void fovea_merge_part_top_k(const fovea_task_context *context, fovea_tile *t, const float *kept);

void fovea_write_top_k(const fovea_task_context *context, fovea_tile *t);

#endif

/* The keys with the largest scores of each row: a tile lists candidates block by block, and its last step writes
 * them.
 */
#ifndef FOVEA_SRC_RUN_TOP_K_H
#define FOVEA_SRC_RUN_TOP_K_H

#include "engine.h"

static inline int fovea_lists_keys(const fovea_plan *plan) {
  return plan->problem.top.k > 0;
}

/* Empties the lists of a tile. */
void fovea_begin_top_k(const fovea_plan *plan, fovea_tile *t);

/* Adds keys of the block at `base`, by the scores that the softmax takes. */
void fovea_list_keys(const fovea_plan *plan, fovea_tile *t, int64_t base, fovea_scores_of_rows scores);

/* Keep the lists of a part in shared scratch, and merge them into the tile's, in the order of their keys. */
void fovea_keep_part_top_k(const fovea_plan *plan, fovea_tile *t, float *kept);
void fovea_merge_part_top_k(const fovea_plan *plan, fovea_tile *t, const float *kept);

/* Writes the keys, and their scores if they are wanted. `order`: room to sort. */
void fovea_write_top_k(const fovea_plan *plan, const fovea_entry *entry, fovea_tile *t,
                       const fovea_tensors *tensors, uint64_t *order);

#endif

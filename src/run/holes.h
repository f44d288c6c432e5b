/* Holes of a sequence: positions whose keys do not exist. */
#ifndef FOVEA_SRC_RUN_HOLES_H
#define FOVEA_SRC_RUN_HOLES_H

#include "mask.h"

/* The next block, from `block` on, in which a segment holds a key that some row of the tile may see by the rules.
 */
int64_t fovea_skip_holes(const fovea_task_context *context, const fovea_tile_view *view, int64_t block);

/* fovea_next_block() among these. */
static inline int64_t fovea_next_held_block(const fovea_task_context *context, const fovea_tile_view *view,
                                            int64_t from) {
  const int64_t block = fovea_next_block(view, from);
  return context->plan->problem.holes ? fovea_skip_holes(context, view, block) : block;
}

/* Whether the segments hold all of `keys` that are in the block at `base`. If not, *held says which they hold. */
int fovea_holds_block(const fovea_task_context *context, fovea_interval keys, int64_t base, fovea_row_words *held);

#endif

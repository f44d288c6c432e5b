/* Holes of a sequence: positions whose keys do not exist. */
#ifndef FOVEA_SRC_RUN_HOLES_H
#define FOVEA_SRC_RUN_HOLES_H

#include "../visible/visible_block.h"
#include "task.h"

/* The next block, from `block` on, in which a segment holds a key that some row of the tile may see by the rules.
 */
int64_t fovea_skip_holes(const fovea_task_context *context, const fovea_visible_tile *visible, int64_t block);

/* fovea_next_block() among these. */
static inline int64_t fovea_next_held_block(const fovea_task_context *context, const fovea_visible_tile *visible,
                                            int64_t from) {
  const int64_t block = fovea_next_block(visible, from);
  return context->plan->problem.holes ? fovea_skip_holes(context, visible, block) : block;
}

/* Whether the segments hold all of `keys` that are in the block at `base`. If not, *held says which they hold. */
int fovea_holds_block(const fovea_task_context *context, fovea_interval keys, int64_t base, fovea_row_words *held);

/* Finds what the tile sees of the current block, of keys that exist. */
static inline int fovea_find_held_block(const fovea_task_context *context, const fovea_tile *t, int limited,
                                        fovea_visible_block *block) {
  fovea_row_words held;
  const int64_t base = context->walk.block;
  const int whole = !context->plan->problem.holes || fovea_holds_block(context, t->visible.any, base, &held);
  return fovea_find_visible_block(&context->visibility, &t->visible, base, limited, whole ? NULL : &held, block);
}

#endif

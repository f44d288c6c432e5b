/* What a mask tensor says about one tile and one block. */
#ifndef FOVEA_SRC_MASK_H
#define FOVEA_SRC_MASK_H

#include "task.h"

/* Makes the tile's bias for the block at `base` and says which pieces of keys its vectors see. Returns 0, and does
 * nothing, where the problem has no mask. */
int fovea_mask_block(const fovea_task_context *context, const fovea_tile *t, int64_t base,
                     fovea_mask_pieces pieces[FOVEA_VECTORS_LIMIT]);

/* Gives weight zero to keys that lie between those that a vector looks at. */
void fovea_mask_holes(const fovea_task_context *context, const fovea_tile *t, const fovea_mask_pieces *pieces,
                      const fovea_block_view *view);

#endif

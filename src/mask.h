/* What a mask tensor says about one tile and one block. */
#ifndef FOVEA_SRC_MASK_H
#define FOVEA_SRC_MASK_H

#include "task.h"

/* Where the mask of a row begins for the block at `base`. */
const char *fovea_mask_row(const fovea_task_context *context, fovea_row_place place, int64_t base);

/* The mask of a tile in one block. */
typedef struct fovea_mask_block {
  int present; /* 0: the problem has no mask, and nothing else here is set */
  fovea_mask_tile tile;
  const void *rows[FOVEA_ROW_TILE_LIMIT];
  fovea_mask_pieces pieces[FOVEA_VECTORS_LIMIT];
} fovea_mask_block;

/* Finds the mask's rows and sums them up. `mask` points into itself: it is not to be copied. */
void fovea_read_mask(const fovea_task_context *context, const fovea_tile *t, int64_t base, fovea_mask_block *mask);

/* Gives weight zero to keys that lie between those that a vector looks at. */
void fovea_mask_holes(const fovea_task_context *context, const fovea_tile *t, const fovea_mask_block *mask,
                      const fovea_block_view *view);

/* Whether the mask hides a key of the block from row `row` of the tile. */
int fovea_mask_hides(const fovea_mask_tile *mask, int row, int key);

#endif

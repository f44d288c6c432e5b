/* What a mask tensor says about one tile and one block. */
#ifndef FOVEA_SRC_RUN_MASK_H
#define FOVEA_SRC_RUN_MASK_H

#include "task.h"

/* Where the element of a row and a key lies, of bits the byte. The key is not before the mask's first. */
const char *fovea_mask_row(const fovea_task_context *context, fovea_row_place place, int64_t key);

/* The mask of a tile in one block. */
typedef struct fovea_mask_block {
  int present; /* 0: there is no mask, or it begins behind what the tile sees here, and nothing else is set */
  fovea_mask_tile tile;
  const void *rows[FOVEA_ROW_TILE_LIMIT];
  fovea_mask_pieces pieces[FOVEA_VECTORS_LIMIT];
} fovea_mask_block;

/* Finds the mask's rows and sums them up. Kernels name a row by its element for the block's first key. The block
 * that the mask begins in has none, and bits that begin within a byte cannot be named: there the rows are copied
 * into scratch. No byte before a row's first element is looked at. `mask` points into itself: it is not to be
 * copied. */
void fovea_read_mask(const fovea_task_context *context, const fovea_tile *t, int64_t base, fovea_mask_block *mask);

/* Whether the mask hides a key of the block from row `row` of the tile. */
int fovea_mask_hides(const fovea_mask_tile *mask, int row, int key);

#endif

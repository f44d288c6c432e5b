/* What a tile sees of a block, by the rules, the pattern and the mask together. */
#ifndef FOVEA_SRC_VISIBLE_VISIBLE_BLOCK_H
#define FOVEA_SRC_VISIBLE_VISIBLE_BLOCK_H

#include "slices.h"
#include "visible_mask.h"

typedef struct fovea_visible_block {
  int64_t base;                   /* position of the block's first key */
  const fovea_visible_tile *rows; /* what rows see but for the mask: the tile's, or `narrowed` */
  fovea_visible_tile narrowed;    /* for this block, by the pattern */
  fovea_mask_block mask;
  fovea_sliced_block sliced;
} fovea_visible_block;

/* Finds what the tile sees of the block at `base`; the limits of rows are set for the first `limited` rows. `held`
 * says which keys exist, NULL: all. Returns 0 if no row sees a key. `block` points into itself and must not be copied.
 */
int fovea_find_visible_block(const fovea_visibility *by, const fovea_visible_tile *tile, int64_t base, int limited,
                             const fovea_row_words *held, fovea_visible_block *block);

/* Whether a row of the tile, one with limits, sees key `key` of the block. */
int fovea_row_sees(const fovea_visible_block *block, int row, int key);

/* Whether every row sees the keys `keys`, counted from the block's first, by the rules and the pattern. */
static inline int fovea_all_see(const fovea_visible_block *block, fovea_interval keys) {
  return block->rows->all.begin <= block->base + keys.begin && block->base + keys.end <= block->rows->all.end;
}

#endif

/* What a mask tensor says about one tile and one block. */
#ifndef FOVEA_SRC_VISIBLE_VISIBLE_MASK_H
#define FOVEA_SRC_VISIBLE_VISIBLE_MASK_H

#include "visible_tile.h"

/* The address of the element of a row and a key; of bits, of its byte. The key must not be before mask.begin. */
const char *fovea_mask_row(const fovea_visibility *by, fovea_row_place place, int64_t key);

/* The keys of a block that a row sees by rules and pattern, one bit each. */
typedef struct fovea_row_words {
  uint64_t of[FOVEA_BLOCK_KEYS / FOVEA_WORD_KEYS];
} fovea_row_words;

/* The mask of a tile in one block. */
typedef struct fovea_mask_block {
  int present; /* 0: there is none, or it begins after the keys that the tile sees here; nothing else is set */
  fovea_mask_tile tile;
  const void *rows[FOVEA_ROW_TILE_LIMIT];
  fovea_mask_pieces pieces[FOVEA_CHANNELS_LIMIT];
} fovea_mask_block;

/* Finds the rows of the mask and sums them up in pieces. `tile` says what rows see of the block otherwise, and
 * `words`, unless NULL, what its limits do not say: the mask then hides all other keys, too. Kernels name a row by
 * its element for the block's first key. If the mask begins after that key, or the key's bit is not the first of a
 * byte, the row has no such address; then, and with words, the rows are copied to scratch. No byte before a row's
 * first element is read. `mask` points into itself and must not be copied. */
void fovea_read_mask(const fovea_visibility *by, const fovea_visible_tile *tile, const fovea_row_words *words,
                     int64_t base, fovea_mask_block *mask);

/* Whether the mask hides a key of the block from row `row` of the tile. */
int fovea_mask_hides(const fovea_mask_tile *mask, int row, int key);

/* How many of the keys begin to end - 1 of the block the mask lets row `row` of the tile see. */
int fovea_mask_shows(const fovea_mask_tile *mask, int row, int begin, int end);

#endif

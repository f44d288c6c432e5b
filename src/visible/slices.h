/* A block of keys as the rows of a tile see it: empty, full, limited per row, or as a mask says. */
#ifndef FOVEA_SRC_VISIBLE_SLICES_H
#define FOVEA_SRC_VISIBLE_SLICES_H

#include "visible_tile.h"

/* Keys begin to end - 1 of a block, counted from the block's first key, for some neighbouring vectors. A slice that
 * is neither limited nor masked is full: every row sees every key, and nothing is added to scores. */
typedef struct fovea_block_slice {
  int begin, end;
  fovea_vector_range vectors;
  int limited; /* the rules hide some key from some row: `from` and `to` of the block */
  int masked;  /* the mask hides some key from some row, or adds to scores */
} fovea_block_slice;

/* Cuts of a block: two for each vector, two for the keys that all rows see, and one between every two pieces of a
 * mask. */
enum { FOVEA_CUTS_LIMIT = 2 * FOVEA_CHANNELS_LIMIT + 2 + FOVEA_BLOCK_KEYS / FOVEA_MASK_PIECE };
enum { FOVEA_SLICES_LIMIT = FOVEA_CUTS_LIMIT * FOVEA_CHANNELS_LIMIT };

/* A block cut into slices, in ascending order of keys. No slices: the block is empty. No row sees a key that is in
 * no slice. */
typedef struct fovea_sliced_block {
  int count;
  fovea_block_slice slices[FOVEA_SLICES_LIMIT];
  /* The keys of each vector; begin == end: none. */
  int begin[FOVEA_CHANNELS_LIMIT];
  int end[FOVEA_CHANNELS_LIMIT];
  /* What the rules let each row see, counted from the block's first key. */
  int32_t from[FOVEA_ROW_TILE_LIMIT];
  int32_t to[FOVEA_ROW_TILE_LIMIT];
} fovea_sliced_block;

/* Cuts the block that begins at position `base`, by the rules and by the mask. `pieces` has the mask's pieces for
 * each vector; NULL: there is no mask. `from` and `to` are set for the first `rows` rows. */
void fovea_slice_block(const fovea_visible_tile *tile, int64_t base, int rows, const fovea_mask_pieces *pieces,
                       fovea_sliced_block *block);

/* The limits of the rows of a slice as kernels want them, counted from the slice's first key. */
void fovea_limits_of_slice(const fovea_sliced_block *block, const fovea_block_slice *slice, int lanes,
                           int32_t *from, int32_t *to);

/* From the first key that some vector sees to the last, counted from the block's first. Decoding computes the
 * scores of these keys, rounded to whole vectors. */
fovea_interval fovea_keys_of_slices(const fovea_sliced_block *block, int vectors);

#endif

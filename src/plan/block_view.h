/* A block of keys as the rows of a tile see it: empty, full, limited per row, or as a mask says. */
#ifndef FOVEA_SRC_PLAN_BLOCK_VIEW_H
#define FOVEA_SRC_PLAN_BLOCK_VIEW_H

#include "tile_view.h"

/* Keys begin to end - 1 of a block, counted from the block's first, for some neighbouring vectors. Neither limited
 * nor masked: full, every row sees every key with nothing added. */
typedef struct fovea_block_slice {
  int begin, end;
  fovea_vector_range vectors;
  int limited; /* the rules let rows see from some key to some other only, `from` and `to` of the view */
  int masked;  /* a mask hides single keys from single rows, or adds to scores */
} fovea_block_slice;

/* Cuts of a block: two a vector, two of the keys that all rows see, and those between pieces of a mask. */
enum { FOVEA_CUTS_LIMIT = 2 * FOVEA_VECTORS_LIMIT + 2 + FOVEA_BLOCK_KEYS / FOVEA_MASK_PIECE };
enum { FOVEA_SLICES_LIMIT = FOVEA_CUTS_LIMIT * FOVEA_VECTORS_LIMIT };

/* A block cut into slices, keys ascending; none: the block is empty. What is in no slice, nobody sees. */
typedef struct fovea_block_view {
  int count;
  fovea_block_slice slices[FOVEA_SLICES_LIMIT];
  /* The keys that each vector looks at; begin == end: none. */
  int begin[FOVEA_VECTORS_LIMIT];
  int end[FOVEA_VECTORS_LIMIT];
  /* What the rules let each row see, counted from the block's first key. */
  int32_t from[FOVEA_ROW_TILE_LIMIT];
  int32_t to[FOVEA_ROW_TILE_LIMIT];
} fovea_block_view;

/* The block that begins at position `base`, of a tile whose vectors have so many lanes: what the rules let rows see
 * of it and the mask does, whose `pieces` there are for every vector, or NULL where there is none. */
void fovea_view_block(const fovea_tile_view *tile, int64_t base, int lanes, const fovea_mask_pieces *pieces,
                      fovea_block_view *block);

#endif

/* How a row tile and a block of keys meet: which vectors of rows look at which keys, and where masking is needed.
 */
#ifndef FOVEA_SRC_PLAN_TILE_VIEW_H
#define FOVEA_SRC_PLAN_TILE_VIEW_H

#include "tiles.h"

/* What the rows of a tile see, row by row and summed up for each vector of rows. */
typedef struct fovea_tile_view {
  fovea_interval rows[FOVEA_ROW_TILE_LIMIT]; /* lanes of padding see what the last row sees */
  fovea_interval some[FOVEA_VECTORS_LIMIT];  /* keys that some row of the vector sees */
  fovea_interval all;                        /* keys that every row of the tile sees; may be empty */
  fovea_interval any;                        /* keys that some row of the tile sees; end 0: none does */
  int vectors;
} fovea_tile_view;

/* Keys begin to end - 1 of a block, counted from the block's first, for some neighbouring vectors. */
typedef struct fovea_block_segment {
  int begin, end;
  fovea_vector_range vectors;
  int masked; /* the rules hide some of the keys from some of the rows */
  int biased; /* a mask tensor hides some, or adds to scores */
} fovea_block_segment;

/* Cuts of a block: two a vector, two of the keys that all rows see, and those between pieces of a mask. */
enum { FOVEA_CUTS_LIMIT = 2 * FOVEA_VECTORS_LIMIT + 2 + FOVEA_BLOCK_KEYS / FOVEA_MASK_PIECE };
enum { FOVEA_SEGMENTS_LIMIT = FOVEA_CUTS_LIMIT * FOVEA_VECTORS_LIMIT };

/* A block cut into segments, keys ascending. */
typedef struct fovea_block_view {
  int count;
  fovea_block_segment segments[FOVEA_SEGMENTS_LIMIT];
  /* The keys that each vector looks at; begin == end: none. */
  int begin[FOVEA_VECTORS_LIMIT];
  int end[FOVEA_VECTORS_LIMIT];
} fovea_block_view;

void fovea_view_tile(const fovea_plan *plan, const fovea_entry *entry, fovea_tile_rows rows, fovea_tile_view *view);

/* The block that begins at position `base`; `pieces` of every vector, or NULL where there is no mask tensor. */
void fovea_view_block(const fovea_tile_view *tile, int64_t base, const fovea_mask_pieces *pieces,
                      fovea_block_view *block);

/* What the first `rows` rows see of a block, as kernels want it: counted from position `key`, clipped to a block.
 */
void fovea_seen_from_key(const fovea_tile_view *tile, int64_t key, int32_t *from, int32_t *to, int rows);

/* Scores that the tile computes for one kv head: lanes times keys. */
int64_t fovea_tile_pairs(const fovea_plan *plan, const fovea_entry *entry, fovea_tile_rows rows);

#endif

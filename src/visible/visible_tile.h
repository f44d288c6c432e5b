/* Which keys the rows of a tile see by the rules and the pattern, and so which blocks the tile meets. */
#ifndef FOVEA_SRC_VISIBLE_VISIBLE_TILE_H
#define FOVEA_SRC_VISIBLE_VISIBLE_TILE_H

#include "visibility.h"

/* The keys that the rows of a tile see by the rules: of each row, of each vector of rows, and of all rows. */
typedef struct fovea_visible_tile {
  fovea_interval rows[FOVEA_ROW_TILE_LIMIT]; /* padding sees the keys of the last row */
  fovea_interval some[FOVEA_CHANNELS_LIMIT]; /* keys that some row of the vector sees */
  fovea_interval all;                        /* keys that every row of the tile sees; may be empty */
  fovea_interval any;                        /* keys that some row of the tile sees; end 0: no row sees a key */
  int vectors;
  int count;                     /* rows without padding, and where they are: */
  const fovea_row_place *places; /* the caller's array */
  fovea_pattern_bands bands;     /* of a pattern that takes more keys away than `rows` says */
} fovea_visible_tile;

/* A position after every block. The positions of a block after it do not overflow. */
#define FOVEA_NO_BLOCK (INT64_C(1) << 62)

/* Finds what the rows see. `places` are their places, for the blocks of the tile; they may be set later. */
void fovea_find_visible_tile(const fovea_visibility *by, fovea_tile_rows rows, const fovea_row_place *places,
                             fovea_visible_tile *tile);

/* Every row of the vectors sees the same keys. */
void fovea_show_alike(fovea_visible_tile *tile, fovea_interval keys, int lanes);

/* Sets some, all and any from `rows`, for vectors of `lanes` rows. */
void fovea_join_rows(fovea_visible_tile *tile, int lanes);

/* The first position of the next block that the tile meets, at or after the block at `from`; FOVEA_NO_BLOCK: there
 * is none. A mask, or a row's part of the pattern, may still hide the whole block. */
int64_t fovea_next_block(const fovea_visible_tile *tile, int64_t from);

#endif

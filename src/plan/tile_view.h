/* What the rows of a tile see by the rules, and so the blocks of keys that the tile meets. */
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

/* Behind every block, and small enough that the positions of a block after it do not overflow. */
#define FOVEA_NO_BLOCK (INT64_C(1) << 62)

void fovea_view_tile(const fovea_plan *plan, const fovea_entry *entry, fovea_tile_rows rows, fovea_tile_view *view);

/* The first position of the next block that the tile meets, from the block at `from` on; FOVEA_NO_BLOCK: there is
 * none. A mask may still hide all of it. */
int64_t fovea_next_block(const fovea_tile_view *tile, int64_t from);

#endif

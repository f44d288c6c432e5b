/* Which keys the rows of a tile see by the rules, and so which blocks the tile meets. */
#ifndef FOVEA_SRC_PLAN_TILE_VIEW_H
#define FOVEA_SRC_PLAN_TILE_VIEW_H

#include "../pattern/pattern.h"
#include "tiles.h"

/* The keys that the rows of a tile see by the rules: of each row, of each vector of rows, and of all rows. */
typedef struct fovea_tile_view {
  fovea_interval rows[FOVEA_ROW_TILE_LIMIT]; /* padding sees the keys of the last row */
  fovea_interval some[FOVEA_VECTORS_LIMIT];  /* keys that some row of the vector sees */
  fovea_interval all;                        /* keys that every row of the tile sees; may be empty */
  fovea_interval any;                        /* keys that some row of the tile sees; end 0: no row sees a key */
  int vectors;
  /* Of a pattern that takes more keys away than `rows` says. */
  fovea_pattern_bands bands;
} fovea_tile_view;

/* A position behind every block. The positions of a block after it do not overflow. */
#define FOVEA_NO_BLOCK (INT64_C(1) << 62)

/* The rows are of the query heads of kv_head. */
void fovea_view_tile(const fovea_plan *plan, const fovea_entry *entry, int64_t kv_head, fovea_tile_rows rows,
                     fovea_tile_view *view);

/* Every row of the vectors sees the same keys. */
void fovea_view_alike(fovea_tile_view *view, fovea_interval keys, int lanes);

/* Sets some, all and any from `rows`, for vectors of `lanes` rows. */
void fovea_join_rows(fovea_tile_view *view, int lanes);

/* The first position of the next block that the tile meets, at or after the block at `from`; FOVEA_NO_BLOCK: there
 * is none. A mask, or a row's part of the pattern, may still hide the whole block. */
int64_t fovea_next_block(const fovea_tile_view *tile, int64_t from);

#endif

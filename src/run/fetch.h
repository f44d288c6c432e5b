/* Prefetches of rows that a task is going to read and write. Results do not depend on anything here. */
#ifndef FOVEA_SRC_RUN_FETCH_H
#define FOVEA_SRC_RUN_FETCH_H

#include "task.h"

/* Keys and values of a block, and for each row of a tile its rows of the mask, of Q and of O. */
enum { FOVEA_FETCH_LIMIT = 2 * FOVEA_BLOCK_KEYS + 3 * FOVEA_ROW_TILE_LIMIT };

typedef struct fovea_fetch_list {
  int count;
  fovea_fetch_row *rows;
  int with_loads; /* in place of the products, while an arithmetic makes the operands of the block, if it does */
} fovea_fetch_list;

/* What to prefetch in the current block: while the tile computes scores, and while it multiplies weights and
 * values; in both, with the kernels of one slice. */
typedef struct fovea_fetch {
  int slice;
  fovea_fetch_list score, value;
  fovea_fetch_row rows[FOVEA_FETCH_LIMIT]; /* of both: a row is in one of them */
} fovea_fetch;

/* Nothing is prefetched. */
void fovea_plan_no_fetch(fovea_fetch *fetch);

/* Chooses the slice, and lists both. `fetch` points into itself and must not be copied. */
void fovea_plan_fetch(const fovea_task_context *context, const fovea_tile *t, const fovea_sliced_block *sliced,
                      fovea_fetch *fetch);

/* Prefetches the first keys that a task meets, at once. */
void fovea_fetch_first_keys(const fovea_row_source *keys, const fovea_walk *walk);

#endif

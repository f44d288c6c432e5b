/* Rows that a task is going to read and write, asked for ahead. Nothing here can be seen in results. */
#ifndef FOVEA_SRC_RUN_FETCH_H
#define FOVEA_SRC_RUN_FETCH_H

#include "rows.h"

enum { FOVEA_FETCH_LIMIT = 2 * FOVEA_BLOCK_KEYS + 3 * FOVEA_ROW_TILE_LIMIT };

typedef struct fovea_fetch_list {
  int count;
  fovea_fetch_row rows[FOVEA_FETCH_LIMIT];
} fovea_fetch_list;

/* What the tile at work prefetches in this block: while it computes the scores of the first slice, and while it
 * multiplies weights and values of that slice. */
typedef struct fovea_fetch {
  fovea_fetch_list score, value;
} fovea_fetch;

void fovea_plan_fetch(const fovea_task_context *context, const fovea_tile *t, const fovea_block_slice *first,
                      fovea_fetch *fetch);

/* Asks at once for the first keys that a task meets. */
void fovea_fetch_first_keys(const fovea_task_context *context);

#endif

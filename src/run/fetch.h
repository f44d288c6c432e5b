/* Rows that a task is going to read and write, asked for ahead. Nothing here can be seen in results. */
#ifndef FOVEA_SRC_RUN_FETCH_H
#define FOVEA_SRC_RUN_FETCH_H

#include "rows.h"

enum { FOVEA_FETCH_LIMIT = 2 * FOVEA_BLOCK_KEYS + 3 * FOVEA_ROW_TILE_LIMIT };

typedef struct fovea_fetch_list {
  int count;
  fovea_fetch_row rows[FOVEA_FETCH_LIMIT];
} fovea_fetch_list;

/* What the tile at work asks for while it computes its scores of key_count keys from position `key` on. */
void fovea_plan_score_fetch(const fovea_task_context *context, const fovea_tile *t, int64_t key, int key_count,
                            fovea_fetch_list *list);

/* What it asks for while it multiplies weights and values, if anything. */
void fovea_plan_value_fetch(const fovea_task_context *context, const fovea_tile *t, fovea_fetch_list *list);

/* Asks at once for the first keys that a task meets. */
void fovea_fetch_first_keys(const fovea_task_context *context);

#endif

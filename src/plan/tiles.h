/* How rows are cut into tiles, and how tiles make tasks. */
#ifndef FOVEA_SRC_PLAN_TILES_H
#define FOVEA_SRC_PLAN_TILES_H

#include "plan.h"

static inline int64_t fovea_divide_up(int64_t a, int64_t b) {
  return a / b + (a % b != 0);
}

/* The work of one task: some row tiles of one entry and one kv head. Tiles have
 * equally many vectors of rows, or one more. */
typedef struct fovea_task {
  const fovea_entry *entry;
  int64_t kv_head;
  int64_t first_tile, tiles;
  int64_t part;   /* counted from the entry's first part; -1: all keys */
  int64_t number; /* of the task itself */
} fovea_task;

/* Task `number` of the first phase. */
fovea_task fovea_plan_task(const fovea_plan *plan, int64_t number);
/* The task of the first part of tile `number`, counted over the plan. */
fovea_task fovea_plan_merge(const fovea_plan *plan, int64_t number);
/* The task that sums columns, of its entry's and its kv head's first tile, and its keys. */
fovea_task fovea_plan_column_task(const fovea_plan *plan, int64_t number, fovea_interval *keys);
int64_t fovea_plan_tiles(const fovea_plan *plan, const fovea_entry *entry);
fovea_tile_rows fovea_plan_tile_rows(const fovea_plan *plan, const fovea_entry *entry, int64_t tile);

#endif

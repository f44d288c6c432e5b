#include "tiles.h"

int64_t fovea_plan_tiles(const fovea_plan *plan, const fovea_entry *entry) {
  int64_t vectors = fovea_divide_up(entry->q_len * plan->group, plan->kernels->lanes);
  return fovea_divide_up(vectors, plan->kernels->row_tile / plan->kernels->lanes);
}

/* The vector that tile `tile` of `tiles` starts with. */
static int64_t first_vector(int64_t vectors, int64_t tiles, int64_t tile) {
  int64_t each = vectors / tiles, more = vectors % tiles;
  return tile * each + (tile < more ? tile : more);
}

fovea_tile_rows fovea_plan_tile_rows(const fovea_plan *plan, const fovea_entry *entry, int64_t tile) {
  int64_t rows = entry->q_len * plan->group, lanes = plan->kernels->lanes;
  int64_t vectors = fovea_divide_up(rows, lanes), tiles = fovea_plan_tiles(plan, entry);
  int64_t first = first_vector(vectors, tiles, tile) * lanes;
  int64_t end = first_vector(vectors, tiles, tile + 1) * lanes;
  return (fovea_tile_rows){first, (int)((end < rows ? end : rows) - first)};
}

/* The entry of a task: of the first phase, or of the second if `merging`. */
static const fovea_entry *find_entry(const fovea_plan *plan, int64_t number, int merging) {
  int64_t low = 0, high = plan->problem.batch; /* the entry is in low .. high - 1 */
  while (high - low > 1) {
    int64_t middle = low + (high - low) / 2;
    const fovea_entry *entry = &plan->entries[middle];
    *((merging ? entry->first_merge : entry->first_task) <= number ? &low : &high) = middle;
  }
  /* Entries without rows have no tasks, so the last entry that starts at or before `number` has the task. */
  return &plan->entries[low];
}

fovea_task fovea_plan_merge(const fovea_plan *plan, int64_t number) {
  const fovea_entry *entry = find_entry(plan, number, 1);
  return fovea_plan_task(plan, entry->first_task + (number - entry->first_merge) * entry->parts);
}

fovea_task fovea_plan_task(const fovea_plan *plan, int64_t number) {
  fovea_task task = {.entry = find_entry(plan, number, 0), .number = number};
  int64_t tiles = fovea_plan_tiles(plan, task.entry);
  int64_t blocks = fovea_divide_up(tiles, plan->block_tiles);
  int64_t rest = number - task.entry->first_task;
  task.part = rest % task.entry->parts;
  rest /= task.entry->parts;
  task.kv_head = rest / blocks;
  /* The last rows go first: under a causal rule they see the most keys. */
  int64_t block = blocks - 1 - rest % blocks;
  task.first_tile = block * tiles / blocks;
  task.tiles = (block + 1) * tiles / blocks - task.first_tile;
  return task;
}

fovea_task fovea_plan_column_task(const fovea_plan *plan, int64_t number, fovea_interval *keys) {
  const int64_t step = plan->column_blocks * FOVEA_BLOCK_KEYS, ranges = fovea_divide_up(plan->column_keys, step);
  const int64_t begin = number % ranges * step;
  *keys = (fovea_interval){begin, fovea_least(begin + step, plan->column_keys)};
  return (fovea_task){.entry = &plan->entries[number / ranges / plan->problem.kv_heads],
                      .kv_head = number / ranges % plan->problem.kv_heads,
                      .tiles = 1,
                      .part = -1};
}

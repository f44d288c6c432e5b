#include "tile_view.h"

#include "visibility.h"

static int sees_nothing(fovea_interval keys) {
  return keys.end <= keys.begin;
}

static fovea_interval join(fovea_interval a, fovea_interval b) {
  if (sees_nothing(a)) return b;
  if (sees_nothing(b)) return a;
  return (fovea_interval){fovea_least(a.begin, b.begin), fovea_most(a.end, b.end)};
}

/* Every row of the tile sees the same keys. */
static void view_uniform_tile(fovea_tile_view *view, fovea_interval keys, int rows) {
  for (int i = 0; i < rows; i++) view->rows[i] = keys;
  for (int v = 0; v < view->vectors; v++) view->some[v] = keys;
  view->any = view->all = keys;
}

void fovea_join_rows(fovea_tile_view *view, int lanes) {
  view->any = (fovea_interval){0, 0};
  view->all = (fovea_interval){0, INT64_MAX};
  for (int i = 0; i < view->vectors * lanes; i++) {
    const fovea_interval keys = view->rows[i];
    fovea_interval *some = &view->some[i / lanes];
    *some = i % lanes == 0 ? keys : join(*some, keys);
    view->any = join(view->any, keys);
    view->all.begin = fovea_most(view->all.begin, keys.begin);
    view->all.end = fovea_least(view->all.end, keys.end);
  }
}

/* The bands of the pattern that the tile's rows lie in. Rows that see nothing may lie in none. */
static fovea_pattern_bands find_bands(const fovea_plan *plan, const fovea_entry *entry, int64_t kv_head,
                                      fovea_tile_rows rows) {
  const fovea_pattern *pattern = entry->pattern;
  fovea_pattern_bands bands = {.pattern = pattern};
  const int64_t row = rows.first / plan->group, last = (rows.first + rows.count - 1) / plan->group;
  if (!pattern || row >= entry->q_seen) return bands;
  const int64_t last_seen = fovea_least(last, entry->q_seen - 1);
  const fovea_interval heads = fovea_pattern_heads(plan, pattern, kv_head);
  bands.first_head = heads.begin;
  bands.heads = heads.end - heads.begin;
  bands.first_band = fovea_pattern_band(pattern, fovea_pattern_row(pattern, row, entry->offset));
  bands.bands =
      fovea_pattern_band(pattern, fovea_pattern_row(pattern, last_seen, entry->offset)) + 1 - bands.first_band;
  return bands;
}

void fovea_view_tile(const fovea_plan *plan, const fovea_entry *entry, int64_t kv_head, fovea_tile_rows rows,
                     fovea_tile_view *view) {
  int lanes = plan->kernels->lanes;
  int64_t row = rows.first / plan->group, last_row = (rows.first + rows.count - 1) / plan->group;
  fovea_interval keys = fovea_visible_keys(&plan->problem, entry, row);
  fovea_interval last = fovea_visible_keys(&plan->problem, entry, last_row);
  view->vectors = (rows.count + lanes - 1) / lanes;
  view->bands = find_bands(plan, entry, kv_head, rows);
  /* Neither end decreases from row to row: if the first and the last row see the same keys, all rows do. */
  if (keys.begin == last.begin && keys.end == last.end && !sees_nothing(keys)) {
    view_uniform_tile(view, keys, view->vectors * lanes);
    return;
  }
  for (int i = 0; i < view->vectors * lanes; i++) {
    if (i < rows.count && (rows.first + i) / plan->group != row) {
      row = (rows.first + i) / plan->group;
      keys = fovea_visible_keys(&plan->problem, entry, row);
    }
    view->rows[i] = keys;
  }
  fovea_join_rows(view, lanes);
}

int64_t fovea_next_block(const fovea_tile_view *tile, int64_t from) {
  int64_t first = tile->any.begin / FOVEA_BLOCK_KEYS * FOVEA_BLOCK_KEYS;
  if (first < from) first = from;
  if (tile->bands.pattern && first < tile->any.end) {
    const int64_t next = fovea_pattern_next_key(&tile->bands, fovea_most(first, tile->any.begin));
    if (next >= tile->any.end) return FOVEA_NO_BLOCK;
    first = fovea_most(first, next / FOVEA_BLOCK_KEYS * FOVEA_BLOCK_KEYS);
  }
  return first < tile->any.end ? first : FOVEA_NO_BLOCK;
}

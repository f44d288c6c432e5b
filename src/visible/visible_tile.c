#include "visible_tile.h"

#include "visible_rules.h"

static int sees_nothing(fovea_interval keys) {
  return keys.end <= keys.begin;
}

void fovea_show_alike(fovea_visible_tile *tile, fovea_interval keys, int lanes) {
  for (int i = 0; i < tile->vectors * lanes; i++) tile->rows[i] = keys;
  for (int v = 0; v < tile->vectors; v++) tile->some[v] = keys;
  tile->any = tile->all = keys;
}

/* Compilers make this a loop without branches: it runs once for each tile, which may see only a few keys. */
void fovea_join_rows(fovea_visible_tile *tile, int lanes) {
  fovea_interval any = {INT64_MAX, 0}, all = {0, INT64_MAX};
  for (int v = 0; v < tile->vectors; v++) {
    fovea_interval some = {INT64_MAX, 0};
    for (int i = v * lanes; i < (v + 1) * lanes; i++) {
      const fovea_interval keys = tile->rows[i];
      const int nothing = sees_nothing(keys);
      some.begin = fovea_least(some.begin, nothing ? INT64_MAX : keys.begin);
      some.end = fovea_most(some.end, nothing ? 0 : keys.end);
      all.begin = fovea_most(all.begin, keys.begin);
      all.end = fovea_least(all.end, keys.end);
    }
    any.begin = fovea_least(any.begin, some.begin);
    any.end = fovea_most(any.end, some.end);
    tile->some[v] = some.end > 0 ? some : (fovea_interval){0, 0};
  }
  tile->any = any.end > 0 ? any : (fovea_interval){0, 0};
  tile->all = all;
}

/* The bands of the pattern that the tile's rows lie in. Rows that see nothing may lie in none. */
static fovea_pattern_bands find_bands(const fovea_visibility *by, fovea_tile_rows rows) {
  const fovea_entry *entry = by->entry;
  const fovea_pattern *pattern = entry->pattern;
  fovea_pattern_bands bands = {.pattern = pattern};
  const int64_t row = rows.first / by->group, last = (rows.first + rows.count - 1) / by->group;
  if (!pattern || row >= entry->q_seen) return bands;
  const int64_t last_seen = fovea_least(last, entry->q_seen - 1);
  const fovea_interval heads = fovea_pattern_heads(by);
  bands.first_head = heads.begin;
  bands.heads = heads.end - heads.begin;
  bands.first_band = fovea_pattern_band(pattern, fovea_pattern_row(pattern, row, entry->offset));
  bands.bands =
      fovea_pattern_band(pattern, fovea_pattern_row(pattern, last_seen, entry->offset)) + 1 - bands.first_band;
  return bands;
}

/* Takes from the rows of the tile what the pattern does not let them see, if the pattern gives intervals. Returns 0
 * if it does not; the tile is then as before. Rows of several heads take turns. */
static int narrow_to_intervals(const fovea_visibility *by, fovea_tile_rows rows, fovea_visible_tile *tile) {
  if (!FOVEA_BUILDS_LISTS) return 0;
  const fovea_entry *entry = by->entry;
  const fovea_pattern_bands *bands = &tile->bands;
  const int64_t group = by->group, first = rows.first / group, end = rows.first + rows.count;
  const int64_t last = fovea_least((end - 1) / group, entry->q_seen - 1); /* rows after it see nothing */
  fovea_interval keys[FOVEA_ROW_TILE_LIMIT], narrowed[FOVEA_ROW_TILE_LIMIT];
  for (int i = 0; i < rows.count; i++) narrowed[i] = tile->rows[i];
  for (int64_t head = 0; head < bands->heads; head++) {
    if (!fovea_pattern_intervals(bands->pattern, bands->first_head + head,
                                 fovea_pattern_row(bands->pattern, first, entry->offset), last - first + 1, keys))
      return 0;
    for (int64_t row = first; row <= last; row++) {
      const int64_t begin = fovea_most(row * group, rows.first), after = fovea_least((row + 1) * group, end);
      for (int64_t number = begin; number < after; number++) {
        fovea_interval *to = &narrowed[number - rows.first];
        if (bands->heads == 1 || number % group == head) *to = fovea_intersect(*to, keys[row - first]);
      }
    }
  }
  for (int i = 0; i < tile->vectors * by->kernels->lanes; i++) {
    tile->rows[i] = narrowed[i < rows.count ? i : rows.count - 1];
  }
  return 1;
}

static void apply_rules(const fovea_visibility *by, fovea_tile_rows rows, fovea_visible_tile *tile) {
  int lanes = by->kernels->lanes;
  int64_t row = rows.first / by->group, last_row = (rows.first + rows.count - 1) / by->group;
  fovea_interval keys = fovea_visible_keys(by->problem, by->entry, row);
  fovea_interval last = fovea_visible_keys(by->problem, by->entry, last_row);
  tile->vectors = (rows.count + lanes - 1) / lanes;
  /* Neither end decreases from row to row: if the first and the last row see the same keys, all rows do. */
  if (keys.begin == last.begin && keys.end == last.end && !sees_nothing(keys)) {
    fovea_show_alike(tile, keys, lanes);
    return;
  }
  for (int i = 0; i < tile->vectors * lanes; i++) {
    if (i < rows.count && (rows.first + i) / by->group != row) {
      row = (rows.first + i) / by->group;
      keys = fovea_visible_keys(by->problem, by->entry, row);
    }
    tile->rows[i] = keys;
  }
  fovea_join_rows(tile, lanes);
}

void fovea_find_visible_tile(const fovea_visibility *by, fovea_tile_rows rows, const fovea_row_place *places,
                             fovea_visible_tile *tile) {
  tile->count = rows.count;
  tile->places = places;
  apply_rules(by, rows, tile);
  tile->bands = find_bands(by, rows);
  if (!tile->bands.pattern || tile->bands.heads == 0) return;
  if (FOVEA_BUILDS_LISTS && narrow_to_intervals(by, rows, tile)) {
    tile->bands.pattern = NULL;
    fovea_join_rows(tile, by->kernels->lanes);
  }
}

int64_t fovea_next_block(const fovea_visible_tile *tile, int64_t from) {
  int64_t first = tile->any.begin / FOVEA_BLOCK_KEYS * FOVEA_BLOCK_KEYS;
  if (first < from) first = from;
  if (FOVEA_BUILDS_LISTS && tile->bands.pattern && first < tile->any.end) {
    const int64_t next = fovea_pattern_next_key(&tile->bands, fovea_most(first, tile->any.begin));
    if (next >= tile->any.end) return FOVEA_NO_BLOCK;
    first = fovea_most(first, next / FOVEA_BLOCK_KEYS * FOVEA_BLOCK_KEYS);
  }
  return first < tile->any.end ? first : FOVEA_NO_BLOCK;
}

#include "tile_view.h"

#include "visibility.h"

static int64_t min_of(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static int64_t max_of(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static int sees_nothing(fovea_interval keys) {
  return keys.end <= keys.begin;
}

static fovea_interval join(fovea_interval a, fovea_interval b) {
  if (sees_nothing(a)) return b;
  if (sees_nothing(b)) return a;
  return (fovea_interval){min_of(a.begin, b.begin), max_of(a.end, b.end)};
}

/* Every row of the tile sees the same keys. */
static void view_uniform_tile(fovea_tile_view *view, fovea_interval keys, int rows) {
  for (int i = 0; i < rows; i++) view->rows[i] = keys;
  for (int v = 0; v < view->vectors; v++) view->some[v] = keys;
  view->any = view->all = keys;
}

void fovea_view_tile(const fovea_plan *plan, const fovea_entry *entry, fovea_tile_rows rows,
                     fovea_tile_view *view) {
  int lanes = plan->kernels->lanes;
  int64_t row = rows.first / plan->group, last_row = (rows.first + rows.count - 1) / plan->group;
  fovea_interval keys = fovea_visible_keys(&plan->problem, entry, row);
  fovea_interval last = fovea_visible_keys(&plan->problem, entry, last_row);
  view->vectors = (rows.count + lanes - 1) / lanes;
  if (keys.begin == last.begin && keys.end == last.end && !sees_nothing(keys)) { /* neither end ever decreases */
    view_uniform_tile(view, keys, view->vectors * lanes);
    return;
  }
  view->any = (fovea_interval){0, 0};
  view->all = (fovea_interval){0, INT64_MAX};
  for (int i = 0; i < view->vectors * lanes; i++) {
    if (i < rows.count && (rows.first + i) / plan->group != row) {
      row = (rows.first + i) / plan->group;
      keys = fovea_visible_keys(&plan->problem, entry, row);
    }
    view->rows[i] = keys;
    fovea_interval *some = &view->some[i / lanes];
    *some = i % lanes == 0 ? keys : join(*some, keys);
    view->any = join(view->any, keys);
    view->all.begin = max_of(view->all.begin, keys.begin);
    view->all.end = min_of(view->all.end, keys.end);
  }
}

static int clip(int64_t position, int64_t base) {
  return (int)max_of(0, min_of(FOVEA_BLOCK_KEYS, position - base));
}

/* Adds a cut unless it stands there already; the list stays sorted. */
static void add_cut(int *cuts, int *count, int at) {
  int i = *count;
  for (int j = 0; j < *count; j++) {
    if (cuts[j] == at) return;
  }
  for (; i > 0 && cuts[i - 1] > at; i--) cuts[i] = cuts[i - 1];
  cuts[i] = at;
  ++*count;
}

static int sees_all(const fovea_tile_view *tile, int64_t base, int begin, int end) {
  return tile->all.begin <= base + begin && base + end <= tile->all.end;
}

static int has_bit(uint8_t bits, int key) {
  return bits >> key / FOVEA_MASK_PIECE & 1;
}

/* What a vector looks at: the keys from the first to the last that some row sees by the rules and, as far as pieces
 * tell, by the mask. */
static void look_at(const fovea_tile_view *tile, int64_t base, int v, const fovea_mask_pieces *pieces,
                    fovea_block_view *block) {
  int begin = clip(tile->some[v].begin, base), end = clip(tile->some[v].end, base);
  if (pieces) {
    while (begin < end && !has_bit(pieces[v].seen, begin))
      begin = (begin / FOVEA_MASK_PIECE + 1) * FOVEA_MASK_PIECE;
    while (begin < end && !has_bit(pieces[v].seen, end - 1)) end = (end - 1) / FOVEA_MASK_PIECE * FOVEA_MASK_PIECE;
  }
  block->begin[v] = begin;
  block->end[v] = end > begin ? end : begin;
}

/* Whether the mask says the same of two pieces, for every vector. */
static int pieces_differ(const fovea_mask_pieces *pieces, int vectors, int key) {
  for (int v = 0; v < vectors; v++) {
    if (has_bit(pieces[v].seen, key) != has_bit(pieces[v].seen, key - 1)) return 1;
    if (has_bit(pieces[v].plain, key) != has_bit(pieces[v].plain, key - 1)) return 1;
  }
  return 0;
}

/* The segments between two cuts: runs of neighbouring vectors that look at these keys in the same way. */
static void add_segments(const fovea_tile_view *tile, int64_t base, int begin, int end,
                         const fovea_mask_pieces *pieces, fovea_block_view *block) {
  for (int v = 0; v < tile->vectors; v++) {
    if (block->begin[v] > begin || block->end[v] < end) continue;
    if (pieces && !has_bit(pieces[v].seen, begin)) continue;
    int biased = pieces && !has_bit(pieces[v].plain, begin);
    fovea_block_segment *last = block->count > 0 ? &block->segments[block->count - 1] : 0;
    if (last && last->begin == begin && last->vectors.first + last->vectors.count == v && last->biased == biased) {
      last->vectors.count++;
      continue;
    }
    block->segments[block->count++] =
        (fovea_block_segment){begin, end, {v, 1}, !sees_all(tile, base, begin, end), biased};
  }
}

void fovea_view_block(const fovea_tile_view *tile, int64_t base, const fovea_mask_pieces *pieces,
                      fovea_block_view *block) {
  int cuts[FOVEA_CUTS_LIMIT], count = 0;
  block->count = 0;
  for (int v = 0; v < tile->vectors; v++) {
    look_at(tile, base, v, pieces, block);
    if (block->begin[v] == block->end[v]) continue;
    add_cut(cuts, &count, block->begin[v]);
    add_cut(cuts, &count, block->end[v]);
  }
  if (count == 0) return;
  int first = cuts[0], last = cuts[count - 1];
  /* Masking is kept from the keys that all rows see, in steps of eight so that no segment of a key or two comes. */
  int all_begin = (clip(tile->all.begin, base) + 7) / 8 * 8, all_end = clip(tile->all.end, base) / 8 * 8;
  if (clip(tile->all.begin, base) <= first) all_begin = first;
  if (clip(tile->all.end, base) >= last) all_end = last;
  if (all_begin < all_end) {
    add_cut(cuts, &count, all_begin);
    add_cut(cuts, &count, all_end);
  }
  for (int key = FOVEA_MASK_PIECE; pieces && key < last; key += FOVEA_MASK_PIECE) {
    if (key > first && pieces_differ(pieces, tile->vectors, key)) add_cut(cuts, &count, key);
  }
  for (int i = 0; i + 1 < count; i++) add_segments(tile, base, cuts[i], cuts[i + 1], pieces, block);
}

void fovea_seen_from_key(const fovea_tile_view *tile, int64_t key, int32_t *from, int32_t *to, int rows) {
  for (int i = 0; i < rows; i++) {
    from[i] = clip(tile->rows[i].begin, key);
    to[i] = clip(tile->rows[i].end, key);
  }
}

int64_t fovea_tile_pairs(const fovea_plan *plan, const fovea_entry *entry, fovea_tile_rows rows) {
  fovea_tile_view tile;
  int64_t pairs = 0;
  fovea_view_tile(plan, entry, rows, &tile);
  if (fovea_has_few_rows(plan, entry, 0)) { /* keys lie in the lanes, in whole vectors */
    int64_t lanes = plan->kernels->lanes;
    return rows.count * ((tile.any.end + lanes - 1) / lanes - tile.any.begin / lanes) * lanes;
  }
  /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): as many are set as there are vectors */
  for (int v = 0; v < tile.vectors; v++) pairs += (tile.some[v].end - tile.some[v].begin) * plan->kernels->lanes;
  return pairs;
}

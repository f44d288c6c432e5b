#include "slices.h"

/* The place of a position in the block at `base`: 0 before the block, FOVEA_BLOCK_KEYS after it. */
static int key_of(int64_t position, int64_t base) {
  return (int)fovea_most(0, fovea_least(FOVEA_BLOCK_KEYS, position - base));
}

/* Adds a cut, unless the list has it already. The list stays sorted. */
static void add_cut(int *cuts, int *count, int at) {
  int i = *count;
  for (int j = 0; j < *count; j++) {
    if (cuts[j] == at) return;
  }
  for (; i > 0 && cuts[i - 1] > at; i--) cuts[i] = cuts[i - 1];
  cuts[i] = at;
  ++*count;
}

static int sees_all(const fovea_visible_tile *tile, int64_t base, int begin, int end) {
  return tile->all.begin <= base + begin && base + end <= tile->all.end;
}

static int has_bit(uint8_t bits, int key) {
  return bits >> key / FOVEA_MASK_PIECE & 1;
}

/* Sets the keys of vector v: from the first key that some row sees to the last. The mask takes keys away from both
 * ends, in steps of a piece. */
static void find_keys(const fovea_visible_tile *tile, int64_t base, int v, const fovea_mask_pieces *pieces,
                      fovea_sliced_block *block) {
  int begin = key_of(tile->some[v].begin, base), end = key_of(tile->some[v].end, base);
  if (pieces) {
    while (begin < end && !has_bit(pieces[v].seen, begin))
      begin = (begin / FOVEA_MASK_PIECE + 1) * FOVEA_MASK_PIECE;
    while (begin < end && !has_bit(pieces[v].seen, end - 1)) end = (end - 1) / FOVEA_MASK_PIECE * FOVEA_MASK_PIECE;
  }
  block->begin[v] = begin;
  block->end[v] = end > begin ? end : begin;
}

/* Whether, for some vector, the mask differs between the piece that begins at `key` and the piece before it. */
static int pieces_differ(const fovea_mask_pieces *pieces, int vectors, int key) {
  for (int v = 0; v < vectors; v++) {
    if (has_bit(pieces[v].seen, key) != has_bit(pieces[v].seen, key - 1)) return 1;
    if (has_bit(pieces[v].plain, key) != has_bit(pieces[v].plain, key - 1)) return 1;
  }
  return 0;
}

/* Adds the slices between two cuts: runs of neighbouring vectors that see these keys in the same way. */
static void add_slices(const fovea_visible_tile *tile, int64_t base, int begin, int end,
                       const fovea_mask_pieces *pieces, fovea_sliced_block *block) {
  for (int v = 0; v < tile->vectors; v++) {
    if (block->begin[v] > begin || block->end[v] < end) continue;
    if (pieces && !has_bit(pieces[v].seen, begin)) continue;
    int masked = pieces && !has_bit(pieces[v].plain, begin);
    fovea_block_slice *last = block->count > 0 ? &block->slices[block->count - 1] : 0;
    if (last && last->begin == begin && last->vectors.first + last->vectors.count == v && last->masked == masked) {
      last->vectors.count++;
      continue;
    }
    block->slices[block->count++] =
        (fovea_block_slice){begin, end, {v, 1}, !sees_all(tile, base, begin, end), masked};
  }
}

/* Sets the limits of rows. Lanes of padding see what the last row sees. */
static void limit_rows(const fovea_visible_tile *tile, int64_t base, int rows, fovea_sliced_block *block) {
  int all = sees_all(tile, base, 0, FOVEA_BLOCK_KEYS);
  for (int i = 0; all && i < rows; i++) block->from[i] = 0, block->to[i] = FOVEA_BLOCK_KEYS;
  for (int i = 0; !all && i < rows; i++) {
    block->from[i] = key_of(tile->rows[i].begin, base);
    block->to[i] = key_of(tile->rows[i].end, base);
  }
}

/* Most blocks: no mask, and every row sees every key that some row sees. Returns 0 for any other. */
static int slice_full_block(const fovea_visible_tile *tile, int64_t base, fovea_sliced_block *block) {
  int begin = key_of(tile->any.begin, base), end = key_of(tile->any.end, base);
  if (begin >= end || !sees_all(tile, base, begin, end)) return 0;
  for (int v = 0; v < tile->vectors; v++) block->begin[v] = begin, block->end[v] = end;
  block->slices[0] = (fovea_block_slice){begin, end, {0, tile->vectors}, 0, 0};
  block->count = 1;
  return 1;
}

fovea_interval fovea_keys_of_slices(const fovea_sliced_block *block, int vectors) {
  fovea_interval keys = {FOVEA_BLOCK_KEYS, 0};
  for (int v = 0; v < vectors; v++) {
    if (block->begin[v] == block->end[v]) continue;
    keys.begin = fovea_least(keys.begin, block->begin[v]);
    keys.end = fovea_most(keys.end, block->end[v]);
  }
  return keys;
}

void fovea_slice_block(const fovea_visible_tile *tile, int64_t base, int rows, const fovea_mask_pieces *pieces,
                       fovea_sliced_block *block) {
  int cuts[FOVEA_CUTS_LIMIT], count = 0;
  limit_rows(tile, base, rows, block);
  if (!pieces && slice_full_block(tile, base, block)) return;
  block->count = 0;
  for (int v = 0; v < tile->vectors; v++) {
    find_keys(tile, base, v, pieces, block);
    if (block->begin[v] == block->end[v]) continue;
    add_cut(cuts, &count, block->begin[v]);
    add_cut(cuts, &count, block->end[v]);
  }
  if (count == 0) return;
  int first = cuts[0], last = cuts[count - 1];
  /* Keys that all rows see need no masking. They are cut out in steps of eight, so that no slice has only a key or
   * two. */
  int all_begin = (key_of(tile->all.begin, base) + 7) / 8 * 8, all_end = key_of(tile->all.end, base) / 8 * 8;
  if (key_of(tile->all.begin, base) <= first) all_begin = first;
  if (key_of(tile->all.end, base) >= last) all_end = last;
  if (all_begin < all_end) {
    add_cut(cuts, &count, all_begin);
    add_cut(cuts, &count, all_end);
  }
  for (int key = FOVEA_MASK_PIECE; pieces && key < last; key += FOVEA_MASK_PIECE) {
    if (key > first && pieces_differ(pieces, tile->vectors, key)) add_cut(cuts, &count, key);
  }
  for (int i = 0; i + 1 < count; i++) add_slices(tile, base, cuts[i], cuts[i + 1], pieces, block);
}

void fovea_limits_of_slice(const fovea_sliced_block *block, const fovea_block_slice *slice, int lanes,
                           int32_t *from, int32_t *to) {
  const int first = slice->vectors.first * lanes, end = first + slice->vectors.count * lanes, key = slice->begin;
  for (int i = first; i < end; i++) {
    from[i] = block->from[i] > key ? block->from[i] - key : 0;
    to[i] = block->to[i] > key ? block->to[i] - key : 0;
  }
}

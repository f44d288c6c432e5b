#include "visible_pairs.h"

/* Counts the keys of a slice that a row sees. */
static int64_t keys_of_row(const fovea_visible_block *block, const fovea_block_slice *slice, int row) {
  const fovea_interval slice_keys = {block->base + slice->begin, block->base + slice->end};
  const fovea_interval keys = fovea_intersect(block->rows->rows[row], slice_keys);
  if (!slice->masked || keys.begin == keys.end) return keys.end - keys.begin;
  return fovea_mask_shows(&block->mask.tile, row, (int)(keys.begin - block->base), (int)(keys.end - block->base));
}

/* The rows of a slice, without padding. */
static fovea_interval rows_of(const fovea_visible_block *block, const fovea_block_slice *slice, int lanes) {
  const int first = slice->vectors.first * lanes, end = first + slice->vectors.count * lanes;
  return (fovea_interval){first, fovea_least(end, block->rows->count)};
}

int64_t fovea_visible_pairs(const fovea_visible_block *block, int lanes) {
  int64_t pairs = 0;
  for (int i = 0; i < block->sliced.count; i++) {
    const fovea_block_slice *slice = &block->sliced.slices[i];
    const fovea_interval rows = rows_of(block, slice, lanes);
    for (int64_t row = rows.begin; row < rows.end; row++) pairs += keys_of_row(block, slice, (int)row);
  }
  return pairs;
}

void fovea_count_visible_keys(const fovea_visible_block *block, int lanes, int64_t *counts) {
  for (int i = 0; i < block->sliced.count; i++) {
    const fovea_block_slice *slice = &block->sliced.slices[i];
    const fovea_interval rows = rows_of(block, slice, lanes);
    for (int64_t row = rows.begin; row < rows.end; row++) counts[row] += keys_of_row(block, slice, (int)row);
  }
}

int64_t fovea_pairs_of_slices(const fovea_visible_block *block, int lanes) {
  int64_t pairs = 0;
  for (int i = 0; i < block->sliced.count; i++) {
    const fovea_block_slice *slice = &block->sliced.slices[i];
    pairs += (int64_t)(slice->end - slice->begin) * slice->vectors.count * lanes;
  }
  return pairs;
}

int64_t fovea_keys_of_vectors(const fovea_visible_block *block, int lanes) {
  const fovea_interval keys = fovea_keys_of_slices(&block->sliced, block->rows->vectors);
  return ((keys.end + lanes - 1) / lanes - keys.begin / lanes) * lanes;
}

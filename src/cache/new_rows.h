/* New rows for caches: their rows in the tensors, and their positions. */
#ifndef FOVEA_SRC_CACHE_NEW_ROWS_H
#define FOVEA_SRC_CACHE_NEW_ROWS_H

#include <fovea/cache.h>
#include <fovea/fovea.h>

/* The position of a batch element's first row; then the number of its rows, which have the positions that
 * follow. */
static inline int64_t fovea_new_position(const fovea_new_rows *rows, int64_t entry) {
  return rows->first_positions ? rows->first_positions[entry] : rows->first_position;
}
static inline int64_t fovea_new_row_count(const fovea_new_rows *rows, int64_t entry) {
  if (rows->cu_seqlens) return (int64_t)rows->cu_seqlens[entry + 1] - rows->cu_seqlens[entry];
  return rows->row_lens ? rows->row_lens[entry] : rows->rows;
}
/* How many numbers rotary_positions has for each axis, and which of them belongs to a batch element's first row. */
static inline int64_t fovea_new_positions(const fovea_new_rows *rows) {
  if (!rows->rotary_positions) return 0;
  return rows->cu_seqlens ? rows->rows : rows->batch * rows->rows;
}
static inline int64_t fovea_new_positions_offset(const fovea_new_rows *rows, int64_t entry) {
  if (!rows->rotary_positions) return 0;
  return rows->cu_seqlens ? rows->cu_seqlens[entry] : entry * rows->rows;
}
/* The element of K or V at which a batch element's rows begin. */
static inline int64_t fovea_new_rows_offset(const fovea_new_rows *rows, fovea_strides strides, int64_t entry) {
  if (rows->cu_seqlens) return rows->cu_seqlens[entry] > 0 ? rows->cu_seqlens[entry] * strides.row : 0;
  return entry > 0 ? entry * strides.batch : 0;
}

#endif

/* The products of decoding if keys lie in panels, where LANES keys are already side by side. A register tile has
 * several vectors of keys, since a single chain would wait for each product. Part of decode.h.
 *
 *   FOVEA_DECODE_KEY_VECTORS_<n>  vectors of keys beside n rows, n = 1, 2, 4, 8; at most 8 */

#include "../args/decode.h"
#include "panel_dims.h"

/* Loads two dims of LANES keys of a panel; `dim` is even. */
FOVEA_INLINE void decode_panel_pair(const void *keys, int64_t dim, const fovea_type type, vec *even, vec *odd) {
  if (type == FOVEA_BF16) {
    vec_split_bf16(vec_load_pairs((const uint16_t *)keys + dim * FOVEA_PANEL_ROWS), even, odd);
  } else {
    *even = typed_load(keys, dim * PANEL_STEP(type), type);
    *odd = typed_load(keys, (dim + 1) * PANEL_STEP(type), type);
  }
}

/* Prefetches two dims of the next block's keys. */
FOVEA_INLINE void decode_fetch_panel(const void *next, int64_t dim, const fovea_type type) {
  for (int64_t byte = 0; byte < fovea_bytes(type, 2 * FOVEA_PANEL_ROWS); byte += 64) {
    __builtin_prefetch((const char *)next + fovea_bytes(type, dim * FOVEA_PANEL_ROWS) + byte, 0, 2);
  }
}

FOVEA_INLINE void decode_panel_queries(const float *queries, int64_t stride, const int rows, vec *even, vec *odd) {
  FOVEA_UNROLL
  for (int r = 0; r < rows; r++, queries += stride) even[r] = vec_set1(queries[0]), odd[r] = vec_set1(queries[1]);
}

/* The chains over the dims begin to end - 1, in pairs, for keys first to last - 1, `vectors` vectors at a time.
 * There is a function for each type and number of rows with only these loops in it: all in one function would be
 * several times as much code. With two rows the queries stay in registers, else the keys do. */
FOVEA_INLINE void decode_panel_chain(const fovea_decode_score_args *args, int row, const int rows, int first,
                                     int last, const int vectors, int64_t begin, int64_t end, const fovea_type type,
                                     const decode_sums *sums) {
  const int64_t stride = args->query_stride, to_stride = sums->stride;
  const float *queries = args->queries + row * stride;
  const vec scale = vec_set1(sums->scale);
  float *to = sums->to;
  FOVEA_NO_UNROLL
  for (int key = first; key < last; key += vectors * LANES, to += vectors * LANES) {
    const void *const *keys = args->keys + key, *const *next = args->prefetch + key;
    vec sum[8][8];
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) {
      FOVEA_UNROLL
      for (int r = 0; r < rows; r++) sum[v][r] = vec_set1(0.0f);
    }
    FOVEA_NO_UNROLL
    for (int64_t dim = begin; dim < end; dim += 2) {
      vec even[8], odd[8], before[4], after[4];
      if (rows == 2) decode_panel_queries(queries + dim, stride, rows, before, after);
      FOVEA_UNROLL
      for (int v = 0; v < vectors; v++) {
        decode_fetch_panel(next[v * LANES], dim, type);
        decode_panel_pair(keys[v * LANES], dim, type, &even[v], &odd[v]);
        if (rows != 2) continue;
        sum[v][0] = vec_fma(even[v], before[0], vec_fma(odd[v], after[0], sum[v][0]));
        sum[v][1] = vec_fma(even[v], before[1], vec_fma(odd[v], after[1], sum[v][1]));
      }
      if (rows == 2) continue;
      FOVEA_UNROLL
      for (int r = 0; r < rows; r++) {
        decode_panel_queries(queries + r * stride + dim, stride, 1, before, after);
        FOVEA_UNROLL
        for (int v = 0; v < vectors; v++) {
          sum[v][r] = vec_fma(even[v], before[0], vec_fma(odd[v], after[0], sum[v][r]));
        }
      }
    }
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) {
      FOVEA_UNROLL
      for (int r = 0; r < rows; r++) vec_store(to + r * to_stride + v * LANES, vec_mul(sum[v][r], scale));
    }
  }
}

typedef void decode_panel_function(const fovea_decode_score_args *args, int row, int first, int last, int64_t begin,
                                   int64_t end, const decode_sums *sums);

#define DECODE_PANEL(name, rows, vectors, type)                                                                    \
  FOVEA_NOINLINE void name(const fovea_decode_score_args *args, int row, int first, int last, int64_t begin,       \
                           int64_t end, const decode_sums *sums) {                                                 \
    decode_panel_chain(args, row, rows, first, last, vectors, begin, end, type, sums);                             \
  }
#define DECODE_PANELS(name, type)                                                                                  \
  DECODE_PANEL(name##_8, 8, FOVEA_DECODE_KEY_VECTORS_8, type)                                                      \
  DECODE_PANEL(name##_4, 4, FOVEA_DECODE_KEY_VECTORS_4, type)                                                      \
  DECODE_PANEL(name##_2, 2, FOVEA_DECODE_KEY_VECTORS_2, type)                                                      \
  DECODE_PANEL(name##_1, 1, FOVEA_DECODE_KEY_VECTORS_1, type)                                                      \
  DECODE_PANEL(name##_rest, 1, 1, type)                                                                            \
  FOVEA_INLINE decode_panel_function *name(int rows) {                                                             \
    if (DECODE_EIGHT(type) && rows == 8) return name##_8;                                                          \
    if (FOVEA_DECODE_VECTORS_4 > 0 && rows == 4) return name##_4;                                                  \
    if (FOVEA_DECODE_VECTORS_2 > 0 && rows == 2) return name##_2;                                                  \
    return rows > 0 ? name##_1 : name##_rest;                                                                      \
  }

#define DECODE_PANELS_OF(with, type, name, ...) DECODE_PANELS(decode_panels_##name, type)
FOVEA_FORMATS(DECODE_PANELS_OF, )

/* Adds the products of an odd last dim to the sums of `width` keys. */
FOVEA_NOINLINE void decode_panel_last(const fovea_decode_score_args *args, int row, int rows, int key, int width,
                                      int64_t dim, float *numbers) {
  FOVEA_NO_UNROLL
  for (int i = 0; i < width; i += LANES) {
    float lanes[LANES];
    decode_panel_any(args->keys[key + i], dim, args->type, lanes);
    FOVEA_NO_UNROLL
    for (int r = 0; r < rows; r++) {
      vec query = vec_set1(args->queries[(row + r) * args->query_stride + dim]);
      float *sum = numbers + r * width + i;
      vec_store(sum, vec_fma(vec_load(lanes), query, vec_load(sum)));
    }
  }
}

/* Scores of some rows for keys first to last - 1, `width` keys at a time. */
FOVEA_MIDDLE FOVEA_NOINLINE void decode_panel_keys(const fovea_decode_score_args *args, int row, int rows,
                                                   int first, int last, int width, decode_panel_function *chain) {
  if (args->dim <= FOVEA_DOT_PIECE && args->dim % 2 == 0) {
    const decode_sums scores = decode_scores(args, row, first);
    chain(args, row, first, last, 0, args->dim, &scores);
    return;
  }
  FOVEA_NO_UNROLL
  for (int key = first; key < last; key += width) {
    FOVEA_NO_UNROLL
    for (int64_t dim = 0, end; dim < args->dim; dim = end) {
      float numbers[8 * 8 * LANES];
      const decode_sums sums = {numbers, width, 1.0f};
      end = args->dim - dim < FOVEA_DOT_PIECE ? args->dim : dim + FOVEA_DOT_PIECE;
      chain(args, row, key, key + width, dim, end - end % 2, &sums);
      if (end % 2 != 0) decode_panel_last(args, row, rows, key, width, end - 1, numbers);
      decode_keep_numbers(args, row, rows, key, width, dim == 0, end == args->dim, numbers);
    }
  }
}

#define DECODE_PANELS_CASE(with, type, name, ...)                                                                  \
  case type:                                                                                                       \
    return decode_panels_##name(rows);
FOVEA_INLINE decode_panel_function *decode_panel_of(fovea_type type, int rows) {
  switch (type) {
  default:
    FOVEA_FORMATS(DECODE_PANELS_CASE, )
  }
}

/* Scores of all rows and keys. Keys that fill no register tile are computed row by row. */
FOVEA_NOINLINE void decode_panels_any(const fovea_decode_score_args *args) {
  static const int vectors_of[] = {[1] = FOVEA_DECODE_KEY_VECTORS_1,
                                   [2] = FOVEA_DECODE_KEY_VECTORS_2,
                                   [4] = FOVEA_DECODE_KEY_VECTORS_4,
                                   [8] = FOVEA_DECODE_KEY_VECTORS_8};
  for (int row = 0, rows; row < args->row_count; row += rows) {
    rows = decode_rows_at(row, args->row_count, args->type);
    const int vectors = vectors_of[rows];
    const int width = vectors * LANES, whole = args->key_count - args->key_count % width;
    decode_panel_keys(args, row, rows, 0, whole, width, decode_panel_of(args->type, rows));
    for (int r = 0; r < rows; r++) {
      decode_panel_keys(args, row + r, 1, whole, args->key_count, LANES, decode_panel_of(args->type, 0));
    }
  }
}

/* What the operations of decoding share: register tiles, sums of one piece of dims, the starts and ends of the
 * chains of values, the maximum of a row. Part of decode.h and of formats.
 *
 *   FOVEA_DECODE_VECTORS_<n>   as in decode.h: which numbers of rows have register tiles */
#ifndef FOVEA_ARCH_SHARED_DECODE_COMMON_H
#define FOVEA_ARCH_SHARED_DECODE_COMMON_H

#include "../args/decode.h"
#include "../kernels.h"
#include "decode_fetch.h"
#include "mask.h"
#include "state.h"
#include "terms.h"
#include "tile.h"
#include "types.h"

_Static_assert(FOVEA_DECODE_ROWS <= FOVEA_DECODE_ROWS_LIMIT, "arrays of decoding have room for every row");

/* Only f32 has register tiles of eight rows. Elements of other types are converted to f32 once for four rows. */
#define DECODE_EIGHT(type) (FOVEA_DECODE_VECTORS_8 > 0 && (type) == FOVEA_F32)

/* Loads up to DECODE_SQUARE elements as f32, a vector at a time: a vector that is put together from single elements in
 * memory waits for their stores. */
FOVEA_MIDDLE FOVEA_NOINLINE void typed_load_few(const void *row, int64_t first, int count, fovea_type type,
                                                float *elements) {
  int i = 0;
  for (; i + LANES <= count; i += LANES) {
    TYPED(type, vec_store(elements + i, typed_load(row, first + i, constant)))
  }
  if (i < count)
    TYPED(type, vec_store_first(elements + i, typed_load_first(row, first + i, count - i, constant), count - i))
}

/* Returns how many rows the register tile from `row` on has: 8, 4, 2 or 1. */
FOVEA_INLINE int decode_rows_at(int row, int row_count, fovea_type type) {
  if (DECODE_EIGHT(type) && row + 8 <= row_count) return 8;
  if (FOVEA_DECODE_VECTORS_4 > 0 && row + 4 <= row_count) return 4;
  return FOVEA_DECODE_VECTORS_2 > 0 && row + 2 <= row_count ? 2 : 1;
}

/* Where the sums of one piece of the dims go, and their factor. */
typedef struct decode_sums {
  float *to;      /* of the first row and the first key */
  int64_t stride; /* between rows */
  float scale;
} decode_sums;

/* If there is only one piece, its sums become the scores. */
FOVEA_INLINE decode_sums decode_scores(const fovea_decode_score_args *args, int row, int key) {
  return (decode_sums){args->scores + row * FOVEA_BLOCK_KEYS + key, FOVEA_BLOCK_KEYS, args->c};
}

/* Adds the sums of a piece to the running sums in the scores' place. The last piece makes them scores. */
FOVEA_MIDDLE FOVEA_NOINLINE void decode_keep_numbers(const fovea_decode_score_args *args, int row, int rows,
                                                     int key, int width, int first_piece, int last_piece,
                                                     const float *numbers) {
  FOVEA_NO_UNROLL
  for (int r = 0; r < rows; r++, numbers += width) {
    float *scores = args->scores + (row + r) * FOVEA_BLOCK_KEYS + key;
    FOVEA_NO_UNROLL
    for (int i = 0; i < width; i += LANES) {
      vec total = vec_load(numbers + i);
      if (!first_piece) total = vec_add(vec_load(scores + i), total);
      if (last_piece) total = vec_mul(total, vec_set1(args->c));
      vec_store(scores + i, total);
    }
  }
}

/* The same for one vector of keys with its sums in registers. */
FOVEA_INLINE void decode_keep(const fovea_decode_score_args *args, float *scores, const int rows, int first_piece,
                              int last_piece, const vec *sum) {
  FOVEA_UNROLL
  for (int r = 0; r < rows; r++, scores += FOVEA_BLOCK_KEYS) {
    vec total = sum[r];
    if (!first_piece) total = vec_add(vec_load(scores), total);
    vec_store(scores, last_piece ? vec_mul(total, vec_set1(args->c)) : total);
  }
}

/* Sets the starts of chains, sums[row][dim] with `dims` dims, to zero or to the partial sums. */
FOVEA_NOINLINE void decode_value_begin(const fovea_decode_value_args *args, int row, int rows, int64_t dim,
                                       int dims, float *sums) {
  const float *partial = args->partial + row * args->output_stride + dim;
  FOVEA_NO_UNROLL
  for (int r = 0; r < rows; r++, partial += args->output_stride, sums += dims) {
    FOVEA_NO_UNROLL
    for (int d = 0; d < dims; d += LANES) {
      vec_store(sums + d, args->flags & FOVEA_VALUE_START ? vec_set1(0.0f) : vec_load(partial + d));
    }
  }
}

/* Merges the sums of chains into the output, or stores them. */
FOVEA_NOINLINE void decode_value_end(const fovea_decode_value_args *args, int row, int rows, int64_t dim, int dims,
                                     const float *sums) {
  FOVEA_NO_UNROLL
  for (int r = 0; r < rows; r++, sums += dims) {
    float *partial = args->partial + (row + r) * args->output_stride + dim;
    float *output = args->output + (row + r) * args->output_stride + dim;
    FOVEA_NO_UNROLL
    for (int d = 0; d < dims; d += LANES) {
      vec sum = vec_load(sums + d);
      if (args->flags & FOVEA_VALUE_MERGE) {
        vec old_part = vec_set1(args->old_part[row + r]), new_part = vec_set1(args->new_part[row + r]);
        sum = state_join(vec_load(output + d), old_part, sum, new_part);
      }
      vec_store((args->flags & (FOVEA_VALUE_MERGE | FOVEA_VALUE_ASSIGN) ? output : partial) + d, sum);
    }
  }
}

/* The largest score of a row. */
FOVEA_INLINE float decode_maximum(const float *scores, int begin, int end) {
  float lanes[LANES];
  vec maximum = vec_set1(-INFINITY);
  for (int key = begin; key < end; key += LANES) maximum = vec_max(vec_load(scores + key), maximum);
  vec_store(lanes, maximum);
  for (int half = LANES / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; i++) lanes[i] = lanes[i] > lanes[i + half] ? lanes[i] : lanes[i + half];
  }
  return lanes[0] + 0.0f; /* -0 becomes +0 */
}

#endif

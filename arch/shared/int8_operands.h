/* Codes of rows for the mode int8, and their scales (docs/numerics.md, section 16). Every arithmetic of the mode
 * lays them out as it likes. Included after a layer for int8_products.h: words of INT8_CODES codes by int8_word().
 */
#ifndef FOVEA_ARCH_SHARED_INT8_OPERANDS_H
#define FOVEA_ARCH_SHARED_INT8_OPERANDS_H

#include "../kernels.h"
#include "exp2.h"
#include "tile.h"
#include "types.h"

#include <string.h>

/* A number and this, added in f32: the nearest integer in the lower bytes, ties to even. */
#define INT8_SHIFT 0x1.8p23f

enum { INT8_KEY_WORDS = FOVEA_BLOCK_KEYS / INT8_CODES };

FOVEA_INLINE int64_t int8_words(int64_t dim) {
  return (dim + INT8_CODES - 1) / INT8_CODES;
}

/* Words from key to key: whole vectors of codes, an odd number of cache lines. */
FOVEA_INLINE int64_t int8_stride(int64_t words) {
  return ((words + 15) / 16 | 1) * 16;
}

/* The factor of a row for its codes, and its scale: 0 if the row is next to nothing. */
FOVEA_INLINE vec int8_factor(vec largest) {
  const vec small = vec_set1(0x1p-100f);
  const vecmask none = vec_less(largest, small);
  return vec_select(none, vec_set1(0.0f), vec_div(vec_set1(127.0f), vec_select(none, small, largest)));
}
FOVEA_INLINE vec int8_scale(vec largest) {
  return vec_select(vec_less(largest, vec_set1(0x1p-100f)), vec_set1(0.0f), vec_div(largest, vec_set1(127.0f)));
}

/* The code of a number, the nearest integer, ties to even, and INT8_SHIFT. */
FOVEA_INLINE vec int8_code(vec x, vec factor) {
  vec product = vec_mul(x, factor);
  vec_opaque(product); /* with -ffp-contract=fast clang would fuse the sum */
  return vec_add(product, vec_set1(INT8_SHIFT));
}

/* The size of the largest number of rows in the lanes; NaN if one is not finite. */
FOVEA_INLINE vec int8_largest_of_lanes(const float *rows, int64_t dim) {
  const vec zero = vec_set1(0.0f), infinity = vec_set1(INFINITY);
  vec largest = zero;
  vecmask finite = vec_equal(zero, zero);
  FOVEA_NO_UNROLL
  for (int64_t d = 0; d < dim; d++) {
    const vec size = vec_abs(vec_load(rows + d * ROW_TILE));
    largest = vec_max(size, largest);
    finite = vecmask_and(finite, vec_less(size, infinity));
  }
  return vec_select(finite, largest, vec_set1(__builtin_nanf("")));
}

/* One vector of rows in the lanes. A row with NaN or Inf has codes of 0 and the scale NaN. */
FOVEA_INLINE void int8_quantise_lanes(const float *rows, int64_t dim, float *to) {
  const vec largest = int8_largest_of_lanes(rows, dim), shift = vec_set1(INT8_SHIFT);
  const vecmask lost = vec_is_nan(largest);
  const vec factor = int8_factor(largest);
  const int64_t words = int8_words(dim);
  vec total = vec_set1(0.0f);
  FOVEA_NO_UNROLL
  for (int64_t i = 0; i < words; i++) {
    vec codes[INT8_CODES];
    FOVEA_UNROLL
    for (int j = 0; j < INT8_CODES; j++) {
      const int64_t d = i * INT8_CODES + j;
      codes[j] = shift;
      if (d < dim) codes[j] = vec_select(lost, shift, int8_code(vec_load(rows + d * ROW_TILE), factor));
      total = vec_add(total, vec_sub(codes[j], shift));
    }
    vec_store(to + i * ROW_TILE, int8_word(codes));
  }
  vec_store(to + words * ROW_TILE, int8_scale(largest));
  vec_store(to + (words + 1) * ROW_TILE, vec_mul(vec_set1(-INT8_KEYS_OFFSET), total));
}

/* Up to LANES elements of a row of keys or values from dim d on; 0 behind the last. */
FOVEA_INLINE vec int8_element(const fovea_operand_args *args, int64_t key, int64_t d) {
  const int64_t at = key * args->stride + d, rest = args->dim - d;
  const float *row = (const float *)args->rows + at;
  if (!args->bf16) return rest >= LANES ? vec_load(row) : vec_load_first(row, (int)rest);
  const uint16_t *elements = (const uint16_t *)args->rows + at;
  uint16_t some[LANES] = {0};
  if (rest < LANES) elements = memcpy(some, elements, (size_t)rest * sizeof *some);
  return vec_load_bf16(elements);
}

/* In all lanes the size of the row's largest number; NaN if one is not finite. */
FOVEA_INLINE vec int8_largest(const fovea_operand_args *args, int64_t key) {
  const vec zero = vec_set1(0.0f), infinity = vec_set1(INFINITY);
  vec most = zero;
  vecmask finite = vec_equal(zero, zero);
  FOVEA_NO_UNROLL
  for (int64_t d = 0; d < args->dim; d += LANES) {
    const vec size = vec_abs(int8_element(args, key, d));
    most = vec_max(size, most);
    finite = vecmask_and(finite, vec_less(size, infinity));
  }
  if (vecmask_any(vecmask_not(finite))) return vec_set1(__builtin_nanf(""));
  FOVEA_UNROLL
  for (int distance = LANES / 2; distance > 0; distance /= 2) most = vec_max(vec_swap(most, distance), most);
  return most;
}

/* The scale of a row of which int8_largest() is given. */
FOVEA_INLINE float int8_scale_of(vec largest) {
  float scales[LANES];
  vec_store(scales, int8_scale(largest));
  return scales[0];
}

/* What softmax() needs of the values' scales. Returns 1 if all are finite. */
FOVEA_NOINLINE int int8_load_scales(float *logs) {
  float *parts = logs + FOVEA_BLOCK_KEYS, *marks = parts + FOVEA_BLOCK_KEYS;
  const vec small = vec_set1(0x1p-100f), one = vec_set1(1.0f), zero = vec_set1(0.0f);
  vecmask any = vec_less(zero, zero);
  FOVEA_NO_UNROLL
  for (int key = 0; key < FOVEA_BLOCK_KEYS; key += LANES) {
    const vec scale = vec_load(logs + key);
    const vecmask lost = vec_is_nan(scale);
    const vec w = vec_select(lost, one, vec_select(vec_less(scale, small), small, scale));
    vec_store(logs + key, vec_log2(w));
    vec_store(parts + key, vec_div(one, w));
    vec_store(marks + key, vec_select(lost, one, zero));
    any = vecmask_or(any, lost);
  }
  marks[FOVEA_BLOCK_KEYS] = vecmask_any(any) ? 1.0f : 0.0f;
  return !vecmask_any(any);
}

#endif

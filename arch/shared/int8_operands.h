/* Codes of rows for the mode int8, and their scales (docs/numerics.md, section 16). Every arithmetic of the mode
 * lays them out as it likes. Included after a layer (int8_products.h). */
#ifndef FOVEA_ARCH_SHARED_INT8_OPERANDS_H
#define FOVEA_ARCH_SHARED_INT8_OPERANDS_H

#include "../kernels.h"
#include "exp2.h"
#include "int8_numbers.h"
#include "operand_rows.h"
#include "tile.h"
#include "types.h"

/* Words that an instruction multiplies at once. They lie side by side, as int8_pairs.h says. */
#ifdef INT8_PAIRS
enum { INT8_GROUP = 2 };
#else
enum { INT8_GROUP = 1 };
FOVEA_INLINE void int8_zip(vec words[1]) {
  (void)words;
}
#endif

enum { INT8_KEY_WORDS = FOVEA_BLOCK_KEYS / INT8_CODES, INT8_GROUP_CODES = INT8_CODES * INT8_GROUP };

/* Of a row, in whole groups. */
FOVEA_INLINE int64_t int8_words(int64_t dim) {
  return (dim + INT8_GROUP_CODES - 1) / INT8_GROUP_CODES * INT8_GROUP;
}

/* Words from key to key: whole vectors of codes, an odd number of cache lines. */
FOVEA_INLINE int64_t int8_stride(int64_t words) {
  return ((words + 15) / 16 | 1) * 16;
}

/* Where the words of a key begin. */
FOVEA_INLINE float *int8_key(float *keys, int64_t key, int64_t stride) {
  return keys + key / INT8_GROUP * INT8_GROUP * stride + key % INT8_GROUP * INT8_GROUP;
}

/* One vector of rows in the lanes. A row with NaN or Inf has codes of 0 and the scale NaN. */
FOVEA_INLINE void int8_quantise_lanes(const float *rows, int64_t dim, float *to) {
  const vec zero = vec_set1(0.0f), shift = vec_set1(INT8_SHIFT);
  const int64_t words = int8_words(dim);
  vec largest = zero, total = zero;
  FOVEA_NO_UNROLL
  for (int64_t d = 0; d < dim; d++) largest = vec_max_size(vec_abs(vec_load(rows + d * ROW_TILE)), largest);
  largest = int8_or_lost(largest);
  const vecmask lost = vec_is_nan(largest);
  const vec factor = int8_factor(largest);
  FOVEA_NO_UNROLL
  for (int64_t i = 0; i < words; i += INT8_GROUP) {
    vec codes[INT8_GROUP_CODES], word[INT8_GROUP];
    FOVEA_UNROLL
    for (int j = 0; j < INT8_GROUP_CODES; j++) {
      const int64_t d = i * INT8_CODES + j;
      codes[j] = shift;
      if (d < dim) codes[j] = vec_select(lost, shift, int8_code(vec_load(rows + d * ROW_TILE), factor, shift));
      total = vec_add(total, vec_sub(codes[j], shift));
    }
    FOVEA_UNROLL
    for (int j = 0; j < INT8_GROUP; j++) word[j] = int8_word(codes + j * INT8_CODES);
    int8_zip(word);
    FOVEA_UNROLL
    for (int j = 0; j < INT8_GROUP; j++) vec_store(to + (i + j) * ROW_TILE, word[j]);
  }
  vec_store(to + words * ROW_TILE, int8_scale(largest));
  vec_store(to + (words + 1) * ROW_TILE, vec_mul(vec_set1(-INT8_KEYS_OFFSET), total));
}

/* The size of the largest number of a row, with NaN above Inf. */
FOVEA_INLINE float int8_largest(const int bf16, const void *row, int64_t dim) {
  enum { TOGETHER = 4 };
  vec chain[TOGETHER];
  int64_t d = 0;
  FOVEA_UNROLL
  for (int i = 0; i < TOGETHER; i++) chain[i] = vec_set1(0.0f);
  FOVEA_NO_UNROLL
  for (; d + TOGETHER * LANES <= dim; d += TOGETHER * LANES) {
    FOVEA_UNROLL
    for (int i = 0; i < TOGETHER; i++)
      chain[i] = vec_max_size(vec_abs(operand_whole(bf16, row, d + i * LANES)), chain[i]);
  }
  FOVEA_NO_UNROLL
  for (; d < dim; d += LANES) chain[0] = vec_max_size(vec_abs(operand_dims(bf16, row, dim, d)), chain[0]);
  const vec largest = vec_max_size(vec_max_size(chain[0], chain[1]), vec_max_size(chain[2], chain[3]));
  float lanes[LANES];
  vec_store(lanes, int8_largest_lane(largest));
  return lanes[0];
}

/* A group of words of keys from dim d on. */
FOVEA_INLINE void int8_store_dims(float *to, int64_t d, vec word[INT8_GROUP]) {
  int8_zip(word);
  FOVEA_UNROLL
  for (int j = 0; j < INT8_GROUP; j++) vec_store(to + d * INT8_GROUP + j * LANES, word[j]);
}

/* Rows that are measured together, so that they are still in L1 when their codes are made. */
enum { INT8_TOGETHER = 16 };

/* The sizes of the largest numbers of INT8_TOGETHER rows from `first` on, 0 for rows that are not there. */
FOVEA_INLINE void int8_largest_of(const int bf16, const fovea_operand_args *args, int first, float *largest) {
  FOVEA_NO_UNROLL
  for (int i = 0; i < INT8_TOGETHER; i++) {
    const int key = first + i;
    largest[i] = 0.0f;
    if (key >= args->first && key < args->end)
      largest[i] = int8_largest(bf16, operand_row(bf16, args, key), args->dim);
  }
}

/* The scales of these rows, and the factors for their codes. */
FOVEA_SHARED_FUNCTION(void, int8_measure, const fovea_operand_args *args, int first, float *scales,
                      float *factors) {
  OPERAND_TYPED(int8_largest_of, args->bf16, args, first, scales);
  FOVEA_NO_UNROLL
  for (int i = 0; i < INT8_TOGETHER; i += LANES) {
    const vec largest = int8_or_lost(vec_load(scales + i));
    vec_store(factors + i, int8_factor(largest));
    vec_store(scales + i, int8_scale(largest));
  }
}

/* What softmax() needs of the values' scales. */
FOVEA_SHARED_FUNCTION(void, int8_load_scales, float *logs) {
  float *parts = logs + FOVEA_BLOCK_KEYS, *marks = parts + FOVEA_BLOCK_KEYS;
  const vec small = vec_set1(INT8_LEAST_SCALE), one = vec_set1(1.0f), zero = vec_set1(0.0f);
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
}

#endif

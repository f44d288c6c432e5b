/* The mode int8 (docs/numerics.md, section 16). Codes lie in words of 32 bits; int8_products.h says how. Part of
 * bodies.h, or of a table with other instructions for the mode, after score.h.
 *
 *   queries  [word of dims][row], then scales, then starts of sums, [row]
 *   keys     [key][word of dims], then the scales of the keys
 *   values   [word of keys][dim], then log2 of the keys' scales, their reciprocals, 1 where a value is not finite,
 *            and once 1 if there is such a key
 *   weights  [word of keys][row], in the place of the scores; then, with an offset, starts of sums, [row] */

#include "../kernels.h"
#include "fetch.h"
#include "mode_exp2.h"
#include "score_hide.h"
#include "state.h"
#include "tile.h"
#include "types.h"

#include <string.h>

/* gcc's coalescing of variables ties sums to registers that are in use: of 24 sums of AVX-512 it would move 46 and
 * keep 19 on the stack. */
#ifndef __clang__
#pragma GCC push_options
#pragma GCC optimize("no-tree-coalesce-vars")
#endif
#include "int8_products.h"
#ifndef __clang__
#pragma GCC pop_options
#endif

/* log2(255): the largest weight of a block is 2^A. */
#define INT8_A 0x1.ffa37cp+2f

/* Rows whose largest number is below this have codes of 0, and a value's scale counts as at least the other, which
 * no such row has. */
#define INT8_LEAST       0x1p-80f
#define INT8_LEAST_SCALE 0x1p-87f

enum { INT8_KEY_WORDS = FOVEA_BLOCK_KEYS / INT8_CODES };

FOVEA_INLINE int64_t int8_words(int64_t dim) {
  return (dim + INT8_CODES - 1) / INT8_CODES;
}

/* Words from key to key: whole vectors of codes, an odd number of cache lines. */
FOVEA_INLINE int64_t int8_stride(int64_t words) {
  return ((words + 15) / 16 | 1) * 16;
}

FOVEA_KERNEL static fovea_operand_sizes int8_sizes(int64_t qk_dim, int64_t v_dim) {
  return (fovea_operand_sizes){(int8_words(qk_dim) + 2) * ROW_TILE,
                               FOVEA_BLOCK_KEYS * (int8_stride(int8_words(qk_dim)) + 1),
                               INT8_KEY_WORDS * int8_stride(v_dim) + 3 * FOVEA_BLOCK_KEYS + 1,
                               FOVEA_BLOCK_KEYS * (((qk_dim > v_dim ? qk_dim : v_dim) + 15) / 16 * 4 + 1)};
}

/* ---- Operands ------------------------------------------------------------------------------------------------ */

/* The factor of a row for its codes, and its scale: 0 if the row is next to nothing. */
FOVEA_INLINE vec int8_factor(vec largest) {
  const vec small = vec_set1(INT8_LEAST);
  const vecmask none = vec_less(largest, small);
  return vec_select(none, vec_set1(0.0f), vec_div(vec_set1(127.0f), vec_select(none, small, largest)));
}
FOVEA_INLINE vec int8_scale(vec largest) {
  return vec_select(vec_less(largest, vec_set1(INT8_LEAST)), vec_set1(0.0f), vec_div(largest, vec_set1(127.0f)));
}

/* The code of a number, the nearest integer, ties to even, and `shift`: INT8_SHIFT, or with an offset. */
FOVEA_INLINE vec int8_code(vec x, vec factor, vec shift) {
  vec product = vec_mul(x, factor);
  vec_opaque(product); /* with -ffp-contract=fast clang would fuse the sum */
  return vec_add(product, shift);
}

/* Whether numbers are finite shows in a sum of their products with 0: it is NaN if one is not. Where that is so,
 * the size of the largest number becomes NaN. */
FOVEA_INLINE vec int8_or_lost(vec largest, vec zeros) {
  return vec_select(vec_is_nan(zeros), zeros, largest);
}

/* One vector of rows in the lanes. A row with NaN or Inf has codes of 0 and the scale NaN. */
FOVEA_INLINE void int8_quantise_lanes(const float *rows, int64_t dim, float *to) {
  const vec zero = vec_set1(0.0f), shift = vec_set1(INT8_SHIFT);
  const int64_t words = int8_words(dim);
  vec largest = zero, zeros = zero, total = zero;
  FOVEA_NO_UNROLL
  for (int64_t d = 0; d < dim; d++) {
    const vec x = vec_load(rows + d * ROW_TILE);
    largest = vec_max(vec_abs(x), largest);
    zeros = vec_fma(x, zero, zeros);
  }
  largest = int8_or_lost(largest, zeros);
  const vecmask lost = vec_is_nan(largest);
  const vec factor = int8_factor(largest);
  FOVEA_NO_UNROLL
  for (int64_t i = 0; i < words; i++) {
    vec codes[INT8_CODES];
    FOVEA_UNROLL
    for (int j = 0; j < INT8_CODES; j++) {
      const int64_t d = i * INT8_CODES + j;
      codes[j] = shift;
      if (d < dim) codes[j] = vec_select(lost, shift, int8_code(vec_load(rows + d * ROW_TILE), factor, shift));
      total = vec_add(total, vec_sub(codes[j], shift));
    }
    vec_store(to + i * ROW_TILE, int8_word(codes));
  }
  vec_store(to + words * ROW_TILE, int8_scale(largest));
  vec_store(to + (words + 1) * ROW_TILE, vec_mul(vec_set1(-INT8_KEYS_OFFSET), total));
}

FOVEA_KERNEL static void int8_load_queries(const fovea_operand_args *args) {
  FOVEA_NO_UNROLL
  for (int row = 0; row < ROW_TILE; row += LANES)
    int8_quantise_lanes((const float *)args->rows + row, args->dim, args->to + row);
}

/* LANES elements of a row of keys or values from dim d on; of the last vector those that are there, then 0. */
FOVEA_INLINE vec int8_elements(const fovea_operand_args *args, const int bf16, int64_t key, int64_t d) {
  const int64_t at = key * args->stride + d;
  return bf16 ? vec_load_bf16((const uint16_t *)args->rows + at) : vec_load((const float *)args->rows + at);
}
FOVEA_INLINE vec int8_last_elements(const fovea_operand_args *args, const int bf16, int64_t key, int64_t d) {
  const int64_t at = key * args->stride + d, rest = args->dim - d;
  uint16_t some[LANES] = {0};
  if (!bf16) return vec_load_first((const float *)args->rows + at, (int)rest);
  memcpy(some, (const uint16_t *)args->rows + at, (size_t)rest * sizeof *some);
  return vec_load_bf16(some);
}

/* The size of the largest number of a row; NaN if one is not finite. */
FOVEA_INLINE float int8_largest(const fovea_operand_args *args, const int bf16, int64_t key) {
  vec largest = vec_set1(0.0f), zeros = vec_set1(0.0f);
  int64_t d = 0;
  FOVEA_NO_UNROLL
  for (; d + LANES <= args->dim; d += LANES) {
    const vec x = int8_elements(args, bf16, key, d);
    largest = vec_max(vec_abs(x), largest);
    zeros = vec_fma(x, vec_set1(0.0f), zeros);
  }
  if (d < args->dim) {
    const vec x = int8_last_elements(args, bf16, key, d);
    largest = vec_max(vec_abs(x), largest);
    zeros = vec_fma(x, vec_set1(0.0f), zeros);
  }
  largest = int8_or_lost(largest, zeros);
  if (vecmask_any(vec_is_nan(largest))) return __builtin_nanf("");
#if LANES > 8
  largest = vec_max(vec_swap(largest, 8), largest);
#endif
#if LANES > 4
  largest = vec_max(vec_swap(largest, 4), largest);
#endif
#if LANES > 1
  largest = vec_max(vec_swap(largest, 2), largest);
  largest = vec_max(vec_swap(largest, 1), largest);
#endif
  float lanes[LANES];
  vec_store(lanes, largest);
  return lanes[0];
}

/* Rows that are measured together, so that they are still in L1 when their codes are made. */
enum { INT8_TOGETHER = 16 };

/* The scales of INT8_TOGETHER rows from `first` on, 0 for those that are not there, and the factors for their
 * codes. */
FOVEA_INLINE void int8_measure(const fovea_operand_args *args, const int bf16, int first, float *scales,
                               float *factors) {
  FOVEA_NO_UNROLL
  for (int i = 0; i < INT8_TOGETHER; i++) {
    const int key = first + i;
    scales[i] = key >= args->first && key < args->end ? int8_largest(args, bf16, key) : 0.0f;
  }
  FOVEA_NO_UNROLL
  for (int i = 0; i < INT8_TOGETHER; i += LANES) {
    const vec largest = vec_load(scales + i);
    vec_store(factors + i, int8_factor(largest));
    vec_store(scales + i, int8_scale(largest));
  }
}

/* The codes of one key. */
FOVEA_INLINE void int8_quantise_key(const fovea_operand_args *args, const int bf16, int key, float scale,
                                    float factor, float *to) {
  const vec shift = vec_set1(INT8_SHIFT + INT8_KEYS_OFFSET), factors = vec_set1(factor);
  int64_t d = 0;
  if (scale != scale) {
    for (; d < args->dim; d += LANES) int8_store(to, d, shift);
    return;
  }
  FOVEA_NO_UNROLL
  for (; d + LANES <= args->dim; d += LANES)
    int8_store(to, d, int8_code(int8_elements(args, bf16, key, d), factors, shift));
  if (d < args->dim) int8_store(to, d, int8_code(int8_last_elements(args, bf16, key, d), factors, shift));
}

FOVEA_INLINE void int8_quantise_keys(const fovea_operand_args *args, const int bf16) {
  const int64_t stride = int8_stride(int8_words(args->dim));
  float *scales = args->to + FOVEA_BLOCK_KEYS * stride, factors[INT8_TOGETHER];
  for (int key = 0; key < FOVEA_BLOCK_KEYS; key++) scales[key] = 0;
  FOVEA_NO_UNROLL
  for (int first = args->first / INT8_TOGETHER * INT8_TOGETHER; first < args->end; first += INT8_TOGETHER) {
    const int begin = first > args->first ? first : args->first;
    const int end = first + INT8_TOGETHER < args->end ? first + INT8_TOGETHER : args->end;
    int8_measure(args, bf16, first, scales + first, factors);
    FOVEA_NO_UNROLL
    for (int key = begin; key < end; key++)
      int8_quantise_key(args, bf16, key, scales[key], factors[key - first], args->to + key * stride);
  }
}

/* What softmax() needs of the values' scales. */
FOVEA_NOINLINE void int8_load_scales(float *logs) {
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

/* Words of INT8_CODES keys. Those that are not there, or not finite, have codes of 0. */
FOVEA_INLINE void int8_quantise_word(const fovea_operand_args *args, const int bf16, int first, const float *scales,
                                     const float *factors, float *to) {
  const vec shift = vec_set1(INT8_SHIFT + INT8_VALUES_OFFSET);
  int there[INT8_CODES];
  int64_t d = 0;
  FOVEA_UNROLL
  for (int j = 0; j < INT8_CODES; j++)
    there[j] = first + j >= args->first && first + j < args->end && scales[j] == scales[j];
  FOVEA_NO_UNROLL
  for (; d < args->dim; d += LANES) {
    const int whole = d + LANES <= args->dim;
    vec codes[INT8_CODES];
    FOVEA_UNROLL
    for (int j = 0; j < INT8_CODES; j++) {
      codes[j] = shift;
      if (!there[j]) continue;
      const vec x = whole ? int8_elements(args, bf16, first + j, d) : int8_last_elements(args, bf16, first + j, d);
      codes[j] = int8_code(x, vec_set1(factors[j]), shift);
    }
    vec_store(to + d, int8_word(codes));
  }
}

FOVEA_INLINE void int8_quantise_values(const fovea_operand_args *args, const int bf16) {
  const int64_t stride = int8_stride(args->dim);
  float *scales = args->to + INT8_KEY_WORDS * stride, factors[INT8_TOGETHER];
  for (int key = 0; key < FOVEA_BLOCK_KEYS; key++) scales[key] = 0;
  FOVEA_NO_UNROLL
  for (int first = args->first / INT8_TOGETHER * INT8_TOGETHER; first < args->end; first += INT8_TOGETHER) {
    int8_measure(args, bf16, first, scales + first, factors);
    FOVEA_NO_UNROLL
    for (int i = 0; i < INT8_TOGETHER; i += INT8_CODES)
      int8_quantise_word(args, bf16, first + i, scales + first + i, factors + i,
                         args->to + (first + i) / INT8_CODES * stride);
  }
  int8_load_scales(scales);
}

#include "int8_codes.h"

FOVEA_KERNEL static void int8_load_keys(const fovea_operand_args *args) {
  if (args->codes)
    int8_copy_keys(args);
  else if (args->bf16)
    int8_quantise_keys(args, 1);
  else
    int8_quantise_keys(args, 0);
}

FOVEA_KERNEL static int int8_load_values(const fovea_operand_args *args) {
  if (args->codes)
    int8_copy_values(args);
  else if (args->bf16)
    int8_quantise_values(args, 1);
  else
    int8_quantise_values(args, 0);
  return 1;
}

/* ---- Scores -------------------------------------------------------------------------------------------------- */

FOVEA_KERNEL static void int8_score(const fovea_score_args *args) {
  const int64_t words = int8_words(args->dim), stride = int8_stride(words);
  const float *keys = args->keys, *scales = args->queries + words * ROW_TILE;
  float not_wanted[ROW_TILE] = {0};
  int8_score_work work = {
      .args = args,
      .products = {args->queries, keys + args->key * stride, 1, stride, words,
                   INT8_KEYS_OFFSET ? scales + ROW_TILE : NULL},
      .key_scales = keys + FOVEA_BLOCK_KEYS * stride + args->key,
      .maxima = args->seen_from ? not_wanted : args->maxima,
  };
  FOVEA_NO_UNROLL
  for (int row = 0; row < ROW_TILE; row += LANES) {
    const vec c = args->row_scales ? vec_load(args->row_scales + row) : vec_set1(args->c);
    vec_store(work.c + row, vec_mul(vec_load(scales + row), c));
  }
  int8_score_vectors(&work, args->key_count);
  if (args->seen_from) score_hide(args);
}

/* ---- Weights ------------------------------------------------------------------------------------------------- */

FOVEA_INLINE void int8_fill(float *to, int begin, int end, float x) {
  FOVEA_NO_UNROLL
  for (int i = begin; i < end; i++) vec_store(to + i * ROW_TILE, vec_set1(x));
}

/* Scores of keys whose values are not finite become NaN where the key is seen. */
FOVEA_NOINLINE void int8_lose_scores(float *scores, const float *marks, int begin, int end) {
  const vec none = vec_set1(-INFINITY), nan = vec_set1(__builtin_nanf(""));
  for (int key = begin; key < end; key++) {
    float *score = scores + key * ROW_TILE;
    if (marks[key] != 0.0f) vec_store(score, vec_select(vec_equal(vec_load(score), none), none, nan));
  }
}

/* The largest score with log2 of the value's scale. Rounds of keys are filled up with -Inf. */
FOVEA_NOINLINE vec int8_maximum(float *scores, const float *logs, int first, int last) {
  vec maximum[4];
  for (int i = 0; i < 4; i++) maximum[i] = vec_set1(-INFINITY);
  FOVEA_NO_UNROLL
  for (int key = first; key < last; key += 4) {
    FOVEA_UNROLL
    for (int i = 0; i < 4; i++)
      maximum[i] = vec_max(vec_add(vec_load(scores + (key + i) * ROW_TILE), vec_set1(logs[key + i])), maximum[i]);
  }
  return vec_max(vec_max(maximum[0], maximum[1]), vec_max(maximum[2], maximum[3]));
}

/* The words of INT8_CHAINS keys, whose unrounded weights without the values' scales are added to the sums. */
FOVEA_INLINE void int8_weigh(const float *scores, vec reference, const float *logs, const float *parts,
                             float *words, vec *sums) {
  FOVEA_UNROLL
  for (int i = 0; i < INT8_CHAINS; i += INT8_CODES) {
    vec codes[INT8_CODES];
    FOVEA_UNROLL
    for (int j = 0; j < INT8_CODES; j++) {
      const vec s = vec_add(vec_load(scores + (i + j) * ROW_TILE), vec_set1(logs[i + j]));
      const vec e = mode_exp2(vec_sub(s, reference), -126.0f);
      sums[i + j] = vec_fma(e, vec_set1(parts[i + j]), sums[i + j]);
      codes[j] = vec_add(vec_min(e, vec_set1(255.0f)), vec_set1(INT8_SHIFT));
    }
    vec_store(words + i / INT8_CODES * LANES, int8_word(codes));
  }
}

/* Weights of one vector as words, [word of keys][lane], from `first` to `last`, multiples of sixteen. Returns the
 * sum of the unrounded ones. */
FOVEA_NOINLINE vec int8_weigh_vector(const float *scores, vec reference, const float *logs, int first, int last,
                                     float *words) {
  enum { ROUND = FOVEA_WEIGHT_SUMS };
  const float *parts = logs + FOVEA_BLOCK_KEYS;
  vec sums[ROUND];
  FOVEA_UNROLL
  for (int i = 0; i < ROUND; i += INT8_CHAINS) {
    vec chain[INT8_CHAINS];
    FOVEA_UNROLL
    for (int j = 0; j < INT8_CHAINS; j++) chain[j] = vec_set1(0.0f);
    FOVEA_NO_UNROLL
    for (int key = first + i; key < last; key += ROUND)
      int8_weigh(scores + key * ROW_TILE, reference, logs + key, parts + key, words + key / INT8_CODES * LANES,
                 chain);
    FOVEA_UNROLL
    for (int j = 0; j < INT8_CHAINS; j++) sums[i + j] = chain[j];
  }
  FOVEA_UNROLL
  for (int i = 0; i < 8; i++) sums[i] = vec_add(sums[i], sums[i + 8]);
  FOVEA_UNROLL
  for (int i = 0; i < 4; i++) sums[i] = vec_add(sums[i], sums[i + 4]);
  return vec_add(vec_add(sums[0], sums[2]), vec_add(sums[1], sums[3]));
}

/* Words of weights to the place of scores, 0 for all other keys of the block. */
FOVEA_NOINLINE void int8_store_words(const float *words, int first, int last, float *to) {
  int8_fill(to, 0, first / INT8_CODES, 0.0f);
  FOVEA_NO_UNROLL
  for (int i = first / INT8_CODES; i < last / INT8_CODES; i++)
    vec_store(to + i * ROW_TILE, vec_load(words + i * LANES));
  int8_fill(to, last / INT8_CODES, INT8_KEY_WORDS, 0.0f);
#if INT8_VALUES_OFFSET
  int8_start_of_weights(to, ROW_TILE, INT8_KEY_WORDS);
#endif
}

FOVEA_KERNEL static int int8_softmax(const fovea_softmax_args *args) {
  enum { ROUND = FOVEA_WEIGHT_SUMS };
  const float *logs = args->values + INT8_KEY_WORDS * int8_stride(args->v_dim),
              *marks = logs + 2 * FOVEA_BLOCK_KEYS;
  vecmask none = vec_less(vec_set1(0.0f), vec_set1(0.0f));
  FOVEA_NO_UNROLL
  for (int vector = args->vectors.first; vector < args->vectors.first + args->vectors.count; vector++) {
    const int row = vector * LANES, begin = args->key_begin[vector], end = args->key_end[vector];
    const int first = begin / ROUND * ROUND, last = (end + ROUND - 1) / ROUND * ROUND;
    float *scores = args->scores + row, words[INT8_KEY_WORDS * LANES];
    int8_fill(scores, first, begin, -INFINITY);
    int8_fill(scores, end, last, -INFINITY);
    if (marks[FOVEA_BLOCK_KEYS] != 0.0f) int8_lose_scores(scores, marks, begin, end);
    /* -0 becomes +0 */
    const vec maximum = vec_add(int8_maximum(scores, logs, first, last), vec_set1(0.0f));
    const vec block_max = vec_sub(maximum, vec_set1(INT8_A));
    const vec block_sum = int8_weigh_vector(scores, state_reference(block_max), logs, first, last, words);
    int8_store_words(words, first, last, scores);
    vec_store(args->maxima + row, block_max);
    vec_store(args->block_sum + row, block_sum);
    const state_running running = {args->row_max, args->row_sum, args->old_part, args->new_part};
    state_advance(&running, row, args->first, block_max, block_sum);
    none = vecmask_or(none, vec_equal(block_max, vec_set1(-INFINITY)));
  }
  return vecmask_any(none);
}

/* ---- Values -------------------------------------------------------------------------------------------------- */

FOVEA_KERNEL static void int8_value(const fovea_value_args *args) {
  const int64_t stride = int8_stride(args->dim), begin = args->key / INT8_CODES;
  const int64_t end = (args->key + args->key_count + INT8_CODES - 1) / INT8_CODES;
  const int8_value_work work = {args,
                                {args->weights + begin * ROW_TILE, args->values + begin * stride, stride, 1,
                                 end - begin,
                                 INT8_VALUES_OFFSET ? args->weights + INT8_KEY_WORDS * ROW_TILE : NULL}};
  int8_value_vectors(&work, args->dim);
}

const fovea_arithmetic FOVEA_NAME(int8) = {
    .name = INT8_INSTRUCTION,
    .scales_rows = 1,
    .sizes = int8_sizes,
    .load_queries = int8_load_queries,
    .load_keys = int8_load_keys,
    .load_values = int8_load_values,
    .make_codes = int8_make_codes,
    .score = int8_score,
    .softmax = int8_softmax,
    .value = int8_value,
};

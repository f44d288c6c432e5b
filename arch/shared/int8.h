/* The mode int8 by f32 FMAs (docs/numerics.md, section 16): codes are f32 integers, whose sums are exact in any order,
 * so the products are those of exact mode. Rows have a scale each. Part of bodies.h, after score.h and value.h.
 *
 *   queries  [dim][row], then the scales of the rows
 *   keys     [key][dim], then the scales of the keys
 *   values   [key][dim], then log2 of the keys' scales, then their reciprocals
 *   weights  [key][row], in the place of the scores: integers from 0 to 255 */

#include "../kernels.h"
#include "mode_exp2.h"
#include "state.h"
#include "tile.h"
#include "types.h"

#include <string.h>

/* log2(255): the largest weight of a block is 2^A. */
#define INT8_A 0x1.ffa37cp+2f

FOVEA_INLINE int64_t int8_stride(int64_t dim) {
  return ((dim + 15) / 16 | 1) * 16;
}

FOVEA_KERNEL static fovea_operand_sizes int8_sizes(int64_t qk_dim, int64_t v_dim) {
  return (fovea_operand_sizes){(qk_dim + 1) * ROW_TILE, FOVEA_BLOCK_KEYS * (int8_stride(qk_dim) + 1),
                               FOVEA_BLOCK_KEYS * (int8_stride(v_dim) + 2)};
}

/* ---- Operands ------------------------------------------------------------------------------------------------ */

/* The nearest integer, ties to even, of numbers below 2^22. */
FOVEA_INLINE vec int8_rounded(vec x) {
  const vec shift = vec_set1(0x1.8p23f);
  return vec_sub(vec_add(x, shift), shift);
}

/* The factor of a row for its codes: 0 if it is next to nothing. */
FOVEA_INLINE vec int8_factor(vec largest) {
  const vec small = vec_set1(0x1p-100f);
  const vecmask none = vec_less(largest, small);
  return vec_select(none, vec_set1(0.0f), vec_div(vec_set1(127.0f), vec_select(none, small, largest)));
}
FOVEA_INLINE vec int8_scale(vec largest) {
  return vec_select(vec_less(largest, vec_set1(0x1p-100f)), vec_set1(0.0f), vec_div(largest, vec_set1(127.0f)));
}

/* One vector of rows in the lanes. A row with NaN or Inf has codes of 0 and the scale NaN. */
FOVEA_INLINE void int8_quantise_lanes(const float *rows, int64_t dim, float *to, float *scales) {
  const vec zero = vec_set1(0.0f), infinity = vec_set1(INFINITY);
  vec largest = zero;
  vecmask finite = vec_equal(zero, zero);
  FOVEA_NO_UNROLL
  for (int64_t d = 0; d < dim; d++) {
    const vec size = vec_abs(vec_load(rows + d * ROW_TILE));
    largest = vec_max(size, largest);
    finite = vecmask_and(finite, vec_less(size, infinity));
  }
  const vec factor = int8_factor(largest);
  FOVEA_NO_UNROLL
  for (int64_t d = 0; d < dim; d++) {
    const vec code = int8_rounded(vec_mul(vec_load(rows + d * ROW_TILE), factor));
    vec_store(to + d * ROW_TILE, vec_select(finite, code, zero));
  }
  vec_store(scales, vec_select(finite, int8_scale(largest), vec_set1(__builtin_nanf(""))));
}

FOVEA_KERNEL static void int8_load_queries(const fovea_operand_args *args) {
  FOVEA_NO_UNROLL
  for (int row = 0; row < ROW_TILE; row += LANES)
    int8_quantise_lanes((const float *)args->rows + row, args->dim, args->to + row,
                        args->to + args->dim * ROW_TILE + row);
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

/* The largest number of all lanes. */
FOVEA_INLINE float int8_largest(vec x) {
  float lanes[LANES], largest = 0;
  vec_store(lanes, x);
  for (int i = 0; i < LANES; i++) largest = lanes[i] > largest ? lanes[i] : largest;
  return largest;
}

/* One row. Returns its scale. */
FOVEA_INLINE float int8_quantise_row(const fovea_operand_args *args, int64_t key, float *to) {
  const vec zero = vec_set1(0.0f), infinity = vec_set1(INFINITY);
  vec most = zero;
  vecmask infinite = vec_less(zero, zero);
  FOVEA_NO_UNROLL
  for (int64_t d = 0; d < args->dim; d += LANES) {
    const vec size = vec_abs(int8_element(args, key, d));
    most = vec_max(size, most);
    infinite = vecmask_or(infinite, vecmask_not(vec_less(size, infinity)));
  }
  const int lost = vecmask_any(infinite);
  const vec largest = vec_set1(int8_largest(most)), factor = int8_factor(largest);
  FOVEA_NO_UNROLL
  for (int64_t d = 0; d < args->dim; d += LANES)
    vec_store(to + d, lost ? zero : int8_rounded(vec_mul(int8_element(args, key, d), factor)));
  float scales[LANES];
  vec_store(scales, int8_scale(largest));
  return lost ? __builtin_nanf("") : scales[0];
}

/* The rows of a block, and their scales, of which 0 stands for keys that are not there. */
FOVEA_NOINLINE int int8_quantise_rows(const fovea_operand_args *args, float *scales) {
  const int64_t stride = int8_stride(args->dim);
  int finite = 1;
  for (int key = 0; key < FOVEA_BLOCK_KEYS; key++) scales[key] = 0;
  FOVEA_NO_UNROLL
  for (int key = args->first; key < args->end; key++) {
    scales[key] = int8_quantise_row(args, key, args->to + key * stride);
    finite &= scales[key] == scales[key];
  }
  return finite;
}

FOVEA_KERNEL static void int8_load_keys(const fovea_operand_args *args) {
  int8_quantise_rows(args, args->to + FOVEA_BLOCK_KEYS * int8_stride(args->dim));
}

FOVEA_KERNEL static int int8_load_values(const fovea_operand_args *args) {
  float *logs = args->to + FOVEA_BLOCK_KEYS * int8_stride(args->dim), *parts = logs + FOVEA_BLOCK_KEYS;
  const vec small = vec_set1(0x1p-100f);
  const int finite = int8_quantise_rows(args, logs);
  FOVEA_NO_UNROLL
  for (int key = 0; key < FOVEA_BLOCK_KEYS; key += LANES) {
    const vec scale = vec_load(logs + key), w = vec_select(vec_less(scale, small), small, scale);
    const vec nan = vec_set1(__builtin_nanf(""));
    vec_store(logs + key, vec_select(vec_is_nan(w), nan, vec_log2(w)));
    vec_store(parts + key, vec_select(vec_is_nan(w), vec_set1(1.0f), vec_div(vec_set1(1.0f), w)));
  }
  return finite;
}

/* ---- Scores -------------------------------------------------------------------------------------------------- */

/* Sums of codes become scores. */
FOVEA_NOINLINE void int8_scale_sums(const fovea_score_args *args, const float *key_scales) {
  const float *row_scales = args->queries + args->dim * ROW_TILE;
  FOVEA_NO_UNROLL
  for (int vector = args->vectors.first; vector < args->vectors.first + args->vectors.count; vector++) {
    const int row = vector * LANES;
    const vec wanted = args->row_scales ? vec_load(args->row_scales + row) : vec_set1(args->c);
    const vec c = vec_mul(vec_load(row_scales + row), wanted);
    vec maximum = vec_load(args->maxima + row);
    FOVEA_NO_UNROLL
    for (int key = 0; key < args->key_count; key++) {
      float *score = args->scores + (int64_t)key * ROW_TILE + row;
      const vec s = vec_mul(vec_mul(vec_load(score), vec_set1(key_scales[key])), c);
      vec_store(score, s);
      maximum = vec_max(s, maximum);
    }
    vec_store(args->maxima + row, maximum);
  }
}

FOVEA_KERNEL static void int8_score(const fovea_score_args *args) {
  const int64_t stride = int8_stride(args->dim);
  const float *keys = args->keys;
  float not_wanted[ROW_TILE] = {0};
  fovea_score_args sums = *args, all = *args;
  sums.keys = keys + args->key * stride;
  sums.key_stride = stride;
  sums.c = 1.0f;
  sums.maxima = not_wanted;
  sums.seen_from = NULL;
  FOVEA_NAME(score)(&sums);
  if (args->seen_from) all.maxima = not_wanted;
  int8_scale_sums(&all, keys + FOVEA_BLOCK_KEYS * stride + args->key);
  if (args->seen_from) score_hide(args);
}

/* ---- Weights ------------------------------------------------------------------------------------------------- */

/* Scores of one vector with log2 of the values' scales, and their maximum. -Inf hides whatever the value is. */
FOVEA_NOINLINE vec int8_fold_scales(float *scores, vec factor, const float *logs, int begin, int end) {
  const vec none = vec_set1(-INFINITY);
  vec maximum = none;
  FOVEA_NO_UNROLL
  for (int key = begin; key < end; key++) {
    const vec s = vec_mul(vec_load(scores + key * ROW_TILE), factor);
    const vec folded = vec_select(vec_equal(s, none), none, vec_add(s, vec_set1(logs[key])));
    vec_store(scores + key * ROW_TILE, folded);
    maximum = vec_max(folded, maximum);
  }
  return maximum;
}

/* Weights of one vector in place of its scores, 0 for all other keys of the block. Returns the sum of the unrounded ones
 * without the values' scales. */
FOVEA_NOINLINE vec int8_weigh_vector(float *scores, vec reference, const float *parts, int begin, int end) {
  float sums[FOVEA_WEIGHT_SUMS * LANES];
  for (int i = 0; i < FOVEA_WEIGHT_SUMS * LANES; i++) sums[i] = 0;
  bf16_fill(scores, 0, begin, 0.0f);
  bf16_fill(scores, end, FOVEA_BLOCK_KEYS, 0.0f);
  FOVEA_NO_UNROLL
  for (int key = begin; key < end; key++) {
    float *score = scores + key * ROW_TILE, *sum = sums + key % FOVEA_WEIGHT_SUMS * LANES;
    const vec e = mode_exp2(vec_sub(vec_load(score), reference), -126.0f);
    vec_store(sum, vec_fma(e, vec_set1(parts[key]), vec_load(sum)));
    vec_store(score, vec_min(vec_set1(255.0f), int8_rounded(e)));
  }
  FOVEA_NO_UNROLL
  for (int half = FOVEA_WEIGHT_SUMS / 2; half > 0; half /= 2) {
    FOVEA_NO_UNROLL
    for (int i = 0; i < half * LANES; i += LANES)
      vec_store(sums + i, vec_add(vec_load(sums + i), vec_load(sums + half * LANES + i)));
  }
  return vec_load(sums);
}

FOVEA_KERNEL static int int8_softmax(const fovea_softmax_args *args) {
  const float *logs = args->values + FOVEA_BLOCK_KEYS * int8_stride(args->v_dim), *parts = logs + FOVEA_BLOCK_KEYS;
  vecmask none = vec_less(vec_set1(0.0f), vec_set1(0.0f));
  FOVEA_NO_UNROLL
  for (int vector = args->vectors.first; vector < args->vectors.first + args->vectors.count; vector++) {
    const int row = vector * LANES, begin = args->key_begin[vector], end = args->key_end[vector];
    const vec maximum = int8_fold_scales(args->scores + row, vec_set1(args->factor), logs, begin, end);
    /* -0 becomes +0 */
    const vec block_max = vec_sub(vec_add(maximum, vec_set1(0.0f)), vec_set1(INT8_A));
    const vec block_sum = int8_weigh_vector(args->scores + row, state_reference(block_max), parts, begin, end);
    vec_store(args->maxima + row, block_max);
    vec_store(args->block_sum + row, block_sum);
    const state_running running = {args->row_max, args->row_sum, args->old_part, args->new_part};
    state_advance(&running, row, args->first, block_max, block_sum);
    none = vecmask_or(none, vec_equal(block_max, vec_set1(-INFINITY)));
  }
  return vecmask_any(none);
}

static float int8_weight(const float *weights, int key, int row) {
  return weights[key * ROW_TILE + row];
}

/* ---- Values -------------------------------------------------------------------------------------------------- */

FOVEA_KERNEL static void int8_value(const fovea_value_args *args) {
  fovea_value_args sums = *args;
  sums.value_stride = int8_stride(args->dim);
  sums.values += args->key * sums.value_stride;
  sums.weights += args->key * ROW_TILE;
  sums.panel = NULL;
  sums.flags |= FOVEA_VALUE_START;
  FOVEA_NAME(value)(&sums);
}

const fovea_arithmetic FOVEA_NAME(int8) = {
    .name = "FMA",
    .scales_rows = 1,
    .whole_rows = 1,
    .sizes = int8_sizes,
    .load_queries = int8_load_queries,
    .load_keys = int8_load_keys,
    .load_values = int8_load_values,
    .score = int8_score,
    .softmax = int8_softmax,
    .weight = int8_weight,
    .value = int8_value,
};

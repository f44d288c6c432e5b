/* The mode bf16 by f32 FMAs: operands and weights are f32 numbers that bf16 has. Part of bodies.h. */

#define BF16_HALVES          1
#define bf16_step(x, y, sum) vec_fma_number(x, y, sum)
#define BF16_NAN             vec_set1(__builtin_nanf(""))
#include "bf16_number.h"
#include "bf16_products.h"

FOVEA_KERNEL static fovea_operand_sizes bf16_sizes(int64_t qk_dim, int64_t v_dim) {
  return (fovea_operand_sizes){bf16_items(qk_dim) * ROW_TILE, FOVEA_BLOCK_KEYS * bf16_stride(bf16_items(qk_dim)),
                               FOVEA_BLOCK_KEYS * bf16_stride(v_dim), 0};
}

FOVEA_KERNEL static void bf16_load_queries(const fovea_operand_args *args) {
  const float *rows = args->rows;
  const int64_t count = args->dim * ROW_TILE, whole = bf16_items(args->dim) * ROW_TILE;
  FOVEA_NO_UNROLL
  for (int64_t i = 0; i < count; i += LANES) vec_store(args->to + i, bf16_number(vec_load(rows + i)));
  FOVEA_NO_UNROLL
  for (int64_t i = count; i < whole; i += LANES) vec_store(args->to + i, vec_set1(0.0f));
}

/* bf16_number() of numbers whose `size` is below 2^110. What is below `least` is rounded to less than 2^-56. */
FOVEA_INLINE vec bf16_small_number(const int bf16, vec x, vec size) {
  const vec least = vec_set1(0x1.ffp-57f);
  return vec_select(vec_less(size, least), vec_set1(0.0f), bf16 ? x : vec_round_bf16_small(x));
}

/* Writes a row as operands: `dim` numbers, and zeros up to `items` and to the end of a vector. Returns 0 if they
 * are wrong, since the row has NaN or a number of 2^110 or more (in bf16: Inf). */
FOVEA_INLINE int bf16_small_row(const int bf16, const void *row, int64_t dim, int64_t items, float *to) {
  const int64_t whole = dim / LANES * LANES;
  vec largest = vec_set1(0.0f);
  FOVEA_NO_UNROLL
  for (int64_t d = 0; d < whole; d += LANES) {
    const vec x = operand_whole(bf16, row, d), size = vec_abs(x);
    largest = vec_max_size(size, largest);
    vec_store(to + d, bf16_small_number(bf16, x, size));
  }
  FOVEA_NO_UNROLL
  for (int64_t d = whole; d < items; d += LANES) {
    const vec x = operand_dims(bf16, row, dim, d), size = vec_abs(x);
    largest = vec_max_size(size, largest);
    vec_store(to + d, bf16_small_number(bf16, x, size));
  }
  return !vecmask_any(vecmask_not(vec_less(largest, vec_set1(bf16 ? INFINITY : 0x1p110f))));
}

/* The same for a row of any numbers. Returns 0 if one is not finite; with `finite` a 0 takes its place. */
FOVEA_NOINLINE int bf16_any_row(const void *row, int bf16, int finite, int64_t dim, int64_t items, float *to) {
  const vec zero = vec_set1(0.0f);
  vecmask lost = vec_less(zero, zero);
  FOVEA_NO_UNROLL
  for (int64_t d = 0; d < items; d += LANES) {
    const vec x = bf16_number(operand_dims(bf16, row, dim, d));
    const vecmask is_lost = vecmask_not(vec_less(vec_abs(x), vec_set1(INFINITY)));
    lost = vecmask_or(lost, is_lost);
    vec_store(to + d, finite ? vec_select(is_lost, zero, x) : x);
  }
  return !vecmask_any(lost);
}

/* Rows of keys or values. With `finite` it returns 0 if a number is not. */
FOVEA_INLINE int bf16_rows(const int bf16, const fovea_operand_args *args, int finite, int64_t items) {
  const int64_t dim = args->dim, stride = bf16_stride(items);
  int all = 1;
  bf16_fetch next = FOVEA_SHARED(bf16_fetch_of)(args->prefetch, args->prefetch_count, args->end - args->first);
  FOVEA_NO_UNROLL
  for (int key = args->first; key < args->end; key++) {
    const void *row = operand_row(bf16, args, key);
    float *to = args->to + key * stride;
    FOVEA_SHARED(bf16_fetch_step)(&next);
    if (!bf16_small_row(bf16, row, dim, items, to)) all &= bf16_any_row(row, bf16, finite, dim, items, to);
  }
  return all;
}

FOVEA_NOINLINE int bf16_rows_of_f32(const fovea_operand_args *args, int finite, int64_t items) {
  return bf16_rows(0, args, finite, items);
}
FOVEA_NOINLINE int bf16_rows_of_bf16(const fovea_operand_args *args, int finite, int64_t items) {
  return bf16_rows(1, args, finite, items);
}

FOVEA_KERNEL static void bf16_load_keys(const fovea_operand_args *args) {
  (void)(args->bf16 ? bf16_rows_of_bf16 : bf16_rows_of_f32)(args, 0, bf16_items(args->dim));
}

FOVEA_INLINE void bf16_no_values(const fovea_operand_args *args, int begin, int end) {
  const int64_t stride = bf16_stride(args->dim);
  FOVEA_NO_UNROLL
  for (int key = begin; key < end; key++) memset(args->to + key * stride, 0, (size_t)stride * sizeof *args->to);
}

FOVEA_KERNEL static int bf16_load_values(const fovea_operand_args *args) {
  bf16_no_values(args, args->first / BF16_KEYS * BF16_KEYS, args->first);
  bf16_no_values(args, args->end, (args->end + BF16_KEYS - 1) / BF16_KEYS * BF16_KEYS);
  return (args->bf16 ? bf16_rows_of_bf16 : bf16_rows_of_f32)(args, 1, args->dim);
}

/* The weight itself is added to the sum; what is stored has been rounded. */
FOVEA_INLINE void bf16_weigh(float *score, vec reference, vec *sum) {
  const vec p = mode_exp2(vec_sub(vec_load(score), reference), -56.0f);
  *sum = vec_add(*sum, p);
  vec_store(score, vec_round_bf16_small(p));
}

/* Weights of one vector in place of its scores, 0 for all other keys of the block. Returns their sum. Rounds of
 * sixteen keys are filled up with scores of -Inf: adding 0 changes no sum of weights. */
FOVEA_NOINLINE vec bf16_weigh_vector(float *scores, vec reference, int begin, int end) {
  enum { ROUND = FOVEA_WEIGHT_SUMS, TOGETHER = 4 };
  const int first = begin / ROUND * ROUND, last = (end + ROUND - 1) / ROUND * ROUND;
  float sums[ROUND * LANES];
  bf16_fill(scores, 0, first, 0.0f);
  bf16_fill(scores, first, begin, -INFINITY);
  bf16_fill(scores, end, last, -INFINITY);
  bf16_fill(scores, last, FOVEA_BLOCK_KEYS, 0.0f);
  FOVEA_NO_UNROLL
  for (int i = 0; i < ROUND; i += TOGETHER) {
    vec chain[TOGETHER];
    FOVEA_UNROLL
    for (int j = 0; j < TOGETHER; j++) chain[j] = vec_set1(0.0f);
    FOVEA_NO_UNROLL
    for (int key = first + i; key < last; key += ROUND) {
      FOVEA_UNROLL
      for (int j = 0; j < TOGETHER; j++) bf16_weigh(scores + (key + j) * ROW_TILE, reference, &chain[j]);
    }
    FOVEA_UNROLL
    for (int j = 0; j < TOGETHER; j++) vec_store(sums + (i + j) * LANES, chain[j]);
  }
  FOVEA_NO_UNROLL
  for (int half = ROUND / 2; half > 0; half /= 2) {
    FOVEA_NO_UNROLL
    for (int i = 0; i < half * LANES; i += LANES)
      vec_store(sums + i, vec_add(vec_load(sums + i), vec_load(sums + half * LANES + i)));
  }
  return vec_load(sums);
}

static float bf16_weight(const float *weights, int key, int row) {
  return weights[key * ROW_TILE + row];
}

const fovea_arithmetic FOVEA_NAME(bf16) = {
    .name = "FMA",
    .loads_fetch = 1,
    .loads_fetch_rows = BF16_FEW,
    .sizes = bf16_sizes,
    .load_queries = bf16_load_queries,
    .load_keys = bf16_load_keys,
    .load_values = bf16_load_values,
    .score = bf16_score,
    .softmax = bf16_softmax,
    .weight = bf16_weight,
    .value = bf16_value,
};

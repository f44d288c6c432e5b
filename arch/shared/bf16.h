/* The mode bf16 by f32 FMAs: operands and weights are f32 numbers that bf16 has. Part of bodies.h. */

#define BF16_HALVES          1
#define bf16_step(x, y, sum) vec_fma(x, y, sum)
#define BF16_NAN             vec_set1(__builtin_nanf(""))
#include "bf16_products.h"

/* Rounded to bf16, and 0 below 2^-56: AMX would flush smaller products. */
FOVEA_INLINE vec bf16_number(vec x) {
  x = vec_round_bf16(vec_select(vec_is_nan(x), vec_set1(__builtin_nanf("")), x));
  return vec_select(vec_less(vec_abs(x), vec_set1(0x1p-56f)), vec_set1(0.0f), x);
}

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

FOVEA_INLINE void bf16_keys(const int bf16, const fovea_operand_args *args) {
  const int64_t dim = args->dim, items = bf16_items(dim), stride = bf16_stride(items);
  operand_fetch next = operand_fetch_of(args->prefetch, args->prefetch_count, args->end - args->first);
  FOVEA_NO_UNROLL
  for (int key = args->first; key < args->end; key++) {
    operand_fetch_step(&next);
    const void *row = operand_row(bf16, args, key);
    float *to = args->to + key * stride;
    FOVEA_NO_UNROLL
    for (int64_t d = 0; d < items; d += LANES) vec_store(to + d, bf16_number(operand_dims(bf16, row, dim, d)));
  }
}

FOVEA_KERNEL static void bf16_load_keys(const fovea_operand_args *args) {
  OPERAND_TYPED(bf16_keys, args->bf16, args);
}

/* Returns 0 if an element is not finite. */
FOVEA_INLINE int bf16_values_of(const int bf16, const fovea_operand_args *args) {
  const int64_t dim = args->dim, stride = bf16_stride(dim);
  const vec zero = vec_set1(0.0f);
  vecmask lost = vec_less(zero, zero);
  operand_fetch next = operand_fetch_of(args->prefetch, args->prefetch_count, args->end - args->first);
  FOVEA_NO_UNROLL
  for (int key = args->first; key < args->end; key++) {
    operand_fetch_step(&next);
    const void *row = operand_row(bf16, args, key);
    float *to = args->to + key * stride;
    FOVEA_NO_UNROLL
    for (int64_t d = 0; d < dim; d += LANES) {
      const vec x = bf16_number(operand_dims(bf16, row, dim, d));
      const vecmask finite = vec_less(vec_abs(x), vec_set1(INFINITY));
      lost = vecmask_or(lost, vecmask_not(finite));
      vec_store(to + d, vec_select(finite, x, zero));
    }
  }
  return !vecmask_any(lost);
}

FOVEA_INLINE void bf16_no_values(const fovea_operand_args *args, int begin, int end) {
  const int64_t stride = bf16_stride(args->dim);
  FOVEA_NO_UNROLL
  for (int key = begin; key < end; key++) memset(args->to + key * stride, 0, (size_t)stride * sizeof *args->to);
}

FOVEA_KERNEL static int bf16_load_values(const fovea_operand_args *args) {
  bf16_no_values(args, args->first / BF16_KEYS * BF16_KEYS, args->first);
  bf16_no_values(args, args->end, (args->end + BF16_KEYS - 1) / BF16_KEYS * BF16_KEYS);
  return OPERAND_TYPED(bf16_values_of, args->bf16, args);
}

/* The weight itself is added to the sum; what is stored has been rounded. */
FOVEA_INLINE void bf16_weigh(float *score, vec reference, vec *sum) {
  const vec p = mode_exp2(vec_sub(vec_load(score), reference), -56.0f);
  *sum = vec_add(*sum, p);
  vec_store(score, vec_round_bf16(p));
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
    .sizes = bf16_sizes,
    .load_queries = bf16_load_queries,
    .load_keys = bf16_load_keys,
    .load_values = bf16_load_values,
    .score = bf16_score,
    .softmax = bf16_softmax,
    .weight = bf16_weight,
    .value = bf16_value,
};

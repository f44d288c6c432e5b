/* LSH attention: buckets of rows, and the merge of a row's states, one of each round of hashing. Part of bodies.h.
 */
#ifndef FOVEA_ARCH_SHARED_NN_LSH_H
#define FOVEA_ARCH_SHARED_NN_LSH_H

#include "../../nn_kernels.h"
#include "../state.h"
#include "elements.h"

/* What is known of some products. */
typedef struct lsh_extremes {
  float most, least; /* of those that are not NaN */
  int has_nan;
} lsh_extremes;

FOVEA_INLINE lsh_extremes lsh_extremes_of(const float *x, int32_t count) {
  lsh_extremes all = {-INFINITY, INFINITY, 0};
  vec most = vec_set1(-INFINITY), least = vec_set1(INFINITY);
  vecmask nan = vec_is_nan(most);
  float lanes[2][LANES];
  int32_t i = 0;
  FOVEA_NO_UNROLL
  for (; i + LANES <= count; i += LANES) {
    const vec next = vec_load(x + i);
    most = vec_max(next, most);
    least = vec_select(vec_less(next, least), next, least);
    nan = vecmask_or(nan, vec_is_nan(next));
  }
  vec_store(lanes[0], most);
  vec_store(lanes[1], least);
  all.has_nan = vecmask_any(nan);
  FOVEA_NO_UNROLL
  for (int lane = 0; lane < LANES; lane++) {
    if (lanes[0][lane] > all.most) all.most = lanes[0][lane];
    if (lanes[1][lane] < all.least) all.least = lanes[1][lane];
  }
  FOVEA_NO_UNROLL
  for (; i < count; i++) {
    if (x[i] > all.most) all.most = x[i];
    if (x[i] < all.least) all.least = x[i];
    all.has_nan |= x[i] != x[i];
  }
  return all;
}

/* The first index with this number, which is there, or with a NaN. */
FOVEA_INLINE int32_t lsh_first(const float *x, int32_t count, float number, int is_nan) {
  const vec wanted = vec_set1(number);
  int32_t i = 0;
  FOVEA_NO_UNROLL
  for (; i + LANES <= count; i += LANES) {
    const vec next = vec_load(x + i);
    if (vecmask_any(is_nan ? vec_is_nan(next) : vec_equal(next, wanted))) break;
  }
  FOVEA_NO_UNROLL
  for (; i < count - 1; i++) {
    if (is_nan ? x[i] != x[i] : x[i] == number) break;
  }
  return i;
}

FOVEA_KERNEL void FOVEA_NAME(nn_lsh_hash)(const fovea_nn_lsh_hash_args *args) {
  for (int row = 0; row < args->rows; row++) {
    const float *x = args->products + row * args->stride;
    const lsh_extremes all = lsh_extremes_of(x, args->count);
    const int is_negative = !all.has_nan && all.most < -all.least;
    const float number = is_negative ? all.least : all.most;
    const int32_t bucket = lsh_first(x, args->count, number, all.has_nan) + (is_negative ? args->count : 0);
    args->buckets[row] = args->step == 0 ? bucket : args->buckets[row] + args->step * bucket;
  }
}

/* States of up to LANES rows, and the factors of their merges in ascending order of rounds. */
typedef struct lsh_rows {
  const float *states[FOVEA_NN_LSH_ROUNDS][LANES];
  float left[FOVEA_NN_LSH_ROUNDS][LANES], right[FOVEA_NN_LSH_ROUNDS][LANES];
  float inverse[LANES]; /* 0: there is no state */
} lsh_rows;

FOVEA_INLINE void lsh_find(const fovea_nn_lsh_merge_args *args, int64_t first, int count, lsh_rows *rows) {
  for (int r = 0; r < args->rounds; r++) {
    const int32_t *places = args->places + r * args->place_stride + first;
    const float *states = args->states + r * args->round_stride * (args->dim + 2);
    FOVEA_NO_UNROLL
    for (int lane = 0; lane < LANES; lane++)
      rows->states[r][lane] = states + places[lane < count ? lane : 0] * (args->dim + 2);
  }
}

/* Maxima (or, one number further, sums) of a round. */
FOVEA_INLINE vec lsh_numbers(const lsh_rows *rows, int round, int64_t at) {
  float numbers[LANES];
  FOVEA_NO_UNROLL
  for (int lane = 0; lane < LANES; lane++) numbers[lane] = rows->states[round][lane][at];
  return vec_load(numbers);
}

FOVEA_INLINE void lsh_weigh(const fovea_nn_lsh_merge_args *args, lsh_rows *rows) {
  const vec zero = vec_set1(0.0f);
  vec most = lsh_numbers(rows, 0, args->dim), sum = lsh_numbers(rows, 0, args->dim + 1);
  for (int r = 1; r < args->rounds; r++) {
    const state_parts parts = state_merge(most, lsh_numbers(rows, r, args->dim));
    sum = state_join(sum, parts.left, lsh_numbers(rows, r, args->dim + 1), parts.right);
    most = parts.maximum;
    vec_store(rows->left[r], parts.left);
    vec_store(rows->right[r], parts.right);
  }
  vec_store(rows->inverse, vec_select(vec_equal(sum, zero), zero, vec_div(vec_set1(1.0f), sum)));
}

FOVEA_INLINE vec lsh_state(const float *state, int count) {
  return count == LANES ? vec_load(state) : vec_load_first(state, count);
}

FOVEA_INLINE void lsh_write(const fovea_nn_lsh_merge_args *args, const lsh_rows *rows, int64_t row, int lane) {
  const vec inverse = vec_set1(rows->inverse[lane]);
  FOVEA_NO_UNROLL
  for (int64_t d = 0; d < args->dim; d += LANES) {
    const int count = vector_count(d, args->dim);
    vec o = lsh_state(rows->states[0][lane] + d, count);
    FOVEA_NO_UNROLL
    for (int r = 1; r < args->rounds; r++) {
      o = state_join(o, vec_set1(rows->left[r][lane]), lsh_state(rows->states[r][lane] + d, count),
                     vec_set1(rows->right[r][lane]));
    }
    if (rows->inverse[lane] == 0) {
      store_result(&args->y, row, d, count, load_number(&args->v, row, d, count));
    } else {
      store_result(&args->y, row, d, count, vec_mul(o, inverse));
    }
  }
}

FOVEA_KERNEL void FOVEA_NAME(nn_lsh_merge)(const fovea_nn_lsh_merge_args *args) {
  for (int64_t row = 0; row < args->rows; row += LANES) {
    const int count = vector_count(row, args->rows);
    lsh_rows rows;
    lsh_find(args, row, count, &rows);
    lsh_weigh(args, &rows);
    for (int lane = 0; lane < count; lane++) lsh_write(args, &rows, row + lane, lane);
  }
}

#endif

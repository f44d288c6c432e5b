/* LSH attention: buckets of rows, and the merge of a row's states, one of each round of hashing. Part of bodies.h.
 */
#ifndef FOVEA_ARCH_SHARED_NN_LSH_H
#define FOVEA_ARCH_SHARED_NN_LSH_H

#include "../../nn_kernels.h"
#include "../state.h"
#include "elements.h"

/* The largest and the least products of LANES rows so far, and their first indices, as floats, which hold them. */
typedef struct lsh_extremes {
  vec most, least, most_index, least_index;
  vecmask nan;
} lsh_extremes;

/* Product `index` of each row. */
FOVEA_INLINE void lsh_compare(lsh_extremes *all, vec x, int32_t index) {
  const vec at = vec_set1((float)index);
  const vecmask above = vec_less(all->most, x), below = vec_less(x, all->least);
  all->most = vec_select(above, x, all->most);
  all->most_index = vec_select(above, at, all->most_index);
  all->least = vec_select(below, x, all->least);
  all->least_index = vec_select(below, at, all->least_index);
  all->nan = vecmask_or(all->nan, vec_is_nan(x));
}

/* Products of up to LANES rows, LANES at a time, with the rows in the lanes. Rows that do not exist are the first.
 */
FOVEA_INLINE lsh_extremes lsh_extremes_of(const fovea_nn_lsh_hash_args *args, const float *x, int rows) {
  const vec zero = vec_set1(0.0f);
  lsh_extremes all = {vec_set1(-INFINITY), vec_set1(INFINITY), zero, zero, vec_is_nan(zero)};
  FOVEA_NO_UNROLL
  for (int32_t i = 0; i < args->count; i += LANES) {
    const int count = vector_count(i, args->count);
    vec square[LANES];
    FOVEA_UNROLL
    for (int r = 0; r < LANES; r++) {
      const float *row = x + (r < rows ? r : 0) * args->stride + i;
      square[r] = count == LANES ? vec_load(row) : vec_load_first(row, count);
    }
    vec_transpose(square);
    if (count == LANES) {
      FOVEA_UNROLL
      for (int c = 0; c < LANES; c++) lsh_compare(&all, square[c], i + c);
    } else {
      FOVEA_NO_UNROLL
      for (int c = 0; c < count; c++) lsh_compare(&all, square[c], i + c);
    }
  }
  return all;
}

FOVEA_KERNEL void FOVEA_NAME(nn_lsh_hash)(const fovea_nn_lsh_hash_args *args) {
  for (int first = 0; first < args->rows; first += LANES) {
    const float *x = args->products + first * args->stride;
    const int rows = args->rows - first < LANES ? args->rows - first : LANES;
    const lsh_extremes all = lsh_extremes_of(args, x, rows);
    const vecmask negative = vec_less(all.most, vec_sub(vec_set1(0.0f), all.least));
    const vec opposite = vec_add(all.least_index, vec_set1((float)args->count));
    const int has_nan = vecmask_any(all.nan);
    float numbers[LANES];
    vec_store(numbers, vec_select(negative, opposite, all.most_index));
    FOVEA_NO_UNROLL
    for (int r = 0; r < rows; r++) {
      const float *row = x + r * args->stride;
      int32_t bucket = (int32_t)numbers[r], *to = &args->buckets[first + r];
      for (int32_t i = 0; has_nan && i < args->count; i++) {
        if (row[i] == row[i]) continue;
        bucket = i;
        break;
      }
      *to = args->step == 0 ? bucket : *to + args->step * bucket;
    }
  }
}

/* States of up to LANES rows, and the factors of their merges in ascending order of rounds. */
typedef struct lsh_rows {
  const float *states[FOVEA_NN_LSH_ROUNDS][LANES];
  float left[FOVEA_NN_LSH_ROUNDS][LANES], right[FOVEA_NN_LSH_ROUNDS][LANES];
  float inverse[LANES]; /* 0: there is no state */
} lsh_rows;

FOVEA_INLINE void lsh_find(const fovea_nn_lsh_merge_args *args, int64_t first, int count, lsh_rows *rows) {
  int r = 0;
  do { /* there is a round: some compilers warn otherwise */
    const int32_t *places = args->places + r * args->place_stride + first;
    const float *states = args->states + r * args->round_stride * (args->dim + 2);
    FOVEA_NO_UNROLL
    for (int lane = 0; lane < LANES; lane++)
      rows->states[r][lane] = states + places[lane < count ? lane : 0] * (args->dim + 2);
  } while (++r < args->rounds);
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

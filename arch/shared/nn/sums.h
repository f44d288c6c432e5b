/* Sums over a row: sixteen, by index mod 16, each ascending from +0. Part of bodies.h. */
#ifndef FOVEA_ARCH_SHARED_NN_SUMS_H
#define FOVEA_ARCH_SHARED_NN_SUMS_H

#include "../../nn_kernels.h"

#define ROW_SUMS    16
#define SUM_VECTORS (ROW_SUMS / LANES)

/* A row, as steps of its sums see it. */
typedef struct row_view {
  const void *args;
  int64_t row;
  vec reference; /* mean or maximum */
} row_view;

/* Adds up to LANES dims from d on to their sums. */
typedef vec sum_step(const row_view *view, int64_t d, int count, vec sum);

/* sum[i] + sum[i + 8] for i < 8, then so with 4, 2 and 1: the sum of all in each lane. Changes `sums`. */
FOVEA_INLINE vec fold_sums(vec sums[SUM_VECTORS]) {
  FOVEA_UNROLL
  for (int half = SUM_VECTORS / 2; half > 0; half /= 2) {
    FOVEA_UNROLL
    for (int v = 0; v < half; v++) sums[v] = vec_add(sums[v], sums[v + half]);
  }
#if LANES > 1
  FOVEA_UNROLL
  for (int distance = LANES / 2; distance > 0; distance /= 2)
    sums[0] = vec_add(sums[0], vec_swap(sums[0], distance));
#endif
  return sums[0];
}

/* Rows whose sums are computed together: a sum waits for the one before, and vectors of a few lanes have other sums
 * meanwhile. */
#define SUM_ROWS (LANES < 8 ? 1 : 4)

/* 0, 1, 2, ... */
FOVEA_INLINE vec lane_numbers(void) {
  static const float numbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  return vec_load(numbers);
}

/* Adds the dims from `d` on, fewer than ROW_SUMS. Lanes beyond the row change no sum. */
FOVEA_INLINE void sum_rest(const row_view *view, int64_t d, int64_t dim, sum_step *step, vec sum[SUM_VECTORS]) {
  FOVEA_UNROLL
  for (int v = 0; v < SUM_VECTORS; v++, d += LANES) {
    if (d >= dim) break;
    const int count = vector_count(d, dim);
    sum[v] = vec_select(vec_less(lane_numbers(), vec_set1((float)count)), step(view, d, count, sum[v]), sum[v]);
  }
}

/* The sums of `rows` rows, a constant up to SUM_ROWS, each in all lanes. */
FOVEA_INLINE void sum_rows(const row_view *views, const int rows, int64_t dim, sum_step *step, vec *results) {
  vec sum[SUM_ROWS][SUM_VECTORS];
  int64_t d = 0;
  FOVEA_UNROLL
  for (int r = 0; r < rows; r++) {
    FOVEA_UNROLL
    for (int v = 0; v < SUM_VECTORS; v++) sum[r][v] = vec_set1(0.0f);
  }
  FOVEA_NO_UNROLL
  for (; d + ROW_SUMS <= dim; d += ROW_SUMS) {
    FOVEA_UNROLL
    for (int r = 0; r < rows; r++) {
      FOVEA_UNROLL
      for (int v = 0; v < SUM_VECTORS; v++) sum[r][v] = step(&views[r], d + v * LANES, LANES, sum[r][v]);
    }
  }
  FOVEA_UNROLL
  for (int r = 0; r < rows; r++) {
    if (d < dim) sum_rest(&views[r], d, dim, step, sum[r]);
    results[r] = fold_sums(sum[r]);
  }
}

FOVEA_INLINE vec sum_row(const row_view *view, int64_t dim, sum_step *step) {
  vec sum;
  sum_rows(view, 1, dim, step, &sum);
  return sum;
}

#endif

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

/* sum[i] + sum[i + 8] for i < 8, then so with 4, 2 and 1. Each step has an array of its own, so that compilers make
 * it one addition of vectors. */
FOVEA_INLINE float fold_sums(const float *sums) {
  float eight[8], four[4];
  FOVEA_UNROLL
  for (int i = 0; i < 8; i++) eight[i] = sums[i] + sums[i + 8];
  FOVEA_UNROLL
  for (int i = 0; i < 4; i++) four[i] = eight[i] + eight[i + 4];
  return (four[0] + four[2]) + (four[1] + four[3]);
}

/* Rows whose sums are computed together: a sum waits for the one before, and vectors of a few lanes have other sums
 * meanwhile. */
#define SUM_ROWS (LANES < 8 ? 1 : LANES / 4)

/* The sums of `rows` rows, a constant up to SUM_ROWS. Lanes beyond a row change no sum: only the others are
 * stored. */
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
  float sums[SUM_ROWS][ROW_SUMS];
  FOVEA_UNROLL
  for (int r = 0; r < rows; r++) {
    FOVEA_UNROLL
    for (int v = 0; v < SUM_VECTORS; v++) vec_store(sums[r] + v * LANES, sum[r][v]);
  }
  FOVEA_NO_UNROLL
  for (int r = 0; r < rows; r++) {
    FOVEA_NO_UNROLL
    for (int64_t rest = d; rest < dim; rest += LANES) {
      const int count = vector_count(rest, dim);
      float *at = sums[r] + rest % ROW_SUMS;
      vec_store_first(at, step(&views[r], rest, count, vec_load(at)), count);
    }
    results[r] = vec_set1(fold_sums(sums[r]));
  }
}

FOVEA_INLINE vec sum_row(const row_view *view, int64_t dim, sum_step *step) {
  vec sum;
  sum_rows(view, 1, dim, step, &sum);
  return sum;
}

#endif

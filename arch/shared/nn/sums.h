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

/* sum[i] + sum[i + 8] for i < 8, likewise with 4, 2 and 1. */
FOVEA_INLINE float fold_sums(float *sums) {
  for (int half = ROW_SUMS / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; i++) sums[i] = sums[i] + sums[i + half];
  }
  return sums[0];
}

/* Lanes beyond the row change no sum: only the others are stored. */
FOVEA_INLINE vec sum_row(const row_view *view, int64_t dim, sum_step *step) {
  float sums[ROW_SUMS];
  vec sum[SUM_VECTORS];
  int64_t d = 0;
  FOVEA_UNROLL
  for (int v = 0; v < SUM_VECTORS; v++) sum[v] = vec_set1(0.0f);
  FOVEA_NO_UNROLL
  for (; d + ROW_SUMS <= dim; d += ROW_SUMS) {
    FOVEA_UNROLL
    for (int v = 0; v < SUM_VECTORS; v++) sum[v] = step(view, d + v * LANES, LANES, sum[v]);
  }
  FOVEA_UNROLL
  for (int v = 0; v < SUM_VECTORS; v++) vec_store(sums + v * LANES, sum[v]);
  FOVEA_NO_UNROLL
  for (; d < dim; d += LANES) {
    const int count = vector_count(d, dim);
    float *at = sums + d % ROW_SUMS;
    vec_store_first(at, step(view, d, count, vec_load(at)), count);
  }
  return vec_set1(fold_sums(sums));
}

#endif

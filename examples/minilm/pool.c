#include "pool.h"

#include <math.h>

enum { SUMS = 16 };

static float fold(float sums[SUMS]) {
  for (int width = SUMS / 2; width > 0; width /= 2)
    for (int i = 0; i < width; i++) sums[i] += sums[i + width];
  return sums[0];
}

static float sum_of_column(const float *column, int64_t rows, int64_t dim) {
  float sums[SUMS] = {0};
  for (int64_t i = 0; i < rows; i++) sums[i % SUMS] += column[i * dim];
  return fold(sums);
}

static float sum_of_squares(const float *vector, int64_t dim) {
  float sums[SUMS] = {0};
  for (int64_t d = 0; d < dim; d++) sums[d % SUMS] = fmaf(vector[d], vector[d], sums[d % SUMS]);
  return fold(sums);
}

void pool(const float *hidden, int64_t rows, int64_t dim, float *vector) {
  const float least = 1e-12f;
  for (int64_t d = 0; d < dim; d++) vector[d] = sum_of_column(hidden + d, rows, dim) / (float)rows;
  const float length = sqrtf(sum_of_squares(vector, dim));
  for (int64_t d = 0; d < dim; d++) vector[d] /= length > least ? length : least;
}

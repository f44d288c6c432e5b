#include "contract_norm.h"

#include "contract.h"

#include <math.h>

static float folded(float *sums) {
  for (int half = 8; half > 0; half /= 2)
    for (int i = 0; i < half; i++) sums[i] += sums[i + half];
  return sums[0];
}

void contract_norm(fovea_nn_norm_kind kind, const float *x, int64_t dim, float eps, const float *gamma,
                   const float *beta, float *y) {
  const float n = (float)dim;
  float sums[16] = {0}, squares[16] = {0}, mean = 0;
  if (kind == FOVEA_NN_LAYER_NORM) {
    for (int64_t i = 0; i < dim; i++) sums[i % 16] += x[i];
    mean = folded(sums) / n;
  }
  for (int64_t i = 0; i < dim; i++) {
    const float d = kind == FOVEA_NN_LAYER_NORM ? x[i] - mean : x[i];
    squares[i % 16] = fmaf(d, d, squares[i % 16]);
  }
  const float variance = folded(squares) / n, inverse = 1 / sqrtf(variance + eps);
  for (int64_t i = 0; i < dim; i++) {
    const float d = kind == FOVEA_NN_LAYER_NORM ? x[i] - mean : x[i], scaled = d * inverse;
    if (gamma && beta) y[i] = fmaf(scaled, gamma[i], beta[i]);
    if (gamma && !beta) y[i] = scaled * gamma[i];
    if (!gamma) y[i] = beta ? scaled + beta[i] : scaled;
  }
}

void contract_softmax(const float *x, int64_t dim, float *y) {
  float m = -INFINITY, sums[16] = {0};
  for (int64_t i = 0; i < dim; i++) m = x[i] > m ? x[i] : m;
  if (m == -INFINITY) m = 0;
  for (int64_t i = 0; i < dim; i++) {
    y[i] = contract_exp2((x[i] - m) * 0x1.715476p+0f);
    sums[i % 16] += y[i];
  }
  const float sum = folded(sums), inverse = sum == 0 ? 0 : 1 / sum;
  for (int64_t i = 0; i < dim; i++) y[i] *= inverse;
}

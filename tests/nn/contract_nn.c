#include "contract_nn.h"

#include <math.h>

float contract_nn_dot(const float *x, const float *w, int64_t dims) {
  float sum = 0;
  for (int64_t first = 0; first < dims; first += 128) {
    const int64_t end = first + 128 < dims ? first + 128 : dims;
    float piece = 0;
    for (int64_t d = first; d < end; d += 2) {
      if (d + 1 < end) piece = fmaf(x[d + 1], w[d + 1], piece);
      piece = fmaf(x[d], w[d], piece);
    }
    sum = first == 0 ? piece : sum + piece;
  }
  return sum;
}

float contract_nn_result(float x) {
  return x != x ? NAN : x + 0.0f;
}

float contract_nn_relu(float x) {
  return x < 0 ? 0 : x;
}

#include "layers.h"

#include <math.h>

void layer_product(float *to, const float *from, const float *weights, int64_t rows, int64_t outputs,
                   int64_t inputs) {
  for (int64_t row = 0; row < rows; row++)
    for (int64_t output = 0; output < outputs; output++) {
      float sum = 0;
      for (int64_t i = 0; i < inputs; i++) sum += from[row * inputs + i] * weights[output * inputs + i];
      to[row * outputs + output] = sum;
    }
}

void layer_norm(float *to, const float *from, const float *weights, int64_t rows, int64_t dim) {
  for (int64_t row = 0; row < rows; row++, to += dim, from += dim) {
    float squares = 0;
    for (int64_t i = 0; i < dim; i++) squares += from[i] * from[i];
    const float factor = 1 / sqrtf(squares / (float)dim + 1e-5f);
    for (int64_t i = 0; i < dim; i++) to[i] = weights[i] * (factor * from[i]);
  }
}

void layer_add(float *to, const float *from, int64_t count) {
  for (int64_t i = 0; i < count; i++) to[i] += from[i];
}

void layer_gate(float *gate, const float *up, int64_t count) {
  for (int64_t i = 0; i < count; i++) gate[i] = gate[i] / (1 + expf(-gate[i])) * up[i];
}

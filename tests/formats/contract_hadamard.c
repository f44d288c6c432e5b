#include "contract_hadamard.h"

#include <math.h>

void contract_hadamard(float *x, int64_t dim, int64_t block) {
  for (int64_t h = 1; h < block; h *= 2)
    for (int64_t i = 0; i < dim; i++) {
      if (i & h) continue;
      const float u = x[i], v = x[i + h];
      x[i] = u + v;
      x[i + h] = u - v;
    }
  int powers = 0;
  while (INT64_C(1) << powers < block) powers++;
  const float factor = ldexpf(powers % 2 ? 0x1.6a09e6p-1f : 1.0f, -(powers / 2));
  for (int64_t i = 0; i < dim && block > 0; i++) x[i] = x[i] * factor + 0.0f;
}

/* Outputs of the mode bf16 whose values are not all finite (docs/numerics.md, section 16). This is rare, so it is
 * portable C for all instruction sets, one product at a time. */
#include "../arithmetic.h"
#include "../kernels.h"
#if FOVEA_BUILDS_BF16
#include "../shared/compiler.h"

#include <string.h>

enum { GROUP = 32 };

static float number_of(float x) {
  uint32_t bits;
  if (x != x) return x;
  memcpy(&bits, &x, sizeof bits);
  bits = (bits + 0x7fffu + (bits >> 16 & 1)) & 0xffff0000u;
  memcpy(&x, &bits, sizeof x);
  return __builtin_fabsf(x) < 0x1p-56f ? 0.0f : x;
}

float fovea_bf16_lost(const fovea_lost_args *args) {
  float sum = 0;
  for (int first = 0; first < FOVEA_BLOCK_KEYS; first += GROUP) {
    float chains[2] = {0, 0};
    for (int key = first; key < first + GROUP; key++) {
      if (!args->seen[key]) continue;
      const float value = number_of(args->values[key * args->value_stride]);
      chains[key % 2] = __builtin_fmaf(args->weights[key], value, chains[key % 2]);
    }
    sum += chains[0] + chains[1];
  }
  return args->merges ? __builtin_fmaf(sum, args->new_part, args->before * args->old_part) : sum;
}
#endif

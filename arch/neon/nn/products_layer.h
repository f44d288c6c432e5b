/* Products of codes by SMULL: two products of an output are below 2^15 together. shared/nn/products.h says what each
 * function does. */
#ifndef FOVEA_ARCH_NEON_NN_PRODUCTS_LAYER_H
#define FOVEA_ARCH_NEON_NN_PRODUCTS_LAYER_H

#include "products_sums.h"

/* Four rows beside a panel: 16 sums and four words of weights. */
#define FOVEA_NN_INT8_VECTORS     4
#define FOVEA_NN_INT8_TILE_ROWS   4
#define FOVEA_NN_INT8_ROW_STEP    4
#define FOVEA_NN_INT8_TILES(TILE) TILE(4)

typedef int8x16_t int8_scalars;

FOVEA_INLINE int8_scalars int8_spread(const void *p) {
  uint32_t word;
  memcpy(&word, p, sizeof word);
  return vreinterpretq_s8_u32(vdupq_n_u32(word));
}
FOVEA_INLINE int8_sum int8_add(int8_sum sum, int8_weights w, int8_scalars x) {
  const int16x8_t low = vmull_s8(vget_low_s8(w), vget_low_s8(x)), high = vmull_high_s8(w, x);
  return vpadalq_s16(sum, vpaddq_s16(low, high));
}

#define INT8_ROW_OFFSET 0
FOVEA_INLINE int8_sum int8_row_add(int8_sum sum, int8_values w, const void *x) {
  return int8_add(sum, w, int8_spread(x));
}

#endif

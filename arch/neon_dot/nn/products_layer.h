/* Products of codes by SDOT. shared/nn/products.h says what each function does. */
#ifndef FOVEA_ARCH_NEON_DOT_NN_PRODUCTS_LAYER_H
#define FOVEA_ARCH_NEON_DOT_NN_PRODUCTS_LAYER_H

#include "../../neon/nn/products_sums.h"

/* Six rows beside a panel: 24 sums, four words of weights and one of x take 29 of 32 registers. */
#define INT8_CODES_OF_BASE
#define FOVEA_NN_INT8_VECTORS     4
#define FOVEA_NN_INT8_TILE_ROWS   6
#define FOVEA_NN_INT8_ROW_STEP    2
#define FOVEA_NN_INT8_TILES(TILE) TILE(2) TILE(4) TILE(6)

/* A word of x is an element of a register: in all lanes it would take a vector port. */
typedef int8x8_t int8_scalars;

FOVEA_INLINE int8_scalars int8_spread(const void *p) {
  uint32_t word;
  memcpy(&word, p, sizeof word);
  return vcreate_s8(word);
}
FOVEA_INLINE int8_sum int8_add(int8_sum sum, int8_weights w, int8_scalars x) {
  return vdotq_lane_s32(sum, w, x, 0);
}

#define INT8_ROW_OFFSET 0
FOVEA_INLINE int8_sum int8_row_add(int8_sum sum, int8_values w, const void *x) {
  return int8_add(sum, w, int8_spread(x));
}

#endif

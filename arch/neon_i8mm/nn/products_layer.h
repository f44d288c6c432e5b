/* Products of codes by SMMLA: two rows by two outputs, eight dims. shared/nn/products.h says what each function does. */
#ifndef FOVEA_ARCH_NEON_I8MM_NN_PRODUCTS_LAYER_H
#define FOVEA_ARCH_NEON_I8MM_NN_PRODUCTS_LAYER_H

#include "../../neon/nn/products_sums.h"

/* Four rows beside a panel: sixteen sums, so gcc keeps all in registers, which of 24 it does not. Two words of a panel are
 * zipped by eight instructions, as many as the products of two rows save, and are stored. */
#define INT8_ROW_PAIRS
#define INT8_CHUNK                2
#define FOVEA_NN_INT8_VECTORS     4
#define FOVEA_NN_INT8_TILE_ROWS   4
#define FOVEA_NN_INT8_ROW_STEP    2
#define FOVEA_NN_INT8_LEAST       4
#define FOVEA_NN_INT8_TILES(TILE) TILE(2) TILE(4)

FOVEA_INLINE int8_sum int8_add_pairs(int8_sum sum, int8_weights x, int8_weights w) {
  return vmmlaq_s32(sum, x, w);
}
FOVEA_INLINE void int8_unpair(int8_sum *a, int8_sum *b) {
  const int64x2_t low = vreinterpretq_s64_s32(*a), high = vreinterpretq_s64_s32(*b);
  *a = vreinterpretq_s32_s64(vzip1q_s64(low, high));
  *b = vreinterpretq_s32_s64(vzip2q_s64(low, high));
}
FOVEA_INLINE void int8_zip(uint8_t *words) {
  uint32x4_t first[4], second[4];
  FOVEA_UNROLL
  for (int i = 0; i < 4; i++) {
    first[i] = vreinterpretq_u32_u8(vld1q_u8(words + 16 * i));
    second[i] = vreinterpretq_u32_u8(vld1q_u8(words + 64 + 16 * i));
  }
  FOVEA_UNROLL
  for (int i = 0; i < 4; i++) {
    vst1q_u8(words + 32 * i, vreinterpretq_u8_u32(vzip1q_u32(first[i], second[i])));
    vst1q_u8(words + 32 * i + 16, vreinterpretq_u8_u32(vzip2q_u32(first[i], second[i])));
  }
}

#endif

/* Sums of four outputs, words of weights, and codes of 4 bits, for products of codes by NEON (shared/nn/products.h). */
#ifndef FOVEA_ARCH_NEON_NN_PRODUCTS_SUMS_H
#define FOVEA_ARCH_NEON_NN_PRODUCTS_SUMS_H

#include "../vector.h"

#include <string.h>

#define INT8_WORD_BYTES 4
#define INT8_OFFSET     0

typedef int32x4_t int8_sum;
typedef int8x16_t int8_weights;

FOVEA_INLINE int8_sum int8_load(const int32_t *p) {
  return vld1q_s32(p);
}
FOVEA_INLINE void int8_store(int32_t *p, int8_sum sum) {
  vst1q_s32(p, sum);
}
FOVEA_INLINE int8_sum int8_plus(int8_sum a, int8_sum b) {
  return vaddq_s32(a, b);
}
FOVEA_INLINE vec int8_float(int8_sum sum) {
  return vcvtq_f32_s32(sum);
}
FOVEA_INLINE void int8_pack(const uint8_t *codes, void *to) {
  memcpy(to, codes, INT8_WORD_BYTES);
}
FOVEA_INLINE int8_weights int8_place(const void *p) {
  return vld1q_s8(p);
}
#define INT8_WIDEN
FOVEA_INLINE void int8_widen(const uint8_t *from, const int8_t *values, uint8_t *to) {
  const int8x16_t table = vld1q_s8(values);
  FOVEA_UNROLL
  for (int i = 0; i < 4; i++) {
    const uint8x16_t codes = vld1q_u8(from + 16 * i);
    vst1q_s8((int8_t *)to + 16 * i, vqtbl1q_s8(table, vandq_u8(codes, vdupq_n_u8(15))));
    vst1q_s8((int8_t *)to + 64 + 16 * i, vqtbl1q_s8(table, vshrq_n_u8(codes, 4)));
  }
}

#endif

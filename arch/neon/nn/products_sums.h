/* Sums of four outputs, words of weights, and codes of 4 bits, for products of codes by NEON (shared/nn/products.h). */
#ifndef FOVEA_ARCH_NEON_NN_PRODUCTS_SUMS_H
#define FOVEA_ARCH_NEON_NN_PRODUCTS_SUMS_H

#include "../vector.h"

#include <string.h>

#define INT8_WORD_BYTES 4
#define INT8_OFFSET     0

typedef int32x4_t int8_sum;
typedef int8x16_t int8_weights;

FOVEA_INLINE int8_sum int8_set1(int32_t x) {
  return vdupq_n_s32(x);
}
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
typedef int8x16_t int8_values;
typedef int8x16_t int8_table;

FOVEA_INLINE int8_values int8_values_at(const void *p) {
  return vld1q_s8(p);
}
FOVEA_INLINE int8_table int8_table_of(const int8_t *values) {
  return vld1q_s8(values);
}
FOVEA_INLINE void int8_look_up(const void *p, int8_table table, int8_values to[2]) {
  const uint8x16_t codes = vld1q_u8(p);
  to[0] = vqtbl1q_s8(table, vandq_u8(codes, vdupq_n_u8(15)));
  to[1] = vqtbl1q_s8(table, vshrq_n_u8(codes, 4));
}

#define INT8_WIDEN
FOVEA_INLINE void int8_widen(const uint8_t *from, const int8_t *values, uint8_t *to) {
  const int8_table table = int8_table_of(values);
  FOVEA_UNROLL
  for (int i = 0; i < 4; i++) {
    int8_values words[2];
    int8_look_up(from + 16 * i, table, words);
    vst1q_s8((int8_t *)to + 16 * i, words[0]);
    vst1q_s8((int8_t *)to + 64 + 16 * i, words[1]);
  }
}

#endif

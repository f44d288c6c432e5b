/* int8 by SMMLA and USMMLA: pairs of words of four codes. shared/int8_products.h says what each function does. */
#ifndef FOVEA_ARCH_NEON_I8MM_INT8_LAYER_H
#define FOVEA_ARCH_NEON_I8MM_INT8_LAYER_H

#define INT8_CODES         4
#define INT8_INSTRUCTION   "SMMLA"
#define INT8_KEYS_OFFSET   0
#define INT8_VALUES_OFFSET 0
#define INT8_MANY          4
#define INT8_OF_ONE        8
#define INT8_CHAINS        4

typedef int32x4_t int8_sum;

#define INT8_PAIRS
FOVEA_INLINE int8_sum int8_no_sums(void) {
  return vdupq_n_s32(0);
}
FOVEA_INLINE int8_sum int8_add_key_pairs(vec x, vec y, int8_sum sum) {
  return vmmlaq_s32(sum, vreinterpretq_s8_f32(x), vreinterpretq_s8_f32(y));
}
FOVEA_INLINE int8_sum int8_add_value_pairs(vec x, vec y, int8_sum sum) {
  return vusmmlaq_s32(sum, vreinterpretq_u8_f32(x), vreinterpretq_s8_f32(y));
}
FOVEA_INLINE int8_sum int8_first(int8_sum a, int8_sum b) {
  return vuzp1q_s32(a, b);
}
FOVEA_INLINE int8_sum int8_second(int8_sum a, int8_sum b) {
  return vuzp2q_s32(a, b);
}
FOVEA_INLINE void int8_zip(vec words[2]) {
  const vec low = vzip1q_f32(words[0], words[1]), high = vzip2q_f32(words[0], words[1]);
  words[0] = low;
  words[1] = high;
}
FOVEA_INLINE vec int8_number(int8_sum sum) {
  return vcvtq_f32_s32(sum);
}
/* Eight codes of the other key of the pair are between. */
FOVEA_INLINE void int8_store(float *p, int64_t d, vec codes) {
  vec_store_bytes((uint8_t *)(void *)p + d / 8 * 16 + d % 8, codes);
}

#define INT8_COPIES 16
FOVEA_INLINE void int8_copy_key(float *p, const int8_t *codes) {
  const float32x4_t words = vreinterpretq_f32_s8(vld1q_s8(codes));
  vst1_f32(p, vget_low_f32(words));
  vst1_f32(p + 4, vget_high_f32(words));
}
/* Eight bytes of each dim, a byte of each key, in the order of the keys. */
FOVEA_INLINE void int8_copy_word(float *p, const int8_t *codes, int64_t stride) {
  int8_t *to = (int8_t *)(void *)p;
  int8x16x2_t fours[4];
  FOVEA_UNROLL
  for (int i = 0; i < 4; i++) fours[i] = vzipq_s8(vld1q_s8(codes + i * stride), vld1q_s8(codes + (i + 4) * stride));
  FOVEA_UNROLL
  for (int half = 0; half < 2; half++) {
    const int8x16x2_t even = vzipq_s8(fours[0].val[half], fours[2].val[half]);
    const int8x16x2_t odd = vzipq_s8(fours[1].val[half], fours[3].val[half]);
    FOVEA_UNROLL
    for (int i = 0; i < 2; i++, to += 32) {
      const int8x16x2_t dims = vzipq_s8(even.val[i], odd.val[i]);
      vst1q_s8(to, dims.val[0]);
      vst1q_s8(to + 16, dims.val[1]);
    }
  }
}

/* Decoding takes dot products: its rows are too few for pairs. */
FOVEA_INLINE int8_sum int8_start(vec x) {
  return vcvtq_s32_f32(x);
}
FOVEA_INLINE int8_sum int8_add_keys(vec x, vec y, int8_sum sum) {
  return vdotq_s32(sum, vreinterpretq_s8_f32(x), vreinterpretq_s8_f32(y));
}
FOVEA_INLINE int8_sum int8_add_values(vec x, vec y, int8_sum sum) {
  return vusdotq_s32(sum, vreinterpretq_u8_f32(x), vreinterpretq_s8_f32(y));
}
#define INT8_STORES_ALONE
FOVEA_INLINE void int8_store_alone(float *p, int64_t d, vec codes) {
  vec_store_bytes((uint8_t *)(void *)p + d, codes);
}
#include "../neon_dot/int8_rows.h"

#endif

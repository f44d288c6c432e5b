/* int8 by SDOT and UDOT: words of four codes. shared/int8_products.h says what each function does. */
#ifndef FOVEA_ARCH_NEON_DOT_INT8_LAYER_H
#define FOVEA_ARCH_NEON_DOT_INT8_LAYER_H

#define INT8_CODES         4
#define INT8_INSTRUCTION   "SDOT"
#define INT8_KEYS_OFFSET   0
#define INT8_VALUES_OFFSET 128
#define INT8_MANY          4
#define INT8_OF_ONE        8
#define INT8_CHAINS        4

typedef int32x4_t int8_sum;

FOVEA_INLINE int8_sum int8_start(vec x) {
  return vcvtq_s32_f32(x);
}
FOVEA_INLINE int8_sum int8_add_keys(vec x, vec y, int8_sum sum) {
  return vdotq_s32(sum, vreinterpretq_s8_f32(x), vreinterpretq_s8_f32(y));
}
FOVEA_INLINE int8_sum int8_add_values(vec x, vec y, int8_sum sum) {
  return vreinterpretq_s32_u32(
      vdotq_u32(vreinterpretq_u32_s32(sum), vreinterpretq_u8_f32(x), vreinterpretq_u8_f32(y)));
}
#define INT8_FOURS
#define int8_add_keys_lane(x, y, lane, sum)                                                                        \
  vdotq_laneq_s32((sum), vreinterpretq_s8_f32(x), vreinterpretq_s8_f32(y), (lane))
#define int8_add_values_lane(x, y, lane, sum)                                                                      \
  vreinterpretq_s32_u32(                                                                                           \
      vdotq_laneq_u32(vreinterpretq_u32_s32(sum), vreinterpretq_u8_f32(x), vreinterpretq_u8_f32(y), (lane)))
FOVEA_INLINE vec int8_number(int8_sum sum) {
  return vcvtq_f32_s32(sum);
}
FOVEA_INLINE void int8_store(float *p, int64_t d, vec codes) {
  vec_store_bytes((uint8_t *)(void *)p + d, codes);
}
#include "int8_rows.h"
FOVEA_INLINE vec int8_offset(vec words) {
  return vreinterpretq_f32_u8(veorq_u8(vreinterpretq_u8_f32(words), vdupq_n_u8(0x80)));
}
/* After the weights of one vector: what the offset of values adds to a sum, negative. */
FOVEA_INLINE void int8_start_of_weights(float *words, int step, int count) {
  uint32x4_t total = vdupq_n_u32(0);
  for (int i = 0; i < count; i++)
    total = vdotq_u32(total, vreinterpretq_u8_f32(vld1q_f32(words + i * step)), vdupq_n_u8(1));
  vst1q_f32(words + count * step, vmulq_f32(vcvtq_f32_u32(total), vdupq_n_f32(-INT8_VALUES_OFFSET)));
}

#endif

/* int8 by SDOT and USDOT: words of four codes. shared/int8_products.h says what each function does. */
#ifndef FOVEA_ARCH_NEON_I8MM_INT8_LAYER_H
#define FOVEA_ARCH_NEON_I8MM_INT8_LAYER_H

#define INT8_CODES         4
#define INT8_INSTRUCTION   "USDOT"
#define INT8_KEYS_OFFSET   0
#define INT8_VALUES_OFFSET 0
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
  return vusdotq_s32(sum, vreinterpretq_u8_f32(x), vreinterpretq_s8_f32(y));
}
#define INT8_FOURS
#define int8_add_keys_lane(x, y, lane, sum)                                                                        \
  vdotq_laneq_s32((sum), vreinterpretq_s8_f32(x), vreinterpretq_s8_f32(y), (lane))
#define int8_add_values_lane(x, y, lane, sum)                                                                      \
  vusdotq_laneq_s32((sum), vreinterpretq_u8_f32(x), vreinterpretq_s8_f32(y), (lane))
FOVEA_INLINE vec int8_number(int8_sum sum) {
  return vcvtq_f32_s32(sum);
}
/* Puts lowest bytes side by side: SLI keeps the bits below the shift. */
FOVEA_INLINE vec int8_word(const vec codes[4]) {
  const uint32x4_t low = vsliq_n_u32(vreinterpretq_u32_f32(codes[0]), vreinterpretq_u32_f32(codes[1]), 8);
  const uint32x4_t high = vsliq_n_u32(vreinterpretq_u32_f32(codes[2]), vreinterpretq_u32_f32(codes[3]), 8);
  return vreinterpretq_f32_u32(vsliq_n_u32(low, high, 16));
}
FOVEA_INLINE void int8_store(float *p, int64_t d, vec codes) {
  vec_store_bytes((uint8_t *)(void *)p + d, codes);
}

#include "../neon_dot/int8_rows.h"

#endif

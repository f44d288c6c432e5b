/* Products of bf16 by BFMLALT and BFMLALB: odd elements, then even ones, each with one rounding, as by FMLA.
 * clang's arm_neon.h offers them to single functions from version 16 on. */
#ifndef FOVEA_ARCH_NEON_BF16_PAIR_LAYER_H
#define FOVEA_ARCH_NEON_BF16_PAIR_LAYER_H

#define FOVEA_TARGET __attribute__((target("arch=armv8.2-a+bf16")))
#include "../neon/vector.h"

#define FOVEA_PAIR_TYPE        FOVEA_BF16
#define FOVEA_PAIR_INSTRUCTION "BFMLAL"

typedef uint16x8_t pair4;

FOVEA_INLINE pair4 pair4_load(const uint16_t *p) {
  return vld1q_u16(p);
}
FOVEA_INLINE vec vec_pair(vec q, uint32_t pair, vec sum) {
  bfloat16x8_t k = vreinterpretq_bf16_u32(vdupq_n_u32(pair)), rows = vreinterpretq_bf16_f32(q);
  return vbfmlalbq_f32(vbfmlaltq_f32(sum, rows, k), rows, k);
}
/* The pair is an element of a register: one of four, or the number in its first lane. The intrinsics of gcc 12 use
 * registers that the instruction cannot name. For clang the other lanes are undefined: it would load the number
 * into all of them, which takes a vector port. */
#ifdef __clang__
#define vec_pair_lane(q, k, lane, sum)                                                                             \
  vbfmlalbq_laneq_f32(                                                                                             \
      vbfmlaltq_laneq_f32((sum), vreinterpretq_bf16_f32(q), vreinterpretq_bf16_u16(k), 2 * (lane) + 1),            \
      vreinterpretq_bf16_f32(q), vreinterpretq_bf16_u16(k), 2 * (lane))
FOVEA_INLINE vec vec_pair_word(vec q, float word, vec sum) {
  const float32x2_t words = vdup_n_f32(word);
  const vec first = __builtin_shufflevector(words, words, 0, -1, -1, -1);
  return vec_pair_lane(q, vreinterpretq_u16_f32(first), 0, sum);
}
#else
FOVEA_INLINE vec vec_pair_lane(vec q, pair4 k, const int lane, vec sum) {
  __asm__("bfmlalt %0.4s, %1.8h, %2.h[%3]" : "+w"(sum) : "w"(q), "x"(k), "i"(2 * lane + 1));
  __asm__("bfmlalb %0.4s, %1.8h, %2.h[%3]" : "+w"(sum) : "w"(q), "x"(k), "i"(2 * lane));
  return sum;
}
FOVEA_INLINE vec vec_pair_word(vec q, float word, vec sum) {
  __asm__("bfmlalt %0.4s, %1.8h, %2.h[1]" : "+w"(sum) : "w"(q), "x"(word));
  __asm__("bfmlalb %0.4s, %1.8h, %2.h[0]" : "+w"(sum) : "w"(q), "x"(word));
  return sum;
}
#endif
/* Both rounded to bf16 in a word, the first above. */
FOVEA_INLINE vec vec_pair_round(vec above, vec below) {
  const uint16x8_t odd = vreinterpretq_u16_bf16(vcvtq_low_bf16_f32(above));
  return vreinterpretq_f32_u16(vzip1q_u16(vreinterpretq_u16_bf16(vcvtq_low_bf16_f32(below)), odd));
}
/* The elements of a words that are at least 2^-56 in magnitude; others are 0. */
FOVEA_INLINE vec vec_pair_without_small(vec words) {
  const uint16x8_t bits = vreinterpretq_u16_f32(words), size = vandq_u16(bits, vdupq_n_u16(0x7fff));
  return vreinterpretq_f32_u16(vandq_u16(bits, vcgeq_u16(size, vdupq_n_u16((127 - 56) << 7))));
}
/* Elements that are not finite become 0, and set *lost. */
FOVEA_INLINE vec vec_pair_finite(vec words, int *lost) {
  const uint16x8_t bits = vreinterpretq_u16_f32(words), size = vandq_u16(bits, vdupq_n_u16(0x7fff));
  const uint16x8_t finite = vcltq_u16(size, vdupq_n_u16(0x7f80));
  *lost |= vminvq_u16(finite) == 0;
  return vreinterpretq_f32_u16(vandq_u16(bits, finite));
}
/* Stores four elements, rounded to bf16 and 0 below 2^-56, in the order 2, 0, 3, 1. */
FOVEA_INLINE void vec_store_fours(uint16_t *p, vec a) {
  static const uint8_t order[8] = {4, 5, 0, 1, 6, 7, 2, 3};
  const uint16x4_t bits = vreinterpret_u16_bf16(vcvt_bf16_f32(a)), size = vand_u16(bits, vdup_n_u16(0x7fff));
  const uint16x4_t large = vand_u16(bits, vcge_u16(size, vdup_n_u16((127 - 56) << 7)));
  vst1_u16(p, vreinterpret_u16_u8(vtbl1_u8(vreinterpret_u8_u16(large), vld1_u8(order))));
}
/* Of pairs (0, 1) and (2, 3), the first below: pairs (2, 0) and (3, 1). */
FOVEA_INLINE vec vec_pair_even(vec first, vec second) {
  return vreinterpretq_f32_u32(vsliq_n_u32(vreinterpretq_u32_f32(second), vreinterpretq_u32_f32(first), 16));
}
FOVEA_INLINE vec vec_pair_odd(vec first, vec second) {
  return vreinterpretq_f32_u32(vsriq_n_u32(vreinterpretq_u32_f32(first), vreinterpretq_u32_f32(second), 16));
}
FOVEA_INLINE vec vec_pair_arrange(vec pairs) {
  return pairs;
}
FOVEA_INLINE int pair_elements_safe(const uint16_t *p) {
  (void)p;
  return 1;
}

#endif

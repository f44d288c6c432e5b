/* The vector layer of AArch64's NEON: four rows a vector. arch/README.md says what each function does. */
#ifndef FOVEA_ARCH_NEON_VECTOR_H
#define FOVEA_ARCH_NEON_VECTOR_H

#ifndef FOVEA_ISA
#define FOVEA_ISA neon
#endif
#ifndef FOVEA_TARGET
#define FOVEA_TARGET
#endif
#include "../shared/compiler.h"

#include <arm_neon.h>
#include <stdint.h>
#include <string.h>

#define LANES 4

typedef float32x4_t vec;
typedef int32x4_t veci;
typedef uint32x4_t vecmask;
/* FMLA by element multiplies by one lane of a register, so four scalars cost one load. */
#define FOVEA_VECTOR_SCALARS_IN_FOURS
typedef float32x4_t vec4;

FOVEA_INLINE vec vec_load(const float *p) {
  return vld1q_f32(p);
}
FOVEA_INLINE void vec_store(float *p, vec a) {
  vst1q_f32(p, a);
}
FOVEA_INLINE vec vec_load_first(const float *p, int count) {
  float lanes[LANES] = {0};
  for (int i = 0; i < count; i++) lanes[i] = p[i];
  return vld1q_f32(lanes);
}
FOVEA_INLINE void vec_store_first(float *p, vec a, int count) {
  float lanes[LANES];
  vst1q_f32(lanes, a);
  for (int i = 0; i < count; i++) p[i] = lanes[i];
}
FOVEA_INLINE vec vec_load_f16(const uint16_t *p) {
  return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}
FOVEA_INLINE void vec_store_f16(uint16_t *p, vec a) {
  vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(a)));
}
FOVEA_INLINE vec vec_load_bf16(const uint16_t *p) {
  return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16));
}
/* Loads pairs of bf16, one in each lane; vec_split_bf16() makes f32 of the two elements of each pair. */
FOVEA_INLINE vec vec_load_pairs(const uint16_t *p) {
  return vreinterpretq_f32_u16(vld1q_u16(p));
}
FOVEA_INLINE void vec_split_bf16(vec pairs, vec *first, vec *second) {
  uint32x4_t bits = vreinterpretq_u32_f32(pairs);
  *first = vreinterpretq_f32_u32(vshlq_n_u32(bits, 16));
  *second = vreinterpretq_f32_u32(vandq_u32(bits, vdupq_n_u32(0xffff0000u)));
}
/* Adds half an ulp, less one bit if the kept part is even, and truncates. */
FOVEA_INLINE void vec_store_bf16(uint16_t *p, vec a) {
  uint32x4_t bits = vreinterpretq_u32_f32(a);
  uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
  vst1_u16(p, vshrn_n_u32(vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7fff))), 16));
}
FOVEA_INLINE vec vec_round_bf16(vec a) {
  uint32x4_t bits = vreinterpretq_u32_f32(a);
  uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
  bits = vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7fff)));
  return vreinterpretq_f32_u32(vandq_u32(bits, vdupq_n_u32(0xffff0000u)));
}
/* Of normal numbers below 2^110: adding 1.5 * 2^16 times its power of two rounds away all that bf16 lacks. */
FOVEA_INLINE vec vec_round_bf16_small(vec a) {
  const vec power = vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(a), vdupq_n_u32(0x7f800000u)));
  const vec shift = vdupq_n_f32(0x1.8p16f);
  return vfmsq_f32(vfmaq_f32(a, power, shift), power, shift);
}
FOVEA_INLINE vec hidden_where_zero(uint32x4_t a) {
  return vreinterpretq_f32_u32(vandq_u32(vceqq_u32(a, vdupq_n_u32(0)), vdupq_n_u32(0xff800000u)));
}
FOVEA_INLINE vec vec_load_s8(const int8_t *p) {
  uint32_t bytes;
  memcpy(&bytes, p, sizeof bytes);
  const int16x8_t wide = vmovl_s8(vreinterpret_s8_u32(vdup_n_u32(bytes)));
  return vcvtq_f32_s32(vmovl_s16(vget_low_s16(wide)));
}
FOVEA_INLINE vec vec_load_u8(const uint8_t *p) {
  uint32_t bytes;
  memcpy(&bytes, p, sizeof bytes);
  const uint16x8_t wide = vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(bytes)));
  return vcvtq_f32_u32(vmovl_u16(vget_low_u16(wide)));
}
/* Stores the lowest byte of each lane's bits. */
FOVEA_INLINE void vec_store_bytes(uint8_t *p, vec a) {
  const uint16x4_t words = vmovn_u32(vreinterpretq_u32_f32(a));
  const uint32_t bytes = vget_lane_u32(vreinterpret_u32_u8(vmovn_u16(vcombine_u16(words, words))), 0);
  memcpy(p, &bytes, sizeof bytes);
}
FOVEA_INLINE vec vec_load_u4(const uint8_t *p, int64_t first) {
  p += first / 2;
  const uint32_t codes[LANES] = {p[0] & 15, p[0] >> 4, p[1] & 15, p[1] >> 4};
  return vcvtq_f32_u32(vld1q_u32(codes));
}
FOVEA_INLINE uint32x4_t vec_u8(const uint8_t *p) {
  uint32_t bytes;
  memcpy(&bytes, p, sizeof bytes);
  return vmovl_u16(vget_low_u16(vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(bytes)))));
}
FOVEA_INLINE vec vec_load_low_u4(const uint8_t *p) {
  return vcvtq_f32_u32(vandq_u32(vec_u8(p), vdupq_n_u32(15)));
}
FOVEA_INLINE vec vec_load_high_u4(const uint8_t *p) {
  return vcvtq_f32_u32(vshrq_n_u32(vec_u8(p), 4));
}
FOVEA_INLINE vec vec_load_word(const void *p) {
  return vreinterpretq_f32_u8(vld1q_u8(p));
}
FOVEA_INLINE vec vec_word_s8(vec words, const int shift) {
  const int32x4_t bits = vshlq_s32(vreinterpretq_s32_f32(words), vdupq_n_s32(24 - shift));
  return vcvtq_f32_s32(vandq_s32(bits, vdupq_n_s32((int32_t)0xff000000u)));
}
FOVEA_INLINE vec vec_word_signed(vec words, const int shift) {
  const int32x4_t bits = vshlq_s32(vreinterpretq_s32_f32(words), vdupq_n_s32(24 - shift));
  return vcvtq_f32_s32(vshrq_n_s32(bits, 24));
}
FOVEA_INLINE vec vec_word_values(vec words, const int8_t values[16], const int upper) {
  const uint8x16_t bits = vreinterpretq_u8_f32(words);
  const uint8x16_t codes = upper ? vshrq_n_u8(bits, 4) : vandq_u8(bits, vdupq_n_u8(15));
  return vreinterpretq_f32_s8(vqtbl1q_s8(vld1q_s8(values), codes));
}
FOVEA_INLINE vec vec_word_u8(vec words, const int shift) {
  const uint32x4_t bits = vshlq_u32(vreinterpretq_u32_f32(words), vdupq_n_s32(-shift));
  return vcvtq_f32_u32(vandq_u32(bits, vdupq_n_u32(255)));
}
FOVEA_INLINE vec vec_word_u4(vec words, const int shift) {
  const uint32x4_t bits = vshlq_u32(vreinterpretq_u32_f32(words), vdupq_n_s32(-shift));
  return vcvtq_f32_u32(vandq_u32(bits, vdupq_n_u32(15)));
}
/* fp8 as f16: codes of e5m2 are its upper byte, codes of e4m3 have its significand and a smaller exponent. The sign
 * is shifted into the upper bit of the exponent, too. Adding one to the fraction turns that bit over in NaN only,
 * so exclusive or leaves it set in NaN alone. */
FOVEA_INLINE uint16x8_t halves_of_e4m3(uint8x8_t codes) {
  const uint16x8_t halves = vreinterpretq_u16_s16(vshll_n_s8(vreinterpret_s8_u8(codes), 7));
  const uint16x8_t next = vaddq_u16(halves, vdupq_n_u16(0x80));
  return veorq_u16(halves, vandq_u16(next, vdupq_n_u16(0x4000)));
}
FOVEA_INLINE vec first_halves(uint16x8_t halves) {
  return vcvt_f32_f16(vreinterpret_f16_u16(vget_low_u16(halves)));
}
/* LANES codes through f16, which has no subnormal that f32 lacks. */
FOVEA_INLINE vec vec_load_e4m3(const uint8_t *p) {
  uint32_t codes;
  memcpy(&codes, p, sizeof codes);
  return vmulq_n_f32(first_halves(halves_of_e4m3(vreinterpret_u8_u32(vdup_n_u32(codes)))), 256.0f);
}
FOVEA_INLINE vec vec_load_e5m2(const uint8_t *p) {
  uint32_t codes;
  memcpy(&codes, p, sizeof codes);
  return first_halves(vshlq_n_u16(vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(codes))), 8));
}
FOVEA_INLINE void vec_halves_e4m3(uint16_t *to, const uint8_t *p) {
  vst1q_u16(to, halves_of_e4m3(vld1_u8(p)));
}
FOVEA_INLINE void vec_halves_e5m2(uint16_t *to, const uint8_t *p) {
  vst1q_u16(to, vshlq_n_u16(vmovl_u8(vld1_u8(p)), 8));
}
FOVEA_INLINE void store_transposed_bytes(uint8_t to[16], vec words) {
  static const uint8_t order[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
  vst1q_u8(to, vqtbl1q_u8(vreinterpretq_u8_f32(words), vld1q_u8(order)));
}
FOVEA_INLINE void vec_word_halves_e4m3(uint16_t *to, vec words) {
  uint8_t bytes[16];
  store_transposed_bytes(bytes, words);
  vec_halves_e4m3(to, bytes);
  vec_halves_e4m3(to + 2 * LANES, bytes + 8);
}
FOVEA_INLINE void vec_word_halves_e5m2(uint16_t *to, vec words) {
  uint8_t bytes[16];
  store_transposed_bytes(bytes, words);
  vec_halves_e5m2(to, bytes);
  vec_halves_e5m2(to + 2 * LANES, bytes + 8);
}
FOVEA_INLINE vec vec_load_bool(const uint8_t *p) {
  const uint32_t keys[LANES] = {p[0], p[1], p[2], p[3]};
  return hidden_where_zero(vld1q_u32(keys));
}
FOVEA_INLINE vec vec_load_bits(const uint8_t *p, int shift) {
  static const uint32_t bit[LANES] = {1, 2, 4, 8};
  return hidden_where_zero(vandq_u32(vdupq_n_u32((uint32_t)(*p >> shift)), vld1q_u32(bit)));
}
/* The compiler does not know what comes out, so it fuses nothing with it. */
#define vec_opaque(a) __asm__("" : "+w"(a))

FOVEA_INLINE vec vec_set1(float x) {
  return vdupq_n_f32(x);
}
FOVEA_INLINE vec vec_add(vec a, vec b) {
  return vaddq_f32(a, b);
}
FOVEA_INLINE vec vec_sub(vec a, vec b) {
  return vsubq_f32(a, b);
}
FOVEA_INLINE vec vec_mul(vec a, vec b) {
  return vmulq_f32(a, b);
}
FOVEA_INLINE vec vec_div(vec a, vec b) {
  return vdivq_f32(a, b);
}
FOVEA_INLINE vec vec_sqrt(vec a) {
  return vsqrtq_f32(a);
}
FOVEA_INLINE vec vec_fma(vec a, vec b, vec c) {
  return vfmaq_f32(c, a, b);
}
/* FMAXNM returns the number if one operand is a quiet NaN; FMAX would return the NaN. */
FOVEA_INLINE vec vec_max(vec a, vec b) {
  return vmaxnmq_f32(a, b);
}

/* FMIN returns NaN if either operand is NaN. */
FOVEA_INLINE vec vec_min(vec a, vec b) {
  return vminq_f32(a, b);
}
FOVEA_INLINE vec vec_fnma(vec a, vec b, vec c) {
  return vfmsq_f32(c, a, b);
}
FOVEA_INLINE vec vec_abs(vec a) {
  return vabsq_f32(a);
}
FOVEA_INLINE vec vec_max_size(vec a, vec b) {
  return vreinterpretq_f32_u32(vmaxq_u32(vreinterpretq_u32_f32(a), vreinterpretq_u32_f32(b)));
}
FOVEA_INLINE vec vec_copysign(vec size, vec sign) {
  return vbslq_f32(vdupq_n_u32(0x80000000u), sign, size);
}
FOVEA_INLINE vec vec_flip(vec a, vec sign) {
  const uint32x4_t flip = vandq_u32(vreinterpretq_u32_f32(sign), vdupq_n_u32(0x80000000u));
  return vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(a), flip));
}

FOVEA_INLINE vec4 vec4_load(const float *p) {
  return vld1q_f32(p);
}
#define vec_fma_lane(a, b, lane, c) vfmaq_laneq_f32((c), (a), (b), (lane))
/* The number is an element of a register. If compilers knew that it comes from memory, they would load it into all
 * lanes, which takes a vector port. */
FOVEA_INLINE vec vec_fma_number(vec a, float b, vec c) {
  __asm__("" : "+w"(b));
  return vfmaq_n_f32(c, a, b);
}

FOVEA_INLINE veci veci_load(const int32_t *p) {
  return vld1q_s32(p);
}
FOVEA_INLINE vecmask vec_seen(int32_t key, veci from, veci to) {
  veci k = vdupq_n_s32(key);
  return vandq_u32(vcleq_s32(from, k), vcltq_s32(k, to));
}
FOVEA_INLINE vecmask vec_less(vec a, vec b) {
  return vcltq_f32(a, b);
}
FOVEA_INLINE vecmask vec_equal(vec a, vec b) {
  return vceqq_f32(a, b);
}
FOVEA_INLINE vecmask vec_is_nan(vec a) {
  return vmvnq_u32(vceqq_f32(a, a));
}
FOVEA_INLINE vecmask vecmask_or(vecmask a, vecmask b) {
  return vorrq_u32(a, b);
}
FOVEA_INLINE vecmask vecmask_and(vecmask a, vecmask b) {
  return vandq_u32(a, b);
}
FOVEA_INLINE vecmask vecmask_not(vecmask a) {
  return vmvnq_u32(a);
}
FOVEA_INLINE int vecmask_any(vecmask a) {
  return vmaxvq_u32(a) != 0;
}
FOVEA_INLINE vec vec_select(vecmask mask, vec a, vec b) {
  return vbslq_f32(mask, a, b);
}

FOVEA_INLINE vec vec_exponent_from_low_bits(vec a) {
  return vreinterpretq_f32_s32(vshlq_n_s32(vreinterpretq_s32_f32(a), 23));
}
/* TBL takes indices of bytes: an index of a float becomes the indices of its four bytes. */
FOVEA_INLINE veci vec_quarter(vec a) {
  uint32x4_t quarter = vandq_u32(vshrq_n_u32(vreinterpretq_u32_f32(a), 21), vdupq_n_u32(15));
  return vreinterpretq_s32_u32(vmlaq_u32(vdupq_n_u32(0x03020100u), quarter, vdupq_n_u32(0x04040404u)));
}
FOVEA_INLINE vec vec_pick(const float table[16], veci quarter) {
  uint8x16x4_t bytes = {{vreinterpretq_u8_f32(vld1q_f32(table)), vreinterpretq_u8_f32(vld1q_f32(table + 4)),
                         vreinterpretq_u8_f32(vld1q_f32(table + 8)), vreinterpretq_u8_f32(vld1q_f32(table + 12))}};
  return vreinterpretq_f32_u8(vqtbl4q_u8(bytes, vreinterpretq_u8_s32(quarter)));
}
FOVEA_INLINE vec vec_swap(vec a, const int distance) {
  return distance == 2 ? vextq_f32(a, a, 2) : vrev64q_f32(a);
}
FOVEA_INLINE vec vec_zero_if_less(vec x, vec limit, vec a) {
  return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(a), vcltq_f32(x, limit)));
}

FOVEA_INLINE vec vec_split_power(vec a, vec *mantissa) {
  veci bits = vreinterpretq_s32_f32(a);
  veci exponent = vshrq_n_s32(vsubq_s32(bits, vdupq_n_s32(0x3f3504f3)), 23);
  *mantissa = vreinterpretq_f32_s32(vsubq_s32(bits, vshlq_n_s32(exponent, 23)));
  return vcvtq_f32_s32(exponent);
}

FOVEA_INLINE void vec_transpose(vec r[LANES]) {
  float32x4x2_t low = vtrnq_f32(r[0], r[1]), high = vtrnq_f32(r[2], r[3]);
  r[0] = vcombine_f32(vget_low_f32(low.val[0]), vget_low_f32(high.val[0]));
  r[1] = vcombine_f32(vget_low_f32(low.val[1]), vget_low_f32(high.val[1]));
  r[2] = vcombine_f32(vget_high_f32(low.val[0]), vget_high_f32(high.val[0]));
  r[3] = vcombine_f32(vget_high_f32(low.val[1]), vget_high_f32(high.val[1]));
}
/* Sixteen bytes of each of LANES rows, as four vectors of words. */
FOVEA_INLINE void vec_load_words(const void *const *rows, int64_t at, vec k[4]) {
  FOVEA_UNROLL
  for (int i = 0; i < 4; i++) k[i] = vec_load_word((const char *)rows[i] + at);
  vec_transpose(k);
}

#endif

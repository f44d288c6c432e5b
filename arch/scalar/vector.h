/* The vector layer of portable C: one row a vector. arch/README.md says what each function does. */
#ifndef FOVEA_ARCH_SCALAR_VECTOR_H
#define FOVEA_ARCH_SCALAR_VECTOR_H

#ifndef FOVEA_ISA
#define FOVEA_ISA scalar
#endif
#define FOVEA_TARGET
#include "../targets.h"
/* Where the architecture has kernels of its own, portable C is only the fallback. */
#if defined(FOVEA_ARCH_X86_64) || defined(FOVEA_ARCH_AARCH64)
#define FOVEA_SMALL
#if !FOVEA_BUILDS_LISTS /* a fallback decodes nothing but rows of lists */
#undef FOVEA_BUILDS_DECODE
#define FOVEA_BUILDS_DECODE 0
#endif
#endif
#include "../shared/compiler.h"

#include <float.h>
#include <stdint.h>
#include <string.h>

#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error "Fovea needs float arithmetic in float precision (on 32-bit x86: -msse2 -mfpmath=sse)"
#endif

#define LANES 1

typedef float vec;
typedef int32_t veci;
typedef int vecmask;
typedef const float *vec4;

FOVEA_INLINE vec vec_load(const float *p) {
  return *p;
}
FOVEA_INLINE void vec_store(float *p, vec a) {
  *p = a;
}
FOVEA_INLINE vec vec_load_first(const float *p, int count) {
  return count > 0 ? *p : 0.0f;
}
FOVEA_INLINE void vec_store_first(float *p, vec a, int count) {
  if (count > 0) *p = a;
}
FOVEA_INLINE uint32_t vec_bits(vec a) {
  uint32_t bits;
  memcpy(&bits, &a, sizeof bits);
  return bits;
}
FOVEA_INLINE vec vec_from_bits(uint32_t bits) {
  vec a;
  memcpy(&a, &bits, sizeof a);
  return a;
}

/* Subnormals of f16 are normal numbers of f32, and exact: the significand, an integer, times 2^-24. */
FOVEA_INLINE vec vec_load_f16(const uint16_t *p) {
  uint32_t sign = (uint32_t)(*p & 0x8000u) << 16, exponent = *p >> 10 & 31, significand = *p & 0x3ffu;
  if (exponent == 0) return vec_from_bits(vec_bits((float)significand * 0x1p-24f) | sign);
  if (exponent == 31) return vec_from_bits(sign | 0x7f800000u | significand << 13);
  return vec_from_bits(sign | (exponent + 112) << 23 | significand << 13);
}
/* Adds half an ulp, less one bit if the kept part is even, and truncates. A carry goes into the exponent, and from
 * the largest number to infinity. For f16 subnormals, adding 1/2 rounds and puts the result into the low bits. */
FOVEA_INLINE void vec_store_f16(uint16_t *p, vec a) {
  uint32_t sign = vec_bits(a) >> 16 & 0x8000u, size = vec_bits(a) & 0x7fffffffu;
  if (size > 0x7f800000u) {
    size = 0x7e00;
  } else if (size >= 0x47800000u) {
    size = 0x7c00;
  } else if (size < 0x38800000u) {
    size = vec_bits(vec_from_bits(size) + 0.5f) - 0x3f000000u;
  } else {
    size = (size + 0xfffu + (size >> 13 & 1) - (112u << 23)) >> 13;
  }
  *p = (uint16_t)(sign | size);
}
FOVEA_INLINE vec vec_load_bf16(const uint16_t *p) {
  return vec_from_bits((uint32_t)*p << 16);
}
/* Loads a pair of bf16; vec_split_bf16() makes f32 of its two elements. */
FOVEA_INLINE vec vec_load_pairs(const uint16_t *p) {
  return vec_from_bits((uint32_t)p[0] | (uint32_t)p[1] << 16);
}
FOVEA_INLINE void vec_split_bf16(vec pairs, vec *first, vec *second) {
  *first = vec_from_bits(vec_bits(pairs) << 16);
  *second = vec_from_bits(vec_bits(pairs) & 0xffff0000u);
}
FOVEA_INLINE void vec_store_bf16(uint16_t *p, vec a) {
  *p = (uint16_t)((vec_bits(a) + 0x7fffu + (vec_bits(a) >> 16 & 1)) >> 16);
}
FOVEA_INLINE vec vec_round_bf16(vec a) {
  return vec_from_bits((vec_bits(a) + 0x7fffu + (vec_bits(a) >> 16 & 1)) & 0xffff0000u);
}
FOVEA_INLINE vec vec_round_bf16_small(vec a) { /* other sets have a faster way */
  return vec_round_bf16(a);
}
FOVEA_INLINE vec vec_load_s8(const int8_t *p) {
  return (float)*p;
}
FOVEA_INLINE vec vec_load_u8(const uint8_t *p) {
  return (float)*p;
}
/* Stores the lowest byte of each lane's bits. */
FOVEA_INLINE void vec_store_bytes(uint8_t *p, vec a) {
  *p = (uint8_t)vec_bits(a);
}
FOVEA_INLINE vec vec_load_u4(const uint8_t *p, int64_t first) {
  return (float)(p[first / 2] >> first % 2 * 4 & 15);
}
FOVEA_INLINE vec vec_load_low_u4(const uint8_t *p) {
  return (float)(*p & 15);
}
FOVEA_INLINE vec vec_load_high_u4(const uint8_t *p) {
  return (float)(*p >> 4);
}
FOVEA_INLINE vec vec_load_word(const void *p) {
  vec a;
  memcpy(&a, p, sizeof a);
  return a;
}
FOVEA_INLINE void vec_load_words(const void *const *rows, int64_t at, vec k[4]) {
  for (int i = 0; i < 4; i++) k[i] = vec_load_word((const char *)rows[0] + at + 4 * i);
}
FOVEA_INLINE vec vec_word_s8(vec words, const int shift) {
  return (float)(int32_t)(vec_bits(words) >> shift << 24);
}
FOVEA_INLINE vec vec_word_signed(vec words, const int shift) {
  return (float)(int)((vec_bits(words) >> shift & 255) ^ 128) - 128.0f;
}
FOVEA_INLINE vec vec_word_values(vec words, const int8_t values[16], const int upper) {
  uint32_t bits = 0;
  for (int i = 0; i < 32; i += 8) bits |= (uint32_t)(uint8_t)values[vec_bits(words) >> (i + 4 * upper) & 15] << i;
  return vec_from_bits(bits);
}
FOVEA_INLINE vec vec_word_u8(vec words, const int shift) {
  return (float)(vec_bits(words) >> shift & 255);
}
FOVEA_INLINE vec vec_word_u4(vec words, const int shift) {
  return (float)(vec_bits(words) >> shift & 15);
}
/* Numbers of fp8 below the least normal one are integers times a power of two. */
FOVEA_INLINE vec vec_of_e4m3(uint32_t code) {
  const uint32_t sign = (code & 0x80u) << 24, size = code & 0x7fu;
  if (size == 0x7f) return vec_from_bits(0x7fc00000u);
  if (size < 8) return vec_from_bits(vec_bits((float)size * 0x1p-9f) | sign);
  return vec_from_bits(sign | (size + 120 * 8) << 20);
}
FOVEA_INLINE vec vec_of_e5m2(uint32_t code) {
  const uint32_t sign = (code & 0x80u) << 24, size = code & 0x7fu;
  if (size > 0x7c) return vec_from_bits(0x7fc00000u);
  if (size == 0x7c) return vec_from_bits(sign | 0x7f800000u);
  if (size < 4) return vec_from_bits(vec_bits((float)size * 0x1p-16f) | sign);
  return vec_from_bits(sign | (size + 112 * 4) << 21);
}
FOVEA_INLINE vec vec_load_e4m3(const uint8_t *p) {
  return vec_of_e4m3(*p);
}
FOVEA_INLINE vec vec_load_e5m2(const uint8_t *p) {
  return vec_of_e5m2(*p);
}
/* fp8 as f16: codes of e5m2 are its upper byte, codes of e4m3 have its significand and a smaller exponent. */
FOVEA_INLINE uint16_t half_of_e4m3(uint32_t code) {
  const uint32_t size = code & 0x7fu;
  return (uint16_t)((code & 0x80u) << 8 | size << 7 | (size == 0x7f ? 0x4000u : 0));
}
FOVEA_INLINE void vec_halves_e4m3(uint16_t *to, const uint8_t *p) {
  for (int i = 0; i < 2; i++) to[i] = half_of_e4m3(p[i]);
}
FOVEA_INLINE void vec_halves_e5m2(uint16_t *to, const uint8_t *p) {
  for (int i = 0; i < 2; i++) to[i] = (uint16_t)(p[i] << 8);
}
FOVEA_INLINE void vec_word_halves_e4m3(uint16_t *to, vec words) {
  for (int i = 0; i < 4; i++) to[i] = half_of_e4m3(vec_bits(words) >> 8 * i & 255);
}
FOVEA_INLINE void vec_word_halves_e5m2(uint16_t *to, vec words) {
  for (int i = 0; i < 4; i++) to[i] = (uint16_t)((vec_bits(words) >> 8 * i & 255) << 8);
}
FOVEA_INLINE vec vec_load_bool(const uint8_t *p) {
  return *p ? 0.0f : -INFINITY;
}
FOVEA_INLINE vec vec_load_bits(const uint8_t *p, int shift) {
  return *p >> shift & 1 ? 0.0f : -INFINITY;
}
/* The compiler does not know what comes out, so it fuses nothing with it. gcc is told so already (compiler.h). */
#ifdef __clang__
#define vec_opaque(a) __asm__("" : "+m"(a))
#else
#define vec_opaque(a) (void)(a)
#endif

FOVEA_INLINE vec vec_set1(float x) {
  return x;
}
FOVEA_INLINE vec vec_add(vec a, vec b) {
  return a + b;
}
FOVEA_INLINE vec vec_sub(vec a, vec b) {
  return a - b;
}
FOVEA_INLINE vec vec_mul(vec a, vec b) {
  return a * b;
}
FOVEA_INLINE vec vec_div(vec a, vec b) {
  return a / b;
}
/* An instruction, if the CPU has one; IEEE 754 and C libraries round it correctly. */
FOVEA_INLINE vec vec_sqrt(vec a) {
  return __builtin_sqrtf(a);
}
FOVEA_INLINE vec vec_max(vec a, vec b) {
  return a > b ? a : b;
}

/* Whether the CPU has an FMA instruction. clang tells it only by macros of each architecture. */
#if defined(__FP_FAST_FMAF) || defined(__aarch64__) || defined(__ARM_FEATURE_FMA) || defined(__riscv_flen)
FOVEA_INLINE vec vec_fma(vec a, vec b, vec c) {
  return __builtin_fmaf(a, b, c);
}
#else
/* FMA without the instruction and without a call of libm, whose fmaf is not exact everywhere. The product of two
 * floats is exact in double, so only their sum is rounded before it is rounded to float. The second rounding goes
 * wrong only if the first one ends in the middle between two floats: then the first is done again, to odd (Boldo &
 * Melquiond, 2008), which is right for every result. Of random sums one in 2^29 ends there. Below FLT_MIN, where
 * the middles are elsewhere, all sums but 0 take the second way. This is a function: inlined a hundred times, it
 * would be a third of the library. */
FOVEA_NOINLINE vec vec_fma(vec a, vec b, vec c) {
  const double product = (double)a * (double)b, addend = (double)c;
  double sum = product + addend;
  uint64_t sum_bits, rest_bits;
  memcpy(&sum_bits, &sum, sizeof sum_bits);
  const uint64_t rounded_off = sum_bits & 0x1fffffff, middle = 0x10000000;
  const uint64_t flt_min_twice = 2 * 0x3810000000000000u; /* bits without their sign; - 1 lets 0 pass */
  if (rounded_off != middle && 2 * sum_bits - 1 >= flt_min_twice - 1) return (float)sum;
  const double part = sum - product;
  const double rest = (product - (sum - part)) + (addend - part);
  memcpy(&rest_bits, &rest, sizeof rest_bits);
  /* An inexact even sum moves by one bit: away from zero if the rest has its sign, else towards zero. */
  const uint64_t step = 1 - 2 * ((sum_bits ^ rest_bits) >> 63);
  const uint64_t inexact = (uint64_t)(rest < 0.0) | (uint64_t)(rest > 0.0); /* a rest of NaN counts as exact */
  sum_bits += step * (inexact & ~sum_bits & 1);
  memcpy(&sum, &sum_bits, sizeof sum);
  return (float)sum;
}
#endif

FOVEA_INLINE vec vec_min(vec a, vec b) {
  return b > a ? a : b;
}
FOVEA_INLINE vec vec_fnma(vec a, vec b, vec c) {
  return vec_fma(-a, b, c);
}
FOVEA_INLINE vec vec_abs(vec a) {
  return vec_from_bits(vec_bits(a) & 0x7fffffffu);
}
FOVEA_INLINE vec vec_max_size(vec a, vec b) {
  return vec_from_bits(vec_bits(a) > vec_bits(b) ? vec_bits(a) : vec_bits(b));
}
FOVEA_INLINE vec vec_copysign(vec size, vec sign) {
  return vec_from_bits(vec_bits(size) | (vec_bits(sign) & 0x80000000u));
}
FOVEA_INLINE vec vec_flip(vec a, vec sign) {
  return vec_from_bits(vec_bits(a) ^ (vec_bits(sign) & 0x80000000u));
}

FOVEA_INLINE vec4 vec4_load(const float *p) {
  return p;
}
#define vec_fma_lane(a, b, lane, c) vec_fma((a), (b)[lane], (c))
FOVEA_INLINE vec vec_fma_number(vec a, float b, vec c) {
  return vec_fma(a, vec_set1(b), c);
}

FOVEA_INLINE veci veci_load(const int32_t *p) {
  return *p;
}
FOVEA_INLINE vecmask vec_seen(int32_t key, veci from, veci to) {
  return from <= key && key < to;
}
FOVEA_INLINE vecmask vec_less(vec a, vec b) {
  return a < b;
}
FOVEA_INLINE vecmask vec_equal(vec a, vec b) {
  return a == b;
}
FOVEA_INLINE vecmask vec_is_nan(vec a) {
  return a != a;
}
FOVEA_INLINE vecmask vecmask_or(vecmask a, vecmask b) {
  return a | b;
}
FOVEA_INLINE vecmask vecmask_and(vecmask a, vecmask b) {
  return a & b;
}
FOVEA_INLINE vecmask vecmask_not(vecmask a) {
  return !a;
}
FOVEA_INLINE int vecmask_any(vecmask a) {
  return a;
}
FOVEA_INLINE vec vec_select(vecmask mask, vec a, vec b) {
  return mask ? a : b;
}

FOVEA_INLINE vec vec_exponent_from_low_bits(vec a) {
  return vec_from_bits(vec_bits(a) << 23);
}
FOVEA_INLINE veci vec_quarter(vec a) {
  return (veci)(vec_bits(a) >> 21 & 15);
}
FOVEA_INLINE vec vec_pick(const float table[16], veci quarter) {
  return table[quarter];
}
/* One lane has no other to change places with. */
FOVEA_INLINE vec vec_swap(vec a, const int distance) {
  (void)distance;
  return a;
}
FOVEA_INLINE vec vec_zero_if_less(vec x, vec limit, vec a) {
  return x < limit ? 0.0f : a;
}

FOVEA_INLINE vec vec_split_power(vec a, vec *mantissa) {
  uint32_t above = vec_bits(a) - 0x3f3504f3u;
  uint32_t exponent = above >> 23 | ((above >> 31) ? 0xfffffe00u : 0u); /* an arithmetic shift */
  *mantissa = vec_from_bits(vec_bits(a) - (exponent << 23));
  return (float)(int32_t)exponent;
}

FOVEA_INLINE void vec_transpose(vec rows[LANES]) {
  (void)rows;
}

#endif

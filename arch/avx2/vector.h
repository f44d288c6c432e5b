/* The vector layer of AVX2 with FMA: eight rows a vector. arch/README.md says what each function does. */
#ifndef FOVEA_ARCH_AVX2_VECTOR_H
#define FOVEA_ARCH_AVX2_VECTOR_H

#ifndef FOVEA_ISA
#define FOVEA_ISA avx2
#endif
#ifndef FOVEA_TARGET
#define FOVEA_TARGET __attribute__((target("avx2,fma,f16c")))
#endif
#include "../shared/compiler.h"
#include "keep_table.h"

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define LANES 8

typedef __m256 vec;
typedef __m256i veci;
typedef __m256 vecmask;
typedef const float *vec4;

FOVEA_INLINE __m256i first_lanes(int count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

FOVEA_INLINE vec vec_load(const float *p) {
  return _mm256_loadu_ps(p);
}
/* If gcc estimates that registers are short, it repeats a load in each FMA that uses it: 40 loads for 48 FMAs
 * instead of 28. A core has two loads and two FMAs a cycle. The empty statement keeps the load in a register. */
#ifndef __clang__
#define FOVEA_VECTOR_HOLDS_LOADS
FOVEA_INLINE vec vec_load_held(const float *p) {
  vec a = _mm256_loadu_ps(p);
  __asm__("" : "+x"(a));
  return a;
}
#endif
FOVEA_INLINE void vec_store(float *p, vec a) {
  _mm256_storeu_ps(p, a);
}
FOVEA_INLINE vec vec_load_first(const float *p, int count) {
  return _mm256_maskload_ps(p, first_lanes(count));
}
FOVEA_INLINE void vec_store_first(float *p, vec a, int count) {
  _mm256_maskstore_ps(p, first_lanes(count), a);
}
FOVEA_INLINE vec vec_load_f16(const uint16_t *p) {
  return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}
FOVEA_INLINE void vec_store_f16(uint16_t *p, vec a) {
  _mm_storeu_si128((__m128i *)(void *)p, _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
FOVEA_INLINE vec vec_load_bf16(const uint16_t *p) {
  __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
  return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}
/* Loads pairs of bf16, one in each lane; vec_split_bf16() makes f32 of the two elements of each pair. */
FOVEA_INLINE vec vec_load_pairs(const uint16_t *p) {
  return _mm256_castsi256_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
FOVEA_INLINE void vec_split_bf16(vec pairs, vec *first, vec *second) {
  __m256i bits = _mm256_castps_si256(pairs);
  *first = _mm256_castsi256_ps(_mm256_slli_epi32(bits, 16));
  *second = _mm256_castsi256_ps(_mm256_and_si256(bits, _mm256_set1_epi32((int)0xffff0000u)));
}
/* Adds half an ulp, less one bit if the kept part is even, and truncates. */
FOVEA_INLINE void vec_store_bf16(uint16_t *p, vec a) {
  __m256i bits = _mm256_castps_si256(a);
  __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  bits = _mm256_srli_epi32(_mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
  bits = _mm256_permute4x64_epi64(_mm256_packus_epi32(bits, bits), 0x08);
  _mm_storeu_si128((__m128i *)(void *)p, _mm256_castsi256_si128(bits));
}
FOVEA_INLINE vec vec_round_bf16(vec a) {
  __m256i bits = _mm256_castps_si256(a);
  __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  bits = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
  return _mm256_castsi256_ps(_mm256_and_si256(bits, _mm256_set1_epi32((int)0xffff0000u)));
}
/* Of normal numbers below 2^110: adding 1.5 * 2^16 times its power of two rounds away all that bf16 lacks. */
FOVEA_INLINE vec vec_round_bf16_small(vec a) {
  const __m256 power = _mm256_and_ps(a, _mm256_castsi256_ps(_mm256_set1_epi32(0x7f800000)));
  const __m256 shift = _mm256_set1_ps(0x1.8p16f);
  return _mm256_fnmadd_ps(power, shift, _mm256_fmadd_ps(power, shift, a));
}
FOVEA_INLINE vec hidden_where_zero(__m256i a) {
  __m256i zero = _mm256_cmpeq_epi32(a, _mm256_setzero_si256());
  return _mm256_and_ps(_mm256_castsi256_ps(zero), _mm256_set1_ps(-INFINITY));
}
FOVEA_INLINE vec vec_load_s8(const int8_t *p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p)));
}
FOVEA_INLINE vec vec_load_u8(const uint8_t *p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p)));
}
/* Stores the lowest byte of each lane's bits. */
FOVEA_INLINE void vec_store_bytes(uint8_t *p, vec a) {
  const __m256i low = _mm256_and_si256(_mm256_castps_si256(a), _mm256_set1_epi32(255));
  const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
  _mm_storel_epi64((__m128i *)(void *)p, _mm_packus_epi16(words, words));
}
FOVEA_INLINE __m256i vec_u8(const uint8_t *p) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
}
FOVEA_INLINE vec vec_load_u4(const uint8_t *p, int64_t first) {
  int32_t codes;
  memcpy(&codes, p + first / 2, sizeof codes);
  const __m256i bytes = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(codes));
  const __m256i both = _mm256_or_si256(bytes, _mm256_slli_epi64(bytes, 28));
  return _mm256_cvtepi32_ps(_mm256_and_si256(both, _mm256_set1_epi32(15)));
}
FOVEA_INLINE vec vec_load_low_u4(const uint8_t *p) {
  return _mm256_cvtepi32_ps(_mm256_and_si256(vec_u8(p), _mm256_set1_epi32(15)));
}
FOVEA_INLINE vec vec_load_high_u4(const uint8_t *p) {
  return _mm256_cvtepi32_ps(_mm256_srli_epi32(vec_u8(p), 4));
}
FOVEA_INLINE vec vec_load_word(const void *p) {
  return _mm256_loadu_ps(p);
}
/* Sixteen bytes of each of LANES rows, as four vectors of words. */
FOVEA_INLINE void vec_load_words(const void *const *rows, int64_t at, vec k[4]) {
  vec z[4];
  FOVEA_UNROLL
  for (int i = 0; i < 4; i++) {
    const float *low = (const float *)(const void *)((const char *)rows[i] + at);
    const float *high = (const float *)(const void *)((const char *)rows[i + 4] + at);
    z[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low)), _mm_loadu_ps(high), 1);
  }
  const __m256d low[2] = {_mm256_castps_pd(_mm256_unpacklo_ps(z[0], z[1])),
                          _mm256_castps_pd(_mm256_unpacklo_ps(z[2], z[3]))};
  const __m256d high[2] = {_mm256_castps_pd(_mm256_unpackhi_ps(z[0], z[1])),
                           _mm256_castps_pd(_mm256_unpackhi_ps(z[2], z[3]))};
  k[0] = _mm256_castpd_ps(_mm256_unpacklo_pd(low[0], low[1]));
  k[1] = _mm256_castpd_ps(_mm256_unpackhi_pd(low[0], low[1]));
  k[2] = _mm256_castpd_ps(_mm256_unpacklo_pd(high[0], high[1]));
  k[3] = _mm256_castpd_ps(_mm256_unpackhi_pd(high[0], high[1]));
}
/* Moves the byte to the top of the word in one step. */
FOVEA_INLINE vec vec_word_s8(vec words, const int shift) {
  const char i = (char)(shift / 8);
  const __m128i order = _mm_setr_epi8(-1, -1, -1, i, -1, -1, -1, (char)(i + 4), -1, -1, -1, (char)(i + 8), -1, -1,
                                      -1, (char)(i + 12));
  return _mm256_cvtepi32_ps(_mm256_shuffle_epi8(_mm256_castps_si256(words), _mm256_broadcastsi128_si256(order)));
}
/* The byte, with 128 added, becomes the last bits of 2^23. */
FOVEA_INLINE vec vec_word_signed(vec words, const int shift) {
  const char i = (char)(shift / 8);
  const __m128i order = _mm_setr_epi8(i, -1, -1, -1, (char)(i + 4), -1, -1, -1, (char)(i + 8), -1, -1, -1,
                                      (char)(i + 12), -1, -1, -1);
  const __m256i bytes = _mm256_shuffle_epi8(_mm256_castps_si256(words), _mm256_broadcastsi128_si256(order));
  const __m256i sums = _mm256_xor_si256(bytes, _mm256_set1_epi32(0x4b000080));
  return _mm256_sub_ps(_mm256_castsi256_ps(sums), _mm256_set1_ps(0x1p23f + 128));
}
FOVEA_INLINE vec vec_word_values(vec words, const int8_t values[16], const int upper) {
  const __m256i table = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)values));
  const __m256i bits = _mm256_castps_si256(words), codes = upper ? _mm256_srli_epi32(bits, 4) : bits;
  return _mm256_castsi256_ps(_mm256_shuffle_epi8(table, _mm256_and_si256(codes, _mm256_set1_epi8(15))));
}
FOVEA_INLINE vec vec_word_u8(vec words, const int shift) {
  const __m256i bits = _mm256_srli_epi32(_mm256_castps_si256(words), shift);
  return _mm256_cvtepi32_ps(_mm256_and_si256(bits, _mm256_set1_epi32(255)));
}
FOVEA_INLINE vec vec_word_u4(vec words, const int shift) {
  const __m256i bits = _mm256_srli_epi32(_mm256_castps_si256(words), shift);
  return _mm256_cvtepi32_ps(_mm256_and_si256(bits, _mm256_set1_epi32(15)));
}
/* fp8 as f16: codes of e5m2 are its upper byte, codes of e4m3 have its significand and a smaller exponent. */
FOVEA_INLINE void store_halves_e5m2(uint16_t *p, __m256i upper_bytes) {
  _mm256_storeu_si256((__m256i *)(void *)p, upper_bytes);
}
/* The sign was shifted into the upper bit of the exponent, too. Adding one to the fraction turns that bit over in
 * NaN only, so exclusive or leaves it set in NaN alone. */
FOVEA_INLINE void store_halves_e4m3(uint16_t *p, __m256i halves) {
  const __m256i next = _mm256_add_epi16(halves, _mm256_set1_epi16(0x80));
  _mm256_storeu_si256((__m256i *)(void *)p,
                      _mm256_xor_si256(halves, _mm256_and_si256(next, _mm256_set1_epi16(0x4000))));
}
FOVEA_INLINE __m256i signed_codes(const uint8_t *p) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p));
}
/* LANES codes through f16, which has no subnormal that f32 lacks. */
FOVEA_INLINE vec vec_load_e4m3(const uint8_t *p) {
  const __m128i halves = _mm_slli_epi16(_mm_cvtepi8_epi16(_mm_loadl_epi64((const __m128i *)(const void *)p)), 7);
  const __m128i next = _mm_add_epi16(halves, _mm_set1_epi16(0x80));
  const __m128i bits = _mm_xor_si128(halves, _mm_and_si128(next, _mm_set1_epi16(0x4000)));
  return _mm256_mul_ps(_mm256_cvtph_ps(bits), _mm256_set1_ps(256.0f));
}
FOVEA_INLINE vec vec_load_e5m2(const uint8_t *p) {
  const __m128i codes = _mm_cvtepu8_epi16(_mm_loadl_epi64((const __m128i *)(const void *)p));
  return _mm256_cvtph_ps(_mm_slli_epi16(codes, 8));
}
FOVEA_INLINE void vec_halves_e4m3(uint16_t *to, const uint8_t *p) {
  store_halves_e4m3(to, _mm256_slli_epi16(signed_codes(p), 7));
}
FOVEA_INLINE void vec_halves_e5m2(uint16_t *to, const uint8_t *p) {
  store_halves_e5m2(to, _mm256_slli_epi16(signed_codes(p), 8));
}
/* Transposes the bytes of the words in eight lanes: first and third bytes side by side, or second and fourth. */
FOVEA_INLINE __m256i transposed_bytes(vec words) {
  const __m256i in_fours =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
  const __m256i order = _mm256_setr_epi32(0, 4, 2, 6, 1, 5, 3, 7);
  return _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(_mm256_castps_si256(words), in_fours), order);
}
FOVEA_INLINE void vec_word_halves_e4m3(uint16_t *to, vec words) {
  const __m256i bytes = transposed_bytes(words), zero = _mm256_setzero_si256();
  store_halves_e4m3(to, _mm256_srai_epi16(_mm256_unpacklo_epi8(zero, bytes), 1));
  store_halves_e4m3(to + 2 * LANES, _mm256_srai_epi16(_mm256_unpackhi_epi8(zero, bytes), 1));
}
FOVEA_INLINE void vec_word_halves_e5m2(uint16_t *to, vec words) {
  const __m256i bytes = transposed_bytes(words), zero = _mm256_setzero_si256();
  store_halves_e5m2(to, _mm256_unpacklo_epi8(zero, bytes));
  store_halves_e5m2(to + 2 * LANES, _mm256_unpackhi_epi8(zero, bytes));
}
FOVEA_INLINE vec vec_load_bool(const uint8_t *p) {
  return hidden_where_zero(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p)));
}
FOVEA_INLINE vec vec_load_bits(const uint8_t *p, int shift) {
  (void)shift; /* 0: eight lanes are a byte */
  return hidden_where_zero(_mm256_and_si256(_mm256_set1_epi32(*p), _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128)));
}
/* The compiler does not know what comes out, so it fuses nothing with it. */
#define vec_opaque(a) __asm__("" : "+x"(a))

FOVEA_INLINE vec vec_set1(float x) {
  return _mm256_set1_ps(x);
}
FOVEA_INLINE vec vec_add(vec a, vec b) {
  return _mm256_add_ps(a, b);
}
FOVEA_INLINE vec vec_sub(vec a, vec b) {
  return _mm256_sub_ps(a, b);
}
FOVEA_INLINE vec vec_mul(vec a, vec b) {
  return _mm256_mul_ps(a, b);
}
FOVEA_INLINE vec vec_div(vec a, vec b) {
  return _mm256_div_ps(a, b);
}
FOVEA_INLINE vec vec_sqrt(vec a) {
  return _mm256_sqrt_ps(a);
}
FOVEA_INLINE vec vec_fma(vec a, vec b, vec c) {
  return _mm256_fmadd_ps(a, b, c);
}
/* VMAXPS returns its second operand if either is NaN. */
FOVEA_INLINE vec vec_max(vec a, vec b) {
  return _mm256_max_ps(a, b);
}

/* VMINPS, too, returns its second operand: NaN in b stays. */
FOVEA_INLINE vec vec_min(vec a, vec b) {
  return _mm256_min_ps(a, b);
}
FOVEA_INLINE vec vec_fnma(vec a, vec b, vec c) {
  return _mm256_fnmadd_ps(a, b, c);
}
FOVEA_INLINE vec vec_abs(vec a) {
  return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a);
}
FOVEA_INLINE vec vec_max_size(vec a, vec b) {
  return _mm256_castsi256_ps(_mm256_max_epu32(_mm256_castps_si256(a), _mm256_castps_si256(b)));
}
FOVEA_INLINE vec vec_copysign(vec size, vec sign) {
  return _mm256_or_ps(size, _mm256_and_ps(_mm256_set1_ps(-0.0f), sign));
}
FOVEA_INLINE vec vec_flip(vec a, vec sign) {
  return _mm256_xor_ps(a, _mm256_and_ps(_mm256_set1_ps(-0.0f), sign));
}

FOVEA_INLINE vec4 vec4_load(const float *p) {
  return p;
}
#define vec_fma_lane(a, b, lane, c) vec_fma((a), vec_set1((b)[lane]), (c))
FOVEA_INLINE vec vec_fma_number(vec a, float b, vec c) {
  return vec_fma(a, vec_set1(b), c);
}

FOVEA_INLINE veci veci_load(const int32_t *p) {
  return _mm256_loadu_si256((const __m256i *)(const void *)p);
}
FOVEA_INLINE vecmask vec_seen(int32_t key, veci from, veci to) {
  veci k = _mm256_set1_epi32(key);
  return _mm256_castsi256_ps(_mm256_andnot_si256(_mm256_cmpgt_epi32(from, k), _mm256_cmpgt_epi32(to, k)));
}
FOVEA_INLINE vecmask vec_less(vec a, vec b) {
  return _mm256_cmp_ps(a, b, _CMP_LT_OQ);
}
FOVEA_INLINE vecmask vec_equal(vec a, vec b) {
  return _mm256_cmp_ps(a, b, _CMP_EQ_OQ);
}
FOVEA_INLINE vecmask vec_is_nan(vec a) {
  return _mm256_cmp_ps(a, a, _CMP_UNORD_Q);
}
FOVEA_INLINE vecmask vecmask_or(vecmask a, vecmask b) {
  return _mm256_or_ps(a, b);
}
FOVEA_INLINE vecmask vecmask_and(vecmask a, vecmask b) {
  return _mm256_and_ps(a, b);
}
FOVEA_INLINE vecmask vecmask_not(vecmask a) {
  return _mm256_xor_ps(a, _mm256_castsi256_ps(_mm256_set1_epi32(-1)));
}
FOVEA_INLINE int vecmask_any(vecmask a) {
  return _mm256_movemask_ps(a) != 0;
}
FOVEA_INLINE vec vec_select(vecmask mask, vec a, vec b) {
  return _mm256_blendv_ps(b, a, mask);
}

#define FOVEA_VECTOR_KEEPS_LANES
FOVEA_INLINE vecmask vec_above(vec a, vec b) {
  return _mm256_cmp_ps(a, b, _CMP_NLE_UQ);
}
FOVEA_INLINE veci veci_from(int32_t first) {
  return _mm256_add_epi32(_mm256_set1_epi32(first), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
FOVEA_INLINE int vecmask_count(vecmask mask) {
  return (int)(keep_table[_mm256_movemask_ps(mask)] >> 3 & 15);
}
FOVEA_INLINE int vec_keep(float *to, int32_t *keys_to, vec a, veci keys, vecmask mask) {
  const uint64_t entry = keep_table[_mm256_movemask_ps(mask)];
  const __m256i lanes = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)&entry));
  _mm256_storeu_ps(to, _mm256_permutevar8x32_ps(a, lanes));
  _mm256_storeu_si256((__m256i *)(void *)keys_to, _mm256_permutevar8x32_epi32(keys, lanes));
  return (int)(entry >> 3 & 15);
}

FOVEA_INLINE vec vec_exponent_from_low_bits(vec a) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(a), 23));
}
FOVEA_INLINE veci vec_quarter(vec a) {
  return _mm256_srli_epi32(_mm256_castps_si256(a), 21);
}
/* VPERMPS takes the low three bits of an index, and the fourth one, shifted to the sign, says which half it is. */
FOVEA_INLINE vec vec_pick(const float table[16], veci quarter) {
  vec low = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table), quarter);
  vec high = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table + 8), quarter);
  return _mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32(quarter, 28)));
}
FOVEA_INLINE vec vec_swap(vec a, const int distance) {
  switch (distance) {
  case 4:
    return _mm256_permute2f128_ps(a, a, 1);
  case 2:
    return _mm256_permute_ps(a, 0x4e);
  default:
    return _mm256_permute_ps(a, 0xb1);
  }
}
FOVEA_INLINE vec vec_zero_if_less(vec x, vec limit, vec a) {
  return _mm256_and_ps(_mm256_cmp_ps(x, limit, _CMP_NLT_UQ), a);
}

FOVEA_INLINE vec vec_split_power(vec a, vec *mantissa) {
  veci bits = _mm256_castps_si256(a);
  veci exponent = _mm256_srai_epi32(_mm256_sub_epi32(bits, _mm256_set1_epi32(0x3f3504f3)), 23);
  *mantissa = _mm256_castsi256_ps(_mm256_sub_epi32(bits, _mm256_slli_epi32(exponent, 23)));
  return _mm256_cvtepi32_ps(exponent);
}

/* Transposes 8 rows of 8: pairs, then quads within 128-bit lanes, then the lanes. */
FOVEA_INLINE void vec_transpose(vec r[LANES]) {
  vec t[LANES];
  FOVEA_UNROLL
  for (int i = 0; i < 4; i++) {
    t[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
  }
  FOVEA_UNROLL
  for (int i = 0; i < 2; i++) {
    FOVEA_UNROLL
    for (int half = 0; half < 2; half++) {
      vec a = t[4 * i + half], b = t[4 * i + 2 + half];
      r[4 * i + 2 * half] = _mm256_shuffle_ps(a, b, 0x44);
      r[4 * i + 2 * half + 1] = _mm256_shuffle_ps(a, b, 0xee);
    }
  }
  FOVEA_UNROLL
  for (int i = 0; i < 4; i++) {
    t[i] = _mm256_permute2f128_ps(r[i], r[4 + i], 0x20);
    t[4 + i] = _mm256_permute2f128_ps(r[i], r[4 + i], 0x31);
  }
  FOVEA_UNROLL
  for (int i = 0; i < LANES; i++) r[i] = t[i];
}

#endif

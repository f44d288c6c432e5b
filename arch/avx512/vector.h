/* The vector layer of AVX-512 (F and DQ): sixteen rows a vector. arch/README.md says what each function does. */
#ifndef FOVEA_ARCH_AVX512_VECTOR_H
#define FOVEA_ARCH_AVX512_VECTOR_H

#ifndef FOVEA_ISA
#define FOVEA_ISA avx512
#endif
#ifndef FOVEA_TARGET
#define FOVEA_TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,f16c")))
#endif
#include "../shared/compiler.h"

#include <immintrin.h>
#include <stdint.h>

#define LANES 16

typedef __m512 vec;
typedef __m512i veci;
typedef __mmask16 vecmask;
typedef const float *vec4;

FOVEA_INLINE __mmask16 first_lanes(int count) {
  return (__mmask16)((1u << count) - 1u);
}

FOVEA_INLINE vec vec_load(const float *p) {
  return _mm512_loadu_ps(p);
}
/* gcc repeats a load in each FMA that uses it, if these are few. The empty statement keeps it in a register. */
#ifndef __clang__
#define FOVEA_VECTOR_HOLDS_LOADS
FOVEA_INLINE vec vec_load_held(const float *p) {
  vec a = _mm512_loadu_ps(p);
  __asm__("" : "+v"(a));
  return a;
}
#endif
FOVEA_INLINE void vec_store(float *p, vec a) {
  _mm512_storeu_ps(p, a);
}
FOVEA_INLINE vec vec_load_first(const float *p, int count) {
  return _mm512_maskz_loadu_ps(first_lanes(count), p);
}
FOVEA_INLINE void vec_store_first(float *p, vec a, int count) {
  _mm512_mask_storeu_ps(p, first_lanes(count), a);
}
FOVEA_INLINE vec vec_load_f16(const uint16_t *p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
/* Without optimisation this intrinsic is a macro of gcc. gcc would warn of its mask of -1 as if it were ours. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
FOVEA_INLINE void vec_store_f16(uint16_t *p, vec a) {
  _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
#pragma GCC diagnostic pop
FOVEA_INLINE vec vec_load_bf16(const uint16_t *p) {
  __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)p));
  return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}
/* Loads pairs of bf16, one in each lane; vec_split_bf16() makes f32 of the two elements of each pair. */
FOVEA_INLINE vec vec_load_pairs(const uint16_t *p) {
  return _mm512_castsi512_ps(_mm512_loadu_si512(p));
}
FOVEA_INLINE void vec_split_bf16(vec pairs, vec *first, vec *second) {
  __m512i bits = _mm512_castps_si512(pairs);
  *first = _mm512_castsi512_ps(_mm512_slli_epi32(bits, 16));
  *second = _mm512_castsi512_ps(_mm512_and_si512(bits, _mm512_set1_epi32((int)0xffff0000u)));
}
/* VCVTNEPS2BF16 flushes subnormals, so this is integer arithmetic: adds half an ulp, less one bit if the kept part
 * is even, and truncates. */
FOVEA_INLINE void vec_store_bf16(uint16_t *p, vec a) {
  __m512i bits = _mm512_castps_si512(a);
  __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  bits = _mm512_srli_epi32(_mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff))), 16);
  _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtepi32_epi16(bits));
}
FOVEA_INLINE vec vec_round_bf16(vec a) {
  __m512i bits = _mm512_castps_si512(a);
  __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  bits = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
  return _mm512_castsi512_ps(_mm512_and_si512(bits, _mm512_set1_epi32((int)0xffff0000u)));
}
/* Of normal numbers below 2^110: adding 1.5 * 2^16 times its power of two rounds away all that bf16 lacks. */
FOVEA_INLINE vec vec_round_bf16_small(vec a) {
  const __m512 power = _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(a), _mm512_set1_epi32(0x7f800000)));
  const __m512 shift = _mm512_set1_ps(0x1.8p16f);
  return _mm512_fnmadd_ps(power, shift, _mm512_fmadd_ps(power, shift, a));
}
FOVEA_INLINE vec vec_load_s8(const int8_t *p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)));
}
FOVEA_INLINE vec vec_load_u8(const uint8_t *p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)));
}
/* Stores the lowest byte of each lane's bits. */
FOVEA_INLINE void vec_store_bytes(uint8_t *p, vec a) {
  _mm_storeu_si128((__m128i *)(void *)p, _mm512_cvtepi32_epi8(_mm512_castps_si512(a)));
}
FOVEA_INLINE __m512i vec_u8(const uint8_t *p) {
  return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
}
FOVEA_INLINE vec vec_load_u4(const uint8_t *p, int64_t first) {
  const __m512i bytes = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(const void *)(p + first / 2)));
  const __m512i both = _mm512_or_si512(bytes, _mm512_slli_epi64(bytes, 28));
  return _mm512_cvtepi32_ps(_mm512_and_si512(both, _mm512_set1_epi32(15)));
}
FOVEA_INLINE vec vec_load_low_u4(const uint8_t *p) {
  return _mm512_cvtepi32_ps(_mm512_and_si512(vec_u8(p), _mm512_set1_epi32(15)));
}
FOVEA_INLINE vec vec_load_high_u4(const uint8_t *p) {
  return _mm512_cvtepi32_ps(_mm512_srli_epi32(vec_u8(p), 4));
}
FOVEA_INLINE vec vec_load_word(const void *p) {
  return _mm512_loadu_ps(p);
}
/* Sixteen bytes of each of LANES rows, as four vectors of words. */
FOVEA_INLINE void vec_load_words(const void *const *rows, int64_t at, vec k[4]) {
  vec z[4];
  FOVEA_UNROLL
  for (int i = 0; i < 4; i++) {
    const float *p[4];
    FOVEA_UNROLL
    for (int lane = 0; lane < 4; lane++)
      p[lane] = (const float *)(const void *)((const char *)rows[i + 4 * lane] + at);
    z[i] = _mm512_castps128_ps512(_mm_loadu_ps(p[0]));
    z[i] = _mm512_insertf32x4(z[i], _mm_loadu_ps(p[1]), 1);
    z[i] = _mm512_insertf32x4(z[i], _mm_loadu_ps(p[2]), 2);
    z[i] = _mm512_insertf32x4(z[i], _mm_loadu_ps(p[3]), 3);
  }
  const __m512d low[2] = {_mm512_castps_pd(_mm512_unpacklo_ps(z[0], z[1])),
                          _mm512_castps_pd(_mm512_unpacklo_ps(z[2], z[3]))};
  const __m512d high[2] = {_mm512_castps_pd(_mm512_unpackhi_ps(z[0], z[1])),
                           _mm512_castps_pd(_mm512_unpackhi_ps(z[2], z[3]))};
  k[0] = _mm512_castpd_ps(_mm512_unpacklo_pd(low[0], low[1]));
  k[1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low[0], low[1]));
  k[2] = _mm512_castpd_ps(_mm512_unpacklo_pd(high[0], high[1]));
  k[3] = _mm512_castpd_ps(_mm512_unpackhi_pd(high[0], high[1]));
}
/* Moves the byte to the top of the word in one step. */
FOVEA_INLINE vec vec_word_s8(vec words, const int shift) {
  const char i = (char)(shift / 8);
  const __m128i order = _mm_setr_epi8(-1, -1, -1, i, -1, -1, -1, (char)(i + 4), -1, -1, -1, (char)(i + 8), -1, -1,
                                      -1, (char)(i + 12));
  return _mm512_cvtepi32_ps(_mm512_shuffle_epi8(_mm512_castps_si512(words), _mm512_broadcast_i32x4(order)));
}
/* The byte, with 128 added, becomes the last bits of 2^23. */
FOVEA_INLINE vec vec_word_signed(vec words, const int shift) {
  const char i = (char)(shift / 8);
  const __m128i order = _mm_setr_epi8(i, -1, -1, -1, (char)(i + 4), -1, -1, -1, (char)(i + 8), -1, -1, -1,
                                      (char)(i + 12), -1, -1, -1);
  const __m512i bytes = _mm512_shuffle_epi8(_mm512_castps_si512(words), _mm512_broadcast_i32x4(order));
  const __m512i sums = _mm512_xor_si512(bytes, _mm512_set1_epi32(0x4b000080));
  return _mm512_sub_ps(_mm512_castsi512_ps(sums), _mm512_set1_ps(0x1p23f + 128));
}
/* The same of dims 0 and 1, or 2 and 3, whose bytes with 128 added are the lower half of each word: they stay where they
 * lie, and become bits of 2^23 or of 2^15. Zen 4 shuffles in two of its four pipes, but does these steps in any. */
#define FOVEA_VECTOR_HALVES_WORDS
FOVEA_INLINE vec vec_word_half(vec words, const int upper) {
  return upper ? _mm512_castsi512_ps(_mm512_srli_epi32(_mm512_castps_si512(words), 16)) : words;
}
FOVEA_INLINE vec vec_half_signed(vec half, const int shift) {
  const __m512i byte = _mm512_set1_epi32(255 << shift),
                power = _mm512_set1_epi32((150 - shift) << 23 | 128 << shift);
  const __m512i sums = _mm512_ternarylogic_epi32(_mm512_castps_si512(half), byte, power, 0x6a); /* (a & b) ^ c */
  return _mm512_sub_ps(_mm512_castsi512_ps(sums), _mm512_set1_ps((float)(1 << (23 - shift)) + 128));
}
FOVEA_INLINE vec vec_word_u8(vec words, const int shift) {
  const __m512i bits = _mm512_srli_epi32(_mm512_castps_si512(words), (unsigned)shift);
  return _mm512_cvtepi32_ps(_mm512_and_si512(bits, _mm512_set1_epi32(255)));
}
FOVEA_INLINE vec vec_word_u4(vec words, const int shift) {
  const __m512i bits = _mm512_srli_epi32(_mm512_castps_si512(words), (unsigned)shift);
  return _mm512_cvtepi32_ps(_mm512_and_si512(bits, _mm512_set1_epi32(15)));
}
/* Looks up numbers in a table of sixteen by the lower four bits of lanes. */
#define FOVEA_VECTOR_LOOKS_UP
FOVEA_INLINE vec vec_look_up(vec table, vec codes) {
  return _mm512_permutexvar_ps(_mm512_castps_si512(codes), table);
}
FOVEA_INLINE vec vec_load_u4_bits(const uint8_t *p, int64_t first) {
  const __m512i bytes = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(const void *)(p + first / 2)));
  return _mm512_castsi512_ps(_mm512_or_si512(bytes, _mm512_slli_epi64(bytes, 28)));
}
FOVEA_INLINE vec vec_load_bits_of_u8(const uint8_t *p, int shift) {
  const __m512i bytes = vec_u8(p);
  return _mm512_castsi512_ps(shift ? _mm512_srli_epi32(bytes, 4) : bytes);
}
FOVEA_INLINE vec vec_word_bits(vec words, const int shift) {
  return _mm512_castsi512_ps(_mm512_srli_epi32(_mm512_castps_si512(words), (unsigned)shift));
}
/* fp8 as f16: codes of e5m2 are its upper byte, codes of e4m3 have its significand and a smaller exponent. */
FOVEA_INLINE void store_halves_e5m2(uint16_t *p, __m512i upper_bytes) {
  _mm512_storeu_si512(p, upper_bytes);
}
/* The sign was shifted into the upper bit of the exponent, too. Adding one to the fraction turns that bit over in
 * NaN only, so exclusive or leaves it set in NaN alone. */
FOVEA_INLINE void store_halves_e4m3(uint16_t *p, __m512i halves) {
  const __m512i next = _mm512_add_epi16(halves, _mm512_set1_epi16(0x80));
  _mm512_storeu_si512(p,
                      _mm512_ternarylogic_epi32(halves, next, _mm512_set1_epi16(0x4000), 0x78)); /* a ^ (b & c) */
}
FOVEA_INLINE __m512i signed_codes(const uint8_t *p) {
  return _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
/* LANES codes through f16, which has no subnormal that f32 lacks. */
FOVEA_INLINE vec vec_load_e4m3(const uint8_t *p) {
  const __m256i halves =
      _mm256_slli_epi16(_mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p)), 7);
  const __m256i next = _mm256_add_epi16(halves, _mm256_set1_epi16(0x80));
  const __m256i bits = _mm256_ternarylogic_epi32(halves, next, _mm256_set1_epi16(0x4000), 0x78);
  return _mm512_mul_ps(_mm512_cvtph_ps(bits), _mm512_set1_ps(256.0f));
}
FOVEA_INLINE vec vec_load_e5m2(const uint8_t *p) {
  const __m256i codes = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p));
  return _mm512_cvtph_ps(_mm256_slli_epi16(codes, 8));
}
FOVEA_INLINE void vec_halves_e4m3(uint16_t *to, const uint8_t *p) {
  store_halves_e4m3(to, _mm512_slli_epi16(signed_codes(p), 7));
}
FOVEA_INLINE void vec_halves_e5m2(uint16_t *to, const uint8_t *p) {
  store_halves_e5m2(to, _mm512_slli_epi16(signed_codes(p), 8));
}
/* Transposes the bytes of the words in eight lanes: first and third bytes side by side, or second and fourth. */
FOVEA_INLINE __m512i transposed_bytes(vec words) {
  const __m512i in_fours =
      _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
  const __m512i order = _mm512_setr_epi32(0, 4, 2, 6, 8, 12, 10, 14, 1, 5, 3, 7, 9, 13, 11, 15);
  return _mm512_permutexvar_epi32(order, _mm512_shuffle_epi8(_mm512_castps_si512(words), in_fours));
}
FOVEA_INLINE void vec_word_halves_e4m3(uint16_t *to, vec words) {
  const __m512i bytes = transposed_bytes(words), zero = _mm512_setzero_si512();
  store_halves_e4m3(to, _mm512_srai_epi16(_mm512_unpacklo_epi8(zero, bytes), 1));
  store_halves_e4m3(to + 2 * LANES, _mm512_srai_epi16(_mm512_unpackhi_epi8(zero, bytes), 1));
}
FOVEA_INLINE void vec_word_halves_e5m2(uint16_t *to, vec words) {
  const __m512i bytes = transposed_bytes(words), zero = _mm512_setzero_si512();
  store_halves_e5m2(to, _mm512_unpacklo_epi8(zero, bytes));
  store_halves_e5m2(to + 2 * LANES, _mm512_unpackhi_epi8(zero, bytes));
}
FOVEA_INLINE vec vec_load_bool(const uint8_t *p) {
  __m512i wide = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
  return _mm512_maskz_mov_ps(_mm512_testn_epi32_mask(wide, wide), _mm512_set1_ps(-INFINITY));
}
FOVEA_INLINE vec vec_load_bits(const uint8_t *p, int shift) {
  (void)shift; /* 0: sixteen lanes are two bytes */
  return _mm512_maskz_mov_ps((__mmask16)(0xffffu ^ (unsigned)(p[0] | p[1] << 8)), _mm512_set1_ps(-INFINITY));
}
/* The compiler does not know what comes out, so it fuses nothing with it. */
#define vec_opaque(a) __asm__("" : "+v"(a))

FOVEA_INLINE vec vec_set1(float x) {
  return _mm512_set1_ps(x);
}
FOVEA_INLINE vec vec_add(vec a, vec b) {
  return _mm512_add_ps(a, b);
}
FOVEA_INLINE vec vec_sub(vec a, vec b) {
  return _mm512_sub_ps(a, b);
}
FOVEA_INLINE vec vec_mul(vec a, vec b) {
  return _mm512_mul_ps(a, b);
}
FOVEA_INLINE vec vec_div(vec a, vec b) {
  return _mm512_div_ps(a, b);
}
FOVEA_INLINE vec vec_sqrt(vec a) {
  return _mm512_sqrt_ps(a);
}
FOVEA_INLINE vec vec_fma(vec a, vec b, vec c) {
  return _mm512_fmadd_ps(a, b, c);
}
/* VMAXPS returns its second operand if either is NaN. */
FOVEA_INLINE vec vec_max(vec a, vec b) {
  return _mm512_max_ps(a, b);
}

/* VMINPS, too, returns its second operand: NaN in b stays. */
FOVEA_INLINE vec vec_min(vec a, vec b) {
  return _mm512_min_ps(a, b);
}
FOVEA_INLINE vec vec_fnma(vec a, vec b, vec c) {
  return _mm512_fnmadd_ps(a, b, c);
}
FOVEA_INLINE vec vec_abs(vec a) {
  return _mm512_abs_ps(a);
}
FOVEA_INLINE vec vec_max_size(vec a, vec b) {
  return _mm512_castsi512_ps(_mm512_max_epu32(_mm512_castps_si512(a), _mm512_castps_si512(b)));
}
FOVEA_INLINE vec vec_copysign(vec size, vec sign) {
  __m512i bits = _mm512_ternarylogic_epi32(_mm512_castps_si512(size), _mm512_castps_si512(sign),
                                           _mm512_set1_epi32(0x7fffffff), 0xe4); /* mask 1: size, 0: sign */
  return _mm512_castsi512_ps(bits);
}
FOVEA_INLINE vec vec_flip(vec a, vec sign) {
  __m512i bits = _mm512_ternarylogic_epi32(_mm512_castps_si512(a), _mm512_castps_si512(sign),
                                           _mm512_set1_epi32((int)0x80000000u), 0x78); /* a ^ (sign & mask) */
  return _mm512_castsi512_ps(bits);
}

FOVEA_INLINE vec4 vec4_load(const float *p) {
  return p;
}
#define vec_fma_lane(a, b, lane, c) vec_fma((a), vec_set1((b)[lane]), (c))
FOVEA_INLINE vec vec_fma_number(vec a, float b, vec c) {
  return vec_fma(a, vec_set1(b), c);
}
/* A number in memory. Compilers would keep it in a register for several products, but on Zen 4 that takes one of the
 * pipes that compute, where the multiply-add reads it for nothing. */
#define FOVEA_VECTOR_READS_NUMBERS
FOVEA_INLINE vec vec_fma_at(vec a, const float *b, vec c) {
  __asm__("vfmadd231ps %2%{1to16%}, %1, %0" : "+v"(c) : "v"(a), "m"(*b));
  return c;
}

FOVEA_INLINE veci veci_load(const int32_t *p) {
  return _mm512_loadu_si512(p);
}
FOVEA_INLINE vecmask vec_seen(int32_t key, veci from, veci to) {
  veci k = _mm512_set1_epi32(key);
  return _mm512_mask_cmplt_epi32_mask(_mm512_cmple_epi32_mask(from, k), k, to);
}
FOVEA_INLINE vecmask vec_less(vec a, vec b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}
FOVEA_INLINE vecmask vec_equal(vec a, vec b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ);
}
/* One instruction: of NaN the destination, of zeros +0, of all else the source. */
#define FOVEA_VECTOR_CANONICAL
FOVEA_INLINE vec vec_canonical(vec a) {
  const vec nan = _mm512_castsi512_ps(_mm512_set1_epi32(0x7fc00000));
  return _mm512_fixupimm_ps(nan, a, _mm512_set1_epi32(0x11111800), 0);
}
FOVEA_INLINE vecmask vec_is_nan(vec a) {
  return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
}
FOVEA_INLINE vecmask vecmask_or(vecmask a, vecmask b) {
  return (vecmask)(a | b);
}
FOVEA_INLINE vecmask vecmask_and(vecmask a, vecmask b) {
  return (vecmask)(a & b);
}
FOVEA_INLINE vecmask vecmask_not(vecmask a) {
  return (vecmask)~a;
}
FOVEA_INLINE int vecmask_any(vecmask a) {
  return a != 0;
}
#define FOVEA_VECTOR_KEEPS_LANES
FOVEA_INLINE vecmask vec_above(vec a, vec b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_NLE_UQ);
}
FOVEA_INLINE veci veci_from(int32_t first) {
  const veci lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  return _mm512_add_epi32(_mm512_set1_epi32(first), lanes);
}
FOVEA_INLINE int vecmask_count(vecmask mask) {
  return __builtin_popcount(mask);
}
/* Compresses in registers: compressing stores are slow on some CPUs. */
FOVEA_INLINE int vec_keep(float *to, int32_t *keys_to, vec a, veci keys, vecmask mask) {
  _mm512_storeu_ps(to, _mm512_maskz_compress_ps(mask, a));
  _mm512_storeu_si512(keys_to, _mm512_maskz_compress_epi32(mask, keys));
  return vecmask_count(mask);
}
FOVEA_INLINE vec vec_select(vecmask mask, vec a, vec b) {
  return _mm512_mask_mov_ps(b, mask, a);
}

FOVEA_INLINE vec vec_exponent_from_low_bits(vec a) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(a), 23));
}
FOVEA_INLINE veci vec_quarter(vec a) {
  return _mm512_srli_epi32(_mm512_castps_si512(a), 21);
}
/* VPERMPS takes the low four bits of an index. */
FOVEA_INLINE vec vec_pick(const float table[16], veci quarter) {
  return _mm512_permutexvar_ps(quarter, _mm512_loadu_ps(table));
}
FOVEA_INLINE vec vec_swap(vec a, const int distance) {
  switch (distance) {
  case 8:
    return _mm512_shuffle_f32x4(a, a, 0x4e);
  case 4:
    return _mm512_shuffle_f32x4(a, a, 0xb1);
  case 2:
    return _mm512_permute_ps(a, 0x4e);
  default:
    return _mm512_permute_ps(a, 0xb1);
  }
}
/* VREDUCEPS and VSCALEFPS replace five instructions of the portable 2^x. */
#define FOVEA_VECTOR_HAS_SCALEF
FOVEA_INLINE vec vec_fraction(vec x) {
  return _mm512_reduce_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
FOVEA_INLINE vec vec_scalef_unless_less(vec x, vec limit, vec mantissa, vec exponent) {
  return _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(x, limit, _CMP_NLT_UQ), mantissa, exponent);
}

FOVEA_INLINE vec vec_split_power(vec a, vec *mantissa) {
  veci bits = _mm512_castps_si512(a);
  veci exponent = _mm512_srai_epi32(_mm512_sub_epi32(bits, _mm512_set1_epi32(0x3f3504f3)), 23);
  *mantissa = _mm512_castsi512_ps(_mm512_sub_epi32(bits, _mm512_slli_epi32(exponent, 23)));
  return _mm512_cvtepi32_ps(exponent);
}

/* Loads eight elements or pairs from each of two rows: a load into half of a vector takes no shuffle. */
#define FOVEA_VECTOR_TRANSPOSES_HALVES
FOVEA_INLINE vec vec_load_halves(const void *low, const void *high) {
  __m256d first = _mm256_loadu_pd(low), second = _mm256_loadu_pd(high);
  return _mm512_castpd_ps(_mm512_insertf64x4(_mm512_castpd256_pd512(first), second, 1));
}
FOVEA_INLINE vec vec_load_halves_f16(const void *low, const void *high) {
  __m128i first = _mm_loadu_si128(low), second = _mm_loadu_si128(high);
  return _mm512_cvtph_ps(_mm256_inserti128_si256(_mm256_castsi128_si256(first), second, 1));
}
/* Transposes 16 rows of 8. k[i] holds rows r and r + 4 with r = i / 4 * 8 + i % 4. Transposes pairs, then quads
 * within 128-bit lanes, then the lanes. */
FOVEA_INLINE void vec_transpose_halves(vec k[LANES / 2]) {
  __m512d t[LANES / 2];
  FOVEA_UNROLL
  for (int i = 0; i < 4; i++) {
    t[2 * i] = _mm512_castps_pd(_mm512_unpacklo_ps(k[2 * i], k[2 * i + 1]));
    t[2 * i + 1] = _mm512_castps_pd(_mm512_unpackhi_ps(k[2 * i], k[2 * i + 1]));
  }
  FOVEA_UNROLL
  for (int i = 0; i < 2; i++) {
    vec a = _mm512_castpd_ps(_mm512_unpacklo_pd(t[i], t[2 + i]));
    vec b = _mm512_castpd_ps(_mm512_unpackhi_pd(t[i], t[2 + i]));
    vec c = _mm512_castpd_ps(_mm512_unpacklo_pd(t[4 + i], t[6 + i]));
    vec d = _mm512_castpd_ps(_mm512_unpackhi_pd(t[4 + i], t[6 + i]));
    k[2 * i] = _mm512_shuffle_f32x4(a, c, 0x88);
    k[2 * i + 1] = _mm512_shuffle_f32x4(b, d, 0x88);
    k[2 * i + 4] = _mm512_shuffle_f32x4(a, c, 0xdd);
    k[2 * i + 5] = _mm512_shuffle_f32x4(b, d, 0xdd);
  }
}

/* Transposes 16 rows of 16: pairs, then quads within 128-bit lanes, then the lanes. */
FOVEA_INLINE void vec_transpose(vec r[LANES]) {
  vec t[LANES];
  FOVEA_UNROLL
  for (int i = 0; i < 8; i++) {
    t[2 * i] = _mm512_unpacklo_ps(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm512_unpackhi_ps(r[2 * i], r[2 * i + 1]);
  }
  FOVEA_UNROLL
  for (int i = 0; i < 4; i++) {
    FOVEA_UNROLL
    for (int half = 0; half < 2; half++) {
      __m512d a = _mm512_castps_pd(t[4 * i + half]), b = _mm512_castps_pd(t[4 * i + 2 + half]);
      r[4 * i + 2 * half] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
      r[4 * i + 2 * half + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
    }
  }
  FOVEA_UNROLL
  for (int i = 0; i < 4; i++) {
    t[i] = _mm512_shuffle_f32x4(r[i], r[4 + i], 0x88);
    t[4 + i] = _mm512_shuffle_f32x4(r[i], r[4 + i], 0xdd);
    t[8 + i] = _mm512_shuffle_f32x4(r[8 + i], r[12 + i], 0x88);
    t[12 + i] = _mm512_shuffle_f32x4(r[8 + i], r[12 + i], 0xdd);
  }
  FOVEA_UNROLL
  for (int i = 0; i < 4; i++) {
    r[i] = _mm512_shuffle_f32x4(t[i], t[8 + i], 0x88);
    r[4 + i] = _mm512_shuffle_f32x4(t[4 + i], t[12 + i], 0x88);
    r[8 + i] = _mm512_shuffle_f32x4(t[i], t[8 + i], 0xdd);
    r[12 + i] = _mm512_shuffle_f32x4(t[4 + i], t[12 + i], 0xdd);
  }
}

#endif

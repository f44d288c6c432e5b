/* Products of bf16 by VDPBF16PS: two roundings for two products, as by two FMAs, the odd element first. The
 * instruction treats subnormals as zeros, in operands and results. Neither arises if every element is zero or at
 * least 2^-50: then products are multiples of 2^-114, and so are their sums. */
#ifndef FOVEA_ARCH_AVX512_BF16_PAIR_LAYER_H
#define FOVEA_ARCH_AVX512_BF16_PAIR_LAYER_H

#define FOVEA_TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx512bf16,avx2,fma,f16c")))
#include "../avx512/vector.h"

#include <string.h>

#define FOVEA_PAIR_TYPE        FOVEA_BF16
#define FOVEA_PAIR_INSTRUCTION "VDPBF16PS"

typedef const uint16_t *pair4;

FOVEA_INLINE pair4 pair4_load(const uint16_t *p) {
  return p;
}
FOVEA_INLINE vec vec_pair(vec q, uint32_t pair, vec sum) {
  __m512i k = _mm512_set1_epi32((int)pair);
  return _mm512_dpbf16_ps(sum, (__m512bh)_mm512_castps_si512(q), (__m512bh)k);
}
FOVEA_INLINE vec vec_pair_lane(vec q, pair4 k, int lane, vec sum) {
  uint32_t pair;
  memcpy(&pair, k + 2 * lane, sizeof pair);
  return vec_pair(q, pair, sum);
}
/* vec_pair() for a pair in the bits of a number. */
FOVEA_INLINE vec vec_pair_word(vec q, float word, vec sum) {
  return _mm512_dpbf16_ps(sum, (__m512bh)_mm512_castps_si512(q), (__m512bh)_mm512_castps_si512(vec_set1(word)));
}
/* Both rounded to bf16 in a word, the first above. Subnormals become zeros. */
FOVEA_INLINE vec vec_pair_round(vec above, vec below) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                                         21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  const __m512i rounded = (__m512i)_mm512_cvtne2ps_pbh(above, below);
  return _mm512_castsi512_ps(_mm512_permutexvar_epi16(order, rounded));
}
/* The elements of a words that are at least 2^-56 in magnitude; others are 0. */
FOVEA_INLINE vec vec_pair_without_small(vec words) {
  __m512i size = _mm512_and_si512(_mm512_castps_si512(words), _mm512_set1_epi16(0x7fff));
  __mmask32 large = _mm512_cmpge_epu16_mask(size, _mm512_set1_epi16((127 - 56) << 7));
  return _mm512_castsi512_ps(_mm512_maskz_mov_epi16(large, _mm512_castps_si512(words)));
}
/* Elements that are not finite become 0, and set *lost. */
FOVEA_INLINE vec vec_pair_finite(vec words, int *lost) {
  __m512i size = _mm512_and_si512(_mm512_castps_si512(words), _mm512_set1_epi16(0x7fff));
  __mmask32 finite = _mm512_cmplt_epu16_mask(size, _mm512_set1_epi16(0x7f80));
  *lost |= finite != 0xffffffffu;
  return _mm512_castsi512_ps(_mm512_maskz_mov_epi16(finite, _mm512_castps_si512(words)));
}
/* Stores LANES elements, rounded to bf16 and 0 below 2^-56, each four in the order 2, 0, 3, 1. */
FOVEA_INLINE void vec_store_fours(uint16_t *p, vec a) {
  const __m256i order =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(4, 5, 0, 1, 6, 7, 2, 3, 12, 13, 8, 9, 14, 15, 10, 11));
  __m256i rounded = (__m256i)_mm512_cvtneps_pbh(a);
  __m256i size = _mm256_and_si256(rounded, _mm256_set1_epi16(0x7fff));
  __mmask16 large = _mm256_cmpge_epu16_mask(size, _mm256_set1_epi16((127 - 56) << 7));
  _mm256_storeu_si256((__m256i *)(void *)p, _mm256_shuffle_epi8(_mm256_maskz_mov_epi16(large, rounded), order));
}
/* Of pairs (0, 1) and (2, 3), the first below: pairs (2, 0) and (3, 1). */
FOVEA_INLINE vec vec_pair_even(vec first, vec second) {
  const __m512i above = _mm512_slli_epi32(_mm512_castps_si512(first), 16);
  return _mm512_castsi512_ps(_mm512_mask_mov_epi16(_mm512_castps_si512(second), 0xaaaaaaaa, above));
}
FOVEA_INLINE vec vec_pair_odd(vec first, vec second) {
  const __m512i below = _mm512_srli_epi32(_mm512_castps_si512(second), 16);
  return _mm512_castsi512_ps(_mm512_mask_mov_epi16(_mm512_castps_si512(first), 0x55555555, below));
}
FOVEA_INLINE vec vec_pair_arrange(vec pairs) {
  return pairs;
}
/* Safe: every element is zero or has at least the exponent of 2^-50. */
FOVEA_INLINE int pair_elements_safe(const uint16_t *p) {
  __m512i size = _mm512_and_si512(_mm512_loadu_si512(p), _mm512_set1_epi16(0x7fff));
  __m512i less_one = _mm512_sub_epi16(size, _mm512_set1_epi16(1));
  return _mm512_cmplt_epu16_mask(less_one, _mm512_set1_epi16(((127 - 50) << 7) - 1)) == 0;
}

#endif

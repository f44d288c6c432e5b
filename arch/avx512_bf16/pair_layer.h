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
/* The same for pairs in every lane of k. */
FOVEA_INLINE vec vec_pair_words(vec q, vec k, vec sum) {
  return _mm512_dpbf16_ps(sum, (__m512bh)_mm512_castps_si512(q), (__m512bh)_mm512_castps_si512(k));
}
/* Pairs of two numbers that bf16 has. */
FOVEA_INLINE vec vec_join_bf16(vec first, vec second) {
  __m512i below = _mm512_srli_epi32(_mm512_castps_si512(first), 16);
  return _mm512_castsi512_ps(_mm512_or_si512(_mm512_castps_si512(second), below));
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

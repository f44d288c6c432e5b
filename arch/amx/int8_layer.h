/* Words of four codes for int8 on AMX, as shared/int8_products.h wants them for what all sets share. */
#ifndef FOVEA_ARCH_AMX_INT8_LAYER_H
#define FOVEA_ARCH_AMX_INT8_LAYER_H

#define INT8_CODES         4
#define INT8_KEYS_OFFSET   0
#define INT8_VALUES_OFFSET 0
#define INT8_CHAINS        16

/* Bits of `low` where the mask has 1, else of `high`. */
FOVEA_INLINE __m512i int8_choose(__m512i low, __m512i high, int mask) {
  return _mm512_ternarylogic_epi32(low, high, _mm512_set1_epi32(mask), 0xe4);
}
FOVEA_INLINE vec int8_word(const vec codes[4]) {
  const __m512i low =
      int8_choose(_mm512_castps_si512(codes[0]), _mm512_slli_epi32(_mm512_castps_si512(codes[1]), 8), 0xff);
  const __m512i high =
      int8_choose(_mm512_castps_si512(codes[2]), _mm512_slli_epi32(_mm512_castps_si512(codes[3]), 8), 0xff);
  return _mm512_castsi512_ps(int8_choose(low, _mm512_slli_epi32(high, 16), 0xffff));
}

#endif

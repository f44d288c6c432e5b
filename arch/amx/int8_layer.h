/* Words of four codes for int8 on AMX, as shared/int8_products.h wants them for what all sets share. */
#ifndef FOVEA_ARCH_AMX_INT8_LAYER_H
#define FOVEA_ARCH_AMX_INT8_LAYER_H

#define INT8_CODES         4
#define INT8_KEYS_OFFSET   0
#define INT8_VALUES_OFFSET 0
#define INT8_CHAINS        8

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

/* What packing twice made of four vectors, four bytes of each in each 128 bits, with byte i from vector i. */
FOVEA_INLINE __m512i int8_in_words(__m512i bytes) {
  const __m128i order = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return _mm512_shuffle_epi8(bytes, _mm512_broadcast_i32x4(order));
}

/* Packing saturates to 255: 8 instructions for four vectors, not 14. */
#define INT8_HAS_WEIGHT_WORD
FOVEA_INLINE vec int8_weight_word(const vec weights[4]) {
  const __m512i low = _mm512_packus_epi32(_mm512_cvtps_epi32(weights[0]), _mm512_cvtps_epi32(weights[1]));
  const __m512i high = _mm512_packus_epi32(_mm512_cvtps_epi32(weights[2]), _mm512_cvtps_epi32(weights[3]));
  return _mm512_castsi512_ps(int8_in_words(_mm512_packus_epi16(low, high)));
}

#endif

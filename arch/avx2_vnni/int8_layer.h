/* int8 by VPDPBUSD of AVX-VNNI, which multiplies unsigned bytes by signed ones: words of four codes.
 * shared/int8_products.h says what each function does. */
#ifndef FOVEA_ARCH_AVX2_VNNI_INT8_LAYER_H
#define FOVEA_ARCH_AVX2_VNNI_INT8_LAYER_H

#define INT8_CODES         4
#define INT8_INSTRUCTION   "VPDPBUSD"
#define INT8_KEYS_OFFSET   128
#define INT8_VALUES_OFFSET 0
#define INT8_MANY          4
#define INT8_OF_ONE        8
#define INT8_CHAINS        4

typedef __m256i int8_sum;

FOVEA_INLINE int8_sum int8_start(vec x) {
  return _mm256_cvtps_epi32(x);
}
FOVEA_INLINE int8_sum int8_add_keys(vec x, vec y, int8_sum sum) {
  return _mm256_dpbusd_avx_epi32(sum, _mm256_castps_si256(y), _mm256_castps_si256(x));
}
FOVEA_INLINE int8_sum int8_add_values(vec x, vec y, int8_sum sum) {
  return _mm256_dpbusd_avx_epi32(sum, _mm256_castps_si256(x), _mm256_castps_si256(y));
}
FOVEA_INLINE vec int8_number(int8_sum sum) {
  return _mm256_cvtepi32_ps(sum);
}
FOVEA_INLINE vec int8_word(const vec codes[4]) {
  const __m256i bytes = _mm256_set1_epi16(0xff);
  const __m256i low =
      _mm256_blend_epi16(_mm256_castps_si256(codes[0]), _mm256_slli_epi32(_mm256_castps_si256(codes[2]), 16), 0xaa);
  const __m256i high =
      _mm256_blend_epi16(_mm256_castps_si256(codes[1]), _mm256_slli_epi32(_mm256_castps_si256(codes[3]), 16), 0xaa);
  return _mm256_castsi256_ps(_mm256_or_si256(_mm256_and_si256(low, bytes), _mm256_slli_epi16(high, 8)));
}
FOVEA_INLINE void int8_store(float *p, int64_t d, vec codes) {
  vec_store_bytes((uint8_t *)(void *)p + d, codes);
}

#endif

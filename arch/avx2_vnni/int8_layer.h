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

#define INT8_DECODE_ROWS       4
#define INT8_DECODE_VALUE_ROWS 2

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

FOVEA_INLINE vec int8_load_row(const int8_t *codes) {
  return _mm256_loadu_ps((const float *)(const void *)codes);
}
FOVEA_INLINE void int8_panel_words(const void *p, vec x[1]) {
  x[0] = vec_load_word(p);
}
FOVEA_INLINE vec int8_offset(vec words) {
  return _mm256_castsi256_ps(_mm256_xor_si256(_mm256_castps_si256(words), _mm256_set1_epi8((char)0x80)));
}
/* Unpacking works within 128 bits, so that a vector has four dims of each half of the row. */
FOVEA_INLINE void int8_words_of_dims(vec x[4]) {
  const __m256i k[4] = {_mm256_castps_si256(x[0]), _mm256_castps_si256(x[1]), _mm256_castps_si256(x[2]),
                        _mm256_castps_si256(x[3])};
  const __m256i low[2] = {_mm256_unpacklo_epi8(k[0], k[1]), _mm256_unpacklo_epi8(k[2], k[3])};
  const __m256i high[2] = {_mm256_unpackhi_epi8(k[0], k[1]), _mm256_unpackhi_epi8(k[2], k[3])};
  x[0] = _mm256_castsi256_ps(_mm256_unpacklo_epi16(low[0], low[1]));
  x[1] = _mm256_castsi256_ps(_mm256_unpackhi_epi16(low[0], low[1]));
  x[2] = _mm256_castsi256_ps(_mm256_unpacklo_epi16(high[0], high[1]));
  x[3] = _mm256_castsi256_ps(_mm256_unpackhi_epi16(high[0], high[1]));
}
/* Halves of pairs of vectors, transposed. */
FOVEA_INLINE void int8_sums_in_order(int8_sum sum[4]) {
  const __m256i low[2] = {sum[0], sum[2]}, high[2] = {sum[1], sum[3]};
  FOVEA_UNROLL
  for (int i = 0; i < 2; i++) {
    sum[i] = _mm256_permute2x128_si256(low[i], high[i], 0x20);
    sum[2 + i] = _mm256_permute2x128_si256(low[i], high[i], 0x31);
  }
}

#endif

/* int8 by VPMADDWD: words of two codes. shared/int8_products.h says what each function does. */
#ifndef FOVEA_ARCH_AVX2_INT8_LAYER_H
#define FOVEA_ARCH_AVX2_INT8_LAYER_H

#include "vector.h"

#define INT8_CODES         2
#define INT8_INSTRUCTION   "VPMADDWD"
#define INT8_KEYS_OFFSET   0
#define INT8_VALUES_OFFSET 0
#define INT8_MANY          3
#define INT8_OF_ONE        8
#define INT8_CHAINS        4

#define INT8_DECODE_ROWS       4
#define INT8_DECODE_VALUE_ROWS 4

typedef __m256i int8_sum;

FOVEA_INLINE int8_sum int8_start(vec x) {
  return _mm256_cvtps_epi32(x);
}
FOVEA_INLINE int8_sum int8_add_keys(vec x, vec y, int8_sum sum) {
  return _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_castps_si256(x), _mm256_castps_si256(y)));
}
FOVEA_INLINE int8_sum int8_add_values(vec x, vec y, int8_sum sum) {
  return int8_add_keys(x, y, sum);
}
FOVEA_INLINE vec int8_number(int8_sum sum) {
  return _mm256_cvtepi32_ps(sum);
}
FOVEA_INLINE vec int8_word(const vec codes[2]) {
  const __m256i above = _mm256_slli_epi32(_mm256_castps_si256(codes[1]), 16);
  return _mm256_castsi256_ps(_mm256_blend_epi16(_mm256_castps_si256(codes[0]), above, 0xaa));
}
FOVEA_INLINE void int8_store(float *p, int64_t d, vec codes) {
  const __m256i low = _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1, 0, 1, 4, 5, 8, 9,
                                       12, 13, -1, -1, -1, -1, -1, -1, -1, -1);
  const __m256i fours = _mm256_shuffle_epi8(_mm256_castps_si256(codes), low);
  _mm_storeu_si128((__m128i *)(void *)((int16_t *)(void *)p + d),
                   _mm256_castsi256_si128(_mm256_permute4x64_epi64(fours, 0x08)));
}

FOVEA_INLINE vec int8_load_row(const int8_t *codes) {
  return _mm256_castsi256_ps(_mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)codes)));
}
/* Codes 0 and 1, then 2 and 3. */
FOVEA_INLINE void int8_panel_words(const void *p, vec x[2]) {
  const __m256i words = _mm256_loadu_si256((const __m256i *)p);
  const __m256i even = _mm256_srai_epi16(_mm256_slli_epi16(words, 8), 8), odd = _mm256_srai_epi16(words, 8);
  x[0] = _mm256_castsi256_ps(_mm256_blend_epi16(even, _mm256_slli_epi32(odd, 16), 0xaa));
  x[1] = _mm256_castsi256_ps(_mm256_blend_epi16(_mm256_srli_epi32(even, 16), odd, 0xaa));
}
/* Unpacking works within 128 bits, so that a vector has four dims of each eight of the row. */
FOVEA_INLINE void int8_words_of_dims(vec x[2]) {
  const __m256i low = _mm256_unpacklo_epi16(_mm256_castps_si256(x[0]), _mm256_castps_si256(x[1]));
  x[1] = _mm256_castsi256_ps(_mm256_unpackhi_epi16(_mm256_castps_si256(x[0]), _mm256_castps_si256(x[1])));
  x[0] = _mm256_castsi256_ps(low);
}
/* Halves of two vectors. */
FOVEA_INLINE void int8_sums_in_order(int8_sum sum[2]) {
  const __m256i low = _mm256_permute2x128_si256(sum[0], sum[1], 0x20);
  sum[1] = _mm256_permute2x128_si256(sum[0], sum[1], 0x31);
  sum[0] = low;
}

#endif

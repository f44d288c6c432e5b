/* int8 by VPMADDWD: words of two codes. shared/int8_products.h says what each function does. */
#ifndef FOVEA_ARCH_AVX512_INT8_LAYER_H
#define FOVEA_ARCH_AVX512_INT8_LAYER_H

#include "vector.h"

#define INT8_CODES         2
#define INT8_INSTRUCTION   "VPMADDWD"
#define INT8_KEYS_OFFSET   0
#define INT8_VALUES_OFFSET 0
#define INT8_MANY          6
#define INT8_OF_ONE        8
#define INT8_CHAINS        16

#define INT8_DECODE_ROWS       4
#define INT8_DECODE_VALUE_ROWS 4

typedef __m512i int8_sum;

FOVEA_INLINE int8_sum int8_start(vec x) {
  return _mm512_cvtps_epi32(x);
}
FOVEA_INLINE int8_sum int8_add_keys(vec x, vec y, int8_sum sum) {
  return _mm512_add_epi32(sum, _mm512_madd_epi16(_mm512_castps_si512(x), _mm512_castps_si512(y)));
}
FOVEA_INLINE int8_sum int8_add_values(vec x, vec y, int8_sum sum) {
  return int8_add_keys(x, y, sum);
}
FOVEA_INLINE vec int8_number(int8_sum sum) {
  return _mm512_cvtepi32_ps(sum);
}
FOVEA_INLINE vec int8_word(const vec codes[2]) {
  const __m512i above = _mm512_slli_epi32(_mm512_castps_si512(codes[1]), 16);
  return _mm512_castsi512_ps(_mm512_mask_mov_epi16(_mm512_castps_si512(codes[0]), 0xaaaaaaaau, above));
}
FOVEA_INLINE void int8_store(float *p, int64_t d, vec codes) {
  _mm256_storeu_si256((__m256i *)(void *)((int16_t *)(void *)p + d),
                      _mm512_cvtepi32_epi16(_mm512_castps_si512(codes)));
}

FOVEA_INLINE vec int8_load_row(const int8_t *codes) {
  return _mm512_castsi512_ps(_mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)codes)));
}
/* Codes 0 and 1, then 2 and 3. */
FOVEA_INLINE void int8_panel_words(const void *p, vec x[2]) {
  const __m512i words = _mm512_loadu_si512(p);
  const __m512i even = _mm512_srai_epi16(_mm512_slli_epi16(words, 8), 8), odd = _mm512_srai_epi16(words, 8);
  x[0] = _mm512_castsi512_ps(_mm512_mask_blend_epi16(0xaaaaaaaa, even, _mm512_slli_epi32(odd, 16)));
  x[1] = _mm512_castsi512_ps(_mm512_mask_blend_epi16(0xaaaaaaaa, _mm512_srli_epi32(even, 16), odd));
}
/* Unpacking works within 128 bits, so that a vector has four dims of each eight of the row. */
FOVEA_INLINE void int8_words_of_dims(vec x[2]) {
  const __m512i low = _mm512_unpacklo_epi16(_mm512_castps_si512(x[0]), _mm512_castps_si512(x[1]));
  x[1] = _mm512_castsi512_ps(_mm512_unpackhi_epi16(_mm512_castps_si512(x[0]), _mm512_castps_si512(x[1])));
  x[0] = _mm512_castsi512_ps(low);
}
/* Quarters of two vectors. */
FOVEA_INLINE void int8_sums_in_order(int8_sum sum[2]) {
  const __m512i low = _mm512_shuffle_i32x4(sum[0], sum[1], 0x44), high = _mm512_shuffle_i32x4(sum[0], sum[1], 0xee);
  sum[0] = _mm512_shuffle_i32x4(low, low, 0xd8);
  sum[1] = _mm512_shuffle_i32x4(high, high, 0xd8);
}

#endif

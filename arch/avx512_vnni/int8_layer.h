/* int8 by VPDPBUSD, which multiplies unsigned bytes by signed ones: words of four codes.
 * shared/int8_products.h says what each function does. */
#ifndef FOVEA_ARCH_AVX512_VNNI_INT8_LAYER_H
#define FOVEA_ARCH_AVX512_VNNI_INT8_LAYER_H

#define INT8_CODES         4
#define INT8_INSTRUCTION   "VPDPBUSD"
#define INT8_KEYS_OFFSET   128
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
  return _mm512_dpbusd_epi32(sum, _mm512_castps_si512(y), _mm512_castps_si512(x));
}
FOVEA_INLINE int8_sum int8_add_values(vec x, vec y, int8_sum sum) {
  return _mm512_dpbusd_epi32(sum, _mm512_castps_si512(x), _mm512_castps_si512(y));
}
FOVEA_INLINE vec int8_number(int8_sum sum) {
  return _mm512_cvtepi32_ps(sum);
}
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
FOVEA_INLINE void int8_store(float *p, int64_t d, vec codes) {
  vec_store_bytes((uint8_t *)(void *)p + d, codes);
}

FOVEA_INLINE vec int8_load_row(const int8_t *codes) {
  return _mm512_castsi512_ps(_mm512_loadu_si512(codes));
}
FOVEA_INLINE void int8_panel_words(const void *p, vec x[1]) {
  x[0] = vec_load_word(p);
}
FOVEA_INLINE vec int8_offset(vec words) {
  return _mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(words), _mm512_set1_epi8((char)0x80)));
}
/* Unpacking works within 128 bits, so that a vector has four dims of each quarter of the row. */
FOVEA_INLINE void int8_words_of_dims(vec x[4]) {
  const __m512i k[4] = {_mm512_castps_si512(x[0]), _mm512_castps_si512(x[1]), _mm512_castps_si512(x[2]),
                        _mm512_castps_si512(x[3])};
  const __m512i low[2] = {_mm512_unpacklo_epi8(k[0], k[1]), _mm512_unpacklo_epi8(k[2], k[3])};
  const __m512i high[2] = {_mm512_unpackhi_epi8(k[0], k[1]), _mm512_unpackhi_epi8(k[2], k[3])};
  x[0] = _mm512_castsi512_ps(_mm512_unpacklo_epi16(low[0], low[1]));
  x[1] = _mm512_castsi512_ps(_mm512_unpackhi_epi16(low[0], low[1]));
  x[2] = _mm512_castsi512_ps(_mm512_unpacklo_epi16(high[0], high[1]));
  x[3] = _mm512_castsi512_ps(_mm512_unpackhi_epi16(high[0], high[1]));
}
/* Quarters of four vectors, transposed. */
FOVEA_INLINE void int8_sums_in_order(int8_sum sum[4]) {
  const __m512i even[2] = {_mm512_shuffle_i32x4(sum[0], sum[1], 0x88), _mm512_shuffle_i32x4(sum[2], sum[3], 0x88)};
  const __m512i odd[2] = {_mm512_shuffle_i32x4(sum[0], sum[1], 0xdd), _mm512_shuffle_i32x4(sum[2], sum[3], 0xdd)};
  sum[0] = _mm512_shuffle_i32x4(even[0], even[1], 0x88);
  sum[1] = _mm512_shuffle_i32x4(odd[0], odd[1], 0x88);
  sum[2] = _mm512_shuffle_i32x4(even[0], even[1], 0xdd);
  sum[3] = _mm512_shuffle_i32x4(odd[0], odd[1], 0xdd);
}

#define INT8_COPIES 64
FOVEA_INLINE void int8_copy_key(float *p, const int8_t *codes) {
  vec_store(p, int8_offset(int8_load_row(codes)));
}
FOVEA_INLINE void int8_copy_word(float *p, const int8_t *codes, int64_t stride) {
  vec x[4];
  FOVEA_UNROLL
  for (int i = 0; i < 4; i++) x[i] = int8_load_row(codes + i * stride);
  int8_words_of_dims(x);
  FOVEA_UNROLL
  for (int i = 0; i < 4; i++) {
    _mm_storeu_ps(p + 4 * i, _mm512_castps512_ps128(x[i]));
    _mm_storeu_ps(p + 16 + 4 * i, _mm512_extractf32x4_ps(x[i], 1));
    _mm_storeu_ps(p + 32 + 4 * i, _mm512_extractf32x4_ps(x[i], 2));
    _mm_storeu_ps(p + 48 + 4 * i, _mm512_extractf32x4_ps(x[i], 3));
  }
}

#endif

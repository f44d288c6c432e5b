/* Sums of sixteen outputs, and codes of 4 bits, for products of codes by AVX-512 (shared/nn/products.h). */
#ifndef FOVEA_ARCH_AVX512_NN_PRODUCTS_SUMS_H
#define FOVEA_ARCH_AVX512_NN_PRODUCTS_SUMS_H

#include "../vector.h"

#include <string.h>

typedef __m512i int8_sum;

FOVEA_INLINE int8_sum int8_set1(int32_t x) {
  return _mm512_set1_epi32(x);
}
FOVEA_INLINE int8_sum int8_load(const int32_t *p) {
  return _mm512_loadu_si512(p);
}
FOVEA_INLINE void int8_store(int32_t *p, int8_sum sum) {
  _mm512_storeu_si512(p, sum);
}
FOVEA_INLINE int8_sum int8_plus(int8_sum a, int8_sum b) {
  return _mm512_add_epi32(a, b);
}
FOVEA_INLINE int8_sum int8_negative(int8_sum sum) {
  return _mm512_sub_epi32(_mm512_setzero_si512(), sum);
}
FOVEA_INLINE vec int8_float(int8_sum sum) {
  return _mm512_cvtepi32_ps(sum);
}

typedef __m512i int8_values;
typedef __m512i int8_table;

FOVEA_INLINE int8_values int8_values_at(const void *p) {
  return _mm512_loadu_si512(p);
}
FOVEA_INLINE int8_table int8_table_of(const int8_t *values) {
  return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)values));
}
FOVEA_INLINE void int8_look_up(const void *p, int8_table table, int8_values to[2]) {
  const __m512i codes = _mm512_loadu_si512(p), low = _mm512_set1_epi8(15);
  to[0] = _mm512_shuffle_epi8(table, _mm512_and_si512(codes, low));
  to[1] = _mm512_shuffle_epi8(table, _mm512_and_si512(_mm512_srli_epi16(codes, 4), low));
}

#define INT8_WIDEN
FOVEA_INLINE void int8_widen(const uint8_t *from, const int8_t *values, uint8_t *to) {
  int8_values words[2];
  int8_look_up(from, int8_table_of(values), words);
  _mm512_storeu_si512(to, words[0]);
  _mm512_storeu_si512(to + 64, words[1]);
}

#endif

/* Sums of eight outputs, and codes of 4 bits, for products of codes by AVX2 (shared/nn/products.h). */
#ifndef FOVEA_ARCH_AVX2_NN_PRODUCTS_SUMS_H
#define FOVEA_ARCH_AVX2_NN_PRODUCTS_SUMS_H

#include "../vector.h"

#include <string.h>

typedef __m256i int8_sum;

FOVEA_INLINE int8_sum int8_set1(int32_t x) {
  return _mm256_set1_epi32(x);
}
FOVEA_INLINE int8_sum int8_load(const int32_t *p) {
  return _mm256_loadu_si256((const __m256i *)(const void *)p);
}
FOVEA_INLINE void int8_store(int32_t *p, int8_sum sum) {
  _mm256_storeu_si256((__m256i *)(void *)p, sum);
}
FOVEA_INLINE int8_sum int8_plus(int8_sum a, int8_sum b) {
  return _mm256_add_epi32(a, b);
}
FOVEA_INLINE int8_sum int8_negative(int8_sum sum) {
  return _mm256_sub_epi32(_mm256_setzero_si256(), sum);
}
FOVEA_INLINE vec int8_float(int8_sum sum) {
  return _mm256_cvtepi32_ps(sum);
}

typedef __m256i int8_values;
typedef __m256i int8_table;

FOVEA_INLINE int8_values int8_values_at(const void *p) {
  return _mm256_loadu_si256((const __m256i *)p);
}
FOVEA_INLINE int8_table int8_table_of(const int8_t *values) {
  return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)values));
}
FOVEA_INLINE void int8_look_up(const void *p, int8_table table, int8_values to[2]) {
  const __m256i codes = int8_values_at(p), low = _mm256_set1_epi8(15);
  to[0] = _mm256_shuffle_epi8(table, _mm256_and_si256(codes, low));
  to[1] = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(codes, 4), low));
}

#define INT8_WIDEN
FOVEA_INLINE void int8_widen(const uint8_t *from, const int8_t *values, uint8_t *to) {
  const int8_table table = int8_table_of(values);
  FOVEA_UNROLL
  for (int i = 0; i < 2; i++) {
    int8_values words[2];
    int8_look_up(from + 32 * i, table, words);
    _mm256_storeu_si256((__m256i *)(void *)(to + 32 * i), words[0]);
    _mm256_storeu_si256((__m256i *)(void *)(to + 64 + 32 * i), words[1]);
  }
}

#endif

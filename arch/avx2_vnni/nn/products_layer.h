/* Products of codes by VPDPBUSD of AVX-VNNI, which multiplies unsigned bytes by signed ones: codes of x have 128 added.
 * shared/nn/products.h says what each function does. */
#ifndef FOVEA_ARCH_AVX2_VNNI_NN_PRODUCTS_LAYER_H
#define FOVEA_ARCH_AVX2_VNNI_NN_PRODUCTS_LAYER_H

#include "../../avx2/nn/products_sums.h"

#define INT8_WORD_BYTES 4
#define INT8_OFFSET     128

/* Six rows beside a panel: twelve sums, two words of weights and one of x take 15 of 16 registers. */
#define FOVEA_NN_INT8_VECTORS     2
#define FOVEA_NN_INT8_TILE_ROWS   6
#define FOVEA_NN_INT8_ROW_STEP    2
#define FOVEA_NN_INT8_TILES(TILE) TILE(2) TILE(4) TILE(6)

typedef __m256i int8_weights;
typedef __m256i int8_scalars;

FOVEA_INLINE void int8_pack(const uint8_t *codes, void *to) {
  memcpy(to, codes, INT8_WORD_BYTES);
}
FOVEA_INLINE int8_weights int8_place(const void *p) {
  __m256i words = _mm256_loadu_si256((const __m256i *)p);
#ifndef __clang__
  __asm__("" : "+x"(words)); /* gcc would load it again for each row */
#endif
  return words;
}
FOVEA_INLINE int8_scalars int8_spread(const void *p) {
  int word;
  memcpy(&word, p, sizeof word);
  return _mm256_set1_epi32(word);
}
FOVEA_INLINE int8_sum int8_add(int8_sum sum, int8_weights w, int8_scalars x) {
  return _mm256_dpbusd_avx_epi32(sum, x, w);
}

#define INT8_ROW_OFFSET 128
FOVEA_INLINE int8_values int8_offset(int8_values values) {
  return _mm256_xor_si256(values, _mm256_set1_epi8((char)0x80));
}
FOVEA_INLINE int8_sum int8_row_add(int8_sum sum, int8_values w, const void *x) {
  return _mm256_dpbusd_avx_epi32(sum, w, int8_spread(x));
}

#endif

/* Products of codes by VPDPBUSD, which multiplies unsigned bytes by signed ones: codes of x have 128 added.
 * shared/nn/products.h says what each function does. */
#ifndef FOVEA_ARCH_AVX512_VNNI_NN_PRODUCTS_LAYER_H
#define FOVEA_ARCH_AVX512_VNNI_NN_PRODUCTS_LAYER_H

#include "../../avx512/nn/products_sums.h"

#define INT8_WORD_BYTES 4
#define INT8_OFFSET     128
#define INT8_TURNS_ROWS /* less time for rows of many dims beside few outputs */

/* Twelve rows beside two panels: 24 sums, two words of weights and a word of x take 27 of 32 registers. */
#define FOVEA_NN_INT8_VECTORS     2
#define FOVEA_NN_INT8_TILE_ROWS   12
#define FOVEA_NN_INT8_ROW_STEP    4
#define FOVEA_NN_INT8_TILES(TILE) TILE(4) TILE(8) TILE(12)

typedef __m512i int8_weights;
typedef __m512i int8_scalars;

FOVEA_INLINE void int8_pack(const uint8_t *codes, void *to) {
  memcpy(to, codes, INT8_WORD_BYTES);
}
FOVEA_INLINE int8_weights int8_place(const void *p) {
  __m512i words = _mm512_loadu_si512(p);
#ifndef __clang__
  __asm__("" : "+v"(words)); /* gcc would load it again for each row */
#endif
  return words;
}
FOVEA_INLINE int8_scalars int8_spread(const void *p) {
  int word;
  memcpy(&word, p, sizeof word);
  return _mm512_set1_epi32(word);
}
FOVEA_INLINE int8_sum int8_add(int8_sum sum, int8_weights w, int8_scalars x) {
  return _mm512_dpbusd_epi32(sum, x, w);
}

#define INT8_ROW_OFFSET 128
FOVEA_INLINE int8_values int8_offset(int8_values values) {
  return _mm512_xor_si512(values, _mm512_set1_epi8((char)0x80));
}
FOVEA_INLINE int8_sum int8_row_add(int8_sum sum, int8_values w, const void *x) {
  return _mm512_dpbusd_epi32(sum, w, int8_spread(x));
}

#endif

/* Products of codes by VPMADDWD: codes of x as pairs of 16 bits, dims 0 and 2, then 1 and 3.
 * shared/nn/products.h says what each function does. */
#ifndef FOVEA_ARCH_AVX512_NN_PRODUCTS_LAYER_H
#define FOVEA_ARCH_AVX512_NN_PRODUCTS_LAYER_H

#include "../../shared/nn/products_pairs.h"
#include "products_sums.h"

/* Eight rows beside two panels: 16 sums, four words of weights and two of x. */
#define FOVEA_NN_INT8_VECTORS     2
#define FOVEA_NN_INT8_TILE_ROWS   8
#define FOVEA_NN_INT8_ROW_STEP    4
#define FOVEA_NN_INT8_TILES(TILE) TILE(4) TILE(8)

typedef struct int8_pair {
  __m512i even, odd;
} int8_weights, int8_scalars;

FOVEA_INLINE int8_weights int8_place(const void *p) {
  const __m512i words = _mm512_loadu_si512(p);
  return (int8_weights){_mm512_srai_epi16(_mm512_slli_epi16(words, 8), 8), _mm512_srai_epi16(words, 8)};
}
FOVEA_INLINE int8_scalars int8_spread(const void *p) {
  int words[2];
  memcpy(words, p, sizeof words);
  return (int8_scalars){_mm512_set1_epi32(words[0]), _mm512_set1_epi32(words[1])};
}
FOVEA_INLINE int8_sum int8_add(int8_sum sum, int8_weights w, int8_scalars x) {
  sum = _mm512_add_epi32(sum, _mm512_madd_epi16(w.even, x.even));
  return _mm512_add_epi32(sum, _mm512_madd_epi16(w.odd, x.odd));
}

/* VPMADDUBSW of the sizes of values by codes with the values' signs does not saturate: two products are at most
 * 2 * 128 * 127. */
#define INT8_ROW_OFFSET 0
FOVEA_INLINE int8_sum int8_row_add(int8_sum sum, int8_values w, const void *p) {
  int word;
  memcpy(&word, p, sizeof word);
  const __m512i x = _mm512_set1_epi32(word);
  const __m512i turned = _mm512_mask_sub_epi8(x, _mm512_movepi8_mask(w), _mm512_setzero_si512(), x);
  const __m512i pairs = _mm512_maddubs_epi16(_mm512_abs_epi8(w), turned);
  return _mm512_add_epi32(sum, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
}

#endif

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
#define FOVEA_NN_INT8_TILES(TILE) TILE(1) TILE(4) TILE(8)

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

#endif

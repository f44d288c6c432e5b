/* Products of codes by VPMADDWD: codes of x as pairs of 16 bits, dims 0 and 2, then 1 and 3.
 * shared/nn/products.h says what each function does. */
#ifndef FOVEA_ARCH_AVX2_NN_PRODUCTS_LAYER_H
#define FOVEA_ARCH_AVX2_NN_PRODUCTS_LAYER_H

#include "../../shared/nn/products_pairs.h"
#include "products_sums.h"

/* Four rows beside a panel: eight sums, four words of weights and two of x leave two of sixteen registers. */
#define FOVEA_NN_INT8_VECTORS     2
#define FOVEA_NN_INT8_TILE_ROWS   4
#define FOVEA_NN_INT8_ROW_STEP    4
#define FOVEA_NN_INT8_TILES(TILE) TILE(4)

typedef struct int8_pair {
  __m256i even, odd;
} int8_weights, int8_scalars;

FOVEA_INLINE int8_weights int8_place(const void *p) {
  const __m256i words = _mm256_loadu_si256((const __m256i *)p);
  return (int8_weights){_mm256_srai_epi16(_mm256_slli_epi16(words, 8), 8), _mm256_srai_epi16(words, 8)};
}
FOVEA_INLINE int8_scalars int8_spread(const void *p) {
  int words[2];
  memcpy(words, p, sizeof words);
  return (int8_scalars){_mm256_set1_epi32(words[0]), _mm256_set1_epi32(words[1])};
}
FOVEA_INLINE int8_sum int8_add(int8_sum sum, int8_weights w, int8_scalars x) {
  sum = _mm256_add_epi32(sum, _mm256_madd_epi16(w.even, x.even));
  return _mm256_add_epi32(sum, _mm256_madd_epi16(w.odd, x.odd));
}

/* VPMADDUBSW of the sizes of values by codes with the values' signs does not saturate: two products are at most
 * 2 * 128 * 127. */
#define INT8_ROW_OFFSET 0
FOVEA_INLINE int8_sum int8_row_add(int8_sum sum, int8_values w, const void *p) {
  int word;
  memcpy(&word, p, sizeof word);
  const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(_mm256_set1_epi32(word), w));
  return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

#endif

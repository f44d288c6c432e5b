/* Sums of products by an instruction that multiplies two rows by two keys, or by two dims, eight codes of each:
 * AArch64's SMMLA and USMMLA. In the time of a dot product of bytes it does twice the products. A vector of four
 * lanes has a pair of words of two rows, or a pair of words of two keys or dims:
 *
 *   queries, weights   [pair of words][half of a vector][vector][row][word]: two rows of a vector lie where its
 *                      even word is in other layers, the other two where its odd word is
 *   keys               [pair of keys][pair of words][key][word]
 *   values             [pair of words][dim][word]
 *
 * While they are added, sums lie as the instruction has them: sum[n][v], n even, is of keys n and n + 1 and the
 * first two rows of vector v, sum[n + 1][v] of the same keys and the other two. Part of int8_products.h. */

/* One pair of words. */
FOVEA_INLINE void int8_add_pair(const int numbers, const int vectors, const int of_keys, const float *lanes,
                                const float *scalars, int64_t step, int8_tile *tile) {
  vec y[16];
  FOVEA_UNROLL
  for (int n = 0; n < numbers; n += 2) y[n] = vec_load(scalars + n / 2 * step);
  FOVEA_UNROLL
  for (int v = 0; v < vectors; v++) {
    const vec x[2] = {vec_load(lanes + v * LANES), vec_load(lanes + ROW_TILE + v * LANES)};
    FOVEA_UNROLL
    for (int n = 0; n < numbers; n += 2) {
      int8_sum *first = &tile->sum[n][v], *second = &tile->sum[n + 1][v];
      *first = of_keys ? int8_add_key_pairs(x[0], y[n], *first) : int8_add_value_pairs(x[0], y[n], *first);
      *second = of_keys ? int8_add_key_pairs(x[1], y[n], *second) : int8_add_value_pairs(x[1], y[n], *second);
    }
  }
}

/* Sums of each key or dim, with rows in the lanes. Of one number, `second` says which of its pair it is. */
FOVEA_INLINE void int8_untangle(const int numbers, const int vectors, int second, int8_tile *tile) {
  FOVEA_UNROLL
  for (int v = 0; v < vectors; v++) {
    FOVEA_UNROLL
    for (int n = 0; n < numbers; n += 2) {
      const int8_sum a = tile->sum[n][v], b = tile->sum[n + 1][v];
      tile->sum[n][v] = numbers == 1 && second ? int8_second(a, b) : int8_first(a, b);
      tile->sum[n + 1][v] = int8_second(a, b);
    }
  }
}

FOVEA_INLINE void int8_multiply(const int numbers, const int vectors, const int of_keys,
                                const int8_products *products, int8_tile *tile) {
  enum { PAIR = 2 * 2, WORDS = 2 * ROW_TILE }; /* words of a pair of keys or dims, and of all rows */
  const float *lanes = products->lanes, *scalars = products->scalars;
  const int64_t item = of_keys ? PAIR : products->item, step = of_keys ? products->step : PAIR;
  int64_t count = products->count; /* at least 1 */
  FOVEA_UNROLL
  for (int n = 0; n < numbers; n += 2) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) tile->sum[n][v] = tile->sum[n + 1][v] = int8_no_sums();
  }
  /* Four at a time beside four vectors: by llvm-mca a Neoverse V2 has 0.97 of the rate for scores and 0.91 for
   * values. In a loop of two gcc 12 copies one sum (0.80), in a loop of one two (0.57). */
  const int together = numbers * vectors > 8 ? 4 : 2;
  FOVEA_NO_UNROLL
  for (; count >= together; count -= together, lanes += together * WORDS, scalars += together * item) {
    FOVEA_UNROLL
    for (int i = 0; i < together; i++)
      int8_add_pair(numbers, vectors, of_keys, lanes + i * WORDS, scalars + i * item, step, tile);
  }
  FOVEA_NO_UNROLL
  for (; count > 0; count--, lanes += WORDS, scalars += item)
    int8_add_pair(numbers, vectors, of_keys, lanes, scalars, step, tile);
  int8_untangle(numbers, vectors, products->second, tile);
}

/* The products of the score tile, of pairs of a half type. Part of score.h, after a pair layer, which gives
 *
 *   pair4, pair4_load(p)         four pairs of neighbouring elements: eight elements, all readable
 *   vec_pair_lane(q, k, i, sum)  for pair i of a pair4, a constant: sum + q1 k1, rounded, + q0 k0, rounded
 *   vec_pair(q, pair, sum)       the same for one pair as 32 bits, the first element in the low half */

#include <string.h>

typedef uint16_t score_element;
#define SCORE_OPERATION score_pairs
#define SCORE_TOGETHER  2
/* Dims of one step of a chain. */
#define SCORE_CHAIN_DIMS 8

/* sum + the product of pair `lane` of the loaded pairs. */
#define SCORE_PRODUCT(q, pairs, lane, sum) vec_pair_lane((q), (pairs), lane, (sum))

/* The chain of one piece of the qk dim, from zero. */
FOVEA_INLINE void score_chain(const int vectors, const int keys, const float *queries, const uint16_t *key_rows,
                              int64_t key_stride, int64_t dim, const int lines, score_fetch *fetch,
                              score_tile *tile) {
  score_clear(vectors, keys, tile);
  FOVEA_NO_UNROLL
  for (; dim >= SCORE_CHAIN_DIMS; dim -= SCORE_CHAIN_DIMS, queries += 4 * ROW_TILE, key_rows += SCORE_CHAIN_DIMS) {
    pair4 scalars[16];
    fetch_lines(lines, &fetch->rows);
    FOVEA_UNROLL
    for (int n = 0; n < keys; n++) scalars[n] = pair4_load(key_rows + n * key_stride);
    SCORE_STEP(0);
    SCORE_STEP(1);
    SCORE_STEP(2);
    SCORE_STEP(3);
  }
  FOVEA_NO_UNROLL
  for (int rest = (int)dim; rest > 0; rest -= 2, queries += ROW_TILE, key_rows += 2) {
    FOVEA_UNROLL
    for (int n = 0; n < keys; n++) {
      const uint16_t *k = key_rows + n * key_stride;
      uint32_t pair = k[0] | (rest > 1 ? (uint32_t)k[1] << 16 : 0);
      FOVEA_UNROLL
      for (int v = 0; v < vectors; v++) {
        tile->sum[n][v] = vec_pair(vec_load(queries + v * LANES), pair, tile->sum[n][v]);
      }
    }
  }
}

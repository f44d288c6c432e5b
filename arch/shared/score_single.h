/* The products of the score tile in f32. Part of score.h. */

typedef float score_element;
#define SCORE_OPERATION score
/* Dims that lie side by side in a lane of the queries. */
#define SCORE_TOGETHER 1
/* Dims of one step of a chain. */
#define SCORE_CHAIN_DIMS 4

/* sum + K[key][d] * Q^T[d] for dim `lane` of the loaded dims. */
#define SCORE_PRODUCT(q, scalars, lane, sum) vec_fma_lane((q), (scalars), lane, (sum))

/* The chain of one piece of the qk dim, from zero, in the order of a dot product of pairs: 1, 0, 3, 2, ... */
FOVEA_INLINE void score_chain(const int vectors, const int keys, const float *queries, const float *key_rows,
                              int64_t key_stride, int64_t dim, const int lines, score_fetch *fetch,
                              score_tile *tile) {
  score_clear(vectors, keys, tile);
  FOVEA_NO_UNROLL
  for (; dim >= SCORE_CHAIN_DIMS; dim -= SCORE_CHAIN_DIMS, queries += 4 * ROW_TILE, key_rows += SCORE_CHAIN_DIMS) {
    vec4 scalars[16];
    fetch_lines(lines, &fetch->rows);
    FOVEA_UNROLL
    for (int n = 0; n < keys; n++) scalars[n] = vec4_load(key_rows + n * key_stride);
    SCORE_STEP(1);
    SCORE_STEP(0);
    SCORE_STEP(3);
    SCORE_STEP(2);
  }
  for (int rest = (int)dim; rest > 0; rest -= 2, queries += 2 * ROW_TILE, key_rows += 2) {
    FOVEA_NO_UNROLL
    for (int d = rest > 1; d >= 0; d--) {
      FOVEA_UNROLL
      for (int n = 0; n < keys; n++) {
        vec k = vec_set1(key_rows[n * key_stride + d]);
        FOVEA_UNROLL
        for (int v = 0; v < vectors; v++) {
          tile->sum[n][v] = vec_fma(vec_load(queries + d * ROW_TILE + v * LANES), k, tile->sum[n][v]);
        }
      }
    }
  }
}

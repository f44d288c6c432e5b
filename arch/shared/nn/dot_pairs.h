/* Linear layers of bf16 as products of pairs: rows of x where they lie, weights in panels where they lie. A table
 * of pairs includes this file alone, after its pair layer (score_pairs.h) and the tile sizes of dot.h. */
#include "../../nn_kernels.h"

#include <string.h>

typedef struct pairs_tile {
  vec sum[FOVEA_NN_TILE_ROWS][FOVEA_NN_TILE_VECTORS]; /* [row][vector] */
} pairs_tile;

/* One pair of dims of all rows. */
FOVEA_INLINE void pairs_step(const int vectors, const int rows, const uint16_t *x, int64_t x_stride, int count,
                             const uint16_t *weights, int64_t panel_stride, pairs_tile *tile) {
  vec w[FOVEA_NN_TILE_VECTORS];
  FOVEA_UNROLL
  for (int v = 0; v < vectors; v++) {
    w[v] = vec_pair_arrange(
        vec_load_pairs(weights + v * LANES / FOVEA_NN_PANEL * panel_stride + v * LANES % FOVEA_NN_PANEL * 2));
  }
  FOVEA_UNROLL
  for (int n = 0; n < rows; n++) {
    uint32_t pair = x[n * x_stride];
    if (count == 2) memcpy(&pair, x + n * x_stride, sizeof pair);
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) tile->sum[n][v] = vec_pair(w[v], pair, tile->sum[n][v]);
  }
}

FOVEA_INLINE void pairs_rows(const fovea_nn_dot_args *args, const int vectors, const int rows, int row,
                             int vector) {
  const uint16_t *x = (const uint16_t *)args->x + row * args->x_stride;
  const uint16_t *weights = (const uint16_t *)args->weights + vector * LANES / FOVEA_NN_PANEL * args->panel_stride +
                            vector * LANES % FOVEA_NN_PANEL * 2;
  float *sums = args->sums + row * FOVEA_NN_OUTS + vector * LANES;
  pairs_tile tile;
  FOVEA_UNROLL
  for (int n = 0; n < rows; n++) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) tile.sum[n][v] = vec_set1(0.0f);
  }
  FOVEA_NO_UNROLL
  for (int d = 0; d + 2 <= args->dims; d += 2, x += 2, weights += 2 * FOVEA_NN_PANEL) {
    pairs_step(vectors, rows, x, args->x_stride, 2, weights, args->panel_stride, &tile);
  }
  if (args->dims % 2 == 1) pairs_step(vectors, rows, x, args->x_stride, 1, weights, args->panel_stride, &tile);
  FOVEA_UNROLL
  for (int n = 0; n < rows; n++) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) {
      float *sum = sums + n * FOVEA_NN_OUTS + v * LANES;
      vec_store(sum, args->begun ? vec_add(vec_load(sum), tile.sum[n][v]) : tile.sum[n][v]);
    }
  }
}

FOVEA_INLINE void pairs_all_rows(const fovea_nn_dot_args *args, const int vectors, int vector) {
  int row = 0;
  FOVEA_NO_UNROLL
  for (; row + FOVEA_NN_TILE_ROWS <= args->rows; row += FOVEA_NN_TILE_ROWS) {
    pairs_rows(args, vectors, FOVEA_NN_TILE_ROWS, row, vector);
  }
  FOVEA_NO_UNROLL
  for (; row + 2 <= args->rows; row += 2) pairs_rows(args, vectors, 2, row, vector);
  if (row < args->rows) pairs_rows(args, vectors, 1, row, vector);
}

FOVEA_KERNEL void FOVEA_NAME(nn_dot_pairs)(const fovea_nn_dot_args *args) {
  const int vectors = args->panels * FOVEA_NN_PANEL / LANES;
  int vector = 0;
  FOVEA_NO_UNROLL
  for (; vector + FOVEA_NN_TILE_VECTORS <= vectors; vector += FOVEA_NN_TILE_VECTORS) {
    pairs_all_rows(args, FOVEA_NN_TILE_VECTORS, vector);
  }
  FOVEA_NO_UNROLL
  for (; vector < vectors; vector += FOVEA_NN_SPARE_VECTORS) pairs_all_rows(args, FOVEA_NN_SPARE_VECTORS, vector);
}

FOVEA_KERNEL int FOVEA_NAME(nn_pairs_safe)(const uint16_t *elements, int64_t stride, int rows, int count) {
  int safe = 1;
  for (int row = 0; row < rows; row++, elements += stride) {
    int i = 0;
    for (; i + 2 * LANES <= count; i += 2 * LANES) safe &= pair_elements_safe(elements + i);
    if (i < count) {
      uint16_t rest[2 * LANES] = {0};
      memcpy(rest, elements + i, (size_t)(count - i) * sizeof rest[0]);
      safe &= pair_elements_safe(rest);
    }
  }
  return safe;
}

#define PAIRS_TABLE_(isa) fovea_nn_pairs_##isa
#define PAIRS_TABLE(isa)  PAIRS_TABLE_(isa)
const fovea_nn_pair_kernels PAIRS_TABLE(FOVEA_ISA) = {FOVEA_NAME(nn_pairs_safe), FOVEA_NAME(nn_dot_pairs)};

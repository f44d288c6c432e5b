/* Linear layers: outputs lie in the lanes, one weight for each; elements of x are broadcast. The chain of a piece
 * is as in score_single.h: dims 1, 0, 3, 2, ... Register tiles are given by
 *
 *   FOVEA_NN_TILE_VECTORS         vectors of outputs: 1, 2 or 4
 *   FOVEA_NN_SPARE_VECTORS        vectors of a single panel, if FOVEA_NN_TILE_VECTORS are more than one panel
 *   FOVEA_NN_TILE_ROWS            rows of x beside them, at most 8
 *
 * Copies of weights have two panels (nn/linear.h). Two panels of fewer than FOVEA_NN_TILE_VECTORS vectors have
 * register tiles of their own. Part of bodies.h. */
#ifndef FOVEA_ARCH_SHARED_NN_DOT_H
#define FOVEA_ARCH_SHARED_NN_DOT_H

#include "../../nn_kernels.h"

typedef struct dot_tile {
  vec sum[8][4]; /* [row][vector] */
} dot_tile;

FOVEA_INLINE void dot_clear(const int vectors, const int rows, dot_tile *tile) {
  FOVEA_UNROLL
  for (int n = 0; n < rows; n++) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) tile->sum[n][v] = vec_set1(0.0f);
  }
}

/* The sums of a piece, or the sums of the pieces before it plus the sums of the piece. */
FOVEA_INLINE void dot_store(const int vectors, const int rows, int begun, const dot_tile *tile, float *sums) {
  FOVEA_UNROLL
  for (int n = 0; n < rows; n++) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) {
      float *sum = sums + n * FOVEA_NN_OUTS + v * LANES;
      vec_store(sum, begun ? vec_add(vec_load(sum), tile->sum[n][v]) : tile->sum[n][v]);
    }
  }
}

/* Where the weights of vector `v` of a register tile begin: a panel has FOVEA_NN_PANEL / LANES vectors. */
#define DOT_WEIGHTS(v) (weights + (v)*LANES / FOVEA_NN_PANEL * panel_stride + (v)*LANES % FOVEA_NN_PANEL)

#define DOT_STEP(lane)                                                                                             \
  do {                                                                                                             \
    vec w[4];                                                                                                      \
    FOVEA_UNROLL for (int v = 0; v < vectors; v++) w[v] = vec_load(DOT_WEIGHTS(v) + (lane)*FOVEA_NN_PANEL);        \
    FOVEA_UNROLL for (int n = 0; n < rows; n++) {                                                                  \
      FOVEA_UNROLL for (int v = 0; v < vectors; v++) tile.sum[n][v] =                                              \
          vec_fma_lane(w[v], scalars[n], lane, tile.sum[n][v]);                                                    \
    }                                                                                                              \
  } while (0)

FOVEA_INLINE void dot_register_tile(const int vectors, const int rows, const fovea_nn_dot_args *args, int row,
                                    int vector) {
  const int64_t panel_stride = args->panel_stride, x_stride = args->x_stride;
  const float *x = (const float *)args->x + row * x_stride;
  const unsigned out = (unsigned)vector * LANES; /* unsigned: divided by a shift */
  const float *weights = (const float *)args->weights + out / FOVEA_NN_PANEL * panel_stride + out % FOVEA_NN_PANEL;
  float *sums = args->sums + row * FOVEA_NN_OUTS + vector * LANES;
  int dims = args->dims;
  dot_tile tile;
  dot_clear(vectors, rows, &tile);
  FOVEA_NO_UNROLL
  for (; dims >= 4; dims -= 4, x += 4, weights += 4 * FOVEA_NN_PANEL) {
    vec4 scalars[8];
    FOVEA_UNROLL
    for (int n = 0; n < rows; n++) scalars[n] = vec4_load(x + n * x_stride);
    DOT_STEP(1);
    DOT_STEP(0);
    DOT_STEP(3);
    DOT_STEP(2);
  }
  for (; dims > 0; dims -= 2, x += 2, weights += 2 * FOVEA_NN_PANEL) {
    FOVEA_NO_UNROLL
    for (int d = dims > 1; d >= 0; d--) {
      FOVEA_UNROLL
      for (int n = 0; n < rows; n++) {
        const vec scalar = vec_set1(x[n * x_stride + d]);
        FOVEA_UNROLL
        for (int v = 0; v < vectors; v++) {
          tile.sum[n][v] = vec_fma(vec_load(DOT_WEIGHTS(v) + d * FOVEA_NN_PANEL), scalar, tile.sum[n][v]);
        }
      }
    }
  }
  dot_store(vectors, rows, args->begun, &tile, sums);
}

#define DOT_TILE(name, vectors, rows)                                                                              \
  FOVEA_NOINLINE void name(const fovea_nn_dot_args *args, int row, int vector) {                                   \
    dot_register_tile(vectors, rows, args, row, vector);                                                           \
  }
DOT_TILE(dot_main, FOVEA_NN_TILE_VECTORS, FOVEA_NN_TILE_ROWS)
DOT_TILE(dot_two, FOVEA_NN_TILE_VECTORS, 2)
DOT_TILE(dot_one, FOVEA_NN_TILE_VECTORS, 1)

typedef void dot_tile_function(const fovea_nn_dot_args *args, int row, int vector);

/* All rows: first register tiles of `tile_rows` rows, then of two, then of one. */
FOVEA_NOINLINE void dot_rows(const fovea_nn_dot_args *args, int vector, int tile_rows, dot_tile_function *whole,
                             dot_tile_function *two, dot_tile_function *one) {
  int row = 0;
  for (; row + tile_rows <= args->rows; row += tile_rows) whole(args, row, vector);
  for (; row + 2 <= args->rows; row += 2) two(args, row, vector);
  if (row < args->rows) one(args, row, vector);
}

/* A register tile of several panels needs all of them. Panels that are left over have tiles of their own. */
#define DOT_PANEL_VECTORS (FOVEA_NN_PANEL / LANES)
#ifdef FOVEA_NN_SPARE_VECTORS
_Static_assert(FOVEA_NN_SPARE_VECTORS == DOT_PANEL_VECTORS, "a tile for one panel");
DOT_TILE(dot_spare_main, FOVEA_NN_SPARE_VECTORS, FOVEA_NN_TILE_ROWS)
DOT_TILE(dot_spare_two, FOVEA_NN_SPARE_VECTORS, 2)
DOT_TILE(dot_spare_one, FOVEA_NN_SPARE_VECTORS, 1)
#if FOVEA_NN_TILE_VECTORS > 2 * FOVEA_NN_SPARE_VECTORS
#define DOT_HAS_BOTH
DOT_TILE(dot_both_main, 2 * FOVEA_NN_SPARE_VECTORS, FOVEA_NN_TILE_ROWS)
DOT_TILE(dot_both_two, 2 * FOVEA_NN_SPARE_VECTORS, 2)
DOT_TILE(dot_both_one, 2 * FOVEA_NN_SPARE_VECTORS, 1)
#endif
#else
_Static_assert(FOVEA_NN_TILE_VECTORS *LANES <= FOVEA_NN_PANEL, "panels are whole register tiles");
#endif

FOVEA_KERNEL void FOVEA_NAME(nn_dot)(const fovea_nn_dot_args *args) {
  const int vectors = args->panels * DOT_PANEL_VECTORS;
  int vector = 0;
  for (; vector + FOVEA_NN_TILE_VECTORS <= vectors; vector += FOVEA_NN_TILE_VECTORS) {
    dot_rows(args, vector, FOVEA_NN_TILE_ROWS, dot_main, dot_two, dot_one);
  }
#ifdef DOT_HAS_BOTH
  if (vector + 2 * FOVEA_NN_SPARE_VECTORS <= vectors) {
    dot_rows(args, vector, FOVEA_NN_TILE_ROWS, dot_both_main, dot_both_two, dot_both_one);
    vector += 2 * FOVEA_NN_SPARE_VECTORS;
  }
#endif
#ifdef FOVEA_NN_SPARE_VECTORS
  for (; vector < vectors; vector += FOVEA_NN_SPARE_VECTORS) {
    dot_rows(args, vector, FOVEA_NN_TILE_ROWS, dot_spare_main, dot_spare_two, dot_spare_one);
  }
#endif
}

#endif

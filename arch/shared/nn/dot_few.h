/* Linear layers with few rows and panels of 16 bits: weights are read once, so they are converted to f32 in
 * registers. The chains are as in dot.h. Part of bodies.h. */
#ifndef FOVEA_ARCH_SHARED_NN_DOT_FEW_H
#define FOVEA_ARCH_SHARED_NN_DOT_FEW_H

#include "../types.h"
#include "dot.h"

/* The weights of LANES outputs for dims 2i and 2i + 1 of the panel. */
FOVEA_INLINE void few_weights(const void *panel, int pair, int out, const fovea_type type, vec *even, vec *odd) {
  const int first = 2 * pair * FOVEA_NN_PANEL;
  if (fovea_dims_together(type) == 2) {
    vec_split_bf16(vec_load_pairs((const uint16_t *)panel + first + 2 * out), even, odd);
  } else {
    *even = typed_load(panel, first + out, type);
    *odd = typed_load(panel, first + FOVEA_NN_PANEL + out, type);
  }
}

/* The last dim of an odd number: f16 panels end after it, bf16 panels have a zero beside it. */
FOVEA_INLINE vec few_last_weights(const void *panel, int pair, int out, const fovea_type type) {
  vec even, odd;
  if (fovea_dims_together(type) != 2) return typed_load(panel, 2 * pair * FOVEA_NN_PANEL + out, type);
  few_weights(panel, pair, out, type, &even, &odd);
  return even;
}

FOVEA_INLINE const void *few_panel(const fovea_nn_dot_args *args, int vector, const fovea_type type) {
  return typed_at(args->weights, vector * LANES / FOVEA_NN_PANEL * args->panel_stride, type);
}

FOVEA_INLINE void few_last_dim(const fovea_nn_dot_args *args, const int vectors, const int rows, const float *x,
                               int vector, dot_tile *tile, const fovea_type type) {
  FOVEA_UNROLL
  for (int v = 0; v < vectors; v++) {
    const vec even = few_last_weights(few_panel(args, vector + v, type), args->dims / 2,
                                      (vector + v) * LANES % FOVEA_NN_PANEL, type);
    FOVEA_UNROLL
    for (int n = 0; n < rows; n++) {
      tile->sum[n][v] = vec_fma(even, vec_set1(x[n * args->x_stride + args->dims - 1]), tile->sum[n][v]);
    }
  }
}

FOVEA_INLINE void few_tile(const fovea_nn_dot_args *args, const int vectors, const int rows, int row, int vector,
                           const fovea_type type) {
  const float *x = (const float *)args->x + row * args->x_stride;
  const int pairs = args->dims / 2;
  dot_tile tile;
  dot_clear(vectors, rows, &tile);
  FOVEA_NO_UNROLL
  for (int i = 0; i < pairs; i++) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) {
      vec even, odd;
      few_weights(few_panel(args, vector + v, type), i, (vector + v) * LANES % FOVEA_NN_PANEL, type, &even, &odd);
      FOVEA_UNROLL
      for (int n = 0; n < rows; n++) {
        tile.sum[n][v] = vec_fma(odd, vec_set1(x[n * args->x_stride + 2 * i + 1]), tile.sum[n][v]);
        tile.sum[n][v] = vec_fma(even, vec_set1(x[n * args->x_stride + 2 * i]), tile.sum[n][v]);
      }
    }
  }
  if (args->dims % 2 == 1) few_last_dim(args, vectors, rows, x, vector, &tile, type);
  dot_store(vectors, rows, args->begun, &tile, args->sums + row * FOVEA_NN_OUTS + vector * LANES);
}

FOVEA_INLINE void few_rows(const fovea_nn_dot_args *args, const int vectors, int vector, const fovea_type type) {
  int row = 0;
#if FOVEA_NN_TILE_ROWS > FOVEA_NN_FEW_ROWS
  if (vectors == FOVEA_NN_SPARE_VECTORS && args->rows > 2) { /* whose chains leave room for more */
    if (args->rows == 4)
      few_tile(args, vectors, 4, 0, vector, type);
    else
      few_tile(args, vectors, 3, 0, vector, type);
    return;
  }
#endif
  for (; row + 2 <= args->rows; row += 2) few_tile(args, vectors, 2, row, vector, type);
  if (row < args->rows) few_tile(args, vectors, 1, row, vector, type);
}

/* As nn_dot(): tiles of FOVEA_NN_TILE_VECTORS, then of single panels. */
FOVEA_INLINE void few_typed(const fovea_nn_dot_args *args, const fovea_type type) {
  const int vectors = args->panels * DOT_PANEL_VECTORS;
  int vector = 0;
  FOVEA_NO_UNROLL
  for (; vector + FOVEA_NN_TILE_VECTORS <= vectors; vector += FOVEA_NN_TILE_VECTORS) {
    few_rows(args, FOVEA_NN_TILE_VECTORS, vector, type);
  }
#ifdef FOVEA_NN_SPARE_VECTORS
  FOVEA_NO_UNROLL
  for (; vector < vectors; vector += FOVEA_NN_SPARE_VECTORS) {
    few_rows(args, FOVEA_NN_SPARE_VECTORS, vector, type);
  }
#endif
}

FOVEA_KERNEL void FOVEA_NAME(nn_dot_few)(const fovea_nn_dot_args *args) {
  if (args->type == FOVEA_BF16) {
    few_typed(args, FOVEA_BF16);
  } else {
    few_typed(args, FOVEA_F16);
  }
}

#endif

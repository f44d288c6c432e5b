/* Sums of outer products: rows of `left` times rows of `right`, position by position. Numbers of `right` lie in the
 * lanes; numbers of `left` are broadcast. Register tiles are as in dot.h. Part of bodies.h. */
#ifndef FOVEA_ARCH_SHARED_NN_OUTER_H
#define FOVEA_ARCH_SHARED_NN_OUTER_H

#include "../../nn_kernels.h"

#ifdef FOVEA_VECTOR_SCALARS_IN_FOURS
_Static_assert(FOVEA_NN_TILE_ROWS % 4 == 0, "a vec4 has numbers of this tile only");
#endif

/* `rows` numbers of left from `row` on, `vectors` vectors of right from `column` on, all positions. `lanes` is how
 * many numbers of right there are if that is less than a vector. */
FOVEA_INLINE void outer_register_tile(const int vectors, const int rows, const fovea_nn_outer_args *args, int row,
                                      int column, const int lanes) {
  const float *left = args->left + row, *right = args->right + column;
  float *sums = args->sums + row * args->sum_stride + column;
  vec sum[8][4];
  FOVEA_UNROLL
  for (int n = 0; n < rows; n++) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) sum[n][v] = vec_set1(0.0f);
  }
  FOVEA_NO_UNROLL
  for (int p = 0; p < args->positions; p++, left += args->left_stride, right += args->right_stride) {
    vec x[4];
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) x[v] = lanes ? vec_load_first(right, lanes) : vec_load(right + v * LANES);
    if (rows == FOVEA_NN_TILE_ROWS) {
      vec4 scalars[2];
      FOVEA_UNROLL
      for (int n = 0; n < rows; n += 4) scalars[n / 4] = vec4_load(left + n);
#define OUTER_ROW(n)                                                                                               \
  if ((n) < rows) {                                                                                                \
    FOVEA_UNROLL for (int v = 0; v < vectors; v++) sum[n][v] =                                                     \
        vec_fma_lane(x[v], scalars[(n) / 4], (n) % 4, sum[n][v]);                                                  \
  }
      OUTER_ROW(0)
      OUTER_ROW(1)
      OUTER_ROW(2)
      OUTER_ROW(3)
      OUTER_ROW(4)
      OUTER_ROW(5)
      OUTER_ROW(6)
      OUTER_ROW(7)
#undef OUTER_ROW
    } else {
      FOVEA_UNROLL
      for (int n = 0; n < rows; n++) {
        const vec scalar = vec_set1(left[n]);
        FOVEA_UNROLL
        for (int v = 0; v < vectors; v++) sum[n][v] = vec_fma(x[v], scalar, sum[n][v]);
      }
    }
  }
  FOVEA_UNROLL
  for (int n = 0; n < rows; n++) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) {
      float *to = sums + n * args->sum_stride + v * LANES;
      vec_store(to, args->begun ? vec_add(vec_load(to), sum[n][v]) : sum[n][v]);
    }
  }
}

#define OUTER_TILE(name, vectors, rows, lanes)                                                                     \
  FOVEA_NOINLINE void name(const fovea_nn_outer_args *args, int row, int column) {                                 \
    outer_register_tile(vectors, rows, args, row, column, lanes);                                                  \
  }
OUTER_TILE(outer_main, FOVEA_NN_TILE_VECTORS, FOVEA_NN_TILE_ROWS, 0)
OUTER_TILE(outer_one, FOVEA_NN_TILE_VECTORS, 1, 0)
OUTER_TILE(outer_half, FOVEA_NN_TILE_VECTORS / 2, FOVEA_NN_TILE_ROWS, 0)
OUTER_TILE(outer_half_one, FOVEA_NN_TILE_VECTORS / 2, 1, 0)
OUTER_TILE(outer_narrow, 1, FOVEA_NN_TILE_ROWS, 0)
OUTER_TILE(outer_narrow_one, 1, 1, 0)
OUTER_TILE(outer_rest, 1, FOVEA_NN_TILE_ROWS, args->right_count - column)
OUTER_TILE(outer_rest_one, 1, 1, args->right_count - column)

typedef void outer_tile_function(const fovea_nn_outer_args *args, int row, int column);

/* All rows of left for some columns. */
FOVEA_NOINLINE void outer_rows(const fovea_nn_outer_args *args, int column, outer_tile_function *whole,
                               outer_tile_function *one) {
  int row = 0;
  for (; row + FOVEA_NN_TILE_ROWS <= args->left_count; row += FOVEA_NN_TILE_ROWS) whole(args, row, column);
  for (; row < args->left_count; row++) one(args, row, column);
}

FOVEA_KERNEL void FOVEA_NAME(nn_outer)(const fovea_nn_outer_args *args) {
  const int wide = FOVEA_NN_TILE_VECTORS * LANES;
  int column = 0;
  for (; column + wide <= args->right_count; column += wide) outer_rows(args, column, outer_main, outer_one);
  for (; column + wide / 2 <= args->right_count; column += wide / 2) {
    outer_rows(args, column, outer_half, outer_half_one);
  }
  for (; column + LANES <= args->right_count; column += LANES) {
    outer_rows(args, column, outer_narrow, outer_narrow_one);
  }
  if (column < args->right_count) outer_rows(args, column, outer_rest, outer_rest_one);
}

#endif

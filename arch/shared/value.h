/* The value tile: O^T[d][row] = sum over keys of V[key][d] * P^T[key][row], then the merge into the running output
 * while the sums are in registers. Included once by arch/<isa>/value.c, after the vector layer and tiles.h, which
 * gives
 *
 *   FOVEA_TILE_VECTORS      vectors of rows in a tile, 1 to 4
 *   FOVEA_VALUE_DIMS_<n>    dims that the register tile holds beside n vectors, n = 1 .. FOVEA_TILE_VECTORS;
 *                           where scalars are loaded in fours (NEON), a multiple of 4 */

#include "../kernels.h"

#define ROW_TILE (FOVEA_TILE_VECTORS * LANES)

typedef struct value_tile {
  vec sum[16][4]; /* [dim][vector]; what a register tile does not use is never touched */
} value_tile;

FOVEA_INLINE void value_chain(const int vectors, const int dims, const float *weights, const float *values,
                              int64_t value_stride, int key_count, value_tile *tile) {
  FOVEA_NO_UNROLL
  for (int key = 0; key < key_count; key++, weights += ROW_TILE, values += value_stride) {
    vec p[4];
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) p[v] = vec_load(weights + v * LANES);
    FOVEA_UNROLL
    for (int four = 0; four + 4 <= dims; four += 4) {
      vec4 scalars = vec4_load(values + four);
      FOVEA_UNROLL
      for (int v = 0; v < vectors; v++) {
        tile->sum[four][v] = vec_fma_lane(p[v], scalars, 0, tile->sum[four][v]);
        tile->sum[four + 1][v] = vec_fma_lane(p[v], scalars, 1, tile->sum[four + 1][v]);
        tile->sum[four + 2][v] = vec_fma_lane(p[v], scalars, 2, tile->sum[four + 2][v]);
        tile->sum[four + 3][v] = vec_fma_lane(p[v], scalars, 3, tile->sum[four + 3][v]);
      }
    }
    FOVEA_UNROLL
    for (int d = dims / 4 * 4; d < dims; d++) {
      vec scalar = vec_set1(values[d]);
      FOVEA_UNROLL
      for (int v = 0; v < vectors; v++) tile->sum[d][v] = vec_fma(p[v], scalar, tile->sum[d][v]);
    }
  }
}

FOVEA_INLINE void value_start(const int vectors, const int dims, const fovea_value_args *args, int64_t dim,
                              value_tile *tile) {
  const float *partial = args->partial + dim * ROW_TILE + args->vectors.first * LANES;
  FOVEA_UNROLL
  for (int d = 0; d < dims; d++) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) {
      tile->sum[d][v] =
          args->flags & FOVEA_VALUE_START ? vec_set1(0.0f) : vec_load(partial + d * ROW_TILE + v * LANES);
    }
  }
}

FOVEA_INLINE void value_finish(const int vectors, const int dims, const fovea_value_args *args, int64_t dim,
                               const value_tile *tile) {
  int row = args->vectors.first * LANES;
  if (args->flags & FOVEA_VALUE_MERGE) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) {
      vec old_part = vec_load(args->old_part + row + v * LANES);
      vec new_part = vec_load(args->new_part + row + v * LANES);
      FOVEA_UNROLL
      for (int d = 0; d < dims; d++) {
        float *output = args->output + (dim + d) * ROW_TILE + row + v * LANES;
        vec_store(output, vec_fma(tile->sum[d][v], new_part, vec_mul(vec_load(output), old_part)));
      }
    }
    return;
  }
  float *to = args->flags & FOVEA_VALUE_ASSIGN ? args->output : args->partial;
  FOVEA_UNROLL
  for (int v = 0; v < vectors; v++) {
    FOVEA_UNROLL
    for (int d = 0; d < dims; d++) vec_store(to + (dim + d) * ROW_TILE + row + v * LANES, tile->sum[d][v]);
  }
}

FOVEA_INLINE void value_register_tile(const int vectors, const int dims, const fovea_value_args *args,
                                      int64_t dim) {
  value_tile tile;
  value_start(vectors, dims, args, dim, &tile);
  value_chain(vectors, dims, args->weights + args->vectors.first * LANES, args->values + dim, args->value_stride,
              args->key_count, &tile);
  value_finish(vectors, dims, args, dim, &tile);
}

FOVEA_INLINE void value_segment(const int vectors, const int dims, const fovea_value_args *args) {
  int64_t dim = 0;
  for (; dim + dims <= args->dim; dim += dims) value_register_tile(vectors, dims, args, dim);
  if (dims > 8 && dim + 8 <= args->dim) {
    value_register_tile(vectors, 8, args, dim);
    dim += 8;
  }
  if (dims > 4 && dim + 4 <= args->dim) {
    value_register_tile(vectors, 4, args, dim);
    dim += 4;
  }
  if (dims > 2 && dim + 2 <= args->dim) {
    value_register_tile(vectors, 2, args, dim);
    dim += 2;
  }
  if (dim < args->dim) value_register_tile(vectors, 1, args, dim);
}

FOVEA_KERNEL void FOVEA_NAME(value)(const fovea_value_args *args) {
  switch (args->vectors.count) {
#if FOVEA_TILE_VECTORS >= 4
  case 4:
    value_segment(4, FOVEA_VALUE_DIMS_4, args);
    break;
#endif
#if FOVEA_TILE_VECTORS >= 3
  case 3:
    value_segment(3, FOVEA_VALUE_DIMS_3, args);
    break;
#endif
#if FOVEA_TILE_VECTORS >= 2
  case 2:
    value_segment(2, FOVEA_VALUE_DIMS_2, args);
    break;
#endif
  default:
    value_segment(1, FOVEA_VALUE_DIMS_1, args);
    break;
  }
}

/* The value tile: O^T[d][row] = sum over keys of V[key][d] * P^T[key][row]. The sums are merged into the running
 * output while they are in registers. Part of bodies.h; tiles.h gives
 *
 *   FOVEA_TILE_VECTORS      vectors of rows in a tile: 1 to 4
 *   FOVEA_VALUE_DIMS_<n>    dims of the register tile beside n vectors, for n = 1 to FOVEA_TILE_VECTORS; if that is
 *                           4, n = 3 may be left out; multiples of 4 if scalars are loaded in fours (NEON)
 *   FOVEA_VALUE_FETCH_ROWS  the most rows of a tile that prefetches rows here, too; 0: none does */

#ifndef FOVEA_ARCH_SHARED_VALUE_H
#define FOVEA_ARCH_SHARED_VALUE_H

#include "../kernels.h"
#include "fetch.h"
#include "panel.h"
#include "state.h"
#include "tile.h"

typedef struct value_tile {
  vec sum[16][4]; /* [dim][vector]; a register tile does not touch sums that it does not use */
} value_tile;

/* sum[dim][vector] += V[dim] * P[vector], dim by dim: AVX2 has registers for only one scalar at a time. */
#define VALUE_STEP(dim, lane)                                                                                      \
  FOVEA_UNROLL for (int v = 0; v < vectors; v++) tile->sum[dim][v] =                                               \
      vec_fma_lane(p[v], scalars, lane, tile->sum[dim][v])

/* The chains over the keys. If `fetches` is set, each key prefetches a line, `step` bytes after the one before. */
FOVEA_INLINE void value_chain(const int vectors, const int dims, const float *weights, const float *values,
                              int64_t value_stride, int key_count, const int fetches, const char *line,
                              int64_t step, value_tile *tile) {
  FOVEA_NO_UNROLL
  for (; key_count > 0; key_count--, weights += ROW_TILE, values += value_stride) {
    vec p[4];
    if (fetches) {
      __builtin_prefetch(line, 0, 2);
      line += step;
    }
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) p[v] = vec_load(weights + v * LANES);
    FOVEA_UNROLL
    for (int four = 0; four + 4 <= dims; four += 4) {
      vec4 scalars = vec4_load(values + four);
      VALUE_STEP(four, 0);
      VALUE_STEP(four + 1, 1);
      VALUE_STEP(four + 2, 2);
      VALUE_STEP(four + 3, 3);
    }
    FOVEA_UNROLL
    for (int d = dims / 4 * 4; d < dims; d++) {
      vec scalar = vec_set1(values[d]);
      FOVEA_UNROLL
      for (int v = 0; v < vectors; v++) tile->sum[d][v] = vec_fma(p[v], scalar, tile->sum[d][v]);
    }
  }
}

/* The same with rows to prefetch one after the other, without branches in the loop over keys. Each key prefetches a
 * line in each register tile, which is enough for the next block's values. */
FOVEA_INLINE void value_chain_fetching(const int vectors, const int dims, const float *weights, const float *values,
                                       int64_t value_stride, int key_count, row_fetch *fetch, value_tile *tile) {
  FOVEA_NO_UNROLL
  while (key_count > 0) {
    int64_t left = fetch_left(fetch);
    int keys = left > 0 && left < key_count ? (int)left : key_count;
    const char *line = left > 0 ? fetch->line : (const char *)values;
    value_chain(vectors, dims, weights, values, value_stride, keys, 1, line, left > 0 ? 64 : 0, tile);
    if (left > 0) fetch->line += keys * 64;
    weights += keys * ROW_TILE;
    values += keys * value_stride;
    key_count -= keys;
  }
}

FOVEA_INLINE void value_start(const int vectors, const int dims, const fovea_value_args *args, int64_t first,
                              value_tile *tile) {
  const float *partial = args->partial + first;
  if (args->flags & FOVEA_VALUE_START) {
    FOVEA_UNROLL
    for (int d = 0; d < dims; d++) {
      FOVEA_UNROLL
      for (int v = 0; v < vectors; v++) tile->sum[d][v] = vec_set1(0.0f);
    }
  } else {
    FOVEA_UNROLL
    for (int d = 0; d < dims; d++) {
      FOVEA_UNROLL
      for (int v = 0; v < vectors; v++) tile->sum[d][v] = vec_load(partial + d * ROW_TILE + v * LANES);
    }
  }
}

FOVEA_INLINE void value_finish(const int vectors, const int dims, const fovea_value_args *args, int64_t first,
                               const value_tile *tile) {
  int row = args->vectors.first * LANES;
  float *output = args->output + first, *partial = args->partial + first;
  if (args->flags & FOVEA_VALUE_MERGE) {
    const float *old_parts = args->old_part + row, *new_parts = args->new_part + row;
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) {
      vec old_part = vec_load(old_parts + v * LANES), new_part = vec_load(new_parts + v * LANES);
      FOVEA_UNROLL
      for (int d = 0; d < dims; d++) {
        float *to = output + d * ROW_TILE + v * LANES;
        vec_store(to, state_join(vec_load(to), old_part, tile->sum[d][v], new_part));
      }
    }
    return;
  }
  float *to = args->flags & FOVEA_VALUE_ASSIGN ? output : partial;
  FOVEA_UNROLL
  for (int d = 0; d < dims; d++) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) vec_store(to + d * ROW_TILE + v * LANES, tile->sum[d][v]);
  }
}

FOVEA_INLINE void value_register_tile(const int vectors, const int dims, const fovea_value_args *args, int64_t dim,
                                      row_fetch *fetch) {
  int64_t first = dim * ROW_TILE + args->vectors.first * LANES, stride = args->value_stride;
  const float *values = args->values + dim;
  value_tile tile;
  if (vectors == FOVEA_TILE_VECTORS && args->panel) {
    stride = FOVEA_PANEL_DIMS;
    values = args->panel + dim / FOVEA_PANEL_DIMS * (FOVEA_PANEL_DIMS * FOVEA_BLOCK_KEYS) + dim % FOVEA_PANEL_DIMS;
  }
  value_start(vectors, dims, args, first, &tile);
  const float *weights = args->weights + args->vectors.first * LANES;
  if (vectors * LANES <= FOVEA_VALUE_FETCH_ROWS && dims >= 4) {
    value_chain_fetching(vectors, dims, weights, values, stride, args->key_count, fetch, &tile);
  } else {
    value_chain(vectors, dims, weights, values, stride, args->key_count, 0, NULL, 0, &tile);
  }
  value_finish(vectors, dims, args, first, &tile);
}

/* Each register tile is a function of its own: in a single function, their addresses would not fit in registers. */
#define VALUE_TILE(name, vectors, dims)                                                                            \
  FOVEA_NOINLINE void name(const fovea_value_args *args, int64_t dim, row_fetch *fetch) {                          \
    value_register_tile(vectors, dims, args, dim, fetch);                                                          \
  }

#define VALUE_TILES(vectors, tile_dims)                                                                            \
  VALUE_TILE(value_main_##vectors, vectors, tile_dims)                                                             \
  VALUE_TILE(value_four_##vectors, vectors, 4)                                                                     \
  VALUE_TILE(value_two_##vectors, vectors, 2)                                                                      \
  VALUE_TILE(value_one_##vectors, vectors, 1)

typedef void value_tile_function(const fovea_value_args *args, int64_t dim, row_fetch *fetch);

/* All dims: first register tiles of `tile_dims` dims, then of four (if `four` is set), two and one. */
FOVEA_NOINLINE void value_dims(const fovea_value_args *args, int64_t dim, int tile_dims, value_tile_function *whole,
                               value_tile_function *four, value_tile_function *two, value_tile_function *one) {
  row_fetch fetch = fetch_rows(args->prefetch, args->prefetch_count);
  for (; dim + tile_dims <= args->dim; dim += tile_dims) whole(args, dim, &fetch);
  for (; four && dim + 4 <= args->dim; dim += 4) four(args, dim, &fetch);
  for (; dim + 2 <= args->dim; dim += 2) two(args, dim, &fetch);
  if (dim < args->dim) one(args, dim, &fetch);
}

VALUE_TILES(1, FOVEA_VALUE_DIMS_1)
#if FOVEA_TILE_VECTORS >= 2
VALUE_TILES(2, FOVEA_VALUE_DIMS_2)
#endif
#if FOVEA_TILE_VECTORS == 3
VALUE_TILES(3, FOVEA_VALUE_DIMS_3)
#elif FOVEA_TILE_VECTORS == 4
VALUE_TILES(4, FOVEA_VALUE_DIMS_4)
#ifdef FOVEA_VALUE_DIMS_3
VALUE_TILE(value_main_3, 3, FOVEA_VALUE_DIMS_3)
#endif
#endif

/* Splits vectors of rows among register tiles as score.h does. */
FOVEA_KERNEL void FOVEA_NAME(value)(const fovea_value_args *args) {
  fovea_value_args part = *args;
  int64_t dim = 0;
#if FOVEA_TILE_VECTORS == 4
  if (args->vectors.count == 4) {
    value_dims(args, 0, FOVEA_VALUE_DIMS_4, value_main_4, FOVEA_VALUE_DIMS_4 > 4 ? value_four_4 : NULL, value_two_4,
               value_one_4);
    return;
  }
#endif
#if FOVEA_TILE_VECTORS == 3
  if (args->vectors.count == 3) {
    value_dims(args, 0, FOVEA_VALUE_DIMS_3, value_main_3, FOVEA_VALUE_DIMS_3 > 4 ? value_four_3 : NULL, value_two_3,
               value_one_3);
    return;
  }
#elif defined(FOVEA_VALUE_DIMS_3)
  if (args->vectors.count == 3) {
    row_fetch fetch = fetch_rows(args->prefetch, args->prefetch_count);
    for (; dim + FOVEA_VALUE_DIMS_3 <= args->dim; dim += FOVEA_VALUE_DIMS_3) value_main_3(args, dim, &fetch);
  }
#endif
#if FOVEA_TILE_VECTORS >= 2
  if (args->vectors.count >= 2) {
    value_dims(args, dim, FOVEA_VALUE_DIMS_2, value_main_2, FOVEA_TILE_VECTORS == 2 ? value_four_2 : NULL,
               value_two_2, value_one_2);
    if (args->vectors.count == 2) return;
    part.vectors.first += 2;
  }
#endif
  value_dims(&part, dim, FOVEA_VALUE_DIMS_1, value_main_1, NULL, value_two_1, value_one_1);
}

FOVEA_KERNEL void FOVEA_NAME(pack_values)(const fovea_pack_args *args) {
  float *panel = args->panel;
  for (int64_t dim = 0; dim < args->dim; dim += FOVEA_PANEL_DIMS, panel += FOVEA_PANEL_DIMS * FOVEA_BLOCK_KEYS) {
    int64_t rest = args->dim - dim;
    const float *values = args->values + dim;
    float *to = panel;
    for (int key = 0; key < args->key_count; key++, values += args->value_stride, to += FOVEA_PANEL_DIMS) {
      if (rest >= FOVEA_PANEL_DIMS) {
        FOVEA_UNROLL
        for (int d = 0; d < FOVEA_PANEL_DIMS; d++) to[d] = values[d];
      } else {
        for (int d = 0; d < rest; d++) to[d] = values[d];
      }
    }
  }
}

#endif

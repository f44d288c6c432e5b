/* Linear layers with few rows and quantised weights: codes are read once, so they become numbers in registers. The
 * chains are as in dot.h. Register tiles are given by
 *
 *   FOVEA_NN_CODED_VECTORS        vectors of outputs: whole panels
 *   FOVEA_NN_CODED_SPARE_VECTORS  vectors of a panel, if FOVEA_NN_CODED_VECTORS are more than one panel
 *   FOVEA_NN_CODED_ROWS           rows of x beside them: 2 or 4
 *
 * Part of bodies.h. */
#ifndef FOVEA_ARCH_SHARED_NN_DOT_CODES_H
#define FOVEA_ARCH_SHARED_NN_DOT_CODES_H

#include "coded.h"
#include "dot.h"

#if FOVEA_BUILDS_FORMATS

/* Bytes from a register tile's first vector to vector `v`, `step` bytes an output. */
#define CODED_VECTOR(v, step) ((v)*LANES / FOVEA_NN_PANEL * stride + (v)*LANES % FOVEA_NN_PANEL * (int)(step))

/* Prefetches as many lines as a row of `row` bytes of each of a register tile's panels has, from `at` on, line after
 * line: so the CPU sees a stream, and runs ahead of it by itself. The tile reads lines of its panels in turn, which no
 * CPU takes for a stream. CPUs do not run into the next page, so lines further ahead are prefetched into the
 * second-level cache: all of them, or, of 4 bits, one of four, since each takes a buffer of the first-level cache from
 * the others until it comes. */
enum { CODED_LINE = 64, CODED_FAR = 2048, CODED_FAR_4 = 3072 };
FOVEA_INLINE const char *coded_prefetch(const int vectors, const int row, const int kind, const char *at) {
  const int bytes = vectors * LANES > FOVEA_NN_PANEL ? vectors * LANES / FOVEA_NN_PANEL * row : row;
  FOVEA_UNROLL
  for (int i = 0; i < bytes; i += CODED_LINE) {
    __builtin_prefetch(at + i, 0, 3);
    if (kind != CODED_4) __builtin_prefetch(at + i + CODED_FAR, 0, 2);
    if (kind == CODED_4 && i % (4 * CODED_LINE) == 0) __builtin_prefetch(at + i + CODED_FAR_4, 0, 2);
  }
  return at + bytes;
}

#ifndef FOVEA_VECTOR_READS_NUMBERS
#define vec_fma_at(a, b, c) vec_fma_number(a, *(b), c)
#endif

/* One dim of the words. */
FOVEA_INLINE void coded_dim(const int vectors, const int rows, const int kind, const int i, const float *x,
                            int64_t x_stride, const coded_values *values, const coded_words *words,
                            const vec *scales, const vec *offsets, dot_tile *tile) {
  FOVEA_UNROLL
  for (int v = 0; v < vectors; v++) {
    const vec value = coded_value(&words[v], i, kind, values);
    const vec number = kind == CODED_PLAIN ? vec_mul(value, scales[v]) : vec_fma(value, scales[v], offsets[v]);
    FOVEA_UNROLL
    for (int n = 0; n < rows; n++) tile->sum[n][v] = vec_fma_at(number, &x[n * x_stride + i], tile->sum[n][v]);
  }
}

FOVEA_INLINE void coded_tile(const fovea_nn_dot_codes_args *args, const int vectors, const int rows, const int kind,
                             int row, int vector) {
  const fovea_nn_coded_panels *panels = &args->weights;
  const int word_dims = coded_word_dims(kind), groups = coded_groups(panels);
  const int has_offsets = kind < CODED_E4M3 && panels->has_offsets;
  const float *x = args->x + row * args->x_stride;
  const coded_values values = coded_values_of(panels);
  const char *scales_at = coded_lanes(panels, vector, sizeof(float)), *codes = coded_codes(panels, vector, kind);
  const char *ahead = scales_at + args->ahead;
  const int64_t x_stride = args->x_stride, stride = panels->stride;
  dot_tile tile;
  dot_clear(vectors, rows, &tile);
  FOVEA_NO_UNROLL
  for (int dim = 0; dim < panels->dims; scales_at += CODED_ROW) {
    const int end = panels->dims - dim < panels->group ? panels->dims : dim + panels->group;
    vec scales[4], offsets[4];
    ahead = coded_prefetch(vectors, CODED_ROW, kind, ahead);
    if (has_offsets) ahead = coded_prefetch(vectors, CODED_ROW, kind, ahead);
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) {
      const char *at = scales_at + CODED_VECTOR(v, sizeof(float));
      scales[v] = coded_numbers(at);
      offsets[v] = has_offsets ? coded_numbers(at + groups * CODED_ROW) : vec_set1(-0.0f);
    }
    FOVEA_NO_UNROLL
    for (; dim < end; dim += word_dims, x += word_dims, codes += coded_row(kind)) {
      coded_words words[4];
      ahead = coded_prefetch(vectors, coded_row(kind), kind, ahead);
      FOVEA_UNROLL
      for (int v = 0; v < vectors; v++) {
        words[v] = coded_load(codes + CODED_VECTOR(v, coded_step(kind)), kind, &values);
      }
      FOVEA_UNROLL
      for (int i = 0; i < word_dims; i += 2) {
        coded_dim(vectors, rows, kind, i + 1, x, x_stride, &values, words, scales, offsets, &tile);
        coded_dim(vectors, rows, kind, i, x, x_stride, &values, words, scales, offsets, &tile);
      }
    }
  }
  dot_store(vectors, rows, args->begun, &tile, args->sums + row * FOVEA_NN_OUTS + vector * LANES);
}

#define CODED_TILE(name, vectors, rows)                                                                            \
  FOVEA_NOINLINE void name(const fovea_nn_dot_codes_args *args, int row, int vector) {                             \
    const int kind = coded_kind(&args->weights);                                                                   \
    if (kind == CODED_4)                                                                                           \
      coded_tile(args, vectors, rows, CODED_4, row, vector);                                                       \
    else if (kind == CODED_8)                                                                                      \
      coded_tile(args, vectors, rows, CODED_8, row, vector);                                                       \
    else                                                                                                           \
      coded_tile(args, vectors, rows, CODED_E4M3, row, vector);                                                    \
  }
#if FOVEA_NN_CODED_ROWS > 2
CODED_TILE(coded_most, FOVEA_NN_CODED_VECTORS, FOVEA_NN_CODED_ROWS)
#endif
CODED_TILE(coded_two, FOVEA_NN_CODED_VECTORS, 2)
CODED_TILE(coded_one, FOVEA_NN_CODED_VECTORS, 1)
#ifdef FOVEA_VECTOR_HALVES_WORDS
FOVEA_NOINLINE void coded_plain(const fovea_nn_dot_codes_args *args, int row, int vector) {
  coded_tile(args, FOVEA_NN_CODED_VECTORS, 1, CODED_PLAIN, row, vector);
}
#else
#define coded_plain coded_one
#endif
#ifdef FOVEA_NN_CODED_SPARE_VECTORS
_Static_assert(FOVEA_NN_CODED_SPARE_VECTORS == DOT_PANEL_VECTORS, "a tile for one panel");
CODED_TILE(coded_spare, FOVEA_NN_CODED_SPARE_VECTORS, 1)
#else
_Static_assert(FOVEA_NN_CODED_VECTORS *LANES <= FOVEA_NN_PANEL, "panels are whole register tiles");
#endif

FOVEA_KERNEL void FOVEA_NAME(nn_dot_codes)(const fovea_nn_dot_codes_args *args) {
  const int vectors = args->weights.panels * DOT_PANEL_VECTORS;
  const int plain = coded_kind(&args->weights) == CODED_8 && !args->weights.has_offsets;
  int vector = 0;
  for (; vector + FOVEA_NN_CODED_VECTORS <= vectors; vector += FOVEA_NN_CODED_VECTORS) {
    int row = 0;
#if FOVEA_NN_CODED_ROWS > 2
    for (; row + FOVEA_NN_CODED_ROWS <= args->rows; row += FOVEA_NN_CODED_ROWS) coded_most(args, row, vector);
#endif
    for (; row + 2 <= args->rows; row += 2) coded_two(args, row, vector);
    if (row < args->rows) (plain ? coded_plain : coded_one)(args, row, vector);
  }
#ifdef FOVEA_NN_CODED_SPARE_VECTORS
  for (; vector < vectors; vector += FOVEA_NN_CODED_SPARE_VECTORS) {
    for (int row = 0; row < args->rows; row++) coded_spare(args, row, vector);
  }
#endif
}

#endif
#endif

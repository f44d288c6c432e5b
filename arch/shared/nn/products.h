/* Linear layers in int8 mode (docs/numerics.md, L1): codes of rows, and their products with the codes of quantised
 * weights. Outputs lie in the lanes, words of four codes of packed rows are broadcast. Sums are integers, so their
 * order does not matter; what is done with them is one IEEE operation each. The instructions are a layer,
 *
 *   INT8_WORD_BYTES, INT8_OFFSET  of four codes of x, as packed; what is added to each
 *   int8_pack(codes, to)          packs four codes, which have the offset
 *   int8_sum                      LANES sums of int32; int8_set1(), int8_load(), int8_store(), int8_float() as f32
 *   int8_weights, int8_place(p)   words of LANES outputs, as they lie at p, prepared
 *   int8_scalars, int8_spread(p)  a packed word of a row for all lanes
 *   int8_add(sum, w, x)           sum plus the products of the four codes
 *
 * with INT8_TURNS_ROWS, if words of x, whose codes have four bytes as they are, should be put together by transposing
 * rows, and tiles are given by
 *
 *   FOVEA_NN_INT8_VECTORS         vectors of outputs, of whole panels
 *   FOVEA_NN_INT8_TILE_ROWS       the most rows beside them
 *   FOVEA_NN_INT8_ROW_STEP        rows are cut in steps of so many
 *   FOVEA_NN_INT8_TILES(TILE)     TILE() of each number of steps
 *
 * A layer with INT8_ROW_PAIRS multiplies pairs of rows by pairs of outputs, eight dims at a time, and has
 *
 *   INT8_CHUNK                    2: words of x lie two by two
 *   int8_zip(words)               puts two words of an output side by side, for all outputs of a panel
 *   int8_add_pairs(sum, x, w)     sum plus the products of rows 0 and 1 by outputs 0 and 1: row by row
 *   int8_unpair(a, b)             of sums of outputs 0, 1 and 2, 3: makes sums of row 0 and of row 1
 *   FOVEA_NN_INT8_LEAST           rows for which this pays
 *
 * in place of int8_scalars, int8_spread() and int8_add(). Layers without it have, for one row of x,
 *
 *   int8_values, int8_values_at(p)  words of four values of LANES outputs, as they lie at p
 *   int8_table, int8_table_of(p)    the sixteen values that codes of 4 bits stand for
 *   int8_look_up(p, table, to)      from words of 4 bits at p: words of dims 0 to 3, and of dims 4 to 7
 *   INT8_ROW_OFFSET                 what int8_offset(values) adds to values or to a table; 0: there is no such function
 *   int8_row_add(sum, w, p)         sum plus the products of values, which have the offset, by a word of four codes at p
 *
 * With an offset sums begin at what it adds to them, negative: prepare() finds it once for all rows. */
#include "../../args/nn_int8.h"
#include "products_close.h"
#include "products_codes.h"
#ifndef INT8_ROW_PAIRS
#include "products_row.h"
#endif
#include "products_weights.h"

#include <string.h>

_Static_assert(FOVEA_NN_INT8_TILE_ROWS <= FOVEA_NN_INT8_ROWS && INT8_WORD_BYTES <= FOVEA_NN_INT8_WORD_BYTES,
               "the limits of all sets that serve without scratch");

/* ---- Weights -------------------------------------------------------------------------------------------------- */

/* What the offset of x adds to the sums of a group, negative. */
FOVEA_INLINE void int8_find_starts(const fovea_nn_prepare_args *args) {
#if INT8_OFFSET
  const fovea_nn_quantised_args *of = &args->of;
  const int8_words words = int8_words_of(of, args->words);
  const int groups = int8_groups(of), step = of->group > 0 ? INT8_OUTS : 0;
  char offset[INT8_WORD_BYTES];
  memset(offset, INT8_OFFSET, sizeof offset);
  const int8_scalars x = int8_spread(offset);
  for (int v = 0; v < FOVEA_NN_INT8_VECTORS; v++) {
    const char *panel = words.first + v * LANES / FOVEA_NN_PANEL * words.panel_stride +
                        v * LANES % FOVEA_NN_PANEL * FOVEA_NN_WORD_CODES;
    int32_t *start = args->starts + v * LANES;
    int8_sum sum = int8_set1(0);
    for (int piece = 0; piece < of->pieces; piece++) {
      const char *at = panel + piece * words.piece_stride;
      for (int g = 0; g < groups; g++, start += step) {
        if (step > 0) sum = int8_set1(0);
        FOVEA_NO_UNROLL
        for (int n = int8_group_words(of, g); n > 0; n--, at += INT8_WORD_OUTS)
          sum = int8_add(sum, int8_place(at), x);
        int8_store(start, int8_negative(sum));
      }
    }
  }
#else
  const int groups = args->of.group > 0 ? args->of.pieces * int8_groups(&args->of) : 1;
  memset(args->starts, 0, (size_t)groups * INT8_OUTS * sizeof(int32_t));
#endif
}

FOVEA_KERNEL void FOVEA_NAME(nn_prepare)(const fovea_nn_prepare_args *args) {
  if (int8_is_copied(&args->of)) int8_copy_panels(args);
  int8_find_starts(args);
}

/* ---- Products ------------------------------------------------------------------------------------------------- */

/* On x86 gcc's coalescing of variables keeps two copies of each sum in the loops that fill the registers: 66 moves and 18
 * uses of the stack beside 24 products. Without it there are none. On AArch64 there are none with it, and 10 moves and 11
 * uses of the stack without it. */
#if defined(__x86_64__) && !defined(__clang__)
#define INT8_FEWER_COPIES
#endif
#ifdef INT8_FEWER_COPIES
#pragma GCC push_options
#pragma GCC optimize("no-tree-coalesce-vars")
#endif

typedef struct int8_tile {
  int8_sum sum[FOVEA_NN_INT8_TILE_ROWS][FOVEA_NN_INT8_VECTORS];
} int8_tile;

FOVEA_INLINE void int8_begin(const int rows, const int32_t *starts, int8_tile *tile) {
  FOVEA_UNROLL
  for (int v = 0; v < FOVEA_NN_INT8_VECTORS; v++) {
    const int8_sum start = int8_load(starts + v * LANES);
    FOVEA_UNROLL
    for (int n = 0; n < rows; n++) tile->sum[n][v] = start;
  }
}

/* Sums of the dims before, of one group. */
FOVEA_INLINE void int8_resume(const int rows, const float *sums, int8_tile *tile) {
  FOVEA_UNROLL
  for (int n = 0; n < rows; n++) {
    FOVEA_UNROLL
    for (int v = 0; v < FOVEA_NN_INT8_VECTORS; v++) {
      const int8_sum before = int8_load((const int32_t *)(const void *)(sums + n * INT8_OUTS + v * LANES));
      tile->sum[n][v] = int8_plus(tile->sum[n][v], before);
    }
  }
}

FOVEA_INLINE void int8_leave(const int rows, float *sums, const int8_tile *tile) {
  FOVEA_UNROLL
  for (int n = 0; n < rows; n++) {
    FOVEA_UNROLL
    for (int v = 0; v < FOVEA_NN_INT8_VECTORS; v++)
      int8_store((int32_t *)(void *)(sums + n * INT8_OUTS + v * LANES), tile->sum[n][v]);
  }
}

/* Some words of a group, at least one chunk: gcc keeps copies of sums if the loop may be skipped. */
#ifdef INT8_ROW_PAIRS
/* Sums of a pair of rows lie in the places of both, as int8_add_pairs() leaves them. */
FOVEA_INLINE void int8_multiply(const int rows, const char *x, const char *words, int64_t panel_stride, int count,
                                int8_tile *tile) {
  (void)panel_stride; /* a tile is one panel */
  do {
    int8_weights pairs[FOVEA_NN_INT8_TILE_ROWS / 2];
    FOVEA_UNROLL
    for (int n = 0; n < rows; n += 2) pairs[n / 2] = int8_place(x + n * INT8_CHUNK * INT8_WORD_BYTES);
    FOVEA_UNROLL
    for (int v = 0; v < FOVEA_NN_INT8_VECTORS; v++) {
      FOVEA_UNROLL
      for (int half = 0; half < 2; half++) {
        const int8_weights w = int8_place(words + (2 * v + half) * (int)sizeof(int8_weights));
        FOVEA_UNROLL
        for (int n = 0; n < rows; n += 2)
          tile->sum[n + half][v] = int8_add_pairs(tile->sum[n + half][v], pairs[n / 2], w);
      }
    }
    x += rows * INT8_CHUNK * INT8_WORD_BYTES;
    words += INT8_CHUNK * INT8_WORD_OUTS;
    count -= INT8_CHUNK;
  } while (count > 0);
}

FOVEA_INLINE void int8_gather(const int rows, int8_tile *tile) {
  FOVEA_UNROLL
  for (int n = 0; n < rows; n += 2) {
    FOVEA_UNROLL
    for (int v = 0; v < FOVEA_NN_INT8_VECTORS; v++) int8_unpair(&tile->sum[n][v], &tile->sum[n + 1][v]);
  }
}
#else
FOVEA_INLINE void int8_multiply(const int rows, const char *x, const char *words, int64_t panel_stride, int count,
                                int8_tile *tile) {
  do {
    int8_weights w[FOVEA_NN_INT8_VECTORS];
    FOVEA_UNROLL
    for (int v = 0; v < FOVEA_NN_INT8_VECTORS; v++) {
      w[v] = int8_place(words + v * LANES / FOVEA_NN_PANEL * panel_stride +
                        v * LANES % FOVEA_NN_PANEL * FOVEA_NN_WORD_CODES);
    }
    FOVEA_UNROLL
    for (int n = 0; n < rows; n++) {
      const int8_scalars scalars = int8_spread(x + n * INT8_WORD_BYTES);
      FOVEA_UNROLL
      for (int v = 0; v < FOVEA_NN_INT8_VECTORS; v++) tile->sum[n][v] = int8_add(tile->sum[n][v], w[v], scalars);
    }
    x += rows * INT8_WORD_BYTES;
    words += INT8_WORD_OUTS;
  } while (--count > 0);
}

FOVEA_INLINE void int8_gather(const int rows, int8_tile *tile) {
  (void)rows, (void)tile;
}
#endif

/* The sums of a group that is complete, in registers. */
FOVEA_INLINE void int8_close(const int rows, const fovea_nn_products_args *args, const int8_group *at,
                             const int8_tile *tile) {
  const int64_t to_offsets = (int64_t)int8_groups(&args->of) * FOVEA_NN_PANEL;
  FOVEA_UNROLL
  for (int v = 0; v < FOVEA_NN_INT8_VECTORS; v++) {
    const float *scales = int8_scales(&args->of, at->piece, at->g, v);
    const vec scale = vec_load(scales);
    const vec offset = args->of.has_offsets ? vec_load(scales + to_offsets) : scale;
    FOVEA_UNROLL
    for (int n = 0; n < rows; n++) {
      float *sums = args->sums + n * INT8_OUTS + v * LANES;
      vec_store(sums, int8_closed(args, at, n, int8_float(tile->sum[n][v]), scale, offset, sums));
    }
  }
}

/* All dims are one group. */
FOVEA_INLINE void int8_whole(const int rows, const fovea_nn_products_args *args) {
  const int8_words words = int8_words_of(&args->of, args->words);
  const int count = int8_group_words(&args->of, 0);
  const char *x = args->x, *at = words.first;
  int8_tile tile;
  int8_begin(rows, args->starts, &tile);
  int pieces = args->of.pieces;
  do {
    int8_multiply(rows, x, at, words.panel_stride, count, &tile);
    x += (int64_t)count * rows * INT8_WORD_BYTES;
    at += words.piece_stride;
  } while (--pieces > 0);
  int8_gather(rows, &tile);
  if (args->begun) int8_resume(rows, args->sums, &tile);
  const int8_group all = {.first = 1, .last = 1};
  if (args->ends)
    int8_close(rows, args, &all, &tile);
  else
    int8_leave(rows, args->sums, &tile);
}

FOVEA_INLINE void int8_grouped(const int rows, const fovea_nn_products_args *args) {
  const int8_words words = int8_words_of(&args->of, args->words);
  const int groups = int8_groups(&args->of);
  const char *x = args->x;
  int8_group at = {0};
  FOVEA_NO_UNROLL
  for (; at.piece < args->of.pieces; at.piece++) {
    const char *w = words.first + at.piece * words.piece_stride;
    FOVEA_NO_UNROLL
    for (at.g = 0; at.g < groups; at.g++, at.group++) {
      const int count = int8_group_words(&args->of, at.g);
      int8_tile tile;
      at.first = !args->begun && at.group == 0;
      at.last = args->ends && at.piece + 1 == args->of.pieces && at.g + 1 == groups;
      int8_begin(rows, args->starts + (int64_t)at.group * INT8_OUTS, &tile);
      int8_multiply(rows, x, w, words.panel_stride, count, &tile);
      int8_gather(rows, &tile);
      int8_close(rows, args, &at, &tile);
      x += (int64_t)count * rows * INT8_WORD_BYTES;
      w += (int64_t)count * INT8_WORD_OUTS;
    }
  }
}

#define INT8_TILE(rows)                                                                                            \
  FOVEA_NOINLINE void int8_rows_##rows(const fovea_nn_products_args *args) {                                       \
    if (args->of.group > 0)                                                                                        \
      int8_grouped(rows, args);                                                                                    \
    else                                                                                                           \
      int8_whole(rows, args);                                                                                      \
  }
#define INT8_CASE(rows)                                                                                            \
  case rows:                                                                                                       \
    int8_rows_##rows(args);                                                                                        \
    break;

FOVEA_NN_INT8_TILES(INT8_TILE)

#ifdef INT8_FEWER_COPIES
#pragma GCC pop_options
#endif

FOVEA_KERNEL void FOVEA_NAME(nn_products)(const fovea_nn_products_args *args) {
  switch (args->rows) { FOVEA_NN_INT8_TILES(INT8_CASE) }
}

#define INT8_TABLE_(isa) fovea_nn_int8_##isa
#define INT8_TABLE(isa)  INT8_TABLE_(isa)
const fovea_nn_int8_kernels INT8_TABLE(FOVEA_ISA) = {
    .word_bytes = INT8_WORD_BYTES,
    .word_step = INT8_CHUNK,
    .row_step = FOVEA_NN_INT8_ROW_STEP,
#ifdef INT8_ROW_PAIRS
    .least = FOVEA_NN_INT8_LEAST,
#else
    .row = FOVEA_NAME(nn_row_products),
#endif
    .tile_rows = FOVEA_NN_INT8_TILE_ROWS,
    .tile_outs = INT8_OUTS,
    .measure = FOVEA_SHARED(nn_measure),
    .codes = INT8_CODES_NAME,
    .prepare = FOVEA_NAME(nn_prepare),
    .products = FOVEA_NAME(nn_products),
};

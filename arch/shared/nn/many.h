/* Linear layers of many rows: outputs lie in the lanes, numbers of packed rows are broadcast. The chain of a piece
 * is as in dot.h: dims 1, 0, 3, 2, ... Register tiles are given by
 *
 *   FOVEA_NN_MANY_VECTORS         vectors of outputs, of whole panels
 *   FOVEA_NN_MANY_ROWS            the most rows beside them, even: all accumulators are registers
 *   FOVEA_NN_MANY_LEAST           the fewest rows: half of the most, and one more if that is odd
 *   FOVEA_NN_MANY_TILES(TILE)     TILE() of each even number of rows
 *   FOVEA_NN_MANY_LAST_ROWS       rows, even, whose last dims are multiplied together; all rows, if it is not there
 *
 * A set without them has no register tiles of many rows.
 *
 * A tile prefetches what the next one needs: two lines for each two dims made layers of 512 rows 11 to 15 %
 * faster (Cascade Lake). Two dims an iteration, not four: half the code, and 1 % faster (Intel Xeon with AMX).
 * Part of bodies.h. */
#ifndef FOVEA_ARCH_SHARED_NN_MANY_H
#define FOVEA_ARCH_SHARED_NN_MANY_H

#include "dot.h"
#include "finish.h"

#ifdef FOVEA_NN_MANY_ROWS

_Static_assert(FOVEA_NN_MANY_ROWS % 2 == 0 && FOVEA_NN_MANY_LEAST % 2 == 0, "rows are cut in pairs");
_Static_assert(FOVEA_NN_MANY_VECTORS *LANES % FOVEA_NN_PANEL == 0, "tiles are whole panels");

/* Packed rows are whole vectors, so that no store crosses a line and none reaches behind the last dim. */
enum { MANY_SQUARES = (FOVEA_NN_MANY_ROWS + LANES - 1) / LANES, MANY_STRIDE = MANY_SQUARES * LANES };

typedef struct many_tile {
  vec sum[FOVEA_NN_MANY_ROWS][FOVEA_NN_MANY_VECTORS];
} many_tile;

/* One dim of rows from `first`, which is even, up to `rows`: its numbers of x lie side by side. */
FOVEA_INLINE void many_dim(const int first, const int rows, const float *x, const float *weights,
                           int64_t panel_stride, many_tile *tile) {
  vec w[FOVEA_NN_MANY_VECTORS];
  FOVEA_UNROLL
  for (int v = 0; v < FOVEA_NN_MANY_VECTORS; v++) w[v] = vec_load(DOT_WEIGHTS(v));
  FOVEA_UNROLL
  for (int n = first; n < rows; n += 2) {
    const vec4 scalars = vec4_load(x + n / 4 * 4);
    FOVEA_UNROLL
    for (int v = 0; v < FOVEA_NN_MANY_VECTORS; v++) {
      tile->sum[n][v] =
          n % 4 ? vec_fma_lane(w[v], scalars, 2, tile->sum[n][v]) : vec_fma_lane(w[v], scalars, 0, tile->sum[n][v]);
    }
    FOVEA_UNROLL
    for (int v = 0; v < FOVEA_NN_MANY_VECTORS; v++) {
      tile->sum[n + 1][v] = n % 4 ? vec_fma_lane(w[v], scalars, 3, tile->sum[n + 1][v])
                                  : vec_fma_lane(w[v], scalars, 1, tile->sum[n + 1][v]);
    }
  }
}

/* The sums of the pieces before it plus the sums of the piece. */
FOVEA_INLINE void many_add(const int first, const int rows, const float *sums, many_tile *tile) {
  FOVEA_UNROLL
  for (int n = first; n < rows; n++) {
    FOVEA_UNROLL
    for (int v = 0; v < FOVEA_NN_MANY_VECTORS; v++) {
      tile->sum[n][v] = vec_add(vec_load(sums + (n * FOVEA_NN_MANY_VECTORS + v) * LANES), tile->sum[n][v]);
    }
  }
}

FOVEA_INLINE void many_store(const int first, const int rows, float *sums, const many_tile *tile) {
  FOVEA_UNROLL
  for (int n = first; n < rows; n++) {
    FOVEA_UNROLL
    for (int v = 0; v < FOVEA_NN_MANY_VECTORS; v++) {
      vec_store(sums + (n * FOVEA_NN_MANY_VECTORS + v) * LANES, tile->sum[n][v]);
    }
  }
}

/* What no residual is: no sum changes, not even -0. */
#define MANY_EIGHT -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f
static const float many_nothing[] = {MANY_EIGHT, MANY_EIGHT, MANY_EIGHT, MANY_EIGHT};
_Static_assert(sizeof many_nothing / sizeof(float) >= FOVEA_NN_MANY_VECTORS * LANES, "a row of a tile");

/* Results in place of sums, as finish_plain() makes them. */
FOVEA_INLINE void many_end(const int first, const int rows, const fovea_nn_finish_args *end,
                           const many_tile *tile) {
  const float *bias = end->bias ? end->bias : finish_zeros;
  const float *residual = end->residual.data ? end->residual.data : many_nothing;
  const int64_t residual_stride = end->residual.data ? end->residual.stride : 0, y_stride = end->y.stride;
  float *y = (float *)end->y.data + first * y_stride;
  residual += first * residual_stride;
  FOVEA_UNROLL
  for (int n = first; n < rows; n++, y += y_stride, residual += residual_stride) {
    __asm__("" : "+r"(residual), "+r"(y)); /* or gcc keeps a pointer for each row */
    FOVEA_UNROLL
    for (int v = 0; v < FOVEA_NN_MANY_VECTORS; v++) {
      const vec x = vec_add(tile->sum[n][v], vec_load(bias + v * LANES));
      vec_store(y + v * LANES, result_of(vec_add(x, vec_load(residual + v * LANES))));
    }
  }
}

/* If all sums of a tile end at once, their additions and stores fill the scheduler of the CPU, and the products of the
 * next tile wait behind them: on Zen 4 some 85 cycles. So some rows end while the next ones still multiply. With vectors
 * of 256 bits that gained nothing. */
#ifdef FOVEA_NN_MANY_LAST_ROWS
_Static_assert(FOVEA_NN_MANY_LAST_ROWS % 2 == 0, "many_dim() takes pairs of rows");
enum { MANY_LAST_ROWS = FOVEA_NN_MANY_LAST_ROWS, MANY_LAST_DIMS = 4 };
#else
enum { MANY_LAST_ROWS = FOVEA_NN_MANY_ROWS, MANY_LAST_DIMS = 0 };
#endif

_Static_assert(FOVEA_NN_MANY_ROWS <= 3 * MANY_LAST_ROWS, "groups of many_rows()");
#define MANY_LEAST(a, b) ((a) < (b) ? (a) : (b))

/* The last dims, an even number, of rows from `first` up to `rows`, and what becomes of their sums. */
FOVEA_INLINE void many_last(const int first, const int rows, const fovea_nn_tile_args *args, int dims,
                            const float *x, const float *weights, many_tile *tile) {
  const int64_t panel_stride = args->panel_stride;
  FOVEA_NO_UNROLL
  for (; MANY_LAST_DIMS > 0 && dims > 0; dims -= 2, x += 2 * MANY_STRIDE, weights += 2 * FOVEA_NN_PANEL) {
    many_dim(first, rows, x + MANY_STRIDE, weights + FOVEA_NN_PANEL, panel_stride, tile);
    many_dim(first, rows, x, weights, panel_stride, tile);
  }
  if (args->begun) many_add(first, rows, args->sums, tile);
  if (args->end)
    many_end(first, rows, args->end, tile);
  else
    many_store(first, rows, args->sums, tile);
}

FOVEA_INLINE void many_rows(const int rows, const fovea_nn_tile_args *args) {
  const int64_t panel_stride = args->panel_stride;
  const float *x = args->x, *weights = args->weights;
  const char *near = args->near.begin, *far = args->far.begin;
  const int64_t two_steps = args->near.step + args->near_turn;
  const int last = args->dims % 2 > 0 ? 0 : args->dims < MANY_LAST_DIMS ? args->dims : MANY_LAST_DIMS;
  int64_t step = args->near.step;
  int dims = args->dims - last;
  many_tile tile;
  FOVEA_UNROLL
  for (int n = 0; n < rows; n++) {
    FOVEA_UNROLL
    for (int v = 0; v < FOVEA_NN_MANY_VECTORS; v++) tile.sum[n][v] = vec_set1(0.0f);
  }
  FOVEA_NO_UNROLL
  for (; dims >= 2; dims -= 2, x += 2 * MANY_STRIDE, weights += 2 * FOVEA_NN_PANEL) {
    many_dim(0, rows, x + MANY_STRIDE, weights + FOVEA_NN_PANEL, panel_stride, &tile);
    __builtin_prefetch(near, 0, 3);
#ifdef FOVEA_NN_MANY_LOADS_LATE
    __asm__("" ::: "memory");
#endif
    many_dim(0, rows, x, weights, panel_stride, &tile);
    __builtin_prefetch(far, 0, 2);
    near += step;
    step = two_steps - step;
    far += args->far.step;
  }
  if (dims > 0) many_dim(0, rows, x, weights, panel_stride, &tile);
  /* No loop: clang would unroll what is inside before it knows the first row. */
  many_last(0, MANY_LEAST(rows, MANY_LAST_ROWS), args, last, x, weights, &tile);
  if (rows > MANY_LAST_ROWS)
    many_last(MANY_LAST_ROWS, MANY_LEAST(rows, 2 * MANY_LAST_ROWS), args, last, x, weights, &tile);
  if (rows > 2 * MANY_LAST_ROWS) many_last(2 * MANY_LAST_ROWS, rows, args, last, x, weights, &tile);
}

#define MANY_TILE(rows)                                                                                            \
  FOVEA_NOINLINE void many_##rows(const fovea_nn_tile_args *args) {                                                \
    many_rows(rows, args);                                                                                         \
  }
#define MANY_CASE(rows)                                                                                            \
  case rows:                                                                                                       \
    many_##rows(args);                                                                                             \
    break;

FOVEA_NN_MANY_TILES(MANY_TILE)

FOVEA_KERNEL void FOVEA_NAME(nn_tile)(const fovea_nn_tile_args *args) {
  switch (args->rows) { FOVEA_NN_MANY_TILES(MANY_CASE) }
}

/* ---- Packing -------------------------------------------------------------------------------------------------- */

/* LANES dims of up to LANES rows, transposed: square[dim][row]. Rows after the last are the last again, and nothing
 * reads their sums. The rows of the next tile are prefetched: each lies on a page or two of its own, where hardware sees
 * no stream. */
FOVEA_INLINE void many_square(const fovea_nn_pack_args *args, int row, int dim, int dims, vec square[LANES]) {
  const float *x[LANES];
  FOVEA_UNROLL
  for (int i = 0; i < LANES; i++) {
    const int from = row + i < args->rows ? row + i : args->rows - 1;
    x[i] = args->x + from * args->x_stride + dim;
    __builtin_prefetch(x[i] + args->tile_rows * args->x_stride);
  }
  if (dims == LANES) {
    FOVEA_UNROLL
    for (int i = 0; i < LANES; i++) square[i] = vec_load(x[i]);
  } else {
    FOVEA_UNROLL
    for (int i = 0; i < LANES; i++) square[i] = vec_load_first(x[i], dims);
  }
  vec_transpose(square);
}

FOVEA_KERNEL void FOVEA_NAME(nn_pack)(const fovea_nn_pack_args *args) {
  float *to = args->to;
  for (int d = 0; d < args->dims; d += LANES) {
    const int dims = args->dims - d < LANES ? args->dims - d : LANES;
    vec squares[MANY_SQUARES][LANES];
    FOVEA_UNROLL
    for (int s = 0; s < MANY_SQUARES; s++) many_square(args, s * LANES, d, dims, squares[s]);
    FOVEA_UNROLL
    for (int i = 0; i < LANES; i++, to += MANY_STRIDE) {
      if (i >= dims) continue; /* no loop: the squares stay in registers */
      FOVEA_UNROLL
      for (int s = 0; s < MANY_SQUARES; s++) vec_store(to + s * LANES, squares[s][i]);
    }
  }
}

#endif
#endif

/* Linear layers in bf16 mode (docs/numerics.md, L1): outputs lie in the lanes, items of rows are broadcast. A register
 * tile has two chains for each sum, of even and of odd dims. Before it comes bf16_numbers.h or bf16_pairs.h, which give
 *
 *   BF16_ITEM_PAIRS        pairs of dims of an item: 1 or 2
 *   bf16_mode_pack         rows as items: two numbers or words each, for the even chain and for the odd one
 *   bf16_load_item         the same of weights
 *   BF16_SAFE, BF16_CLEAR  of the table (fovea_nn_bf16_kernels)
 *   bf16_step(w, x, sum)   adds the products of an item to a chain
 */
#ifndef FOVEA_ARCH_SHARED_NN_BF16_MODE_H
#define FOVEA_ARCH_SHARED_NN_BF16_MODE_H

#include "../../args/nn_bf16.h"

#if FOVEA_BUILDS_BF16

enum {
  BF16_PAIRS = FOVEA_NN_BF16_GROUP / 2, /* of a group */
  BF16_KEEPS = BF16_ITEM_PAIRS > 1,     /* sums of all dims in registers, since groups take half the time */
  BF16_TILE_ROWS = BF16_KEEPS ? 4 : FOVEA_NN_TILE_ROWS,
  BF16_TILE_VECTORS = FOVEA_NN_TILE_VECTORS / 2,
  BF16_FEW_ROWS = BF16_TILE_ROWS > 4 ? 4 : 2, /* a step of 32 rows may be four tiles of 6 and two of 4 */
  BF16_WORDS = FOVEA_NN_PANEL * 2,            /* elements of a pair of dims of a panel */
#ifdef FOVEA_NN_BF16_READS_AGAIN
  BF16_PARTS = 2
#else
  BF16_PARTS = 1
#endif
};

typedef struct bf16_mode_tile {
  vec even[BF16_TILE_ROWS][FOVEA_NN_TILE_VECTORS], odd[BF16_TILE_ROWS][FOVEA_NN_TILE_VECTORS];
} bf16_mode_tile;

/* The sums of the groups before: in memory, or kept. */
typedef struct bf16_mode_sums {
  float *to; /* rows of FOVEA_NN_OUTS */
  vec kept[BF16_TILE_ROWS][FOVEA_NN_TILE_VECTORS];
} bf16_mode_sums;

FOVEA_INLINE void bf16_mode_begin(const int rows, const int vectors, bf16_mode_sums *sums) {
  FOVEA_UNROLL
  for (int n = 0; BF16_KEEPS && n < rows; n++) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) sums->kept[n][v] = vec_load(sums->to + n * FOVEA_NN_OUTS + v * LANES);
  }
}

FOVEA_INLINE void bf16_mode_add(const int rows, const int vectors, const bf16_mode_tile *tile,
                                bf16_mode_sums *sums) {
  FOVEA_UNROLL
  for (int n = 0; n < rows; n++) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) {
      const vec group = vec_add(tile->even[n][v], tile->odd[n][v]);
      float *sum = sums->to + n * FOVEA_NN_OUTS + v * LANES;
      if (BF16_KEEPS)
        sums->kept[n][v] = vec_add(sums->kept[n][v], group);
      else
        vec_store(sum, vec_add(vec_load(sum), group));
    }
  }
}

FOVEA_INLINE void bf16_mode_end(const int rows, const int vectors, const bf16_mode_sums *sums) {
  FOVEA_UNROLL
  for (int n = 0; BF16_KEEPS && n < rows; n++) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) vec_store(sums->to + n * FOVEA_NN_OUTS + v * LANES, sums->kept[n][v]);
  }
}

/* Where vector v of a tile begins in panels that are `panel_stride` apart. */
#define BF16_PLACE(v) ((v)*LANES / FOVEA_NN_PANEL * panel_stride + (v)*LANES % FOVEA_NN_PANEL * 2)

/* One item of all rows, in BF16_PARTS: both chains together, or the even dims of all rows before the odd dims, so that
 * fewer registers hold weights beside the sums. Each part reads its weights. */
FOVEA_INLINE void bf16_mode_item(const int rows, const int vectors, const int whole, const float *x,
                                 int64_t x_stride, const uint16_t *weights, int64_t panel_stride,
                                 bf16_mode_tile *tile) {
  FOVEA_UNROLL
  for (int part = 0; part < BF16_PARTS; part++) {
    vec even[FOVEA_NN_TILE_VECTORS], odd[FOVEA_NN_TILE_VECTORS];
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) bf16_load_item(weights + BF16_PLACE(v), whole, &even[v], &odd[v]);
    FOVEA_UNROLL
    for (int n = 0; n < rows; n++) {
      FOVEA_UNROLL
      for (int v = 0; v < vectors; v++) {
        if (part == 0) tile->even[n][v] = bf16_step(even[v], x[n * x_stride], tile->even[n][v]);
        if (part + 1 == BF16_PARTS) tile->odd[n][v] = bf16_step(odd[v], x[n * x_stride + 1], tile->odd[n][v]);
      }
    }
#ifdef FOVEA_NN_BF16_READS_AGAIN
    __asm__("" : "+r"(weights)); /* else compilers keep the weights of part 1, and some of the sums on the stack */
#endif
  }
}

/* One group: its sum is added to the sums. */
FOVEA_INLINE void bf16_mode_group(const int rows, const int vectors, const float *x, int64_t x_stride,
                                  const uint16_t *weights, int64_t panel_stride, int pairs, bf16_mode_sums *sums) {
  bf16_mode_tile tile;
  FOVEA_UNROLL
  for (int n = 0; n < rows; n++) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) tile.even[n][v] = tile.odd[n][v] = vec_set1(0.0f);
  }
  FOVEA_NO_UNROLL
  for (; pairs >= BF16_ITEM_PAIRS; pairs -= BF16_ITEM_PAIRS, x += 2, weights += BF16_ITEM_PAIRS * BF16_WORDS)
    bf16_mode_item(rows, vectors, 1, x, x_stride, weights, panel_stride, &tile);
  if (BF16_ITEM_PAIRS > 1 && pairs > 0) bf16_mode_item(rows, vectors, 0, x, x_stride, weights, panel_stride, &tile);
  bf16_mode_add(rows, vectors, &tile, sums);
}

/* The panels of a piece. */
FOVEA_INLINE const uint16_t *bf16_mode_piece(const fovea_nn_bf16_panels *panels, int64_t dim) {
  const int64_t rest = panels->dims - dim, dims = rest < FOVEA_DOT_PIECE ? rest : FOVEA_DOT_PIECE;
  return panels->weights + dim / FOVEA_DOT_PIECE * panels->piece_stride +
         panels->first * ((dims + 1) / 2 * BF16_WORDS);
}

FOVEA_INLINE void bf16_mode_rows(const int rows, const int vectors, const fovea_nn_bf16_tile_args *args, int row,
                                 int vector) {
  const fovea_nn_bf16_panels *panels = &args->panels;
  const float *x = (const float *)(const void *)(args->x + row * args->x_stride);
  const int64_t x_stride = args->x_stride / (int64_t)sizeof(float);
  bf16_mode_sums sums = {.to = args->sums + row * FOVEA_NN_OUTS + vector * LANES};
  bf16_mode_begin(rows, vectors, &sums);
  FOVEA_NO_UNROLL
  for (int64_t dim = 0; dim < panels->dims; dim += FOVEA_DOT_PIECE) {
    const int64_t rest = panels->dims - dim, dims = rest < FOVEA_DOT_PIECE ? rest : FOVEA_DOT_PIECE;
    const int64_t panel_stride = (dims + 1) / 2 * BF16_WORDS;
    const uint16_t *weights = bf16_mode_piece(panels, dim) + BF16_PLACE(vector);
    FOVEA_NO_UNROLL
    for (int64_t pair = 0; pair < (dims + 1) / 2; pair += BF16_PAIRS, weights += BF16_PAIRS * BF16_WORDS) {
      const int64_t left = (dims + 1) / 2 - pair;
      bf16_mode_group(rows, vectors, x + (dim + 2 * pair) / BF16_ITEM_PAIRS, x_stride, weights, panel_stride,
                      (int)(left < BF16_PAIRS ? left : BF16_PAIRS), &sums);
    }
  }
  bf16_mode_end(rows, vectors, &sums);
}

/* Register tiles are functions of their own. */
#define BF16_TILE(name, rows, vectors)                                                                             \
  FOVEA_NOINLINE void bf16_mode_##name(const fovea_nn_bf16_tile_args *args, int row, int vector) {                 \
    bf16_mode_rows(rows, vectors, args, row, vector);                                                              \
  }
BF16_TILE(many, BF16_TILE_ROWS, BF16_TILE_VECTORS)
BF16_TILE(few, BF16_FEW_ROWS, BF16_TILE_VECTORS)
BF16_TILE(one, 1, FOVEA_NN_TILE_VECTORS)
BF16_TILE(last, 1, FOVEA_NN_PANEL / LANES)

FOVEA_KERNEL static void bf16_mode_zero(const fovea_nn_bf16_tile_args *args) {
  for (int row = 0; row < args->rows; row++) {
    for (int out = 0; out < args->panels.panels * FOVEA_NN_PANEL; out += LANES)
      vec_store(args->sums + row * FOVEA_NN_OUTS + out, vec_set1(0.0f));
  }
}

/* Rows of the next tile, of those that are left. */
FOVEA_INLINE int bf16_mode_next(int rows) {
  if (rows == BF16_TILE_ROWS || (rows > BF16_TILE_ROWS && rows != 2 * BF16_FEW_ROWS)) return BF16_TILE_ROWS;
  return rows >= BF16_FEW_ROWS ? BF16_FEW_ROWS : 1;
}

FOVEA_KERNEL static void bf16_mode_products(const fovea_nn_bf16_tile_args *args) {
  const int vectors = args->panels.panels * FOVEA_NN_PANEL / LANES;
  if (!args->begun) bf16_mode_zero(args);
  for (int row = 0, rows; row < args->rows; row += rows) {
    rows = bf16_mode_next(args->rows - row);
    const int step = rows == 1 ? FOVEA_NN_TILE_VECTORS : BF16_TILE_VECTORS;
    int vector = 0;
    for (; vector + step <= vectors; vector += step)
      (rows == 1 ? bf16_mode_one : rows == BF16_FEW_ROWS ? bf16_mode_few : bf16_mode_many)(args, row, vector);
    for (int n = 0; n < rows; n++) {
      for (int v = vector; v < vectors; v += FOVEA_NN_PANEL / LANES) bf16_mode_last(args, row + n, v);
    }
  }
}

/* ---- Small weights ---------------------------------------------------------------------------------------------- */

#ifndef FOVEA_BASE
/* The elements of the panels in a piece. */
FOVEA_INLINE int64_t bf16_mode_elements(const fovea_nn_bf16_panels *panels, int64_t dim) {
  const int64_t rest = panels->dims - dim, dims = rest < FOVEA_DOT_PIECE ? rest : FOVEA_DOT_PIECE;
  return (dims + 1) / 2 * BF16_WORDS * panels->panels;
}

FOVEA_INLINE vecmask bf16_mode_is_small(vec x) {
  const vec size = vec_abs(x);
  return vecmask_and(vec_less(size, vec_set1(0x1p-56f)), vecmask_not(vec_equal(size, vec_set1(0.0f))));
}

FOVEA_KERNEL int FOVEA_NAME(nn_bf16_safe)(const fovea_nn_bf16_panels *panels) {
  const vec zero = vec_set1(0.0f);
  vecmask small = vec_less(zero, zero);
  FOVEA_NO_UNROLL
  for (int64_t dim = 0; dim < panels->dims; dim += FOVEA_DOT_PIECE) {
    const uint16_t *weights = bf16_mode_piece(panels, dim);
    const int64_t count = bf16_mode_elements(panels, dim);
    FOVEA_NO_UNROLL
    for (int64_t i = 0; i < count; i += 2 * LANES) {
      vec even, odd;
      vec_split_bf16(vec_load_pairs(weights + i), &even, &odd);
      small = vecmask_or(small, vecmask_or(bf16_mode_is_small(even), bf16_mode_is_small(odd)));
    }
  }
  return !vecmask_any(small);
}

/* Element by element: such weights are rare. */
FOVEA_KERNEL void FOVEA_NAME(nn_bf16_clear)(const fovea_nn_bf16_panels *panels, uint16_t *to) {
  for (int64_t dim = 0; dim < panels->dims; dim += FOVEA_DOT_PIECE) {
    const uint16_t *weights = bf16_mode_piece(panels, dim);
    const int64_t count = bf16_mode_elements(panels, dim);
    for (int64_t i = 0; i < count; i++) {
      const uint16_t x = weights[i];
      *to++ = (x & 0x7fff) < (127 - 56) << 7 ? 0 : x;
    }
  }
}

#endif

const fovea_nn_bf16_kernels FOVEA_NAME(nn_bf16) = {
    .x_bytes = sizeof(float) / BF16_ITEM_PAIRS,
    .dims = FOVEA_DOT_PIECE,
    .panels = FOVEA_NN_PANELS,
    .pack = bf16_mode_pack,
    .tile = bf16_mode_products,
    .safe = BF16_SAFE,
    .clear = BF16_CLEAR,
};
#endif
#endif

/* What tiles with rows in the lanes call in the steps of a block, by the modes of a problem's halves. */
#ifndef FOVEA_SRC_PLAN_TILE_STEPS_H
#define FOVEA_SRC_PLAN_TILE_STEPS_H

#include "../../arch/args/decode.h"
#include "../../arch/kernels.h"

typedef struct fovea_tile_steps {
  int scales_rows;  /* score() multiplies by scales of rows */
  int factor_waits; /* softmax() multiplies scores by terms.c, in place of score(), unless masks come between */
  /* What score() may add before it takes the maxima, of the operands of values; NULL: nothing. */
  const float *(*logs)(const float *values, int64_t v_dim);
  int (*softmax)(const struct fovea_softmax_args *args);
  int (*decode_softmax)(const struct fovea_decode_softmax_args *args);
  /* What is prefetched with products, of the first block for this block: keys, values. In the blocks after it
   * values are prefetched by the products with values, if the tile has at most this many rows; else by the
   * scores. */
  int fetches_first_keys, fetches_first_values, value_fetch_rows;
  /* In which tiles the operands of keys, and of values, prefetch in place of the products, after the task's first
   * block: tiles of at most this many rows. -1: never, nor in the first block. */
  int key_loads_fetch_rows, value_loads_fetch_rows;
} fovea_tile_steps;

#endif

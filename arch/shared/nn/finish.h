/* What follows the sums of a linear layer: bias, activation, gate, residual, and the output's type. Each step is
 * one rounding in f32. Part of bodies.h. */
#ifndef FOVEA_ARCH_SHARED_NN_FINISH_H
#define FOVEA_ARCH_SHARED_NN_FINISH_H

#include "../../nn_kernels.h"
#include "../types.h"
#include "functions.h"

FOVEA_INLINE vec finish_load(const fovea_nn_rows *rows, int64_t first, int count) {
  vec x = vec_set1(0.0f);
  TYPED(rows->type, x = count == LANES ? typed_load(rows->data, first, constant)
                                       : typed_load_first(rows->data, first, count, constant))
  return x;
}

/* Up to LANES outputs of a row. */
FOVEA_INLINE void finish_vector(const fovea_nn_finish_args *args, int row, int out, int count,
                                const fovea_nn_activation activation) {
  vec x = vec_load(args->sums + row * FOVEA_NN_OUTS + out);
  if (args->bias) {
    x = vec_add(x, count == LANES ? vec_load(args->bias + out) : vec_load_first(args->bias + out, count));
  }
  x = vec_activation(x, activation);
  if (args->gate.data) x = vec_mul(x, finish_load(&args->gate, row * args->gate.stride + out, count));
  if (args->residual.data) {
    x = vec_add(x, finish_load(&args->residual, row * args->residual.stride + out, count));
  }
  x = canonical(x);
  const int64_t first = row * args->y.stride + out;
  if (count == LANES) {
    TYPED(args->y.type, typed_store(args->y.data, first, x, constant))
  } else {
    TYPED(args->y.type, typed_store_first(args->y.data, first, x, count, constant))
  }
}

FOVEA_INLINE void finish_rows(const fovea_nn_finish_args *args, const fovea_nn_activation activation) {
  for (int row = 0; row < args->rows; row++) {
    int out = 0;
    for (; out + LANES <= args->outs; out += LANES) finish_vector(args, row, out, LANES, activation);
    if (out < args->outs) finish_vector(args, row, out, args->outs - out, activation);
  }
}

FOVEA_KERNEL void FOVEA_NAME(nn_finish)(const fovea_nn_finish_args *args) {
  ACTIVATED(args->activation, finish_rows(args, constant))
}

#endif

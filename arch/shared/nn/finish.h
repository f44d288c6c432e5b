/* What follows the sums of a linear layer: bias, activation, gate, residual, and the output's type. Each step is
 * one rounding in f32. Part of bodies.h. */
#ifndef FOVEA_ARCH_SHARED_NN_FINISH_H
#define FOVEA_ARCH_SHARED_NN_FINISH_H

#include "../../nn_kernels.h"
#include "elements.h"
#include "functions.h"

/* Up to LANES outputs of a row. */
FOVEA_INLINE void finish_vector(const fovea_nn_finish_args *args, int row, int out, int count,
                                const fovea_nn_activation activation) {
  vec x = vec_load(args->sums + row * FOVEA_NN_OUTS + out);
  if (args->bias) {
    x = vec_add(x, count == LANES ? vec_load(args->bias + out) : vec_load_first(args->bias + out, count));
  }
  x = vec_activation(x, activation);
  if (args->gate.data) x = vec_mul(x, load_number(&args->gate, row, out, count));
  if (args->residual.data) x = vec_add(x, load_number(&args->residual, row, out, count));
  store_result(&args->y, row, out, count, x);
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

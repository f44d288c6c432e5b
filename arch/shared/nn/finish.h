/* What follows the sums of a linear layer: bias, activation, gate, residual, and the output's type. Each step is
 * one rounding in f32. Part of bodies.h. */
#ifndef FOVEA_ARCH_SHARED_NN_FINISH_H
#define FOVEA_ARCH_SHARED_NN_FINISH_H

#include "../../nn_kernels.h"
#include "elements.h"
#include "functions.h"

/* Up to LANES sums of a row, with the bias. */
FOVEA_INLINE vec finish_input(const fovea_nn_finish_args *args, int row, int out, int count) {
  const vec x = vec_load(args->sums + row * FOVEA_NN_OUTS + out);
  if (!args->bias) return x;
  return vec_add(x, count == LANES ? vec_load(args->bias + out) : vec_load_first(args->bias + out, count));
}

/* What follows the activation. */
FOVEA_INLINE void finish_output(const fovea_nn_finish_args *args, int row, int out, int count, vec x) {
  if (args->gate.data) x = vec_mul(x, load_number(&args->gate, row, out, count));
  if (args->residual.data) x = vec_add(x, load_number(&args->residual, row, out, count));
  store_result(&args->y, row, out, count, x);
}

FOVEA_INLINE void finish_vector(const fovea_nn_finish_args *args, int row, int out, int count,
                                const fovea_nn_activation activation) {
  vec x = finish_input(args, row, out, count);
  vec_activate(&x, 1, activation);
  finish_output(args, row, out, count, x);
}

FOVEA_INLINE void finish_vectors(const fovea_nn_finish_args *args, int row, int out,
                                 const fovea_nn_activation activation) {
  vec x[FUNCTION_VECTORS];
  FOVEA_NO_UNROLL
  for (int i = 0; i < FUNCTION_VECTORS; i++) x[i] = finish_input(args, row, out + i * LANES, LANES);
  vec_activate(x, FUNCTION_VECTORS, activation);
  FOVEA_NO_UNROLL
  for (int i = 0; i < FUNCTION_VECTORS; i++) finish_output(args, row, out + i * LANES, LANES, x[i]);
}

FOVEA_INLINE void finish_rows(const fovea_nn_finish_args *args, const fovea_nn_activation activation) {
  const int step = FUNCTION_VECTORS * LANES, is_function = activation >= FOVEA_NN_ACTIVATION_GELU;
  for (int row = 0; row < args->rows; row++) {
    int out = 0;
    for (; is_function && out + step <= args->outs; out += step) finish_vectors(args, row, out, activation);
    for (; out + LANES <= args->outs; out += LANES) finish_vector(args, row, out, LANES, activation);
    if (out < args->outs) finish_vector(args, row, out, args->outs - out, activation);
  }
}

FOVEA_KERNEL void FOVEA_NAME(nn_finish)(const fovea_nn_finish_args *args) {
  ACTIVATED(args->activation, finish_rows(args, constant))
}

#endif

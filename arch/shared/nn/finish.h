/* What follows the sums of a linear layer: bias, activation, gate, residual, and the output's type. Each step is
 * one rounding in f32. Part of bodies.h. */
#ifndef FOVEA_ARCH_SHARED_NN_FINISH_H
#define FOVEA_ARCH_SHARED_NN_FINISH_H

#include "../../nn_kernels.h"
#include "elements.h"
#include "functions.h"

static const float finish_zeros[FOVEA_NN_OUTS]; /* the most outputs of a call */

/* Up to LANES sums of a row, with the bias. */
FOVEA_INLINE vec finish_input(const fovea_nn_finish_args *args, int row, int out, int count) {
  const vec x = vec_load(args->sums + row * args->sum_stride + out);
  if (!args->bias) return x;
  return vec_add(x, count == LANES ? vec_load(args->bias + out) : vec_load_first(args->bias + out, count));
}

/* What follows the activation. */
FOVEA_NOINLINE void finish_output(const fovea_nn_finish_args *args, int row, int out, int count,
                                  const vec *activated) {
  vec x = *activated;
  if (args->gate.data) x = vec_mul(x, load_number(&args->gate, row, out, count));
  if (args->residual.data) x = vec_add(x, load_number(&args->residual, row, out, count));
  store_result(&args->y, row, out, count, x);
}

FOVEA_INLINE void finish_vector(const fovea_nn_finish_args *args, int row, int out, int count,
                                const fovea_nn_activation activation) {
  vec x = finish_input(args, row, out, count);
  vec_activate(&x, 1, activation);
  finish_output(args, row, out, count, &x);
}

/* FUNCTION_VECTORS vectors from a place on: 2^`across` of a row, of as many rows as that takes. */
FOVEA_INLINE void finish_load_across(const fovea_nn_finish_args *args, int row, int out, const int across, vec *x) {
  FOVEA_UNROLL
  for (int i = 0; i < FUNCTION_VECTORS; i++) {
    x[i] = finish_input(args, row + (i >> across), out + i % (1 << across) * LANES, LANES);
  }
}
FOVEA_NOINLINE void finish_load(const fovea_nn_finish_args *args, int row, int out, int across, vec *x) {
  if (across == 2)
    finish_load_across(args, row, out, 2, x);
  else if (across == 1)
    finish_load_across(args, row, out, 1, x);
  else
    finish_load_across(args, row, out, 0, x);
}

/* What follows the activation, of the same vectors: nothing, but for the type f32. */
FOVEA_INLINE void finish_store_across(float *y, int64_t stride, const int across, const vec *x) {
  FOVEA_UNROLL
  for (int i = 0; i < FUNCTION_VECTORS; i++)
    vec_store(y + (i >> across) * stride + i % (1 << across) * LANES, result_of(x[i]));
}

FOVEA_NOINLINE void finish_store(const fovea_nn_finish_args *args, int row, int out, int across, const vec *x) {
  const int last = (1 << across) - 1;
  if (!args->gate.data && !args->residual.data && args->y.type == FOVEA_BF16) {
    FOVEA_NO_UNROLL
    for (int i = 0; i < FUNCTION_VECTORS; i++) {
      const int64_t place = (row + (i >> across)) * args->y.stride + out + (i & last) * LANES;
      typed_store(args->y.data, place, result_of(x[i]), FOVEA_BF16);
    }
    return;
  }
  if (args->gate.data || args->residual.data || args->y.type != FOVEA_F32) {
    FOVEA_NO_UNROLL
    for (int i = 0; i < FUNCTION_VECTORS; i++)
      finish_output(args, row + (i >> across), out + (i & last) * LANES, LANES, &x[i]);
    return;
  }
  float *y = (float *)args->y.data + row * args->y.stride + out;
  if (across == 2)
    finish_store_across(y, args->y.stride, 2, x);
  else if (across == 1)
    finish_store_across(y, args->y.stride, 1, x);
  else
    finish_store_across(y, args->y.stride, 0, x);
}

/* Pairs of vectors of f32, as register tiles have them, with nothing after the activation: the function is in line,
 * since calls for each four vectors, with the vectors in memory between, take a third of GELU's time. */
FOVEA_INLINE int finish_pairs(const fovea_nn_finish_args *args, int outs, const fovea_nn_activation activation) {
  enum { ROWS = FUNCTION_VECTORS / 2 };
  const float *bias = args->bias ? args->bias : finish_zeros;
  int row = 0;
  FOVEA_NO_UNROLL
  for (; row + ROWS <= args->rows; row += ROWS) {
    float *y = (float *)args->y.data + row * args->y.stride;
    const float *sums = args->sums + row * args->sum_stride;
    FOVEA_NO_UNROLL
    for (int out = 0; out < outs; out += 2 * LANES) {
      vec x[FUNCTION_VECTORS];
      FOVEA_UNROLL
      for (int i = 0; i < FUNCTION_VECTORS; i++)
        x[i] = vec_add(vec_load(sums + i / 2 * args->sum_stride + out + i % 2 * LANES),
                       vec_load(bias + out + i % 2 * LANES));
      vec_activate_inline(x, FUNCTION_VECTORS, activation);
      FOVEA_UNROLL
      for (int i = 0; i < FUNCTION_VECTORS; i++)
        vec_store(y + i / 2 * args->y.stride + out + i % 2 * LANES, result_of(x[i]));
    }
  }
  return row;
}

/* Whole vectors of functions, some at a time: of one row, or of several if a row does not have so many. Returns the
 * first row that is left. */
FOVEA_INLINE int finish_functions(const fovea_nn_finish_args *args, int outs,
                                  const fovea_nn_activation activation) {
  const int vectors = outs / LANES, across = vectors % 4 == 0 ? 2 : vectors % 2 == 0,
            rows = FUNCTION_VECTORS >> across;
  int row = 0;
  const int in_line = activation == FOVEA_NN_ACTIVATION_GELU || activation == FOVEA_NN_ACTIVATION_SILU;
  if (in_line && across > 0 && args->y.type == FOVEA_F32 && !args->gate.data && !args->residual.data)
    row = finish_pairs(args, outs, activation);
  for (; row + rows <= args->rows; row += rows) {
    for (int out = 0; out < outs; out += LANES << across) {
      vec x[FUNCTION_VECTORS];
      finish_load(args, row, out, across, x);
      vec_activate(x, FUNCTION_VECTORS, activation);
      finish_store(args, row, out, across, x);
    }
  }
  return row;
}

/* Whole vectors of one type, of an activation that takes no time. */
FOVEA_INLINE void finish_plain(const fovea_nn_finish_args *args, int outs, const fovea_type type) {
  const int relu = args->activation == FOVEA_NN_ACTIVATION_RELU;
  const float *bias = args->bias ? args->bias : finish_zeros; /* -0 becomes 0, as in results */
  const void *residuals = args->residual.data;
  for (int row = 0; row < args->rows; row++) {
    const float *sums = args->sums + row * args->sum_stride;
    const int64_t residual = row * args->residual.stride, y = row * args->y.stride;
    FOVEA_NO_UNROLL
    for (int out = 0; out < outs; out += LANES) {
      vec x = vec_load(sums + out);
      x = vec_add(x, vec_load(bias + out));
      if (relu) x = vec_relu(x);
      if (residuals) x = vec_add(x, typed_load(residuals, residual + out, type));
      typed_store(args->y.data, y + out, result_of(x), type);
    }
  }
}

/* Functions of their own, so that there is one of each for all activations. */
FOVEA_NOINLINE void finish_plain_f32(const fovea_nn_finish_args *args, int outs) {
  finish_plain(args, outs, FOVEA_F32);
}
FOVEA_NOINLINE void finish_plain_bf16(const fovea_nn_finish_args *args, int outs) {
  finish_plain(args, outs, FOVEA_BF16);
}

FOVEA_INLINE int finish_is_plain(const fovea_nn_finish_args *args, const fovea_nn_activation activation) {
  const int same = !args->residual.data || args->residual.type == args->y.type;
  return activation < FOVEA_NN_ACTIVATION_GELU && !args->gate.data && same &&
         (args->y.type == FOVEA_F32 || args->y.type == FOVEA_BF16);
}

FOVEA_INLINE void finish_rows(const fovea_nn_finish_args *args, const fovea_nn_activation activation) {
  const int outs = (int)((unsigned)args->outs / LANES * LANES); /* unsigned: a shift */
  int row = 0;
  if (finish_is_plain(args, activation)) {
    if (args->y.type == FOVEA_F32)
      finish_plain_f32(args, outs);
    else
      finish_plain_bf16(args, outs);
    row = args->rows;
  }
  if (activation >= FOVEA_NN_ACTIVATION_GELU) row = finish_functions(args, outs, activation);
  for (; row < args->rows; row++) {
    for (int out = 0; out < outs; out += LANES) finish_vector(args, row, out, LANES, activation);
  }
  if (outs == args->outs) return;
  for (row = 0; row < args->rows; row++) finish_vector(args, row, outs, args->outs - outs, activation);
}

FOVEA_KERNEL void FOVEA_NAME(nn_finish)(const fovea_nn_finish_args *args) {
  ACTIVATED(args->activation, finish_rows(args, constant))
}

#endif

/* Activations on rows. Part of bodies.h. */
#ifndef FOVEA_ARCH_SHARED_NN_ACTIVATE_H
#define FOVEA_ARCH_SHARED_NN_ACTIVATE_H

#include "../../nn_kernels.h"
#include "elements.h"
#include "functions.h"

enum { ACTIVATE_STEP = FUNCTION_VECTORS * LANES };

/* Functions of a row from dim `d` on, of any types: whole groups of vectors. Returns the first dim that is left. */
FOVEA_SHORT FOVEA_NOINLINE int64_t activate_groups(const fovea_nn_activate_args *args, int64_t row, int64_t d) {
  FOVEA_NO_UNROLL
  for (; d + ACTIVATE_STEP <= args->dim; d += ACTIVATE_STEP) {
    vec x[FUNCTION_VECTORS];
    FOVEA_NO_UNROLL
    for (int i = 0; i < FUNCTION_VECTORS; i++) x[i] = load_number(&args->x, row, d + i * LANES, LANES);
    vec_activate(x, FUNCTION_VECTORS, args->activation);
    FOVEA_NO_UNROLL
    for (int i = 0; i < FUNCTION_VECTORS; i++) store_result(&args->y, row, d + i * LANES, LANES, x[i]);
  }
  return d;
}

/* The rest of a row, of any types. */
FOVEA_SHORT FOVEA_NOINLINE void activate_rest(const fovea_nn_activate_args *args, int64_t row, int64_t d) {
  FOVEA_NO_UNROLL
  for (; d < args->dim; d += LANES) {
    const int count = vector_count(d, args->dim);
    vec x = load_number(&args->x, row, d, count);
    vec_activate(&x, 1, args->activation);
    store_result(&args->y, row, d, count, x);
  }
}

/* A row from dim `d` on, of any types, by ReLU or nothing: no vector leaves its register. */
FOVEA_NOINLINE void activate_relu(const fovea_nn_activate_args *args, int64_t row, int64_t d) {
  const float least = args->activation == FOVEA_NN_ACTIVATION_RELU ? 0.0f : -INFINITY;
  FOVEA_NO_UNROLL
  for (; d < args->dim; d += LANES) {
    const int count = vector_count(d, args->dim);
    const vec x = load_number(&args->x, row, d, count);
    store_result(&args->y, row, d, count, vec_select(vec_less(x, vec_set1(least)), vec_set1(0.0f), x));
  }
}

/* Whole groups of vectors of a row of f32. Returns the first dim that is left. */
FOVEA_INLINE int64_t activate_plain(const fovea_nn_activate_args *args, int64_t row,
                                    const fovea_nn_activation activation) {
  const float *from = (const float *)args->x.data + row * args->x.stride;
  float *to = (float *)args->y.data + row * args->y.stride;
  const int64_t end = args->dim - args->dim % ACTIVATE_STEP;
  FOVEA_NO_UNROLL
  for (int64_t d = 0; d < end; d += ACTIVATE_STEP) {
    vec x[FUNCTION_VECTORS];
    FOVEA_UNROLL
    for (int i = 0; i < FUNCTION_VECTORS; i++) x[i] = vec_load(from + d + i * LANES);
    vec_activate_inline(x, FUNCTION_VECTORS, activation);
    FOVEA_UNROLL
    for (int i = 0; i < FUNCTION_VECTORS; i++) vec_store(to + d + i * LANES, result_of(x[i]));
  }
  return end;
}

FOVEA_INLINE void activate_rows(const fovea_nn_activate_args *args, const fovea_nn_activation activation) {
  const int plain = args->x.type == FOVEA_F32 && args->y.type == FOVEA_F32;
  for (int64_t row = 0; row < args->rows; row++) {
    int64_t d = plain ? activate_plain(args, row, activation) : 0;
    if (d == args->dim) continue;
    if (activation < FOVEA_NN_ACTIVATION_GELU) {
      activate_relu(args, row, d);
    } else {
      if (!plain) d = activate_groups(args, row, 0);
      activate_rest(args, row, d);
    }
  }
}

FOVEA_KERNEL void FOVEA_NAME(nn_activate)(const fovea_nn_activate_args *args) {
  ACTIVATED(args->activation, activate_rows(args, constant))
}

#endif

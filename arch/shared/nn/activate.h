/* Activations on rows. Part of bodies.h. */
#ifndef FOVEA_ARCH_SHARED_NN_ACTIVATE_H
#define FOVEA_ARCH_SHARED_NN_ACTIVATE_H

#include "../../nn_kernels.h"
#include "elements.h"
#include "functions.h"

/* Up to LANES numbers of a row. */
FOVEA_INLINE void activate_vector(const fovea_nn_activate_args *args, int64_t row, int64_t d,
                                  const fovea_nn_activation activation) {
  const int count = vector_count(d, args->dim);
  vec x = load_number(&args->x, row, d, count);
  vec_activate(&x, 1, activation);
  store_result(&args->y, row, d, count, x);
}

/* Whole groups of vectors of a row of f32. Returns the first dim that is left. */
FOVEA_INLINE int64_t activate_plain(const fovea_nn_activate_args *args, int64_t row,
                                    const fovea_nn_activation activation) {
  const float *from = (const float *)args->x.data + row * args->x.stride;
  float *to = (float *)args->y.data + row * args->y.stride;
  const int64_t step = FUNCTION_VECTORS * LANES, end = args->dim - args->dim % step;
  FOVEA_NO_UNROLL
  for (int64_t d = 0; d < end; d += step) {
    vec x[FUNCTION_VECTORS];
    FOVEA_UNROLL
    for (int i = 0; i < FUNCTION_VECTORS; i++) x[i] = vec_load(from + d + i * LANES);
    vec_activate_inline(x, FUNCTION_VECTORS, activation);
    FOVEA_UNROLL
    for (int i = 0; i < FUNCTION_VECTORS; i++) vec_store(to + d + i * LANES, canonical(x[i]));
  }
  return end;
}

FOVEA_INLINE void activate_rows(const fovea_nn_activate_args *args, const fovea_nn_activation activation) {
  const int plain = args->x.type == FOVEA_F32 && args->y.type == FOVEA_F32;
  for (int64_t row = 0; row < args->rows; row++) {
    FOVEA_NO_UNROLL
    for (int64_t d = plain ? activate_plain(args, row, activation) : 0; d < args->dim; d += LANES) {
      activate_vector(args, row, d, activation);
    }
  }
}

FOVEA_KERNEL void FOVEA_NAME(nn_activate)(const fovea_nn_activate_args *args) {
  ACTIVATED(args->activation, activate_rows(args, constant))
}

#endif

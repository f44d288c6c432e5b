/* Activations on rows. Part of bodies.h. */
#ifndef FOVEA_ARCH_SHARED_NN_ACTIVATE_H
#define FOVEA_ARCH_SHARED_NN_ACTIVATE_H

#include "../../nn_kernels.h"
#include "elements.h"
#include "functions.h"

FOVEA_INLINE void activate_rows(const fovea_nn_activate_args *args, const fovea_nn_activation activation) {
  for (int64_t row = 0; row < args->rows; row++) {
    FOVEA_NO_UNROLL
    for (int64_t d = 0; d < args->dim; d += LANES) {
      const int count = vector_count(d, args->dim);
      store_result(&args->y, row, d, count, vec_activation(load_number(&args->x, row, d, count), activation));
    }
  }
}

FOVEA_KERNEL void FOVEA_NAME(nn_activate)(const fovea_nn_activate_args *args) {
  ACTIVATED(args->activation, activate_rows(args, constant))
}

#endif

/* Functions of one number, at most 2 ulp from the truth; docs/numerics.md fixes all bits. Part of bodies.h. */
#ifndef FOVEA_ARCH_SHARED_NN_FUNCTIONS_H
#define FOVEA_ARCH_SHARED_NN_FUNCTIONS_H

#include "../../nn_kernels.h"

/* Makes `call` with `constant` in place of the activation. */
#define ACTIVATED_CASE(activation, call)                                                                           \
  case activation: {                                                                                               \
    const fovea_nn_activation constant = activation;                                                               \
    call;                                                                                                          \
    break;                                                                                                         \
  }
#define ACTIVATED(activation, call)                                                                                \
  switch (activation) {                                                                                            \
  default:                                                                                                         \
    ACTIVATED_CASE(FOVEA_NN_LINEAR, call)                                                                          \
    ACTIVATED_CASE(FOVEA_NN_RELU, call)                                                                            \
  }

/* max(x, 0); NaN stays. */
FOVEA_INLINE vec vec_relu(vec x) {
  return vec_select(vec_less(x, vec_set1(0.0f)), vec_set1(0.0f), x);
}

FOVEA_INLINE vec vec_activation(vec x, const fovea_nn_activation activation) {
  switch (activation) {
  case FOVEA_NN_RELU:
    return vec_relu(x);
  default:
    return x;
  }
}

#endif

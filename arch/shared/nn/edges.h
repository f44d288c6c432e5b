/* Rows that see few keys: their states, from scores that lists of keys have, and their results. Part of bodies.h.
 */
#ifndef FOVEA_ARCH_SHARED_NN_EDGES_H
#define FOVEA_ARCH_SHARED_NN_EDGES_H

#include "../../args/lists.h"
#include "../../nn_kernels.h"
#include "../gather.h"
#include "elements.h"

FOVEA_SHORT FOVEA_KERNEL void FOVEA_NAME(nn_gather)(const fovea_gather_args *args) {
  gather_keys(args, FOVEA_F32);
}

FOVEA_SHORT FOVEA_KERNEL void FOVEA_NAME(nn_divide)(const fovea_nn_divide_args *args) {
  const vec inverse = args->sum == 0.0f ? vec_set1(0.0f) : vec_div(vec_set1(1.0f), vec_set1(args->sum));
  FOVEA_NO_UNROLL
  for (int64_t d = 0; d < args->dim; d += LANES) {
    store_result(&args->y, 0, d, vector_count(d, args->dim), vec_mul(vec_load(args->output + d), inverse));
  }
}

#endif

/* The average of the scores of all heads. Part of bodies.h. */
#ifndef FOVEA_ARCH_SHARED_NN_AVERAGE_H
#define FOVEA_ARCH_SHARED_NN_AVERAGE_H

#include "../../nn_kernels.h"
#include "../types.h"

FOVEA_INLINE vec average_vector(const fovea_nn_average_args *args, int64_t key, int count) {
  const float *head = args->first + key;
  vec sum = vec_load_first(head, count);
  FOVEA_NO_UNROLL
  for (int64_t h = 1; h < args->heads; h++) {
    head += args->head_stride;
    sum = vec_add(sum, count == LANES ? vec_load(head) : vec_load_first(head, count));
  }
  return canonical(vec_div(sum, vec_set1((float)args->heads)));
}

FOVEA_KERNEL void FOVEA_NAME(nn_average)(const fovea_nn_average_args *args) {
  int64_t key = 0;
  FOVEA_NO_UNROLL
  for (; key + LANES <= args->count; key += LANES) vec_store(args->y + key, average_vector(args, key, LANES));
  const int rest = (int)(args->count - key);
  if (rest > 0) vec_store_first(args->y + key, average_vector(args, key, rest), rest);
}

#endif

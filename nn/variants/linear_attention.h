/* Linear attention that was read and checked. */
#ifndef FOVEA_NN_VARIANTS_LINEAR_ATTENTION_H
#define FOVEA_NN_VARIANTS_LINEAR_ATTENTION_H

#include "../../arch/nn_kernels.h"

#include <fovea/linear_attention.h>

typedef struct fovea_nn_linear_attention_call {
  fovea_nn_linear_attention attention;
  fovea_nn_linear_attention_tensors tensors;
  fovea_execution execution;
  const fovea_nn_kernels *kernels;
  int is_gated, is_delta; /* the rule */
  float scale, unit_eps;
  int64_t token_batch; /* batch elements of tensors of tokens; 1: they are packed */
} fovea_nn_linear_attention_call;

/* Reads and checks what the caller gave. */
fovea_status fovea_nn_check_linear_attention(const fovea_nn_linear_attention *attention,
                                             const fovea_nn_linear_attention_tensors *tensors,
                                             const fovea_execution *execution, fovea_nn_linear_attention_call *call,
                                             fovea_error *error);

#endif

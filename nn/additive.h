/* Additive attention that was read and checked. */
#ifndef FOVEA_NN_ADDITIVE_H
#define FOVEA_NN_ADDITIVE_H

#include "../arch/nn_kernels.h"

/* What is projected, in scratch or the caller's. */
typedef struct fovea_nn_projected {
  const float *numbers;
  int64_t batch, row; /* strides */
} fovea_nn_projected;

typedef struct fovea_nn_additive_call {
  fovea_nn_additive additive; /* its layers are the copies below, or NULL */
  fovea_nn_linear query, key;
  fovea_nn_additive_tensors tensors;
  fovea_execution execution;
  const fovea_nn_kernels *kernels;
  int leaky; /* the activation */
  float slope;
} fovea_nn_additive_call;

/* Whether the mask hides a key. */
int fovea_nn_additive_hides(const fovea_nn_additive_tensors *tensors, int64_t entry, int64_t row, int64_t key);

/* Reads and checks what the caller gave, but for kv_lens and strides of values and outputs: a plan checks these. */
fovea_status fovea_nn_check_additive(const fovea_nn_additive *additive, const fovea_nn_additive_tensors *tensors,
                                     const fovea_execution *execution, fovea_nn_additive_call *call,
                                     fovea_error *error);

#endif

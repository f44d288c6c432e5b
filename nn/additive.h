/* Additive attention that was read and checked. */
#ifndef FOVEA_NN_ADDITIVE_H
#define FOVEA_NN_ADDITIVE_H

#include "../arch/nn_kernels.h"

#include <fovea/recurrent.h>

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
static inline int fovea_nn_additive_hides(const fovea_nn_additive_tensors *t, int64_t entry, int64_t row,
                                          int64_t key) {
  const fovea_mask_strides *s = &t->mask_strides;
  const int64_t first = entry * s->batch + row * s->row, j = key * s->key;
  const unsigned char *mask = t->mask;
  if (t->mask_type == FOVEA_MASK_BITS) return !(mask[first / 8 + j / 8] >> (j % 8) & 1);
  return mask[first + j] == 0;
}

/* Reads and checks what the caller gave, but for kv_lens and strides of values and outputs: a plan checks these. */
fovea_status fovea_nn_check_additive(const fovea_nn_additive *additive, const fovea_nn_additive_tensors *tensors,
                                     const fovea_execution *execution, fovea_nn_additive_call *call,
                                     fovea_error *error);

#endif

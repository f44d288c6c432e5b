/* Tensors (batch, heads, rows, dim), as checks see them. */
#ifndef FOVEA_NN_VARIANTS_TENSOR_H
#define FOVEA_NN_VARIANTS_TENSOR_H

#include <fovea/nn.h>

typedef struct fovea_nn_tensor {
  const char *name;
  const void *data;
  int bits; /* of one element */
  int64_t batch, heads, rows, dim;
  fovea_strides strides;
} fovea_nn_tensor;

/* Checks strides and pointer. No two elements of an output share memory. A tensor without elements may have any. */
fovea_status fovea_nn_check_tensor(const fovea_nn_tensor *tensor, int is_output, fovea_error *error);

/* Checks that an output shares no byte with another tensor. Both were checked. */
fovea_status fovea_nn_check_tensors_apart(const fovea_nn_tensor *output, const fovea_nn_tensor *other,
                                          fovea_error *error);

#endif

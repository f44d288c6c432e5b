/* A selection of keys that was read and checked. */
#ifndef FOVEA_NN_VARIANTS_SELECTION_H
#define FOVEA_NN_VARIANTS_SELECTION_H

#include "../../arch/nn_kernels.h"

#include <fovea/sparse_attention.h>

typedef struct fovea_nn_selection_call {
  fovea_nn_selection selection;
  fovea_execution execution;
  const fovea_nn_kernels *kernels;
} fovea_nn_selection_call;

fovea_status fovea_nn_check_selection(const fovea_nn_selection *selection, const fovea_execution *execution,
                                      fovea_nn_selection_call *call, fovea_error *error);

#endif

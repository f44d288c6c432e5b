/* Differential attention that was read and checked. */
#ifndef FOVEA_NN_VARIANTS_DIFFERENTIAL_H
#define FOVEA_NN_VARIANTS_DIFFERENTIAL_H

#include "../../arch/nn_kernels.h"

#include <fovea/latent_attention.h>

typedef struct fovea_nn_differential_call {
  fovea_nn_differential differential;
  fovea_problem problem; /* the caller's */
  fovea_problem inner;   /* the same with O in scratch */
  fovea_tensors first, second;
  fovea_execution execution;
  const fovea_nn_kernels *kernels;
  float lambda, eps, factor;
  int64_t batch;              /* of O: 1 if rows are packed */
  int64_t row_begin, row_end; /* rows of O that are written */
} fovea_nn_differential_call;

/* Reads and checks what the caller gave, but for what a plan of the problem and binding it check; without tensors
 * if `first` is NULL. */
fovea_status fovea_nn_check_differential(const fovea_nn_differential *differential, const fovea_problem *problem,
                                         const fovea_tensors *first, const fovea_tensors *second,
                                         const fovea_execution *execution, fovea_nn_differential_call *call,
                                         fovea_error *error);

#endif

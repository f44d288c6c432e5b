/* Linformer that was read and checked. */
#ifndef FOVEA_NN_VARIANTS_LINFORMER_H
#define FOVEA_NN_VARIANTS_LINFORMER_H

#include "../../arch/nn_kernels.h"

#include <fovea/latent_attention.h>

typedef struct fovea_nn_linformer_call {
  fovea_nn_linformer linformer;
  fovea_problem problem; /* the caller's */
  fovea_problem inner;   /* attention over the projected keys, which lie in scratch */
  fovea_tensors tensors;
  fovea_execution execution;
  const fovea_nn_kernels *kernels;
  int64_t spans;     /* of the longest batch element */
  int64_t dims[2];   /* of keys and of values, in scratch: whole vectors */
  int64_t projected; /* columns of E in scratch, if they are converted */
} fovea_nn_linformer_call;

/* Reads and checks what the caller gave, without tensors if they are NULL; Q, O and LSE are checked by the plan of
 * `inner` and its run. */
fovea_status fovea_nn_check_linformer(const fovea_nn_linformer *linformer, const fovea_problem *problem,
                                      const fovea_tensors *tensors, const fovea_execution *execution,
                                      fovea_nn_linformer_call *call, fovea_error *error);

#endif

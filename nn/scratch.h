/* Parts of one piece of scratch, the caller's or allocated. */
#ifndef FOVEA_NN_SCRATCH_H
#define FOVEA_NN_SCRATCH_H

#include <fovea/fovea.h>

/* What is reserved so far. */
typedef struct fovea_nn_scratch {
  size_t size;
  int saturated; /* more than can be */
} fovea_nn_scratch;

/* Reserves bytes, aligned to FOVEA_SCRATCH_ALIGNMENT, and returns where they begin. */
size_t fovea_nn_reserve(fovea_nn_scratch *scratch, double bytes);

/* Returns the caller's scratch, or else allocates it, and sets *allocated to what is to be released. On failure
 * *memory is NULL. */
fovea_status fovea_nn_obtain(const fovea_nn_scratch *scratch, const fovea_execution *execution,
                             const fovea_allocator *allocator, char **memory, void **allocated, fovea_error *error);

/* The workers that a run may have, whatever its work. */
int fovea_nn_workers(const fovea_execution *execution);

/* The same threads without the scratch, for row-wise calls. */
fovea_execution fovea_nn_without_scratch(const fovea_execution *execution);

#endif

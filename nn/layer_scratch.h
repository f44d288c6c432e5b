/* Parts of one piece of scratch, the caller's or allocated. */
#ifndef FOVEA_NN_LAYER_SCRATCH_H
#define FOVEA_NN_LAYER_SCRATCH_H

#include <fovea/fovea.h>

/* What is reserved so far. */
typedef struct fovea_nn_scratch {
  size_t size;
  int saturated; /* more than can be */
  size_t before; /* bytes of the caller's scratch before it */
} fovea_nn_scratch;

/* The bytes of it; SIZE_MAX if they are more than can be. */
static inline size_t fovea_nn_size_of(const fovea_nn_scratch *scratch) {
  return scratch->saturated ? SIZE_MAX : scratch->size;
}

/* Products that saturate, of whole numbers: the caller's floating-point environment may trap what is inexact. */
uint64_t fovea_nn_product(uint64_t a, uint64_t b);
/* The bytes of a * b * c numbers of f32; none of the three is negative. */
uint64_t fovea_nn_bytes(int64_t a, int64_t b, int64_t c);

/* Reserves bytes, aligned to FOVEA_SCRATCH_ALIGNMENT, and returns where they begin. */
size_t fovea_nn_reserve(fovea_nn_scratch *scratch, uint64_t bytes);
/* Reserves memory that two users have one after the other. */
size_t fovea_nn_reserve_for_either(fovea_nn_scratch *scratch, uint64_t bytes, uint64_t other_bytes);

/* Returns the caller's scratch, or else allocates it, and sets *allocated to what is to be released. On failure
 * *memory is NULL. */
fovea_status fovea_nn_obtain(const fovea_nn_scratch *scratch, const fovea_execution *execution, char **memory,
                             void **allocated, fovea_error *error);

/* The steps of a call, one after the other, in memory that is large enough. The execution shares out their tasks;
 * its scratch is the caller's. */
typedef fovea_status fovea_nn_steps(void *data, char *memory, const fovea_execution *execution, fovea_error *error);

/* Runs the steps of a call in the caller's scratch, or else in memory that is allocated meanwhile, with one team of
 * threads, if `work` multiply-adds are worth one and the execution, which was read, does not have one. */
fovea_status fovea_nn_run_steps(fovea_nn_steps *run, void *data, const fovea_nn_scratch *scratch, double work,
                                const fovea_execution *execution, fovea_error *error);

/* The execution of a call whose scratch is measured: the caller's without scratch. Sets *size to 0. */
fovea_status fovea_nn_begin_measure(const fovea_execution *given, fovea_execution *execution, size_t *size,
                                    fovea_error *error);

/* The workers that a run may have, whatever its work. */
int fovea_nn_workers(const fovea_execution *execution);

/* The same execution without the scratch, for row-wise calls. */
fovea_execution fovea_nn_without_scratch(const fovea_execution *execution);
/* The same execution with scratch that is a part of the caller's, for linear layers. */
fovea_execution fovea_nn_with_scratch(const fovea_execution *execution, void *scratch, size_t size);

/* The same kernels on the calling thread alone, without the scratch. */
fovea_execution fovea_nn_alone(const fovea_execution *execution);

#endif

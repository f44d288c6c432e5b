/* The tensors of a problem in memory of exactly their size, and whether a call did to them what it may do. */
#ifndef FOVEA_TESTS_FUZZ_TENSORS_H
#define FOVEA_TESTS_FUZZ_TENSORS_H

#include "region.h"

enum tensor_name {
  TENSOR_Q,
  TENSOR_K,
  TENSOR_V,
  TENSOR_MASK,
  TENSOR_SINKS,
  TENSOR_O,
  TENSOR_LSE,
  TENSOR_STATE,
  TENSORS
};

struct tensors {
  struct region regions[TENSORS];
  fovea_state state; /* where the problem asks for one */
};

/* Inputs are filled as the bytes say, outputs untouched. 0, and nothing is there, where they would be large. */
int tensors_create(struct tensors *tensors, const fovea_problem *problem, struct bytes *bytes);
void tensors_destroy(struct tensors *tensors);

/* What the problem uses; LSE only where it is wanted. */
fovea_tensors tensors_for_call(const struct tensors *tensors, const fovea_problem *problem, int with_lse);

/* Outputs untouched again. */
void tensors_reset(const struct tensors *tensors);

/* After a call that failed. */
int tensors_are_untouched(const struct tensors *tensors);
/* After one that did not: each row of every batch entry was written, and not a byte beside. */
int tensors_are_written(const struct tensors *tensors, const fovea_problem *problem, int with_lse);

/* A number that tells the bytes of all tensors from others. */
uint64_t tensors_digest(const struct tensors *tensors, enum tensor_name first, enum tensor_name last);
/* The same of every row of the outputs where a call put them, without what lies between rows. */
uint64_t tensors_rows_digest(const struct tensors *tensors, const fovea_problem *problem,
                             const fovea_tensors *call);

/* What lies between rows may be written, or not again. */
void tensors_open(const struct tensors *tensors);
void tensors_close(const struct tensors *tensors);

#endif

/* The tensors of a problem in memory of exactly their size. Checks that a call changes only what it may. */
#ifndef FOVEA_TESTS_FUZZ_TENSORS_H
#define FOVEA_TESTS_FUZZ_TENSORS_H

#include "region.h"

#include <fovea/state.h>
#include <fovea/terms.h>

enum tensor_name {
  TENSOR_Q,
  TENSOR_K,
  TENSOR_V,
  TENSOR_MASK,
  TENSOR_SINKS,
  TENSOR_O,
  TENSOR_LSE,
  TENSOR_STATE,
  TENSOR_SCORES,
  TENSOR_MAX_LOGITS,
  TENSOR_ENTROPY,
  TENSOR_TOP_KEYS,
  TENSOR_TOP_SCORES,
  TENSOR_COLUMN_SUMS,
  TENSOR_TERMS, /* inputs again: the numbers of the first term */
  TENSOR_HEAD_SCALES = TENSOR_TERMS + FOVEA_POSITION_TERMS_LIMIT,
  TENSOR_ROW_SCALES,
  TENSOR_KEY_CENTRE,
  TENSOR_KEY_SCALE,
  TENSOR_VALUE_SCALE,
  TENSORS
};

struct tensors {
  struct region regions[TENSORS];
  fovea_state state; /* used if the problem has state */
  const float *terms[FOVEA_POSITION_TERMS_LIMIT];
};

/* Fills inputs as the bytes say, and outputs as untouched. Returns 0, and creates nothing, if tensors would be
 * large. */
int tensors_create(struct tensors *tensors, const fovea_problem *problem, struct bytes *bytes);
void tensors_destroy(struct tensors *tensors);

/* The tensors that the problem uses; LSE only if wanted. */
fovea_tensors tensors_for_call(const struct tensors *tensors, const fovea_problem *problem, int with_lse);

/* Makes the outputs untouched again. */
void tensors_reset(const struct tensors *tensors);

/* For a call that failed. */
int tensors_are_untouched(const struct tensors *tensors);
/* For a call that succeeded: each row of every batch element was written, and no other byte. */
int tensors_are_written(const struct tensors *tensors, const fovea_problem *problem, int with_lse);

/* Digests of the bytes of all inputs, and of all outputs. */
uint64_t tensors_input_digest(const struct tensors *tensors);
uint64_t tensors_output_digest(const struct tensors *tensors);
/* A digest of the rows of O, LSE and the state, wherever a call put them, without the bytes between rows. */
uint64_t tensors_rows_digest(const struct tensors *tensors, const fovea_problem *problem,
                             const fovea_tensors *call);

/* Open, bytes between rows may be written; closed, they may not. */
void tensors_open(const struct tensors *tensors);
void tensors_close(const struct tensors *tensors);

#endif

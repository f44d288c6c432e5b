/* What a run writes, and whether anything else uses a byte of it. Ranges are compared first. Rows are compared only
 * if two ranges overlap. */
#ifndef FOVEA_SRC_RUN_OVERLAP_H
#define FOVEA_SRC_RUN_OVERLAP_H

#include "../plan/regions.h"

#include <fovea/state.h>

/* The most outputs of a run. */
enum { FOVEA_WRITTEN_LIMIT = FOVEA_SHAPES - FOVEA_SHAPE_O };

/* An output, the numbers of a state, or scratch. */
typedef struct fovea_written {
  const char *name;
  int shape;            /* of a tensor, one of FOVEA_SHAPES */
  uintptr_t begin, end; /* from the first byte to after the last */
  const void *pointer;  /* this and what follows are as in the tensor */
  fovea_axes axes;
  int64_t batch, rows, dim;
  int packed; /* only rows that belong to entries are written */
} fovea_written;

/* Lists the outputs of a run. The pointers must have been checked. Returns how many there are, at least one. */
int fovea_list_written(const fovea_plan *plan, const fovea_tensors *tensors,
                       fovea_written written[FOVEA_WRITTEN_LIMIT]);
fovea_written fovea_written_scratch(const void *scratch, size_t size);
fovea_written fovea_written_state(const fovea_plan *plan, const fovea_state *state);

/* Checks that the output shares no byte with a claim. `name` is the caller's name of the claimed memory. */
fovea_status fovea_check_claim(const fovea_plan *plan, const fovea_written *written, const char *name,
                               const fovea_claim *claim, fovea_error *error);

/* Checks that it shares no byte with the inputs, except segments. */
fovea_status fovea_check_inputs(const fovea_plan *plan, const fovea_tensors *tensors, const fovea_written *written,
                                fovea_error *error);

/* Checks that scratch shares no byte with `count` bytes at `pointer`. */
fovea_status fovea_check_bytes(const fovea_written *scratch, const char *name, const void *pointer, int64_t count,
                               fovea_error *error);

/* Checks that scratch shares no byte with the numbers of a state. */
fovea_status fovea_check_written_state(const fovea_plan *plan, const fovea_written *scratch,
                                       const fovea_written *state, fovea_error *error);

/* Checks that it shares no byte with the output tensors whose number in FOVEA_SHAPES is below `before`. */
fovea_status fovea_check_outputs(const fovea_plan *plan, const fovea_tensors *tensors, const fovea_written *written,
                                 int before, fovea_error *error);

#endif

/* What a run writes, and whether a byte of it is used by anything else. Ranges are compared first; only where two
 * overlap, rows are. */
#ifndef FOVEA_SRC_RUN_OVERLAP_H
#define FOVEA_SRC_RUN_OVERLAP_H

#include "../plan/regions.h"

/* O, LSE, the numbers of a state, or scratch. */
typedef struct fovea_written {
  const char *name;
  uintptr_t begin, end; /* from the first byte to behind the last */
  const void *pointer;  /* what follows is as in its tensor */
  fovea_axes axes;
  int64_t batch, rows, dim;
} fovea_written;

/* Outputs of a run, with pointers that were checked: one or two. Returns how many there are. */
int fovea_list_written(const fovea_plan *plan, const fovea_tensors *tensors, fovea_written written[2]);
fovea_written fovea_written_scratch(const void *scratch, size_t size);
fovea_written fovea_written_state(const fovea_plan *plan, const fovea_state *state);

/* That nothing shares a byte with a claim. `name` is what the caller calls the claimed memory. */
fovea_status fovea_check_claim(const fovea_plan *plan, const fovea_written *written, const char *name,
                               const fovea_claim *claim, fovea_error *error);

/* That it shares none with the inputs but for segments. */
fovea_status fovea_check_inputs(const fovea_plan *plan, const fovea_tensors *tensors, const fovea_written *written,
                                fovea_error *error);

/* That scratch shares none with memory that is used as it stands. */
fovea_status fovea_check_bytes(const fovea_written *scratch, const char *name, const void *pointer, int64_t count,
                               fovea_error *error);

/* That scratch shares none with the numbers of a state. */
fovea_status fovea_check_written_state(const fovea_plan *plan, const fovea_written *scratch,
                                       const fovea_written *state, fovea_error *error);

/* That two tensors of the FOVEA_SHAPES share none. */
fovea_status fovea_check_tensor(const fovea_plan *plan, const fovea_written *written, int shape,
                                const void *pointer, fovea_error *error);

#endif

/* What a run writes, and whether a byte of it is used by anything else. Ranges are compared first; only where two
 * overlap, rows are. */
#ifndef FOVEA_SRC_CACHE_OVERLAP_H
#define FOVEA_SRC_CACHE_OVERLAP_H

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
fovea_written fovea_written_state(const fovea_plan *plan, const fovea_state *state);

/* That nothing shares a byte with a claim. `name` is what the caller calls the claimed memory. */
fovea_status fovea_check_claim(const fovea_plan *plan, const fovea_written *written, const char *name,
                               const fovea_claim *claim, fovea_error *error);

/* That it shares none with the inputs but for segments. */
fovea_status fovea_check_inputs(const fovea_plan *plan, const fovea_tensors *tensors, const fovea_written *written,
                                fovea_error *error);

/* That it shares none with the segments that a run of checked sequences looks at, nor with their arrays. */
fovea_status fovea_check_segments(const fovea_plan *plan, const fovea_tensors *tensors,
                                  const fovea_written *written, fovea_error *error);

/* The pointers to tensors, and that O and LSE are apart from each other and from the inputs. */
fovea_status fovea_validate_tensors(const fovea_plan *plan, const fovea_tensors *tensors, fovea_error *error);

/* That `size` bytes of scratch belong to nothing that the run uses. All else has been checked. */
fovea_status fovea_validate_scratch_apart(const fovea_plan *plan, const fovea_tensors *tensors, const void *scratch,
                                          size_t size, fovea_error *error);

#endif

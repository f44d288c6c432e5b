/* Checks of what a run is handed: pointers, states, scratch. */
#ifndef FOVEA_SRC_RUN_CHECK_RUN_H
#define FOVEA_SRC_RUN_CHECK_RUN_H

#include "run_segments.h"

/* Checks the state that a run of the plan writes: it fits the problem, and shares no byte with the inputs. Segments
 * are checked by fovea_validate_sequences(). */
fovea_status fovea_validate_state_of_run(const fovea_plan *plan, const fovea_tensors *tensors, fovea_error *error);

/* Checks the pointers to tensors, and that O and LSE share no byte with each other or with the inputs. */
fovea_status fovea_validate_tensors(const fovea_plan *plan, const fovea_tensors *tensors, fovea_error *error);

/* Checks that `size` bytes of scratch share no byte with anything that the run uses. All else must have been
 * checked; `read` is what fovea_validate_sequences() gave. */
fovea_status fovea_validate_scratch_apart(const fovea_plan *plan, const fovea_tensors *tensors,
                                          const fovea_read_segments *read, const void *scratch, size_t size,
                                          fovea_error *error);

#endif

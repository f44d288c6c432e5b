/* What a run is handed: pointers, states, scratch. */
#ifndef FOVEA_SRC_RUN_CHECK_RUN_H
#define FOVEA_SRC_RUN_CHECK_RUN_H

#include "../plan/plan.h"

/* The state that a run of the plan writes: that of its problem, apart from what the run reads but for segments. */
fovea_status fovea_validate_state_of_run(const fovea_plan *plan, const fovea_tensors *tensors, fovea_error *error);

/* The pointers to tensors, and that O and LSE are apart from each other and from the inputs. */
fovea_status fovea_validate_tensors(const fovea_plan *plan, const fovea_tensors *tensors, fovea_error *error);

/* That `size` bytes of scratch belong to nothing that the run uses. All else has been checked. */
fovea_status fovea_validate_scratch_apart(const fovea_plan *plan, const fovea_tensors *tensors, const void *scratch,
                                          size_t size, fovea_error *error);

#endif

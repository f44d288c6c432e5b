/* Checks of the vectors of int8 mode, of a plan that has some. */
#ifndef FOVEA_SRC_RUN_CHECK_VECTORS_H
#define FOVEA_SRC_RUN_CHECK_VECTORS_H

#include "overlap.h"

/* Checks that the vectors are there. */
fovea_status fovea_check_vector_numbers(const fovea_plan *plan, const fovea_tensors *tensors, fovea_error *error);

/* Checks that an output or scratch shares no byte with them. They must have been checked. */
fovea_status fovea_check_vector_inputs(const fovea_plan *plan, const fovea_tensors *tensors,
                                       const fovea_written *written, fovea_error *error);

#endif

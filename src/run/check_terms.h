/* Checks of the numbers of position terms and of scales. */
#ifndef FOVEA_SRC_RUN_CHECK_TERMS_H
#define FOVEA_SRC_RUN_CHECK_TERMS_H

#include "overlap.h"

/* Checks that the numbers are there, and that scales are finite. */
fovea_status fovea_check_term_numbers(const fovea_plan *plan, const fovea_tensors *tensors, fovea_error *error);

/* Checks that an output or scratch shares no byte with them. They must have been checked. */
fovea_status fovea_check_term_inputs(const fovea_plan *plan, const fovea_tensors *tensors,
                                     const fovea_written *written, fovea_error *error);

#endif

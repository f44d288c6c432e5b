/* Checks of Shaw's tables, of a plan that has some. */
#ifndef FOVEA_SRC_RUN_CHECK_SHAW_H
#define FOVEA_SRC_RUN_CHECK_SHAW_H

#include "overlap.h"

/* Checks that the tables are there. */
fovea_status fovea_check_shaw_tables(const fovea_plan *plan, const fovea_tensors *tensors, fovea_error *error);

/* Checks that an output or scratch shares no byte with them. They must have been checked. */
fovea_status fovea_check_shaw_inputs(const fovea_plan *plan, const fovea_tensors *tensors,
                                     const fovea_written *written, fovea_error *error);

#endif

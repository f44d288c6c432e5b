/* How a run is bound: every check of what it is handed. */
#ifndef FOVEA_SRC_RUN_BIND_H
#define FOVEA_SRC_RUN_BIND_H

#include "run.h"

/* Checks the tensors; scratch is not there yet. */
fovea_status fovea_bind_tensors(fovea_run *run, const fovea_plan *plan, const fovea_tensors *tensors,
                                fovea_error *error);

/* Checks scratch of the caller's for that many workers. */
fovea_status fovea_check_scratch(const fovea_run *run, int workers, const void *scratch, size_t size,
                                 fovea_error *error);

/* Scratch that has been checked, or is the library's own. */
void fovea_bind_scratch(fovea_run *run, int workers, void *scratch);

#endif

/* Binds a run: checks everything that the caller hands in. */
#ifndef FOVEA_SRC_RUN_BIND_H
#define FOVEA_SRC_RUN_BIND_H

#include "run.h"

/* Checks the tensors. Scratch is checked later. */
fovea_status fovea_bind_tensors(fovea_run *run, const fovea_plan *plan, const fovea_tensors *tensors,
                                fovea_error *error);

/* Checks the caller's scratch for that many workers. */
fovea_status fovea_check_scratch(const fovea_run *run, int workers, const void *scratch, size_t size,
                                 fovea_error *error);

/* Binds scratch that has been checked, or that the library has allocated. */
void fovea_bind_scratch(fovea_run *run, int workers, void *scratch);

#endif

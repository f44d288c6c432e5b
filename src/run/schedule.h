/* Who runs the tasks: OpenMP, the caller's parallel-for, or the calling thread. */
#ifndef FOVEA_SRC_RUN_SCHEDULE_H
#define FOVEA_SRC_RUN_SCHEDULE_H

#include "../plan/plan.h"

/* Workers that a run uses: 1 where the work is too small to share. */
int fovea_schedule_workers(const fovea_plan *plan, const fovea_execution *execution);

/* Runs every task of the plan on that many workers. scratch is fovea_plan_scratch_size(plan, workers) bytes. */
void fovea_schedule_run(const fovea_plan *plan, const fovea_tensors *tensors, const fovea_execution *execution,
                        int workers, void *scratch);

/* "OpenMP" or "none". */
const char *fovea_schedule_threading(void);

#endif

/* The tile driver: takes the rows of one task through the blocks of keys that they see. */
#ifndef FOVEA_SRC_TILE_H
#define FOVEA_SRC_TILE_H

#include "plan.h"

/* Runs one task of the plan. Everything was checked before. */
void fovea_run_task(const fovea_plan *plan, const fovea_tensors *tensors, int64_t task, void *worker_scratch);

#endif

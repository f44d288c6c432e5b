/* The tile driver: takes the rows of one task through the blocks of keys that they see. */
#ifndef FOVEA_SRC_RUN_TILE_H
#define FOVEA_SRC_RUN_TILE_H

#include "../plan/plan.h"

/* Runs one task of a phase of the plan. Everything was checked before. `scratch` is that of `workers` workers. */
void fovea_run_task(const fovea_plan *plan, const fovea_tensors *tensors, int phase, int64_t number, int worker,
                    int workers, void *scratch);

#endif

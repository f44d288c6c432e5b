/* Runs one task of a plan in a run of its own, for tests of refusals and of single tasks. */
#ifndef FOVEA_TESTS_SINGLE_TASK_H
#define FOVEA_TESTS_SINGLE_TASK_H

#include <fovea/fovea.h>

/* Room for a run. Binding checks that it is enough. */
enum { RUN_ROOM = 1024 };

static inline fovea_status single_task(const fovea_plan *plan, const fovea_tensors *tensors, int phase,
                                       int64_t task, int worker, int workers, void *scratch, size_t scratch_size,
                                       fovea_error *error) {
  _Alignas(FOVEA_SCRATCH_ALIGNMENT) unsigned char memory[RUN_ROOM];
  fovea_run *run;
  const fovea_status status =
      fovea_run_bind(plan, tensors, workers, scratch, scratch_size, memory, sizeof memory, &run, error);
  return status != FOVEA_OK ? status : fovea_run_task(run, phase, task, worker, error);
}

#endif

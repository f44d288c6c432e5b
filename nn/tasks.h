/* Runs work that is cut into tasks. */
#ifndef FOVEA_NN_TASKS_H
#define FOVEA_NN_TASKS_H

#include <fovea/fovea.h>

#include <limits.h>

/* One task of `data`. Tasks may run in any order and at the same time. */
typedef void fovea_nn_task(const void *data, int64_t task, int worker);

/* Moving an element, rotated or converted, takes the time of so many multiply-adds. */
#define FOVEA_NN_WORK_TO_MOVE 40.0

/* The workers that `work` multiply-adds are worth, no more than `most`, which have memory. */
static inline int fovea_nn_workers_for(int64_t tasks, double work, int most, const fovea_execution *execution) {
  const int workers = fovea_tasks_workers(tasks, work, execution);
  return workers < most ? workers : most;
}

/* Runs all tasks on so many workers. `execution` was read. */
static inline void fovea_nn_run_tasks(fovea_nn_task *run, const void *data, int64_t tasks, double work, int most,
                                      const fovea_execution *execution) {
  (void)fovea_tasks_run(run, data, tasks, fovea_nn_workers_for(tasks, work, most, execution), execution, NULL);
}

#endif

#include "row_job.h"
#include "tasks.h"

#include "../arch/float_state.h"
#include "../src/base/types.h"

/* Multiply-adds of a task, so that taking it costs little beside it. */
#define WORK_OF_TASK INT64_C(100000)
/* Work of a call whose rows fit into caches near the cores: one task for each worker, so that each finds its rows where
 * the last call left them. */
#define WORK_NEAR INT64_C(20000000)

typedef struct row_tasks {
  const fovea_nn_row_job *job;
  int64_t task_rows;
} row_tasks;

static void run_task(const void *data, int64_t task, int worker) {
  const row_tasks *tasks = data;
  const int64_t first = task * tasks->task_rows, rest = tasks->job->rows - first;
  fovea_float_state caller = fovea_float_begin();
  (void)worker;
  tasks->job->run(tasks->job->data, first, rest < tasks->task_rows ? rest : tasks->task_rows);
  fovea_float_end(caller);
}

/* Tasks are measured in whole numbers: the caller's floating-point environment may trap what is inexact. */
void fovea_nn_run_rows(const fovea_nn_row_job *job, const fovea_execution *execution) {
  const int64_t row_work = job->dim > 0 ? job->work * job->dim : 1;
  const double work = (double)row_work * (double)job->rows;
  const int workers = fovea_tasks_workers(INT64_MAX, work, execution);
  const int64_t share = job->rows / workers + (job->rows % workers > 0);
  int64_t task_rows = row_work < WORK_OF_TASK ? WORK_OF_TASK / row_work : 1;
  if (work < (double)WORK_NEAR && task_rows < share) task_rows = share;
  const row_tasks data = {job, task_rows};
  const int64_t tasks = job->rows / task_rows + (job->rows % task_rows > 0);
  (void)fovea_tasks_run(run_task, &data, tasks, workers, execution, NULL);
}

fovea_nn_rows fovea_nn_rows_from(const void *data, fovea_type type, int64_t stride, int64_t first) {
  fovea_nn_rows rows = {NULL, type, stride};
  if (data) rows.data = fovea_output_element((void *)(uintptr_t)data, type, first * stride);
  return rows;
}

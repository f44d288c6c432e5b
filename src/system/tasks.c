/* A caller's own tasks, run as the tasks of attention are. */
#include "../base/caller.h"
#include "../base/error.h"
#include "../base/validate.h"
#include "schedule.h"

#include <limits.h>

int fovea_tasks_workers(int64_t tasks, double work, const fovea_execution *execution) {
  fovea_execution complete;
  if (fovea_read_execution(execution, &complete, NULL) != FOVEA_OK) return 1;
  return fovea_schedule_workers(tasks, work, &complete);
}

fovea_status fovea_tasks_run(void (*run)(const void *data, int64_t task, int worker), const void *data,
                             int64_t tasks, int workers, const fovea_execution *execution, fovea_error *error) {
  const fovea_bounded counts[] = {{"tasks", tasks, 0, INT64_MAX}, {"workers", workers, 1, INT_MAX}};
  const fovea_job job = {data, 0, 1, {{tasks, run}}};
  fovea_execution complete;
  if (!run) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "run is NULL");
  fovea_status status = fovea_validate_bounds(NULL, counts, 2, error);
  if (!status) status = fovea_read_execution(execution, &complete, error);
  if (status) return status;
  const int most = fovea_schedule_workers(tasks, 1e300, &complete); /* in a child of fork() 1 */
  fovea_schedule_run(&job, &complete, workers < most ? workers : most);
  return FOVEA_OK;
}

fovea_status fovea_team_run(fovea_team_function run, void *data, double work, const fovea_execution *execution,
                            fovea_error *error) {
  fovea_execution complete;
  if (!run) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "run is NULL");
  const fovea_status status = fovea_read_execution(execution, &complete, error);
  if (status) return status;
  fovea_schedule_team(run, data, &complete, fovea_schedule_workers(INT64_MAX, work, &complete));
  return FOVEA_OK;
}

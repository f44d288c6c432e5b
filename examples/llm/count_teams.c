/* Counts the teams of fovea_llm: the linker calls these functions in the place of the library's. A team has one thread
 * here, so the counts are the same without OpenMP. A line on stderr, at the end of the program. */
#include <fovea/fovea.h>

#include <stdio.h>
#include <stdlib.h>

fovea_status __real_fovea_team_run(fovea_team_function run, void *data, double work,
                                   const fovea_execution *execution, fovea_error *error);
fovea_status __wrap_fovea_team_run(fovea_team_function run, void *data, double work,
                                   const fovea_execution *execution, fovea_error *error);
int __real_fovea_tasks_workers(int64_t tasks, double work, const fovea_execution *execution);
int __wrap_fovea_tasks_workers(int64_t tasks, double work, const fovea_execution *execution);

static int teams, alone; /* alone: calls of no team, which ask for workers */
static double all_work;  /* of teams */

static void report(void) {
  fprintf(stderr, "%d teams for %.0f multiply-adds, %d calls of no team\n", teams, all_work, alone);
}

static void run_tasks(void *context, int64_t tasks, int workers, fovea_task_function run, void *job) {
  (void)context;
  (void)workers;
  for (int64_t task = 0; task < tasks; task++) run(job, task, 0);
}

fovea_status __wrap_fovea_team_run(fovea_team_function run, void *data, double work,
                                   const fovea_execution *execution, fovea_error *error) {
  fovea_execution shared = *execution;
  if (!shared.parallel_for) {
    if (teams++ == 0) atexit(report);
    all_work += work;
    shared.parallel_for = run_tasks;
  }
  return __real_fovea_team_run(run, data, work, &shared, error);
}

int __wrap_fovea_tasks_workers(int64_t tasks, double work, const fovea_execution *execution) {
  alone += !execution->parallel_for;
  return __real_fovea_tasks_workers(tasks, work, execution);
}

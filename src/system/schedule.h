/* Runs the tasks of a job: on OpenMP, on the caller's parallel-for, or on the calling thread. */
#ifndef FOVEA_SRC_SYSTEM_SCHEDULE_H
#define FOVEA_SRC_SYSTEM_SCHEDULE_H

#include "../../arch/strict_math.h"
#include <fovea/fovea.h>

/* The most phases of a job. */
enum { FOVEA_PHASES_LIMIT = 4 };

/* Tasks that may run in any order and at the same time. Workers of overlapping calls have different numbers. */
typedef struct fovea_phase {
  int64_t tasks;
  void (*run)(const void *data, int64_t task, int worker);
} fovea_phase;

/* Work of any kind: phases, one after the other. A new kind of job needs a struct as `data` and a function for each
 * phase. */
typedef struct fovea_job {
  const void *data;
  double work; /* estimated multiply-adds */
  int phase_count;
  fovea_phase phases[FOVEA_PHASES_LIMIT];
} fovea_job;

/* The workers for a job with `tasks` tasks in its first phase: 1 if the work is too small to share. */
int fovea_schedule_workers(int64_t tasks, double work, const fovea_execution *execution);

/* Runs every task of every phase on that many workers. */
void fovea_schedule_run(const fovea_job *job, const fovea_execution *execution, int workers);

/* Calls run(data, execution) on the calling thread, with an execution that shares tasks among one team of so many
 * workers, if there can be one. */
void fovea_schedule_team(fovea_team_function run, void *data, const fovea_execution *execution, int workers);

/* Runs the tasks of a row-wise call that moves `elements`, and needs no scratch. `execution` is the caller's,
 * completed. */
void fovea_schedule_rows(void (*run)(const void *data, int64_t task, int worker), const void *data, int64_t tasks,
                         double elements, const fovea_execution *execution);

/* "OpenMP" or "none". */
const char *fovea_schedule_threading(void);

#endif

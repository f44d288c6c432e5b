/* A team of threads that share the tasks of one call after another, without a join between them. */
#ifndef FOVEA_SRC_SYSTEM_TEAM_H
#define FOVEA_SRC_SYSTEM_TEAM_H

#include <fovea/fovea.h>

#include <stdatomic.h>

/* Tasks are taken from a ticket: in its upper half the number of the job, in its lower half the next task. A
 * job whose tasks are all taken has no use for a thread that comes late, so it is over when the taken tasks
 * are done. */
typedef struct fovea_team {
  _Alignas(64) atomic_ullong ticket;
  _Alignas(64) atomic_uint finished; /* tasks of the job that are done */
  atomic_uint leader_sleeps;
  _Alignas(64) atomic_uint events; /* changes with each job, and at the end */
  atomic_uint sleepers;
  atomic_uint quits;
  /* The job. `tasks` and `workers` may be read by those who find out afterwards that the job is over. */
  atomic_uint tasks, workers;
  fovea_task_function run;
  void *job;
  int64_t first; /* what the number of a task counts from */
  /* Nanoseconds in which the leader waited for threads that did not run; and in which the others had tasks, all together:
   * they have none while the leader is between two jobs. */
  int64_t lost, helped;
} fovea_team;

void fovea_team_begin(fovea_team *team);

/* A fovea_parallel_for whose context is a team. Only the team's leader calls it; it is worker 0. */
void fovea_team_share(void *team, int64_t tasks, int workers, fovea_task_function run, void *job);

/* Takes tasks of all jobs as worker `worker`, from 1 on, until the leader ends the team. */
void fovea_team_help(fovea_team *team, int worker);
void fovea_team_end(fovea_team *team);

/* How much of a wait of `wait` nanoseconds for the last tasks, which take `task` nanoseconds on average, is the fault of
 * a thread that did not run: all of it or nothing. The time of two tasks is how a team ends, and to wake a thread
 * takes up to 0.2 ms. */
int64_t fovea_team_lost(int64_t wait, int64_t task);

#endif

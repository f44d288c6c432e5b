/* A pool of POSIX threads, as an engine has one, that runs the phases and tasks of a plan. */
#ifndef OWN_THREADS_POOL_H
#define OWN_THREADS_POOL_H

#include <fovea/fovea.h>

#include <pthread.h>
#include <stdatomic.h>

enum { POOL_WORKERS = 4 };

struct pool;

struct worker {
  struct pool *pool;
  int number;
  pthread_t thread;
  fovea_status status; /* of the last run; `error` says more when it is not FOVEA_OK */
  fovea_error error;
};

struct pool {
  struct worker workers[POOL_WORKERS]; /* the first is whoever calls pool_run() */

  const fovea_plan *plan; /* what is run, by all of them; NULL: the pool is at its end */
  const fovea_run *run;   /* the plan, bound to tensors and scratch */
  atomic_llong next_task; /* of the phase */

  /* The barrier. */
  pthread_mutex_t mutex;
  pthread_cond_t released;
  int waiting, round;
};

/* 0 when a thread cannot be started. */
int pool_start(struct pool *pool);
void pool_stop(struct pool *pool);

/* Runs a plan with the pool's scratch; the text of what went wrong goes to `error`. */
fovea_status pool_run(struct pool *pool, const fovea_plan *plan, const fovea_tensors *tensors, void *scratch,
                      size_t scratch_size, fovea_error *error);

#endif

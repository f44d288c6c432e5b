/* A pool of POSIX threads, like an engine's, that runs the phases and tasks of a plan. */
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
  fovea_status status; /* of the last run; `error` says more if it is not FOVEA_OK */
  fovea_error error;
};

struct pool {
  struct worker workers[POOL_WORKERS]; /* the first is the thread that calls pool_run() */

  const fovea_plan *plan; /* the plan that all workers run; NULL: the pool ends */
  const fovea_run *run;   /* the plan, bound to tensors and scratch */
  atomic_llong next_task; /* of the phase */

  /* The barrier. */
  pthread_mutex_t mutex;
  pthread_cond_t released;
  int waiting, round;
};

/* 0 if a thread cannot be started. */
int pool_start(struct pool *pool);
void pool_stop(struct pool *pool);

/* Runs a plan with the pool's scratch. If it fails, `error` gets the text. */
fovea_status pool_run(struct pool *pool, const fovea_plan *plan, const fovea_tensors *tensors, void *scratch,
                      size_t scratch_size, fovea_error *error);

#endif

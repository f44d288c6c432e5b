#include "pool.h"

#include <string.h>

/* A barrier: each worker waits until all have come. The last sets next_task to the first task of the next phase. */
static void wait_for_all(struct pool *pool) {
  pthread_mutex_lock(&pool->mutex);
  int round = pool->round;
  if (++pool->waiting == POOL_WORKERS) {
    pool->waiting = 0;
    pool->round++;
    atomic_store(&pool->next_task, 0);
    pthread_cond_broadcast(&pool->released);
  }
  while (round == pool->round) pthread_cond_wait(&pool->released, &pool->mutex);
  pthread_mutex_unlock(&pool->mutex);
}

/* One worker takes the tasks that are left, phase after phase. After a failure it only goes through the barriers.
 * After the last barrier it reads neither pool nor plan, since the caller may have freed them. */
static void work(struct worker *self) {
  struct pool *pool = self->pool;
  const fovea_plan *plan = pool->plan;
  int phases = fovea_plan_phases(plan);
  self->status = FOVEA_OK;
  for (int phase = 0; phase < phases; phase++) {
    int64_t tasks = fovea_plan_tasks(plan, phase), task;
    while (self->status == FOVEA_OK && (task = atomic_fetch_add(&pool->next_task, 1)) < tasks) {
      self->status = fovea_run_task(pool->run, phase, task, self->number, &self->error);
    }
    wait_for_all(pool);
  }
}

static void *live(void *context) {
  struct worker *self = context;
  for (;;) {
    wait_for_all(self->pool);
    if (!self->pool->plan) return NULL;
    work(self);
  }
}

int pool_start(struct pool *pool) {
  memset(pool, 0, sizeof *pool);
  atomic_init(&pool->next_task, 0);
  pthread_mutex_init(&pool->mutex, NULL);
  pthread_cond_init(&pool->released, NULL);
  for (int i = 0; i < POOL_WORKERS; i++) {
    struct worker *worker = &pool->workers[i];
    worker->pool = pool;
    worker->number = i;
    if (i > 0 && pthread_create(&worker->thread, NULL, live, worker) != 0) return 0;
  }
  return 1;
}

void pool_stop(struct pool *pool) {
  pool->plan = NULL;
  wait_for_all(pool);
  for (int i = 1; i < POOL_WORKERS; i++) pthread_join(pool->workers[i].thread, NULL);
  pthread_cond_destroy(&pool->released);
  pthread_mutex_destroy(&pool->mutex);
}

fovea_status pool_run(struct pool *pool, const fovea_plan *plan, const fovea_tensors *tensors, void *scratch,
                      size_t scratch_size, fovea_error *error) {
  enum { RUN_ROOM = 1024 };
  _Alignas(FOVEA_SCRATCH_ALIGNMENT) unsigned char memory[RUN_ROOM];
  fovea_run *run;
  fovea_status status =
      fovea_run_bind(plan, tensors, POOL_WORKERS, scratch, scratch_size, memory, sizeof memory, &run, error);
  if (status != FOVEA_OK) return status;
  pool->plan = plan;
  pool->run = run;
  wait_for_all(pool); /* the workers start */
  work(&pool->workers[0]);
  for (int i = 0; i < POOL_WORKERS; i++) {
    if (pool->workers[i].status == FOVEA_OK) continue;
    *error = pool->workers[i].error;
    return pool->workers[i].status;
  }
  return FOVEA_OK;
}

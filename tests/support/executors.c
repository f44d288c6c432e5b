#include "executors.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static int64_t common_divisor(int64_t a, int64_t b) {
  return b == 0 ? a : common_divisor(b, a % b);
}

int64_t task_at(enum task_order order, int64_t tasks, int64_t step) {
  if (order == TASKS_FORWARDS) return step;
  if (order == TASKS_BACKWARDS) return tasks - 1 - step;
  /* The multiples of a number that is coprime to the count visit every task once. */
  int64_t factor = tasks * 5 / 13 + 1;
  while (common_divisor(tasks, factor) != 1) factor++;
  return (step * factor + tasks / 2) % tasks;
}

void serial_for(void *context, int64_t tasks, int workers, fovea_task_function run, void *job) {
  struct executor *executor = context;
  executor->calls++;
  for (int64_t step = 0; step < tasks; step++)
    run(job, task_at(executor->order, tasks, step), (int)(step % workers));
}

struct team {
  enum task_order order;
  int64_t tasks;
  atomic_llong next;
  fovea_task_function run;
  void *job;
};

struct member {
  struct team *team;
  int worker;
  pthread_t thread;
};

static void *work(void *context) {
  const struct member *member = context;
  struct team *team = member->team;
  for (;;) {
    const int64_t step = atomic_fetch_add(&team->next, 1);
    if (step >= team->tasks) return NULL;
    team->run(team->job, task_at(team->order, team->tasks, step), member->worker);
  }
}

void threads_for(void *context, int64_t tasks, int workers, fovea_task_function run, void *job) {
  struct executor *executor = context;
  executor->calls++;
  struct team team = {.order = executor->order, .tasks = tasks, .run = run, .job = job};
  atomic_init(&team.next, 0);
  struct member *members = malloc((size_t)workers * sizeof *members);
  if (members == NULL) abort();
  for (int i = 0; i < workers; i++) {
    members[i] = (struct member){.team = &team, .worker = i};
    if (pthread_create(&members[i].thread, NULL, work, &members[i]) != 0) abort();
  }
  for (int i = 0; i < workers; i++) pthread_join(members[i].thread, NULL);
  free(members);
}

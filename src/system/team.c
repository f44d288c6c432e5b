#include "team.h"

#include "platform.h"

/* The lower half of a ticket while a job is being changed: no job has so many tasks. */
#define CLOSED UINT32_MAX
/* The most tasks that are shared out together. */
#define MOST_TASKS (INT64_C(1) << 30)

/* A waiting thread looks for some microseconds, then lets the CPU go between looks, and then sleeps: to be woken
 * takes longer than most waits. */
enum { QUICK_LOOKS = 30, LOOKS = 1000 };

static void pause_after(int looks) {
  if (looks < QUICK_LOOKS)
    fovea_platform_relax();
  else
    fovea_platform_yield();
}

void fovea_team_begin(fovea_team *team) {
  atomic_init(&team->ticket, CLOSED);
  atomic_init(&team->finished, 0);
  atomic_init(&team->leader_sleeps, 0);
  atomic_init(&team->events, 0);
  atomic_init(&team->sleepers, 0);
  atomic_init(&team->quits, 0);
  atomic_init(&team->tasks, 0);
  atomic_init(&team->workers, 0);
  team->lost = team->helped = 0;
}

/* Takes a task of the job that is open, if it has one for this worker. */
static int take(fovea_team *team, int worker, int64_t *task) {
  unsigned long long ticket = atomic_load_explicit(&team->ticket, memory_order_acquire);
  for (;;) {
    const uint32_t next = (uint32_t)ticket;
    /* Acquired: if they are of a later job, its ticket is already another, and the exchange fails. */
    if (next >= atomic_load_explicit(&team->tasks, memory_order_acquire)) return 0;
    if ((unsigned)worker >= atomic_load_explicit(&team->workers, memory_order_acquire)) return 0;
    if (atomic_compare_exchange_weak_explicit(&team->ticket, &ticket, ticket + 1, memory_order_acq_rel,
                                              memory_order_acquire)) {
      *task = next;
      return 1;
    }
  }
}

/* Does tasks of the job that is open until none is left. Returns whether there was one. */
static int work(fovea_team *team, int worker) {
  int64_t task;
  int any = 0;
  for (; take(team, worker, &task); any = 1) {
    team->run(team->job, team->first + task, worker);
    atomic_fetch_add(&team->finished, 1);
    if (worker > 0 && atomic_load(&team->leader_sleeps)) fovea_platform_wake(&team->finished);
  }
  return any;
}

int64_t fovea_team_lost(int64_t wait, int64_t task) {
  enum { SHORT_WAIT = 400000 };
  return wait >= SHORT_WAIT + 2 * task ? wait : 0;
}

/* Waits until so many tasks are done. */
static void wait_for(fovea_team *team, unsigned tasks) {
  for (int looks = QUICK_LOOKS; looks < LOOKS; looks++) {
    if (atomic_load_explicit(&team->finished, memory_order_acquire) == tasks) return;
    pause_after(looks);
  }
  atomic_store(&team->leader_sleeps, 1);
  for (unsigned finished; (finished = atomic_load(&team->finished)) != tasks;)
    fovea_platform_wait(&team->finished, finished);
  atomic_store(&team->leader_sleeps, 0);
}

/* The calling thread meets the threads that have taken tasks of a job that began at `start`. Returns what it lost. */
static int64_t meet(fovea_team *team, unsigned tasks, int64_t start) {
  for (int looks = 0; looks < QUICK_LOOKS; looks++) {
    if (atomic_load_explicit(&team->finished, memory_order_acquire) == tasks) return 0;
    pause_after(looks);
  }
  const int64_t idle = fovea_platform_nanoseconds();
  wait_for(team, tasks);
  /* Two threads or more shared the tasks. */
  return fovea_team_lost(fovea_platform_nanoseconds() - idle, (idle - start) / tasks * 2);
}

/* Tells those who sleep of something new. */
static void announce(fovea_team *team) {
  atomic_fetch_add(&team->events, 1);
  if (atomic_load(&team->sleepers) > 0) fovea_platform_wake(&team->events);
}

static void share(fovea_team *team, int64_t first, unsigned tasks, int workers, fovea_task_function run,
                  void *job) {
  const int64_t start = fovea_platform_nanoseconds();
  const unsigned long long number = (atomic_load_explicit(&team->ticket, memory_order_relaxed) >> 32) + 1;
  atomic_store_explicit(&team->ticket, number << 32 | CLOSED, memory_order_release);
  atomic_store_explicit(&team->tasks, tasks, memory_order_release);
  atomic_store_explicit(&team->workers, (unsigned)workers, memory_order_release);
  atomic_store_explicit(&team->finished, 0, memory_order_relaxed);
  team->run = run;
  team->job = job;
  team->first = first;
  atomic_store_explicit(&team->ticket, number << 32, memory_order_release);
  announce(team);
  work(team, 0);
  const int64_t lost = meet(team, tasks, start);
  team->lost += lost;
  team->helped += (fovea_platform_nanoseconds() - start - lost) * (workers - 1);
}

void fovea_team_share(void *context, int64_t tasks, int workers, fovea_task_function run, void *job) {
  for (int64_t first = 0; first < tasks; first += MOST_TASKS) {
    const int64_t rest = tasks - first;
    share(context, first, (unsigned)(rest < MOST_TASKS ? rest : MOST_TASKS), workers, run, job);
  }
}

void fovea_team_help(fovea_team *team, int worker) {
  int looks = 0;
  while (!atomic_load_explicit(&team->quits, memory_order_acquire)) {
    if (work(team, worker)) looks = 0;
    if (looks++ < LOOKS) {
      pause_after(looks);
      continue;
    }
    const unsigned events = atomic_load(&team->events);
    if (atomic_load(&team->quits) || work(team, worker)) continue;
    atomic_fetch_add(&team->sleepers, 1);
    fovea_platform_wait(&team->events, events);
    atomic_fetch_sub(&team->sleepers, 1);
    looks = 0;
  }
}

void fovea_team_end(fovea_team *team) {
  atomic_store(&team->quits, 1);
  announce(team);
}

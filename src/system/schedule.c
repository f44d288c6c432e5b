/* The only file that knows OpenMP. */
#include "schedule.h"

#include "platform.h"
#include "process.h"

#include <stdatomic.h>

#ifdef FOVEA_OPENMP
#include <omp.h>

/* More threads than CPUs gain nothing, and OpenMP ends the process if it cannot start a thread. So even a caller
 * who asks for more threads gets at most this many, or one for each CPU if there are more CPUs. */
enum { MOST_THREADS = 64 };

/* libgomp's threads do not survive fork(): in the child its next team waits for them for ever. */
static int is_forked_child(void) {
  return fovea_process_record()->id != fovea_platform_process();
}
#endif

/* Multiplications and additions that one thread does in about 15 microseconds, three times the cost of waking a
 * team. */
static const double work_worth_a_team = 1.5e6;

const char *fovea_schedule_threading(void) {
#ifdef FOVEA_OPENMP
  return "OpenMP";
#else
  return "none";
#endif
}

int fovea_default_threads(void) {
#ifdef FOVEA_OPENMP
  int threads = omp_get_max_threads(), cpus = fovea_platform_cpus(), quota = fovea_process_record()->cpu_quota;
  if (is_forked_child()) return 1;
  if (threads > cpus) threads = cpus;
  if (quota > 0 && threads > quota) threads = quota;
  return threads > 0 ? threads : 1;
#else
  return 1;
#endif
}

int fovea_schedule_workers(int64_t tasks, double work, const fovea_execution *execution) {
  int wanted = execution->threads, own = execution->parallel_for != NULL;
  if (tasks <= 1 || work < work_worth_a_team || wanted == 1) return 1;
  int cpus = fovea_platform_cpus();
  if (own) {
    if (wanted == 0) wanted = cpus;
  } else {
#ifdef FOVEA_OPENMP
    if (omp_in_parallel() || is_forked_child()) return 1;
    if (wanted == 0) wanted = fovea_default_threads();
    int most = cpus > MOST_THREADS ? cpus : MOST_THREADS;
    if (wanted > most) wanted = most;
#else
    return 1;
#endif
  }
  return wanted < tasks ? wanted : (int)tasks;
}

typedef struct running_phase {
  const fovea_phase *phase;
  const void *data;
} running_phase;

/* Runs one task, for a caller's parallel-for. */
static void run_one(void *argument, int64_t task, int worker) {
  const running_phase *running = argument;
  running->phase->run(running->data, task, worker);
}

static void run_phase(const fovea_phase *phase, const void *data, const fovea_execution *execution, int workers) {
  running_phase running = {phase, data};
  int64_t tasks = phase->tasks;
  if (workers > tasks) workers = (int)tasks;
  if (workers > 1 && execution->parallel_for) {
    execution->parallel_for(execution->parallel_context, tasks, workers, run_one, &running);
    return;
  }
#ifdef FOVEA_OPENMP
  if (workers > 1) {
    /* If a program has two OpenMP runtimes, omp_get_thread_num() may belong to the other one and give all threads
     * the same number. So workers are counted here. */
    atomic_int begun = 0;
#pragma omp parallel num_threads(workers)
    {
      int worker = atomic_fetch_add_explicit(&begun, 1, memory_order_relaxed);
#pragma omp for schedule(dynamic, 1)
      for (int64_t task = 0; task < tasks; task++) phase->run(data, task, worker);
    }
    return;
  }
#endif
  for (int64_t task = 0; task < tasks; task++) phase->run(data, task, 0);
}

void fovea_schedule_run(const fovea_job *job, const fovea_execution *execution, int workers) {
  for (int i = 0; i < job->phase_count; i++) run_phase(&job->phases[i], job->data, execution, workers);
}

/* Moving an element, rotated or converted, takes the time of so many multiplications and additions. */
enum { WORK_TO_MOVE = 64 };

void fovea_schedule_rows(void (*run)(const void *data, int64_t task, int worker), const void *data, int64_t tasks,
                         double elements, const fovea_execution *execution) {
  const fovea_job job = {data, elements * WORK_TO_MOVE, 1, {{tasks, run}}};
  fovea_schedule_run(&job, execution, fovea_schedule_workers(tasks, job.work, execution));
}

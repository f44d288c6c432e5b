/* The only file that knows OpenMP. */
#include "schedule.h"

#include "account.h"
#include "dispatch.h"
#include "platform.h"
#include "process.h"
#include "team.h"

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

/* Microseconds of one thread that are worth a team. On AMD EPYC (Zen 4) to share tasks costs 1.1 us with threads that look
 * for them, 2 to 15 us with threads that sleep, and up to 40 us if OMP_WAIT_POLICY is passive; the calling thread begins
 * meanwhile. */
static const double team_pays = 10;
/* The same within a team, whose threads are awake. */
static const double share_pays = 2;

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

/* The most workers that an execution may have. To ask for CPUs takes as long as a small task: only if it
 * matters. */
static int most_workers(const fovea_execution *execution) {
  const int wanted = execution->threads;
  if (execution->parallel_for) return wanted > 0 ? wanted : fovea_platform_cpus();
#ifdef FOVEA_OPENMP
  if (omp_in_parallel() || is_forked_child()) return 1;
  if (wanted == 0) return fovea_default_threads();
  if (wanted <= MOST_THREADS) return wanted;
  const int cpus = fovea_platform_cpus(), most = cpus > MOST_THREADS ? cpus : MOST_THREADS;
  return wanted < most ? wanted : most;
#else
  return 1;
#endif
}

/* Multiply-adds that are worth more threads, with the instruction set of the execution. */
static double least_work(const fovea_execution *execution) {
  const fovea_kernels *kernels;
  if (fovea_dispatch_wanted(execution->isa, FOVEA_F32, &kernels, NULL))
    return 0; /* what is wrong is refused later */
  return kernels->pace * (execution->parallel_for == fovea_team_share ? share_pays : team_pays);
}

int fovea_schedule_workers(int64_t tasks, double work, const fovea_execution *execution) {
  if (tasks <= 1 || execution->threads == 1 || work < least_work(execution)) return 1;
  const int wanted = most_workers(execution);
  return wanted < tasks ? wanted : (int)tasks;
}

#ifdef FOVEA_OPENMP
static fovea_account account = FOVEA_ACCOUNT_INITIALISER;

static int stays_alone(void) {
  const int64_t until = fovea_account_alone_until(&account);
  if (until == 0) return 0;
  if (fovea_platform_nanoseconds() < until) return 1;
  fovea_account_open(&account);
  return 0;
}

static void run_team(const fovea_phase *phase, const void *data, int workers) {
  /* If a program has two OpenMP runtimes, omp_get_thread_num() may belong to the other one and give all threads
   * the same number. So workers are counted here. */
  const int64_t tasks = phase->tasks, start = fovea_platform_nanoseconds();
  atomic_int begun = 0, ended = 0;
  atomic_llong idle = start; /* when the first thread had nothing left to do */
#pragma omp parallel num_threads(workers)
  {
    int worker = atomic_fetch_add_explicit(&begun, 1, memory_order_relaxed);
#pragma omp for schedule(dynamic, 1) nowait
    for (int64_t task = 0; task < tasks; task++) phase->run(data, task, worker);
    if (atomic_fetch_add_explicit(&ended, 1, memory_order_relaxed) == 0)
      atomic_store_explicit(&idle, fovea_platform_nanoseconds(), memory_order_relaxed);
  }
  const int64_t end = fovea_platform_nanoseconds(), first = atomic_load_explicit(&idle, memory_order_relaxed);
  const int64_t lost = fovea_team_lost(end - first, (first - start) / tasks * workers);
  fovea_account_settle(&account, end, (end - start - lost) * (workers - 1), lost);
}

static void run_with_team(fovea_team_function run, void *data, const fovea_execution *given, int workers) {
  const uintptr_t leader = fovea_platform_thread();
  int64_t done = 0;
  fovea_execution execution = *given;
  fovea_team team;
  atomic_int begun = 0;
  fovea_team_begin(&team);
  execution.threads = workers;
  execution.parallel_for = fovea_team_share;
  execution.parallel_context = &team;
#pragma omp parallel num_threads(workers)
  {
    if (fovea_platform_thread() == leader) {
      run(data, &execution);
      done = fovea_platform_nanoseconds();
      fovea_team_end(&team);
    } else {
      fovea_team_help(&team, atomic_fetch_add_explicit(&begun, 1, memory_order_relaxed) + 1);
    }
  }
  const int64_t end = fovea_platform_nanoseconds();
  fovea_account_settle(&account, end, team.helped, fovea_team_lost(end - done, 0) + team.lost);
}
#endif

void fovea_schedule_team(fovea_team_function run, void *data, const fovea_execution *execution, int workers) {
#ifdef FOVEA_OPENMP
  if (workers > 1 && !execution->parallel_for && !stays_alone()) {
    run_with_team(run, data, execution, workers);
    return;
  }
#endif
  (void)workers;
  run(data, execution);
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
  if (workers > 1 && !stays_alone()) {
    run_team(phase, data, workers);
    return;
  }
#endif
  for (int64_t task = 0; task < tasks; task++) phase->run(data, task, 0);
}

typedef struct running_job {
  const fovea_job *job;
  int workers;
} running_job;

static void run_phases(void *data, const fovea_execution *execution) {
  const running_job *running = data;
  const fovea_job *job = running->job;
  for (int i = 0; i < job->phase_count; i++) run_phase(&job->phases[i], job->data, execution, running->workers);
}

void fovea_schedule_run(const fovea_job *job, const fovea_execution *execution, int workers) {
  running_job running = {job, workers};
  if (job->phase_count > 1)
    fovea_schedule_team(run_phases, &running, execution, workers);
  else
    run_phases(&running, execution);
}

/* Moving an element, rotated or converted, takes the time of so many multiply-adds. */
enum { WORK_TO_MOVE = 40 };

void fovea_schedule_rows(void (*run)(const void *data, int64_t task, int worker), const void *data, int64_t tasks,
                         double elements, const fovea_execution *execution) {
  const fovea_job job = {data, elements * WORK_TO_MOVE, 1, {{tasks, run}}};
  fovea_schedule_run(&job, execution, fovea_schedule_workers(tasks, job.work, execution));
}

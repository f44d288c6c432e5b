/* Fovea on the threads of a pthreadpool (Debian's libpthreadpool-dev), as engines such as XNNPACK keep one.
 *
 * A parallel-for of yours (fovea_parallel_for) must
 *
 * - run every task from 0 to tasks - 1 exactly once, in any order, and return when all are done;
 * - give tasks that run at the same time different workers, from 0 to workers - 1; fewer threads than workers are fine;
 * - return: neither longjmp() nor an exception may leave it.
 *
 * It is called on the thread that called Fovea, never within a task. A pool need not know Fovea's tasks: here it runs
 * `workers` items, each of which is a worker that takes the next task until none is left. So a thread that comes late
 * has no tasks that wait for it. pthreadpool itself returns when all of its threads have looked for items, and its
 * threads spin between calls: PTHREADPOOL_FLAG_YIELD_WORKERS lets them sleep, for machines that do other things, too. */
#include <fovea/fovea.h>

#include <pthreadpool.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The parallel-for ---- */

struct work {
  atomic_llong next_task;
  int64_t tasks;
  fovea_task_function run;
  void *job;
};

static void take_tasks(void *context, size_t worker) {
  struct work *work = context;
  for (int64_t task; (task = atomic_fetch_add(&work->next_task, 1)) < work->tasks;)
    work->run(work->job, task, (int)worker);
}

/* `context` is the pool. */
static void parallel_for(void *context, int64_t tasks, int workers, fovea_task_function run, void *job) {
  struct work work = {.tasks = tasks, .run = run, .job = job};
  atomic_init(&work.next_task, 0);
  pthreadpool_parallelize_1d(context, take_tasks, &work, (size_t)workers, PTHREADPOOL_FLAG_YIELD_WORKERS);
}

/* ---- Its use ---- */

enum { HEADS = 8, KV_HEADS = 2, DIM = 64 };

struct tensors {
  float *q, *k, *v, *o;
  size_t outputs;
};

static int tensors_create(struct tensors *tensors, int64_t rows, int64_t keys) {
  size_t q = (size_t)(HEADS * rows * DIM), kv = (size_t)(KV_HEADS * keys * DIM);
  float *memory = malloc((2 * q + 2 * kv) * sizeof *memory);
  if (!memory) return 0;
  uint32_t state = 1;
  for (size_t i = 0; i < q + 2 * kv; i++) {
    state = state * 1664525u + 1013904223u;
    memory[i] = (float)(state >> 16) / 16384.0f - 2.0f;
  }
  *tensors = (struct tensors){memory, memory + q, memory + q + kv, memory + q + 2 * kv, q};
  return 1;
}

static int attend(const struct tensors *tensors, int64_t rows, int64_t keys, const fovea_execution *execution) {
  fovea_problem problem;
  fovea_tensors all;
  fovea_error error;
  fovea_problem_init(&problem, 1, HEADS, KV_HEADS, rows, keys, DIM, DIM);
  problem.causal = 1;
  fovea_tensors_init(&all, tensors->q, tensors->k, tensors->v, tensors->o, NULL);
  memset(tensors->o, 0xff, tensors->outputs * sizeof *tensors->o);
  if (fovea_attend(&problem, &all, execution, &error) == FOVEA_OK) return 1;
  fprintf(stderr, "%s\n", error.text);
  return 0;
}

/* Compares the pool's result with the calling thread's. */
static int example(pthreadpool_t pool, const char *name, int64_t rows, int64_t keys) {
  fovea_execution alone, shared;
  fovea_execution_init(&alone);
  alone.threads = 1;
  fovea_execution_init(&shared);
  shared.threads = (int)pthreadpool_get_threads_count(pool);
  shared.parallel_for = parallel_for;
  shared.parallel_context = pool;
  struct tensors tensors;
  if (!tensors_create(&tensors, rows, keys)) return fputs("no memory\n", stderr), 0;
  size_t bytes = tensors.outputs * sizeof *tensors.o;
  float *expected = malloc(bytes);
  int good = expected != NULL && attend(&tensors, rows, keys, &alone);
  if (good) memcpy(expected, tensors.o, bytes);
  good = good && attend(&tensors, rows, keys, &shared);
  if (good) {
    good = memcmp(expected, tensors.o, bytes) == 0;
    printf("%-8s %d threads, %s\n", name, shared.threads, good ? "the bits of one" : "OTHER BITS than one");
  }
  free(expected);
  free(tensors.q);
  return good;
}

int main(void) {
  pthreadpool_t pool = pthreadpool_create(3);
  if (!pool) return fputs("no threads\n", stderr), 1;
  int good = example(pool, "prefill", 160, 400);
  good &= example(pool, "decode", 1, 5000);
  pthreadpool_destroy(pool);
  return good ? 0 : 1;
}

/* The library in the child of a fork(), which has none of its parent's threads. */
#define _GNU_SOURCE
#include "support/check.h"
#include "support/executors.h"
#include "support/trial.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Seconds after which SIGALRM ends a test that hangs. */
enum { PATIENCE = 120 };

/* Large enough for a team of threads. */
static fovea_problem large_problem(void) {
  fovea_problem problem;
  fovea_problem_init(&problem, 2, 4, 2, USUAL_OR_LONG(64, 256), USUAL_OR_LONG(256, 512), 64, 64);
  problem.causal = 1;
  return problem;
}

/* Runs in a child. Returns the child's exit status; SIGALRM ends a child that hangs. */
typedef int (*child_function)(struct trial *trial, const struct trial *expected);

static void run_in_child(child_function child) {
  const fovea_problem problem = large_problem();
  struct trial expected = trial_create(&problem, 3), actual = trial_create(&problem, 3);
  trial_run(&expected, NULL, NULL); /* the parent has a team of threads now */
  const pid_t process = fork();
  assert_true(process >= 0);
  if (process == 0) {
    alarm(PATIENCE);
    _exit(child(&actual, &expected));
  }
  int status = 0;
  assert_int_equal(waitpid(process, &status, 0), process);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
  trial_run(&actual, NULL, NULL); /* the parent goes on */
  assert_same_outputs(&actual, &expected);
  trial_destroy(&expected);
  trial_destroy(&actual);
}

/* Without cmocka, whose failures belong to the parent. */
static int same_memory(const struct trial *actual, const struct trial *expected) {
  return memcmp(actual->o.data, expected->o.data, actual->o.memory.size) == 0 &&
         memcmp(actual->lse.data, expected->lse.data, actual->lse.memory.size) == 0;
}

static int child_calls(struct trial *trial, const struct trial *expected) {
  const fovea_tensors tensors = trial_tensors(trial);
  if (fovea_default_threads() != 1) return 2;
  for (int threads = 0; threads <= 4; threads++) {
    fovea_execution execution;
    fovea_execution_init(&execution);
    execution.threads = threads;
    tensor_fill_untouched(&trial->o);
    if (fovea_attend(&trial->problem, &tensors, &execution, NULL) != FOVEA_OK) return 3;
    if (!same_memory(trial, expected)) return 4;
  }
  return 0;
}

static void test_forked_child(void **state) {
  (void)state;
  run_in_child(child_calls);
}

static void count_task(const void *data, int64_t task, int worker) {
  int *counts = *(int *const *)data;
  counts[task] += worker == 0 ? 1 : 100;
}

/* Tasks of a caller's own run on the child's one thread, whatever number of workers is asked for. */
static int child_runs_tasks(struct trial *trial, const struct trial *expected) {
  int counts[8] = {0}, *data = counts;
  (void)trial;
  (void)expected;
  if (fovea_tasks_workers(8, 1e12, NULL) != 1) return 3;
  if (fovea_tasks_run(count_task, &data, 8, 4, NULL, NULL) != FOVEA_OK) return 4;
  for (int i = 0; i < 8; i++)
    if (counts[i] != 1) return 5;
  return 0;
}

static void test_tasks_in_child(void **state) {
  (void)state;
  run_in_child(child_runs_tasks);
}

/* Threads that the child starts itself work like the parent's. */
static int child_calls_with_threads(struct trial *trial, const struct trial *expected) {
  const fovea_tensors tensors = trial_tensors(trial);
  struct executor executor = {.order = TASKS_FORWARDS};
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.threads = 3;
  execution.parallel_for = threads_for;
  execution.parallel_context = &executor;
  if (fovea_attend(&trial->problem, &tensors, &execution, NULL) != FOVEA_OK) return 3;
  return same_memory(trial, expected) ? 0 : 4;
}

static void test_forked_child_with_threads(void **state) {
  (void)state;
  if (getenv("FOVEA_TEST_EMULATED")) skip(); /* qemu cannot start threads in the child of a process with threads */
  run_in_child(child_calls_with_threads);
}

static int grandchild_calls(struct trial *trial, const struct trial *expected) {
  const pid_t process = fork();
  if (process < 0) return 5;
  if (process == 0) {
    alarm(PATIENCE);
    _exit(child_calls(trial, expected));
  }
  int status = 0;
  if (waitpid(process, &status, 0) != process || !WIFEXITED(status)) return 6;
  return WEXITSTATUS(status);
}

static void test_forked_grandchild(void **state) {
  (void)state;
  run_in_child(grandchild_calls);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_forked_child),
      cmocka_unit_test(test_tasks_in_child),
      cmocka_unit_test(test_forked_child_with_threads),
      cmocka_unit_test(test_forked_grandchild),
  };
  alarm(2 * PATIENCE);
  return cmocka_run_group_tests(tests, NULL, NULL);
}

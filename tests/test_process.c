/* The library in the processes it may meet: many calling threads, a parallel region of OpenMP, the child of a
 * fork(), fewer CPUs than the machine has. */
#define _GNU_SOURCE
#include "support/check.h"
#include "support/executors.h"
#include "support/trial.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Seconds after which a test that hangs is ended by SIGALRM. */
enum { PATIENCE = 120 };

/* Large enough for a team of threads. */
static fovea_problem large_problem(void) {
  fovea_problem problem;
  fovea_problem_init(&problem, 2, 4, 2, IF_QUICK(64, 256), IF_QUICK(256, 512), 64, 64);
  problem.causal = 1;
  return problem;
}

enum { CALLERS = 8 };

struct caller {
  pthread_t thread;
  fovea_problem problem;
  fovea_tensors tensors;
  int failures;
};

static void *call_often(void *context) {
  struct caller *caller = context;
  for (int i = 0; i < 4; i++) {
    fovea_execution execution;
    fovea_execution_init(&execution);
    execution.threads = i % 3;
    caller->failures += fovea_attend(&caller->problem, &caller->tensors, &execution, NULL) != FOVEA_OK;
  }
  return NULL;
}

static void test_many_callers(void **state) {
  (void)state;
  const fovea_problem problem = large_problem();
  struct trial expected = trial_create(&problem, 1), actual[CALLERS];
  struct caller callers[CALLERS];
  trial_run(&expected, NULL, NULL);
  for (int i = 0; i < CALLERS; i++) {
    actual[i] = trial_create(&problem, 1);
    callers[i] = (struct caller){.problem = problem, .tensors = trial_tensors(&actual[i])};
  }
  for (int i = 0; i < CALLERS; i++) pthread_create(&callers[i].thread, NULL, call_often, &callers[i]);
  for (int i = 0; i < CALLERS; i++) pthread_join(callers[i].thread, NULL);
  for (int i = 0; i < CALLERS; i++) {
    assert_int_equal(callers[i].failures, 0);
    assert_same_outputs(&actual[i], &expected);
    trial_destroy(&actual[i]);
  }
  trial_destroy(&expected);
}

/* Each thread of a parallel region calls; where the test is built without OpenMP, one does. */
static void test_parallel_region(void **state) {
  (void)state;
  const fovea_problem problem = large_problem();
  struct trial expected = trial_create(&problem, 2), actual[CALLERS];
  trial_run(&expected, NULL, NULL);
  for (int i = 0; i < CALLERS; i++) actual[i] = trial_create(&problem, 2);
  int failures = 0;
#ifdef _OPENMP
#pragma omp parallel for num_threads(4) schedule(static, 1) reduction(+ : failures)
#endif
  for (int i = 0; i < CALLERS; i++) {
    const fovea_tensors tensors = trial_tensors(&actual[i]);
    failures += fovea_attend(&problem, &tensors, NULL, NULL) != FOVEA_OK;
  }
  assert_int_equal(failures, 0);
  for (int i = 0; i < CALLERS; i++) {
    assert_same_outputs(&actual[i], &expected);
    trial_destroy(&actual[i]);
  }
  trial_destroy(&expected);
}

/* Runs in a child and returns its exit status; a child that hangs is ended by SIGALRM. */
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

/* No cmocka here: its failures belong to the parent. */
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

/* Threads that the child makes itself are as good as the parent's. */
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
  if (getenv("FOVEA_TEST_EMULATED")) skip(); /* qemu cannot start threads in the child of a process that has some */
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

static void test_restricted_affinity(void **state) {
  (void)state;
  cpu_set_t all, one;
  if (sched_getaffinity(0, sizeof all, &all) != 0) skip();
  size_t first = 0;
  while (!CPU_ISSET(first, &all)) first++;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  assert_true(fovea_default_threads() >= 1);
  assert_true(fovea_default_threads() <= CPU_COUNT(&all));
  if (sched_setaffinity(0, sizeof one, &one) != 0) skip();
  assert_int_equal(fovea_default_threads(), 1);
  const fovea_problem problem = large_problem();
  struct trial trial = trial_create(&problem, 4);
  trial_run(&trial, NULL, NULL);
  assert_contract(&trial, 100000);
  trial_destroy(&trial);
  assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_many_callers),      cmocka_unit_test(test_parallel_region),
      cmocka_unit_test(test_forked_child),      cmocka_unit_test(test_forked_child_with_threads),
      cmocka_unit_test(test_forked_grandchild), cmocka_unit_test(test_restricted_affinity),
  };
  alarm(2 * PATIENCE);
  return cmocka_run_group_tests(tests, NULL, NULL);
}

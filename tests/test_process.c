/* The library in different processes: many calling threads, a parallel region of OpenMP, fewer CPUs than the
 * machine has. */
#include "support/check.h"
#include "support/cpus.h"
#include "support/trial.h"

#include <pthread.h>

/* Large enough for a team of threads. */
static fovea_problem large_problem(void) {
  fovea_problem problem;
  fovea_problem_init(&problem, 2, 4, 2, USUAL_OR_LONG(64, 256), USUAL_OR_LONG(256, 512), 64, 64);
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

/* Each thread of a parallel region calls. If the test is built without OpenMP, one thread calls. */
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

static void test_restricted_affinity(void **state) {
  (void)state;
  const int all = fovea_default_threads();
  if (!cpus_use_one()) skip();
  assert_int_equal(fovea_default_threads(), 1);
  const fovea_problem problem = large_problem();
  struct trial trial = trial_create(&problem, 4);
  trial_run(&trial, NULL, NULL);
  assert_contract(&trial, 100000);
  trial_destroy(&trial);
  assert_true(cpus_use_all());
  assert_int_equal(fovea_default_threads(), all);
  assert_true(all >= 1 && all <= cpus_allowed());
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_many_callers),
      cmocka_unit_test(test_parallel_region),
      cmocka_unit_test(test_restricted_affinity),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

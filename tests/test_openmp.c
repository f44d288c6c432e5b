/* OpenMP as a program or its environment may have set it up: teams within teams, limits, nonsense in variables. */
#define _GNU_SOURCE
#include "support/check.h"
#include "support/trial.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif

enum { EXIT_CANNOT_RUN = 126 };

/* Large enough for a team of threads. */
static fovea_problem large_problem(void) {
  fovea_problem problem;
  fovea_problem_init(&problem, 2, 4, 2, 64, 256, 64, 64);
  problem.causal = 1;
  return problem;
}

static int library_has_openmp(void) {
  fovea_library_info info;
  fovea_library_info_init(&info);
  assert_int_equal(fovea_info(&info), FOVEA_OK);
  return strcmp(info.threading, "OpenMP") == 0;
}

/* Whether a run that may use `threads` threads accepts scratch for `workers` workers; -1: it fails. */
static int is_content_with(int workers, int threads, struct trial *trial) {
  fovea_plan *plan;
  fovea_execution execution;
  const fovea_tensors tensors = trial_tensors(trial);
  if (fovea_plan_create(&trial->problem, NULL, &plan, NULL) != FOVEA_OK) return -1;
  fovea_execution_init(&execution);
  execution.threads = threads;
  execution.scratch_size = fovea_plan_scratch_size(plan, workers);
  execution.scratch_size += -execution.scratch_size % FOVEA_SCRATCH_ALIGNMENT;
  execution.scratch = aligned_alloc(FOVEA_SCRATCH_ALIGNMENT, execution.scratch_size);
  if (execution.scratch == NULL) return -1;
  const fovea_status status = fovea_plan_run(plan, &tensors, &execution, NULL);
  free(execution.scratch);
  fovea_plan_destroy(plan);
  if (status == FOVEA_ERROR_SPACE) return 0;
  return status == FOVEA_OK ? 1 : -1;
}

/* Whatever number of threads is wanted, OpenMP is asked for at most 64, or one for each CPU if there are more. */
static void test_most_threads(void **state) {
  (void)state;
  if (!library_has_openmp()) skip();
  cpu_set_t set;
  assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
  const int most = CPU_COUNT(&set) > 64 ? CPU_COUNT(&set) : 64;
  fovea_problem problem;
  fovea_problem_init(&problem, most + 10, 1, 1, 20, 100, 32, 32);
  struct trial expected = trial_create(&problem, 1), actual = trial_create(&problem, 1);
  trial_run(&expected, "scalar", NULL);
  assert_contract(&expected, 100000);
  assert_int_equal(is_content_with(most - 1, INT_MAX, &actual), 0);
  assert_int_equal(is_content_with(most, INT_MAX, &actual), 1);
  trial_load(&actual);
  assert_same_outputs(&actual, &expected);
  trial_destroy(&expected);
  trial_destroy(&actual);
}

#ifdef _OPENMP
enum { CALLERS = 4 };

/* In a parallel region a call stays on its thread, even if nested teams are allowed. */
static void test_nested(void **state) {
  (void)state;
  const fovea_problem problem = large_problem();
  struct trial expected = trial_create(&problem, 2), actual[CALLERS];
  trial_run(&expected, "scalar", NULL);
  assert_contract(&expected, 100000);
  for (int i = 0; i < CALLERS; i++) actual[i] = trial_create(&problem, 2);
  if (library_has_openmp()) assert_int_equal(is_content_with(1, 4, &actual[0]), 0);
  for (int levels = 1; levels <= 3; levels++) {
    int content = 0;
    omp_set_max_active_levels(levels);
    for (int i = 0; i < CALLERS; i++) trial_clear(&actual[i]);
#pragma omp parallel for num_threads(2) schedule(static, 1) reduction(+ : content)
    for (int i = 0; i < CALLERS; i += 2) {
#pragma omp parallel for num_threads(2) schedule(static, 1) reduction(+ : content)
      for (int j = i; j < i + 2; j++) content += is_content_with(1, 4, &actual[j]);
    }
    assert_int_equal(content, CALLERS);
    for (int i = 0; i < CALLERS; i++) {
      trial_load(&actual[i]);
      assert_same_outputs(&actual[i], &expected);
    }
  }
  omp_set_max_active_levels(1);
  for (int i = 0; i < CALLERS; i++) trial_destroy(&actual[i]);
  trial_destroy(&expected);
}

/* Calls in tasks of OpenMP, which threads take up wherever they wait. */
static void test_tasks(void **state) {
  (void)state;
  const fovea_problem problem = large_problem();
  struct trial expected = trial_create(&problem, 3), actual[CALLERS];
  trial_run(&expected, "scalar", NULL);
  for (int i = 0; i < CALLERS; i++) actual[i] = trial_create(&problem, 3);
  int content[CALLERS] = {0};
#pragma omp parallel num_threads(3)
#pragma omp single
  for (int i = 0; i < CALLERS; i++) {
#pragma omp task firstprivate(i) shared(content, actual)
    content[i] = is_content_with(1, 0, &actual[i]);
  }
  for (int i = 0; i < CALLERS; i++) {
    assert_int_equal(content[i], 1);
    trial_load(&actual[i]);
    assert_same_outputs(&actual[i], &expected);
    trial_destroy(&actual[i]);
  }
  trial_destroy(&expected);
}
#endif

/* Runs in a process of its own, whose environment was set. The default number of threads must be the expected one,
 * and every number must give the bits of portable C. */
static int expected_threads;

static void test_environment_of_child(void **state) {
  (void)state;
  assert_int_equal(fovea_default_threads(), expected_threads);
  const fovea_problem problem = large_problem();
  struct trial expected = trial_create(&problem, 4), actual = trial_create(&problem, 4);
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.threads = 1;
  trial_run(&expected, "scalar", &execution);
  assert_contract(&expected, 20000);
  for (int threads = 0; threads <= 5; threads += 5) {
    execution.threads = threads;
    trial_run(&actual, NULL, &execution);
    assert_same_outputs(&actual, &expected);
  }
  trial_destroy(&expected);
  trial_destroy(&actual);
}

static int check_environment(const char *threads) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_environment_of_child)};
  expected_threads = (int)strtol(threads, NULL, 10);
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Starts this program again with one variable set. */
static void assert_environment(const char *name, const char *value, int threads) {
  char number[16];
  snprintf(number, sizeof number, "%d", threads);
  fflush(NULL);
  const pid_t process = fork();
  assert_true(process >= 0);
  if (process == 0) {
    setenv(name, value, 1);
    execl("/proc/self/exe", "test_openmp", number, (char *)NULL);
    _exit(EXIT_CANNOT_RUN); /* an emulator, which cannot start another program */
  }
  int status = 0;
  assert_int_equal(waitpid(process, &status, 0), process);
  if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_CANNOT_RUN) skip();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail_msg("%s=%s, %d threads", name, value, threads);
}

static void test_environment(void **state) {
  (void)state;
  if (getenv("OMP_NUM_THREADS") != NULL) skip(); /* without the variable the number is not known */
  const int all = fovea_default_threads();
#ifndef __clang__ /* LLVM's own runtime ends the process with some such values, or hangs */
  static const char *const nonsense[] = {"", "0", "-3", "many", "99999999999999999999", "4,,2"};
  static const char *const others[] = {"OMP_THREAD_LIMIT", "OMP_SCHEDULE", "OMP_PLACES", "OMP_STACKSIZE"};
  for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++)
    assert_environment("OMP_NUM_THREADS", nonsense[i], all);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) assert_environment(others[i], "many", all);
  assert_environment("OMP_NUM_THREADS", "2147483647", all);
#endif
  assert_environment("OMP_NUM_THREADS", "1", library_has_openmp() ? 1 : all);
  assert_environment("OMP_NUM_THREADS", "1,7", library_has_openmp() ? 1 : all);
  assert_environment("OMP_NUM_THREADS", "4,2", all < 4 ? all : 4);
  assert_environment("OMP_NUM_THREADS", " 2 ", all < 2 ? all : 2);
  assert_environment("OMP_DYNAMIC", "true", all);
  assert_environment("OMP_MAX_ACTIVE_LEVELS", "0", all);
  assert_environment("OMP_STACKSIZE", "256k", all);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_most_threads),
#ifdef _OPENMP
      cmocka_unit_test(test_nested),
      cmocka_unit_test(test_tasks),
#endif
      cmocka_unit_test(test_environment),
  };
  if (argc == 2) return check_environment(argv[1]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}

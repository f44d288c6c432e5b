/* Tasks of a caller's own: each runs once, on as many workers as are asked for or fewer. */
#include "support/check.h"
#include "support/error_says.h"
#include "support/executors.h"

#include <limits.h>
#include <stdatomic.h>
#include <string.h>

enum { TASKS = 100, WORKERS = 7 };

struct record {
  int workers;
  atomic_int runs[TASKS], busy[WORKERS];
  atomic_int wrong; /* a worker that does not exist, or has two tasks at a time */
};

static void run_task(const void *data, int64_t task, int worker) {
  struct record *record = *(struct record *const *)data;
  if (worker < 0 || worker >= record->workers || atomic_fetch_add(&record->busy[worker], 1) != 0) {
    atomic_fetch_add(&record->wrong, 1);
    return;
  }
  atomic_fetch_add(&record->runs[task], 1);
  atomic_fetch_sub(&record->busy[worker], 1);
}

static void check_runs(int64_t tasks, int workers, const fovea_execution *execution) {
  struct record record = {.workers = workers}, *data = &record;
  fovea_error error;
  if (fovea_tasks_run(run_task, &data, tasks, workers, execution, &error) != FOVEA_OK) fail_msg("%s", error.text);
  assert_int_equal(atomic_load(&record.wrong), 0);
  for (int64_t i = 0; i < TASKS; i++) assert_int_equal(atomic_load(&record.runs[i]), i < tasks);
}

static void test_runs(void **state) {
  (void)state;
  static const int64_t counts[] = {0, 1, 2, 6, 7, 8, TASKS};
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.threads = 3;
  for (int i = 0; i < 7; i++) {
    for (int workers = 1; workers <= WORKERS; workers++) {
      check_runs(counts[i], workers, NULL);
      check_runs(counts[i], workers, &execution);
    }
  }
}

static void test_parallel_for(void **state) {
  (void)state;
  for (int order = 0; order < TASK_ORDERS; order++) {
    struct executor executor = {.order = (enum task_order)order};
    fovea_execution execution;
    fovea_execution_init(&execution);
    execution.threads = 5;
    execution.parallel_context = &executor;
    execution.parallel_for = serial_for;
    check_runs(TASKS, WORKERS, &execution);
    assert_int_equal(executor.calls, 1);
    execution.parallel_for = threads_for;
    check_runs(TASKS, WORKERS, &execution);
    assert_int_equal(executor.calls, 2);
    check_runs(TASKS, 1, &execution); /* on this thread */
    assert_int_equal(executor.calls, 2);
  }
}

/* Little work, or an execution of one thread, is for one worker. There are no more workers than tasks. */
static void test_workers(void **state) {
  (void)state;
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.parallel_for = serial_for;
  execution.threads = 5;
  assert_int_equal(fovea_tasks_workers(TASKS, 1e12, &execution), 5);
  assert_int_equal(fovea_tasks_workers(4, 1e12, &execution), 4);
  assert_int_equal(fovea_tasks_workers(1, 1e12, &execution), 1);
  assert_int_equal(fovea_tasks_workers(0, 1e12, &execution), 1);
  assert_int_equal(fovea_tasks_workers(TASKS, 1000, &execution), 1);
  execution.threads = 1;
  assert_int_equal(fovea_tasks_workers(TASKS, 1e12, &execution), 1);
  execution.threads = -1;
  assert_int_equal(fovea_tasks_workers(TASKS, 1e12, &execution), 1);
  assert_int_equal(fovea_tasks_workers(TASKS, 1e12, NULL),
                   fovea_default_threads() < TASKS ? fovea_default_threads() : TASKS);
}

/* What is worth more workers depends on the instruction set: portable C takes longest for the same work. */
static void test_pace(void **state) {
  (void)state;
  const double little = 30000;
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.parallel_for = serial_for;
  execution.threads = 5;
  execution.isa = "scalar";
  assert_int_equal(fovea_tasks_workers(TASKS, little, &execution), 5);
  fovea_isa_report report;
  fovea_isa_report_init(&report);
  for (int i = 0; fovea_isa_at(i, &report) == FOVEA_OK; i++) {
    if (!report.usable || strcmp(report.name, "scalar") == 0) continue;
    execution.isa = report.name;
    assert_int_equal(fovea_tasks_workers(TASKS, little, &execution), 1);
    assert_int_equal(fovea_tasks_workers(TASKS, 100 * little, &execution), 5);
  }
}

static void assert_refused(void (*run)(const void *, int64_t, int), int64_t tasks, int workers,
                           const fovea_execution *execution, fovea_status status, const char *word) {
  struct record record = {.workers = WORKERS}, *data = &record;
  fovea_error error;
  assert_int_equal(fovea_tasks_run(run, &data, tasks, workers, execution, &error), status);
  assert_error_says(&error, word);
  assert_int_equal(atomic_load(&record.runs[0]), 0);
}

static void test_refused(void **state) {
  (void)state;
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.threads = -1;
  assert_refused(NULL, TASKS, 1, NULL, FOVEA_ERROR_ARGUMENT, "run");
  assert_refused(run_task, -1, 1, NULL, FOVEA_ERROR_ARGUMENT, "tasks");
  assert_refused(run_task, TASKS, 0, NULL, FOVEA_ERROR_ARGUMENT, "workers");
  assert_refused(run_task, TASKS, -1, NULL, FOVEA_ERROR_ARGUMENT, "workers");
  assert_refused(run_task, TASKS, INT_MIN, NULL, FOVEA_ERROR_ARGUMENT, "workers");
  assert_refused(run_task, TASKS, 1, &execution, FOVEA_ERROR_ARGUMENT, "threads");
  execution.struct_size = 0;
  assert_refused(run_task, TASKS, 1, &execution, FOVEA_ERROR_ARGUMENT, "struct_size");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_runs), cmocka_unit_test(test_parallel_for), cmocka_unit_test(test_workers),
      cmocka_unit_test(test_pace), cmocka_unit_test(test_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The same bits for any number of threads, any order of tasks and any way to run them: the library's own threads, a
 * caller's parallel-for, single tasks of a plan. */
#include "support/check.h"
#include "support/execution.h"
#include "support/executors.h"
#include "support/problems.h"
#include "support/single_task.h"
#include "support/trial.h"

#include <pthread.h>
#include <string.h>

/* The first calls of a process, from many threads at once. This must be the first test. */
enum { FIRST_CALLERS = 8 };

/* A barrier; some systems have none. */
static void wait_for_all(void) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static pthread_cond_t all_there = PTHREAD_COND_INITIALIZER;
  static int missing = FIRST_CALLERS;
  pthread_mutex_lock(&lock);
  if (--missing == 0) pthread_cond_broadcast(&all_there);
  /* NOLINTNEXTLINE(bugprone-infinite-loop): other threads change it */
  while (missing > 0) pthread_cond_wait(&all_there, &lock);
  pthread_mutex_unlock(&lock);
}

static void *call_first(void *context) {
  fovea_library_info info;
  fovea_library_info_init(&info);
  fovea_problem problem;
  fovea_plan *plan;
  fovea_problem_init(&problem, 1, 1, 1, 4, 4, 4, 4);
  wait_for_all();
  if (fovea_plan_create(&problem, NULL, &plan, NULL) != FOVEA_OK || fovea_info(&info) != FOVEA_OK) return NULL;
  *(const char **)context = fovea_plan_isa(plan);
  fovea_plan_destroy(plan);
  return NULL;
}

static void test_first_calls(void **state) {
  (void)state;
  pthread_t threads[FIRST_CALLERS];
  const char *chosen[FIRST_CALLERS] = {NULL};
  for (int i = 0; i < FIRST_CALLERS; i++) pthread_create(&threads[i], NULL, call_first, &chosen[i]);
  for (int i = 0; i < FIRST_CALLERS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < FIRST_CALLERS; i++) {
    assert_non_null(chosen[i]);
    assert_ptr_equal(chosen[i], chosen[0]);
  }
}

/* Problems that are cut in different ways: into row blocks, heads, spans or blocks of keys, or not at all. */
enum { CUT_ROWS, CUT_CAUSAL, CUT_SPANS, CUT_BLOCKS, CUT_PACKED, CUT_BANDED, CUT_MASKED, CUT_TINY, CUTS };

static fovea_problem problem_cut(int cut) {
  static const int32_t few[] = {0, 7, 7, 131, 200}, many_rows[] = {0, 7, 7, 331, 600};
  const int32_t *cumulative = USUAL_OR_LONG(few, many_rows);
  const int64_t some = USUAL_OR_LONG(200, 333), many = USUAL_OR_LONG(300, 700), spans = USUAL_OR_LONG(30001, 70001);
  fovea_problem problem;
  switch (cut) { /* each has too much work for the calling thread alone */
  case CUT_ROWS:
    fovea_problem_init(&problem, 2, 2, 1, USUAL_OR_LONG(60, 150), 260, 40, 24);
    break;
  case CUT_CAUSAL:
    fovea_problem_init(&problem, 1, 3, 1, some, some, 32, 32);
    break;
  case CUT_SPANS:
    fovea_problem_init(&problem, 1, 1, 1, 1, spans, 32, 32);
    break;
  case CUT_BLOCKS:
    fovea_problem_init(&problem, 2, 8, 2, 1, 1700, 64, 64);
    break;
  case CUT_PACKED:
    fovea_problem_init(&problem, 4, 2, 2, cumulative[4], cumulative[4], 64, 64);
    break;
  case CUT_MASKED:
    fovea_problem_init(&problem, 2, 4, 2, USUAL_OR_LONG(70, 150), 700, 24, 20);
    problem.q_type = problem.k_type = FOVEA_BF16;
    problem.v_type = FOVEA_F16;
    problem.o_type = FOVEA_BF16;
    problem.mask.type = FOVEA_MASK_BITS;
    problem.mask.strides = fovea_mask_layout(FOVEA_MASK_BITS, 2, 4, problem.q_len, problem.kv_len);
    problem.softcap = 3.0;
    problem.sink = FOVEA_SINK_PER_HEAD;
    break;
  case CUT_BANDED:
    fovea_problem_init(&problem, 1, 2, 2, many, many, 24, 24);
    break;
  default:
    fovea_problem_init(&problem, 1, 1, 1, 1, 16, 8, 8);
    break;
  }
  problem.causal = cut == CUT_CAUSAL || cut == CUT_PACKED;
  if (cut == CUT_PACKED) problem.cu_seqlens_q = problem.cu_seqlens_kv = cumulative;
  if (cut == CUT_BANDED) problem.window_left = 100;
  if (cut == CUT_BANDED) problem.window_right = 3;
  return problem;
}

/* Two trials of each cut. The first has run on the calling thread alone, on the given instruction set. */
struct pair {
  struct trial expected, actual;
};

static void run_alone(struct trial *trial, const char *isa) {
  fovea_execution alone;
  fovea_execution_init(&alone);
  alone.threads = 1;
  trial_run(trial, isa, &alone);
}

static struct pair pair_create(int cut, const char *isa) {
  const fovea_problem problem = problem_cut(cut);
  struct pair pair = {trial_create(&problem, (uint64_t)cut), trial_create(&problem, (uint64_t)cut)};
  run_alone(&pair.expected, isa);
  assert_contract(&pair.expected, USUAL_OR_LONG(10000, 200000));
  return pair;
}

static void pair_destroy(struct pair *pair) {
  trial_destroy(&pair->expected);
  trial_destroy(&pair->actual);
}

static int64_t tasks_of(const fovea_problem *problem) {
  fovea_plan *plan;
  assert_int_equal(fovea_plan_create(problem, NULL, &plan, NULL), FOVEA_OK);
  const int64_t tasks = fovea_plan_tasks(plan, 0);
  fovea_plan_destroy(plan);
  return tasks;
}

static void check_executions(fovea_parallel_for parallel_for, enum task_order order) {
  const char *const *isas = usable_isas();
  for (int isa = 0; isas[isa] != NULL; isa++)
    for (int cut = 0; cut < CUTS; cut++) {
      struct pair pair = pair_create(cut, isas[isa]);
      for (int threads = 1; threads <= 9; threads += USUAL_OR_LONG(8, 1)) {
        struct executor executor = {.order = order};
        fovea_execution execution;
        fovea_execution_init(&execution);
        execution.threads = threads < 9 ? threads : 40;
        execution.parallel_for = parallel_for;
        execution.parallel_context = parallel_for != NULL ? &executor : NULL;
        trial_run(&pair.actual, isas[isa], &execution);
        assert_same_outputs(&pair.actual, &pair.expected);
        /* Tiny calls, and calls with one task, stay on the calling thread. */
        if (parallel_for == NULL) continue;
        if (cut == CUT_TINY)
          assert_int_equal(executor.calls, 0);
        else if (threads > 1 && tasks_of(&pair.actual.problem) > 1)
          assert_true(executor.calls > 0);
      }
      pair_destroy(&pair);
    }
}

static void test_own_threads(void **state) {
  (void)state;
  check_executions(NULL, TASKS_FORWARDS);
}

static void test_serial_callback(void **state) {
  (void)state;
  for (enum task_order order = USUAL_OR_LONG(1, 0); order < TASK_ORDERS; order++)
    check_executions(serial_for, order);
}

static void test_threads_callback(void **state) {
  (void)state;
  for (enum task_order order = USUAL_OR_LONG(2, 0); order < TASK_ORDERS; order++)
    check_executions(threads_for, order);
}

/* A plan with scratch of exactly its size, which ends at a guard page. */
struct planned {
  fovea_plan *plan;
  struct guarded scratch;
  int workers;
};

static struct planned planned_create(const fovea_problem *problem, const char *isa, int workers) {
  struct planned planned = {.workers = workers};
  fovea_error error;
  if (fovea_plan_create(problem, on_isa(isa), &planned.plan, &error) != FOVEA_OK) fail_msg("%s", error.text);
  const size_t size = fovea_plan_scratch_size(planned.plan, workers);
  const int whole = size % FOVEA_SCRATCH_ALIGNMENT == 0;
  planned.scratch = guarded_create(size, whole ? GUARD_AT_END : GUARD_AT_START);
  memset(planned.scratch.data, 0xff, size); /* NaN: scratch need not be clean */
  return planned;
}

static void planned_destroy(struct planned *planned) {
  fovea_plan_destroy(planned->plan);
  guarded_destroy(&planned->scratch);
}

static void run_tasks(const struct planned *planned, const fovea_tensors *tensors, enum task_order order) {
  _Alignas(FOVEA_SCRATCH_ALIGNMENT) unsigned char memory[RUN_ROOM];
  fovea_run *run;
  fovea_error error;
  fovea_tensors given = *tensors;
  if (fovea_run_bind(planned->plan, &given, planned->workers, planned->scratch.data, planned->scratch.size, memory,
                     sizeof memory, &run, &error) != FOVEA_OK)
    fail_msg("%s", error.text);
  memset(&given, 0, sizeof given); /* the plan has read it */
  for (int phase = 0; phase < fovea_plan_phases(planned->plan); phase++) {
    const int64_t tasks = fovea_plan_tasks(planned->plan, phase);
    for (int64_t step = 0; step < tasks; step++) {
      if (fovea_run_task(run, phase, task_at(order, tasks, step), (int)(step % planned->workers), &error) !=
          FOVEA_OK)
        fail_msg("%s", error.text);
    }
  }
}

static void test_single_tasks(void **state) {
  (void)state;
  const char *const *isas = usable_isas();
  for (int isa = 0; isas[isa] != NULL; isa++)
    for (int cut = 0; cut < CUTS; cut++) {
      struct pair pair = pair_create(cut, isas[isa]);
      for (int workers = 1; workers <= 8; workers += workers == 1 ? USUAL_OR_LONG(7, 2) : 5) {
        const fovea_problem problem = problem_cut(cut);
        struct planned planned = planned_create(&problem, isas[isa], workers);
        assert_string_equal(fovea_plan_isa(planned.plan), set_of(isas[isa]));
        const fovea_tensors tensors = trial_tensors(&pair.actual);
        for (enum task_order order = USUAL_OR_LONG(1, 0); order < TASK_ORDERS; order++) {
          trial_clear(&pair.actual);
          run_tasks(&planned, &tensors, order);
          trial_load(&pair.actual);
          assert_same_outputs(&pair.actual, &pair.expected);
        }
        planned_destroy(&planned);
      }
      pair_destroy(&pair);
    }
}

/* Runs in the caller's scratch. */
static void test_own_scratch(void **state) {
  (void)state;
  const char *const *isas = usable_isas();
  for (int isa = 0; isas[isa] != NULL; isa++)
    for (int cut = 0; cut < CUTS; cut++)
      for (int threads = 1; threads <= 3; threads++) {
        struct pair pair = pair_create(cut, isas[isa]);
        const fovea_problem problem = problem_cut(cut);
        struct planned planned = planned_create(&problem, isas[isa], threads);
        fovea_execution execution;
        fovea_execution_init(&execution);
        execution.threads = threads;
        execution.scratch = planned.scratch.data;
        execution.scratch_size = planned.scratch.size;
        trial_run(&pair.actual, isas[isa], &execution);
        assert_same_outputs(&pair.actual, &pair.expected);
        assert_true(guarded_slack_intact(&planned.scratch));
        planned_destroy(&planned);
        pair_destroy(&pair);
      }
}

/* One plan on many threads at once, each with its own tensors. */
struct sharer {
  const fovea_plan *plan;
  fovea_tensors tensors;
  pthread_t thread;
  int failures;
};

static void *share_plan(void *context) {
  struct sharer *sharer = context;
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.threads = 1;
  for (int i = 0; i < USUAL_OR_LONG(2, 5); i++)
    sharer->failures += fovea_plan_run(sharer->plan, &sharer->tensors, &execution, NULL) != FOVEA_OK;
  return NULL;
}

static void test_shared_plan(void **state) {
  (void)state;
  enum { SHARERS = 6 };
  for (int cut = 0; cut < CUTS; cut++) {
    const fovea_problem problem = problem_cut(cut);
    fovea_plan *plan;
    assert_int_equal(fovea_plan_create(&problem, NULL, &plan, NULL), FOVEA_OK);
    struct trial expected[SHARERS], actual[SHARERS];
    struct sharer sharers[SHARERS];
    for (int i = 0; i < SHARERS; i++) {
      expected[i] = trial_create(&problem, (uint64_t)i);
      actual[i] = trial_create(&problem, (uint64_t)i);
      sharers[i] = (struct sharer){.plan = plan, .tensors = trial_tensors(&actual[i])};
    }
    for (int i = 0; i < SHARERS; i++) run_alone(&expected[i], NULL);
    for (int i = 0; i < SHARERS; i++) pthread_create(&sharers[i].thread, NULL, share_plan, &sharers[i]);
    for (int i = 0; i < SHARERS; i++) pthread_join(sharers[i].thread, NULL);
    for (int i = 0; i < SHARERS; i++) {
      assert_int_equal(sharers[i].failures, 0);
      trial_load(&actual[i]);
      assert_same_outputs(&actual[i], &expected[i]);
      trial_destroy(&expected[i]);
      trial_destroy(&actual[i]);
    }
    fovea_plan_destroy(plan);
  }
}

/* The argument chooses the tests: "posix" tests on POSIX threads, "own" tests on the library's threads, none
 * both. */
int main(int argc, char **argv) {
  const struct CMUnitTest posix[] = {
      cmocka_unit_test(test_first_calls),      cmocka_unit_test(test_serial_callback),
      cmocka_unit_test(test_threads_callback), cmocka_unit_test(test_single_tasks),
      cmocka_unit_test(test_shared_plan),
  };
  const struct CMUnitTest own[] = {
      cmocka_unit_test(test_own_threads),
      cmocka_unit_test(test_own_scratch),
  };
  int failures = 0;
  if (argc < 2 || strcmp(argv[1], "posix") == 0) failures += cmocka_run_group_tests(posix, NULL, NULL);
  if (argc < 2 || strcmp(argv[1], "own") == 0) failures += cmocka_run_group_tests(own, NULL, NULL);
  return failures;
}

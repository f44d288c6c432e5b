/* Few tiles and many keys: plans of two phases give the bits of the contract for any parts, run by anyone in any
 * order. */
#include "support/check.h"
#include "support/execution.h"
#include "support/executors.h"
#include "support/modes.h"
#include "support/problems.h"
#include "support/single_task.h"
#include "support/trial.h"

#include <fovea/cache.h>
#include <string.h>

/* One kv head and few rows, so that there are few tiles. */
static fovea_problem few_rows(struct generator *generator, int64_t keys) {
  fovea_problem problem;
  int64_t group = 1 + generator_below(generator, 5), rows = 1 + generator_below(generator, 4);
  fovea_problem_init(&problem, 1, group, 1, rows, keys, 128, 96);
  fovea_problem_resolve(&problem, NULL);
  problem.causal = (int)generator_below(generator, 2);
  if (generator_below(generator, 4) == 0) problem.window_left = generator_below(generator, keys);
  problem_random_features(&problem, generator);
  problem_random_modes(&problem, generator, 4);
  return problem;
}

static int phases_of(const fovea_problem *problem) {
  fovea_plan *plan;
  assert_int_equal(fovea_plan_create(problem, NULL, &plan, NULL), FOVEA_OK);
  int phases = fovea_plan_phases(plan);
  fovea_plan_destroy(plan);
  return phases;
}

/* Runs every task by itself, the last of each phase first, with scratch of exactly the plan's size. */
static void run_single_tasks(struct trial *trial, const char *isa) {
  enum { WORKERS = 3 };
  fovea_plan *plan;
  fovea_problem problem = trial->problem;
  fovea_tensors tensors = trial_tensors(trial);
  assert_int_equal(fovea_plan_create(&problem, on_isa(isa), &plan, NULL), FOVEA_OK);
  size_t size = fovea_plan_scratch_size(plan, WORKERS);
  assert_int_equal(size % FOVEA_SCRATCH_ALIGNMENT, 0);
  struct guarded scratch = guarded_create(size, GUARD_AT_END);
  memset(scratch.data, 0xff, size);
  trial_clear(trial);
  for (int phase = 0; phase < fovea_plan_phases(plan); phase++) {
    for (int64_t task = fovea_plan_tasks(plan, phase); task-- > 0;) {
      assert_int_equal(
          single_task(plan, &tensors, phase, task, (int)(task % WORKERS), WORKERS, scratch.data, size, NULL),
          FOVEA_OK);
    }
  }
  trial_load(trial);
  guarded_destroy(&scratch);
  fovea_plan_destroy(plan);
}

static int check_parts(int64_t keys, uint64_t seed) {
  struct generator generator = {seed};
  fovea_problem problem = few_rows(&generator, keys);
  struct trial trial = trial_create(&problem, seed);
  const char *const *isas = usable_isas_for(&problem);
  trial_run(&trial, isas[0], NULL);
  assert_contract(&trial, USUAL_OR_LONG(300000, 20000000));
  struct trial other = trial_sharing_inputs(&trial);
  for (int isa = 0; isas[isa] != NULL; isa++) {
    struct executor executor = {.order = (enum task_order)(seed % TASK_ORDERS)};
    fovea_execution execution;
    fovea_execution_init(&execution);
    for (execution.threads = 1; execution.threads <= 4; execution.threads++) {
      trial_run(&other, isas[isa], &execution);
      assert_same_outputs(&other, &trial);
    }
    execution.parallel_for = threads_for;
    execution.parallel_context = &executor;
    trial_run(&other, isas[isa], &execution);
    assert_same_outputs(&other, &trial);
    run_single_tasks(&other, isas[isa]);
    assert_same_outputs(&other, &trial);
  }
  trial_destroy(&other);
  trial_destroy(&trial);
  return phases_of(&problem) == 2;
}

/* From parts of single blocks, if there is one span, to parts of several spans. */
static void test_parts(void **state) {
  (void)state;
  static const int64_t lengths[] = {1700, 2049, 4200, 9001, 17000, 33333};
  int in_two_phases = 0;
  for (int i = 0; i < USUAL_OR_LONG(4, 6); i++) {
    for (uint64_t seed = 0; seed < USUAL_OR_LONG(3, 4); seed++) {
      in_two_phases += check_parts(lengths[i], 10 * seed + (uint64_t)i);
    }
  }
  assert_true(in_two_phases > 0);
}

/* A short window, and keys that end before the last row's own key. Rows between the first and the last see keys
 * that neither the first nor the last sees, in a block of their own. */
static void test_last_rows_see_nothing(void **state) {
  (void)state;
  enum { ROWS = 4, KEYS = FOVEA_PANEL_ROWS * 8 + 1, DIM = 200000 };
  static const int64_t offsets[] = {KEYS - 1, KEYS - 2};
  fovea_problem problem;
  fovea_problem_init(&problem, 2, 1, 1, ROWS, KEYS, DIM, DIM);
  fovea_problem_resolve(&problem, NULL);
  problem.k_strides.batch = problem.v_strides.batch = problem.k_strides.row = problem.v_strides.row = 0;
  problem.window_left = problem.causal = 1;
  problem.offsets = offsets;
  struct trial trial = trial_create(&problem, 1);
  const char *const *isas = whole_isas_for(&problem);
  for (int isa = 0; isas[isa] != NULL; isa++) {
    trial_run(&trial, isas[isa], NULL);
    assert_contract(&trial, INT64_MAX); /* every row */
  }
  trial_destroy(&trial);
}

/* Work enough for parts, but only one block. */
static void test_one_block(void **state) {
  (void)state;
  enum { ROWS = 4, KEYS = 100, DIM = 5000 };
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 1, 1, ROWS, KEYS, DIM, DIM);
  fovea_problem_resolve(&problem, NULL);
  struct trial trial = trial_create(&problem, 1);
  const char *const *isas = whole_isas_for(&problem);
  for (int isa = 0; isas[isa] != NULL; isa++) {
    assert_int_equal(phases_of(&problem), 1);
    trial_run(&trial, isas[isa], on_isa(isas[isa]));
    assert_contract(&trial, INT64_MAX);
  }
  trial_destroy(&trial);
}

/* Scratch for the longest is enough for every shorter one, even if that has more parts. */
static void test_scratch(void **state) {
  (void)state;
  fovea_problem problem;
  for (int64_t rows = 1; rows < 200; rows += rows / 2 + 1) {
    size_t before = SIZE_MAX;
    for (int64_t keys = 70000; keys > 10; keys -= keys / 5) {
      fovea_plan *plan;
      fovea_problem_init(&problem, 1, 6, 2, rows, keys, 64, 64);
      fovea_problem_resolve(&problem, NULL);
      assert_int_equal(fovea_plan_create(&problem, NULL, &plan, NULL), FOVEA_OK);
      size_t size = fovea_plan_scratch_size(plan, 2);
      assert_true(size <= before);
      before = size;
      fovea_plan_destroy(plan);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_parts), cmocka_unit_test(test_last_rows_see_nothing),
                                     cmocka_unit_test(test_one_block), cmocka_unit_test(test_scratch)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

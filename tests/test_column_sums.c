/* Column sums: the contract's bits, whoever computes them. */
#include "support/check.h"
#include "support/executors.h"
#include "support/problems.h"
#include "support/trial.h"

#include <math.h>
#include <string.h>

/* On every instruction set, one thread and more; O and LSE as without column sums. */
static void check(const fovea_problem *problem, uint64_t seed) {
  const char *const *isas = usable_isas();
  fovea_problem plain = *problem, wanted = *problem;
  plain.column_sums = 0;
  plain.column_rows = (fovea_range){0, FOVEA_UNLIMITED};
  wanted.column_sums = 1;
  struct trial trial = trial_create(&wanted, seed), without = trial_create(&plain, seed);
  fovea_execution execution;
  fovea_execution_init(&execution);
  for (int isa = 0; isas[isa] != NULL; isa++) {
    struct executor executor = {.order = (enum task_order)(seed % TASK_ORDERS)};
    execution.threads = 1 + isa % 3;
    execution.parallel_for = isa % 2 ? threads_for : NULL;
    execution.parallel_context = isa % 2 ? &executor : NULL;
    trial_run(&trial, isas[isa], &execution);
    assert_contract(&trial, isa == 0 ? IF_QUICK(60000, INT64_MAX / 2) : 20000);
    assert_true(trial_gaps_untouched(&trial));
    trial_run(&without, isas[isa], NULL);
    assert_same_outputs(&trial, &without);
    if (isa == 0) continue;
    struct trial first = trial_sharing_inputs(&trial);
    trial_run(&first, isas[0], NULL);
    assert_same_outputs(&trial, &first);
    trial_destroy(&first);
  }
  trial_destroy(&without);
  trial_destroy(&trial);
}

static void test_random_problems(void **state) {
  (void)state;
  struct generator generator = {91};
  for (int i = 0; i < IF_QUICK(25, 150); i++) {
    struct listed_problem listed;
    problem_random(&listed, &generator, IF_QUICK(200000, 1000000));
    problem_random_features(&listed.problem, &generator);
    if (i % 2) problem_random_layout(&listed.problem, &generator);
    if (i % 3 == 0) {
      listed.problem.column_rows.begin = generator_below(&generator, listed.problem.q_len + 1);
      if (i % 2) listed.problem.column_rows.end = listed.problem.q_len;
    }
    check(&listed.problem, (uint64_t)i);
  }
}

/* No rows, no keys, rows that see nothing, and keys that are split into parts. */
static void test_lengths(void **state) {
  (void)state;
  static const int64_t lengths[][2] = {{0, 5}, {7, 0}, {1, 1}, {40, 129}, {3, 9000}, {1, 17000}};
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
    fovea_problem problem;
    fovea_problem_init(&problem, lengths[i][1] > 1000 ? 1 : 3, 4, 2, lengths[i][0], lengths[i][1], 64, 64);
    problem.causal = i % 2 == 1;
    if (i == 3) problem.offset = -60;
    check(&problem, i);
  }
}

/* Close to sums in double precision of weights that a run writes. */
static void test_double(void **state) {
  (void)state;
  enum { KEYS = 900, ROWS = 700 };
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 2, 1, ROWS, KEYS, 16, 8);
  problem.causal = problem.column_sums = 1;
  problem.score_output = FOVEA_SCORES_WEIGHTS;
  problem.column_rows.begin = 3;
  struct trial trial = trial_create(&problem, 6);
  trial_run(&trial, NULL, NULL);
  for (int64_t h = 0; h < 2; h++)
    for (int64_t j = 0; j < KEYS; j++) {
      double sum = 0.0;
      for (int64_t i = 3; i < ROWS; i++) sum += (double)tensor_row(&trial.scores, 0, h, i)[j];
      assert_true(fabs((double)tensor_row(&trial.column_sums, 0, h, 0)[j] - sum) <= 0x1p-24 * 20.0 * sum);
    }
  trial_destroy(&trial);
}

/* NaN and infinities, subnormal numbers and scores of zero. */
static void test_special_values(void **state) {
  (void)state;
  static const float values[] = {NAN, INFINITY, -INFINITY, 3e38f, -0.0f, 1e-42f};
  for (size_t v = 0; v < sizeof values / sizeof values[0]; v++)
    for (int64_t rows = 1; rows < 80; rows += 39) {
      fovea_problem problem;
      fovea_problem_init(&problem, 2, 2, 2, rows, 300, 20, 12);
      problem.causal = problem.column_sums = 1;
      problem.offset = 140;
      struct trial trial = trial_create(&problem, v);
      tensor_row(&trial.k, 0, 1, 135)[3] = values[v];
      tensor_row(&trial.q, 1, 0, rows - 1)[0] = values[v];
      if (v > 3)
        for (int d = 0; d < 20; d++) tensor_row(&trial.q, 1, 0, 0)[d] = 0.0f; /* scores of zero */
      const char *const *isas = usable_isas();
      for (int isa = 0; isas[isa] != NULL; isa++) {
        trial_run(&trial, isas[isa], NULL);
        assert_contract(&trial, INT64_MAX / 2);
      }
      trial_destroy(&trial);
    }
}

static void refuse(const fovea_problem *problem, const fovea_tensors *tensors, fovea_status status,
                   const char *text) {
  fovea_error error;
  assert_int_equal(fovea_attend(problem, tensors, NULL, &error), status);
  if (strstr(error.text, text) == NULL) fail_msg("\"%s\" does not say \"%s\"", error.text, text);
}

static void test_refusals(void **state) {
  (void)state;
  fovea_problem problem;
  fovea_problem_init(&problem, 2, 2, 2, 5, 7, 8, 8);
  problem.column_sums = 1;
  struct trial trial = trial_create(&problem, 1);
  fovea_tensors tensors = trial_tensors(&trial);
  tensors.column_sums = NULL;
  refuse(&problem, &tensors, FOVEA_ERROR_NULL, "column_sums is NULL");
  tensors.column_sums = trial.o.data;
  refuse(&problem, &tensors, FOVEA_ERROR_OVERLAP, "column_sums shares memory with o");
  tensors.column_sums = (float *)(void *)((char *)trial.column_sums.data + 1);
  refuse(&problem, &tensors, FOVEA_ERROR_ALIGNMENT, "column_sums");
  tensors.column_sums = trial.column_sums.data;
  problem.column_rows = (fovea_range){2, 6};
  refuse(&problem, &tensors, FOVEA_ERROR_SIZE,
         "column_rows is 2 to 6; it must ascend, from 0 to q_len, which is 5");
  problem.column_rows = (fovea_range){2, 5};
  problem.column_sums = 2;
  refuse(&problem, &tensors, FOVEA_ERROR_RULE, "column_sums is 2; it must be 0 or 1");
  problem.column_sums = 0;
  refuse(&problem, &tensors, FOVEA_ERROR_UNUSED, "column_rows.begin is 2 and would not be used");
  problem.column_rows = (fovea_range){0, FOVEA_UNLIMITED};
  refuse(&problem, &tensors, FOVEA_ERROR_UNUSED, "column_sums is not NULL and would not be used");
  problem.column_sums = problem.to_state = 1;
  refuse(&problem, &tensors, FOVEA_ERROR_UNUSED, "column_sums is 1 and would not be used: to_state is 1");
  trial_destroy(&trial);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_problems), cmocka_unit_test(test_lengths),  cmocka_unit_test(test_double),
      cmocka_unit_test(test_special_values),  cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

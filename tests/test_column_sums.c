/* Column sums: the contract's bits, whoever computes them. */
#include "support/check.h"
#include "support/outputs.h"

#include <math.h>

static void set(fovea_problem *problem, int wanted) {
  problem->column_sums.wanted = wanted;
  if (!wanted) problem->column_sums.rows = (fovea_range){0, FOVEA_UNLIMITED};
}

/* Sums of some rows only. */
static void vary(fovea_problem *problem, struct generator *generator, int i) {
  if (i % 3 > 0) return;
  problem->column_sums.rows.begin = generator_below(generator, problem->q_len + 1);
  if (i % 2) problem->column_sums.rows.end = problem->q_len;
}

static void test_random_problems(void **state) {
  (void)state;
  check_random_outputs(set, vary);
}

static void test_lengths(void **state) {
  (void)state;
  check_output_lengths(set);
}

/* Close to sums in double precision of weights that a run writes. */
static void test_double(void **state) {
  (void)state;
  enum { KEYS = 900, ROWS = 700 };
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 2, 1, ROWS, KEYS, 16, 8);
  problem.causal = problem.column_sums.wanted = 1;
  problem.scores.kind = FOVEA_SCORES_WEIGHTS;
  problem.column_sums.rows.begin = 3;
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
  check_special_outputs(set, NULL);
}

static void test_refusals(void **state) {
  (void)state;
  fovea_problem problem;
  fovea_problem_init(&problem, 2, 2, 2, 5, 7, 8, 8);
  problem.column_sums.wanted = 1;
  struct trial trial = trial_create(&problem, 1);
  fovea_tensors tensors = trial_tensors(&trial);
  tensors.column_sums = NULL;
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_ARGUMENT, "column_sums is NULL");
  tensors.column_sums = trial.o.data;
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_ARGUMENT, "column_sums shares memory with o");
  tensors.column_sums = (float *)(void *)((char *)trial.column_sums.data + 1);
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_ARGUMENT, "column_sums");
  tensors.column_sums = trial.column_sums.data;
  problem.column_sums.rows = (fovea_range){2, 6};
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_ARGUMENT,
                        "column_sums.rows is 2 to 6; it must ascend, from 0 to q_len, which is 5");
  problem.column_sums.rows = (fovea_range){2, 5};
  problem.column_sums.wanted = 2;
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_ARGUMENT, "column_sums.wanted is 2; it must be 0 or 1");
  problem.column_sums.wanted = 0;
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_UNUSED, "column_sums.rows is 2 to 5 and would not be used");
  problem.column_sums.rows = (fovea_range){0, FOVEA_UNLIMITED};
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_UNUSED, "column_sums is not NULL and would not be used");
  problem.column_sums.wanted = problem.state = 1;
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_UNUSED,
                        "column_sums.wanted is 1 and would not be used: state is 1");
  trial_destroy(&trial);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_problems), cmocka_unit_test(test_lengths),  cmocka_unit_test(test_double),
      cmocka_unit_test(test_special_values),  cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The largest score of each head: the contract's bits, whoever computes it. */
#include "support/check.h"
#include "support/outputs.h"

#include <math.h>

static void set(fovea_problem *problem, int wanted) {
  problem->max_logits = wanted;
}

static void test_random_problems(void **state) {
  (void)state;
  check_random_outputs(set, NULL);
}

static void test_lengths(void **state) {
  (void)state;
  check_output_lengths(set);
}

/* Without softcap and additive mask: close to the largest scale * q.k in double precision. */
static void test_double(void **state) {
  (void)state;
  fovea_problem problem;
  fovea_problem_init(&problem, 2, 3, 1, 50, 300, 40, 8);
  fovea_problem_resolve(&problem, NULL);
  problem.causal = 1;
  problem.max_logits = 1;
  problem.sink = FOVEA_SINK_ZERO;
  struct trial trial = trial_create(&problem, 4);
  trial_run(&trial, NULL, NULL);
  for (int64_t b = 0; b < 2; b++)
    for (int64_t h = 0; h < 3; h++) {
      double most = -1e300, magnitude = 0.0;
      for (int64_t i = 0; i < 50; i++)
        for (int64_t j = 0; j <= i + 250; j++) {
          double sum = 0.0, size = 0.0;
          for (int64_t d = 0; d < 40; d++) {
            const double term = (double)tensor_row(&trial.q, b, h, i)[d] * (double)tensor_row(&trial.k, b, 0, j)[d];
            sum += problem.scale * term;
            size += problem.scale * fabs(term);
          }
          if (sum > most) most = sum;
          if (size > magnitude) magnitude = size;
        }
      assert_true(fabs((double)tensor_row(&trial.max_logits, b, 0, 0)[h] - most) <= 0x1p-24 * 20.0 * magnitude);
    }
  trial_destroy(&trial);
}

static void look(const struct trial *trial, size_t value) {
  if (value == 0) assert_true(isnan(tensor_row(&trial->max_logits, 0, 0, 0)[1]));
  assert_true(!isnan(tensor_row(&trial->max_logits, 0, 0, 0)[0]));
}

/* One row of NaN makes its head NaN; +Inf does, too, and -Inf does nothing. Other heads keep theirs. */
static void test_special_values(void **state) {
  (void)state;
  check_special_outputs(set, look);
}

static void test_refusals(void **state) {
  (void)state;
  fovea_problem problem;
  fovea_problem_init(&problem, 2, 2, 2, 5, 7, 8, 8);
  fovea_problem_resolve(&problem, NULL);
  problem.max_logits = 1;
  struct trial trial = trial_create(&problem, 1);
  fovea_tensors tensors = trial_tensors(&trial);
  tensors.max_logits = NULL;
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_ARGUMENT, "max_logits is NULL");
  tensors.max_logits = trial.o.data;
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_ARGUMENT, "max_logits shares memory with o");
  tensors.max_logits = trial.q.data;
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_ARGUMENT, "max_logits shares memory with q");
  tensors.max_logits = (float *)(void *)((char *)trial.max_logits.data + 1);
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_ARGUMENT, "max_logits");
  tensors.max_logits = trial.max_logits.data;
  problem.max_logits = 2;
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_ARGUMENT, "max_logits is 2; it must be 0 or 1");
  problem.max_logits = 0;
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_UNUSED, "max_logits is not NULL and would not be used");
  problem.max_logits = problem.state = 1;
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_UNUSED,
                        "max_logits is 1 and would not be used: state is 1");
  trial_destroy(&trial);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_problems), cmocka_unit_test(test_lengths),  cmocka_unit_test(test_double),
      cmocka_unit_test(test_special_values),  cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

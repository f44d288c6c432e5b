/* The entropy of each row's weights: the contract's bits, whoever computes it. */
#include "support/check.h"
#include "support/outputs.h"

#include <math.h>

static void set(fovea_problem *problem, int wanted) {
  problem->entropy = wanted;
}

static void test_random_problems(void **state) {
  (void)state;
  check_random_outputs(set, NULL);
}

static void test_lengths(void **state) {
  (void)state;
  check_output_lengths(set);
}

/* Close to the sum of -p ln p in double precision, also of rows whose weights are nearly all on one key. */
static void test_double(void **state) {
  (void)state;
  enum { KEYS = 5000, ROWS = 20, DIM = 16 };
  static double s[KEYS];
  for (int kind = 0; kind < 6; kind++) {
    fovea_problem problem;
    fovea_problem_init(&problem, 1, 1, 1, ROWS, KEYS, DIM, 8);
    fovea_problem_resolve(&problem, NULL);
    problem.scale = kind % 3 == 0 ? 0.01 : kind % 3 == 1 ? 0.5 : 6.0;
    problem.sink = kind < 3 ? FOVEA_SINK_NONE : FOVEA_SINK_PER_HEAD;
    problem.entropy = 1;
    struct trial trial = trial_create(&problem, (uint64_t)kind);
    trial_run(&trial, NULL, NULL);
    for (int64_t i = 0; i < ROWS; i++) {
      double most = kind < 3 ? -1e300 : (double)trial.sinks.data[0], magnitude = 0.0, sum = 0.0, entropy = 0.0;
      for (int64_t j = 0; j < KEYS; j++) {
        double size = 0.0;
        s[j] = 0.0;
        for (int64_t d = 0; d < DIM; d++) {
          const double term =
              problem.scale * (double)tensor_row(&trial.q, 0, 0, i)[d] * (double)tensor_row(&trial.k, 0, 0, j)[d];
          s[j] += term;
          size += fabs(term);
        }
        if (s[j] > most) most = s[j];
        if (size > magnitude) magnitude = size;
      }
      for (int64_t j = 0; j < KEYS; j++) sum += exp(s[j] - most);
      if (kind >= 3) sum += exp((double)trial.sinks.data[0] - most);
      for (int64_t j = 0; j < KEYS + (kind >= 3); j++) {
        const double x = (j < KEYS ? s[j] : (double)trial.sinks.data[0]) - most, p = exp(x) / sum;
        if (p > 0.0) entropy -= p * (x - log(sum));
      }
      const double error = fabs((double)*tensor_row(&trial.entropy, 0, 0, i) - entropy);
      if (error > 16.0 * 0x1p-24 * (2.0 + magnitude) * (0.1 + entropy))
        fail_msg("kind %d row %d: %.9g, not %.9g", kind, (int)i, (double)*tensor_row(&trial.entropy, 0, 0, i),
                 entropy);
    }
    trial_destroy(&trial);
  }
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
  fovea_problem_resolve(&problem, NULL);
  problem.entropy = 1;
  struct trial trial = trial_create(&problem, 1);
  fovea_tensors tensors = trial_tensors(&trial);
  tensors.entropy = NULL;
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_ARGUMENT, "entropy is NULL");
  tensors.entropy = trial.lse.data;
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_ARGUMENT, "entropy shares memory with lse");
  tensors.entropy = (float *)(void *)((char *)trial.entropy.data + 1);
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_ARGUMENT, "entropy");
  tensors.entropy = trial.entropy.data;
  problem.entropy = 2;
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_ARGUMENT, "entropy is 2; it must be 0 or 1");
  problem.entropy = 0;
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_UNUSED, "entropy is not NULL and would not be used");
  problem.entropy = problem.state = 1;
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_UNUSED, "entropy is 1 and would not be used: state is 1");
  trial_destroy(&trial);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_problems), cmocka_unit_test(test_lengths),  cmocka_unit_test(test_double),
      cmocka_unit_test(test_special_values),  cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

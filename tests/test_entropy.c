/* The entropy of each row's weights: the contract's bits, whoever computes it. */
#include "support/check.h"
#include "support/executors.h"
#include "support/problems.h"
#include "support/trial.h"

#include <math.h>
#include <string.h>

/* On every instruction set, one thread and more; O and LSE as without entropy. */
static void check(const fovea_problem *problem, uint64_t seed) {
  const char *const *isas = usable_isas();
  fovea_problem plain = *problem, wanted = *problem;
  plain.entropy = 0;
  wanted.entropy = 1;
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

/* Close to the sum of -p ln p in double precision, also of rows whose weights are nearly all on one key. */
static void test_double(void **state) {
  (void)state;
  enum { KEYS = 5000, ROWS = 20, DIM = 16 };
  static double s[KEYS];
  for (int kind = 0; kind < 6; kind++) {
    fovea_problem problem;
    fovea_problem_init(&problem, 1, 1, 1, ROWS, KEYS, DIM, 8);
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
  static const float values[] = {NAN, INFINITY, -INFINITY, 3e38f, -0.0f, 1e-42f};
  for (size_t v = 0; v < sizeof values / sizeof values[0]; v++)
    for (int64_t rows = 1; rows < 80; rows += 39) {
      fovea_problem problem;
      fovea_problem_init(&problem, 2, 2, 2, rows, 300, 20, 12);
      problem.causal = problem.entropy = 1;
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
  problem.entropy = 1;
  struct trial trial = trial_create(&problem, 1);
  fovea_tensors tensors = trial_tensors(&trial);
  tensors.entropy = NULL;
  refuse(&problem, &tensors, FOVEA_ERROR_NULL, "entropy is NULL");
  tensors.entropy = trial.lse.data;
  refuse(&problem, &tensors, FOVEA_ERROR_OVERLAP, "entropy shares memory with lse");
  tensors.entropy = (float *)(void *)((char *)trial.entropy.data + 1);
  refuse(&problem, &tensors, FOVEA_ERROR_ALIGNMENT, "entropy");
  tensors.entropy = trial.entropy.data;
  problem.entropy = 2;
  refuse(&problem, &tensors, FOVEA_ERROR_RULE, "entropy is 2; it must be 0 or 1");
  problem.entropy = 0;
  refuse(&problem, &tensors, FOVEA_ERROR_UNUSED, "entropy is not NULL and would not be used");
  problem.entropy = problem.to_state = 1;
  refuse(&problem, &tensors, FOVEA_ERROR_UNUSED, "entropy is 1 and would not be used: to_state is 1");
  trial_destroy(&trial);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_problems), cmocka_unit_test(test_lengths),  cmocka_unit_test(test_double),
      cmocka_unit_test(test_special_values),  cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The largest score of each head: the contract's bits, whoever computes it. */
#include "support/check.h"
#include "support/executors.h"
#include "support/problems.h"
#include "support/trial.h"

#include <math.h>
#include <string.h>

/* On every instruction set, one thread and more; O and LSE as without maxima. */
static void check(const fovea_problem *problem, uint64_t seed) {
  const char *const *isas = usable_isas();
  fovea_problem plain = *problem, wanted = *problem;
  plain.max_logits = 0;
  wanted.max_logits = 1;
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

/* Without softcap and additive mask: close to the largest scale * q.k in double precision. */
static void test_double(void **state) {
  (void)state;
  fovea_problem problem;
  fovea_problem_init(&problem, 2, 3, 1, 50, 300, 40, 8);
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

/* One row of NaN makes its head NaN; +Inf does, too, and -Inf does nothing. Other heads keep theirs. */
static void test_special_values(void **state) {
  (void)state;
  static const float values[] = {NAN, INFINITY, -INFINITY, 3e38f, -0.0f, 1e-42f};
  for (size_t v = 0; v < sizeof values / sizeof values[0]; v++)
    for (int64_t rows = 1; rows < 80; rows += 39) {
      fovea_problem problem;
      fovea_problem_init(&problem, 2, 2, 2, rows, 300, 20, 12);
      problem.causal = problem.max_logits = 1;
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
        if (v == 0) assert_true(isnan(tensor_row(&trial.max_logits, 0, 0, 0)[1]));
        assert_true(!isnan(tensor_row(&trial.max_logits, 0, 0, 0)[0]));
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
  problem.max_logits = 1;
  struct trial trial = trial_create(&problem, 1);
  fovea_tensors tensors = trial_tensors(&trial);
  tensors.max_logits = NULL;
  refuse(&problem, &tensors, FOVEA_ERROR_NULL, "max_logits is NULL");
  tensors.max_logits = trial.o.data;
  refuse(&problem, &tensors, FOVEA_ERROR_OVERLAP, "max_logits shares memory with o");
  tensors.max_logits = trial.q.data;
  refuse(&problem, &tensors, FOVEA_ERROR_OVERLAP, "max_logits shares memory with q");
  tensors.max_logits = (float *)(void *)((char *)trial.max_logits.data + 1);
  refuse(&problem, &tensors, FOVEA_ERROR_ALIGNMENT, "max_logits");
  tensors.max_logits = trial.max_logits.data;
  problem.max_logits = 2;
  refuse(&problem, &tensors, FOVEA_ERROR_RULE, "max_logits is 2; it must be 0 or 1");
  problem.max_logits = 0;
  refuse(&problem, &tensors, FOVEA_ERROR_UNUSED, "max_logits is not NULL and would not be used");
  problem.max_logits = problem.to_state = 1;
  refuse(&problem, &tensors, FOVEA_ERROR_UNUSED, "max_logits is 1 and would not be used: to_state is 1");
  trial_destroy(&trial);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_problems), cmocka_unit_test(test_lengths),  cmocka_unit_test(test_double),
      cmocka_unit_test(test_special_values),  cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The keys with the largest scores of each row are the contract's, whoever finds them and in whatever pieces. */
#include "support/caches.h"
#include "support/check.h"
#include "support/execution.h"
#include "support/executors.h"
#include "support/outputs.h"
#include "support/problems.h"
#include "support/trial.h"

#include <math.h>
#include <string.h>

/* On every instruction set; O and LSE as without. */
static void check_trial(struct trial *trial) {
  const char *const *isas = usable_isas_for(&trial->problem);
  struct trial without = trial_sharing_inputs(trial);
  fovea_execution execution;
  fovea_execution_init(&execution);
  without.problem.top.k = 0;
  for (int isa = 0; isas[isa] != NULL; isa++) {
    execution.threads = 1 + isa % 3;
    trial_run(trial, isas[isa], &execution);
    assert_contract(trial, isa == 0 ? USUAL_OR_LONG(40000, 20000000) : USUAL_OR_LONG(20000, 300000));
    assert_true(trial_gaps_untouched(trial));
    trial_run(&without, isas[isa], NULL);
    without.top_keys.dim = 0;
    assert_same_outputs(trial, &without);
  }
  without.top_keys.dim = trial->top_keys.dim;
  trial_destroy(&without);
}

static void check(const fovea_problem *problem, uint64_t seed) {
  struct trial trial = trial_create(problem, seed);
  check_trial(&trial);
  trial_destroy(&trial);
}

static void test_random_problems(void **state) {
  (void)state;
  static const int64_t tops[] = {1, 2, 7, 16, 33, 64, 100, 129, 300};
  struct generator generator = {92};
  for (int i = 0; i < USUAL_OR_LONG(30, 200); i++) {
    struct listed_problem listed;
    problem_random(&listed, &generator, USUAL_OR_LONG(200000, 1500000));
    problem_random_features(&listed.problem, &generator);
    if (i % 2) problem_random_layout(&listed.problem, &generator);
    listed.problem.top.k = tops[i % 9];
    if (i % 3 == 0) {
      const int64_t row = listed.problem.top.k + 3;
      listed.problem.top.strides =
          (fovea_strides){row, listed.problem.q_len * listed.problem.batch * row, listed.problem.batch * row};
    }
    check(&listed.problem, (uint64_t)i);
  }
}

/* No rows, no keys, rows that see nothing, and keys that are split into parts: blocks and spans. */
static void test_lengths(void **state) {
  (void)state;
  static const int64_t lengths[][2] = {{0, 5}, {7, 0}, {1, 1}, {40, 129}, {3, 1700}, {3, 9000}, {1, 17000}};
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
    for (int64_t top = 1; top <= FOVEA_TOP_K_LIMIT; top *= USUAL_OR_LONG(256, 16)) {
      fovea_problem problem;
      fovea_problem_init(&problem, lengths[i][1] > 1000 ? 1 : 3, 4, 2, lengths[i][0], lengths[i][1], 96, 64);
      fovea_problem_resolve(&problem, NULL);
      if (lengths[i][1] > 1000) problem.heads = 2, problem.kv_heads = 1;
      fovea_problem_init(&problem, problem.batch, problem.heads, problem.kv_heads, lengths[i][0], lengths[i][1], 96,
                         64);
      fovea_problem_resolve(&problem, NULL);
      problem.causal = i % 2 == 1;
      if (i == 3) problem.offset = -60;
      problem.top.k = top;
      check(&problem, i);
    }
}

/* Few different scores, so that most are ties; ascending and descending scores; NaN, infinities and zeros. */
static void test_order(void **state) {
  (void)state;
  static const float specials[] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f, 1e-42f, 1.0f, -1.0f};
  for (int kind = 0; kind < 5; kind++)
    for (int64_t rows = 1; rows <= 40; rows += 39)
      for (int64_t top = 1; top <= 200; top = top * 5 + 1) {
        fovea_problem problem;
        fovea_problem_init(&problem, 1, 1, 1, rows, 700, 1, 4);
        fovea_problem_resolve(&problem, NULL);
        problem.top.k = top;
        problem.causal = kind == 4;
        struct trial trial = trial_create(&problem, 1);
        struct generator generator = {(uint64_t)kind};
        for (int64_t i = 0; i < rows; i++) tensor_row(&trial.q, 0, 0, i)[0] = i % 3 == 2 ? -1.0f : 1.0f;
        for (int64_t j = 0; j < 700; j++) {
          const float numbers[] = {2.0f, (float)(j / 40 % 3), (float)j, -(float)(j % 300),
                                   specials[generator_below(&generator, 8)]};
          tensor_row(&trial.k, 0, 0, j)[0] = numbers[kind];
        }
        check_trial(&trial);
        trial_destroy(&trial);
      }
}

/* Caches of every kind have the keys of tensors. */
static void test_caches(void **state) {
  (void)state;
  struct generator generator = {5};
  for (int64_t rows = 1; rows <= 30; rows += 29) {
    fovea_problem problem;
    fovea_problem_init(&problem, 2, 4, 2, rows, 500, 32, 16);
    fovea_problem_resolve(&problem, NULL);
    problem.top.k = 40;
    problem.causal = problem.max_logits = 1;
    struct trial expected = trial_create(&problem, 3), actual = trial_sharing_inputs(&expected);
    trial_run(&expected, NULL, NULL);
    assert_contract(&expected, USUAL_OR_LONG(200000, 3000000));
    for (int kind = 0; kind < CACHE_KINDS; kind++) {
      struct cache cache = cache_create(&expected, (enum cache_kind)kind, 0, NULL, &generator);
      for (const char *const *isa = whole_isas_for(&problem); *isa != NULL; isa++) {
        fovea_problem segmented = problem;
        fovea_tensors tensors = trial_tensors(&actual);
        segmented.cache.segmented = 1;
        tensors.k = tensors.v = NULL;
        tensors.cache.sequences = cache.sequences;
        trial_clear(&actual);
        assert_int_equal(fovea_attend(&segmented, &tensors, on_isa(*isa), NULL), FOVEA_OK);
        assert_same_outputs(&actual, &expected);
      }
      cache_destroy(&cache);
    }
    trial_destroy(&actual);
    trial_destroy(&expected);
  }
}

/* Scores that a double product gives: each listed key's is close to its own, and no other key's is clearly larger.
 */
static void test_double(void **state) {
  (void)state;
  enum { TOP = 10, KEYS = 900, DIM = 24 };
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 1, 1, 60, KEYS, DIM, 8);
  fovea_problem_resolve(&problem, NULL);
  problem.top.k = TOP;
  struct trial trial = trial_create(&problem, 8);
  trial_run(&trial, NULL, NULL);
  for (int64_t i = 0; i < 60; i++) {
    const int64_t *keys = (const int64_t *)(void *)tensor_row(&trial.top_keys, 0, 0, i);
    const float *scores = tensor_row(&trial.top_scores, 0, 0, i);
    for (int64_t j = 0; j < KEYS; j++) {
      double sum = 0.0;
      int listed = 0;
      for (int64_t d = 0; d < DIM; d++)
        sum += problem.scale * (double)tensor_row(&trial.q, 0, 0, i)[d] * (double)tensor_row(&trial.k, 0, 0, j)[d];
      for (int n = 0; n < TOP; n++) {
        if (keys[n] != j) continue;
        listed++;
        assert_true(fabs((double)scores[n] - sum) < 1e-4);
      }
      assert_true(listed == 1 || (listed == 0 && sum < (double)scores[TOP - 1] + 1e-4));
    }
  }
  trial_destroy(&trial);
}

static void test_refusals(void **state) {
  (void)state;
  fovea_problem problem;
  fovea_problem_init(&problem, 2, 2, 2, 5, 7, 8, 8);
  fovea_problem_resolve(&problem, NULL);
  problem.top.k = 3;
  struct trial trial = trial_create(&problem, 1);
  fovea_tensors tensors = trial_tensors(&trial);
  int64_t *keys = tensors.top.keys;
  tensors.top.keys = NULL;
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_ARGUMENT, "top.keys is NULL");
  tensors.top.keys = (int64_t *)(void *)trial.o.data;
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_ARGUMENT, "top.keys shares memory with o");
  tensors.top.keys = (int64_t *)(void *)trial.top_scores.data;
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_ARGUMENT, "top.scores shares memory with top.keys");
  tensors.top.keys = keys;
  tensors.top.scores = NULL;
  assert_int_equal(fovea_attend(&problem, &tensors, NULL, NULL), FOVEA_OK);
  problem.top.strides = (fovea_strides){30, 15, 2};
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_ARGUMENT, "top.strides.row");
  problem.top.strides = (fovea_strides){FOVEA_CONTIGUOUS, FOVEA_CONTIGUOUS, FOVEA_CONTIGUOUS};
  problem.top.k = 4097;
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_ARGUMENT, "top.k is 4097; it must be from 0 to 4096");
  problem.top.k = -1;
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_ARGUMENT, "top.k is -1");
  problem.top.k = 0;
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_UNUSED,
                        "top.keys is not NULL and would not be used: top.k of the problem");
  problem.top.k = 3;
  problem.state = 1;
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_UNUSED, "top.k is 3 and would not be used: state is 1");
  problem.state = 0;
  problem.kv_len = INT64_C(1) << 31;
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_ARGUMENT,
                        "kv_len: with top.k it must be at most 2147483647");
  trial_destroy(&trial);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_problems), cmocka_unit_test(test_lengths), cmocka_unit_test(test_order),
      cmocka_unit_test(test_caches),          cmocka_unit_test(test_double),  cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

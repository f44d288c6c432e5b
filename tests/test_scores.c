/* Scores as an output: weights, and scores in natural units. */
#include "support/check.h"
#include "support/error_says.h"
#include "support/outputs.h"
#include "support/problems.h"
#include "support/trial.h"

#include <fovea/state.h>
#include <math.h>
#include <string.h>

static fovea_problem problem_with(int64_t heads, int64_t kv_heads, int64_t q_len, int64_t kv_len) {
  fovea_problem problem;
  fovea_problem_init(&problem, 2, heads, kv_heads, q_len, kv_len, 20, 12);
  problem.scores.kind = FOVEA_SCORES_WEIGHTS;
  return problem;
}

/* On every instruction set, against the contract; O and LSE as without scores. */
static void check(const fovea_problem *problem, uint64_t seed) {
  const char *const *isas = usable_isas_for(problem);
  struct trial trial = trial_create(problem, seed);
  fovea_problem plain = *problem;
  plain.scores.kind = FOVEA_SCORES_NONE;
  plain.scores.heads = plain.scores.rows = plain.scores.keys = (fovea_range){0, FOVEA_UNLIMITED};
  struct trial without = trial_create(&plain, seed);
  for (int isa = 0; isas[isa] != NULL; isa++) {
    trial_run(&trial, isas[isa], NULL);
    assert_contract(&trial, USUAL_OR_LONG(3000, 400000));
    assert_true(trial_gaps_untouched(&trial));
    trial_run(&without, isas[isa], NULL);
    assert_same_outputs(&trial, &without);
  }
  trial_destroy(&without);
  trial_destroy(&trial);
}

/* Tiles, decoding, parts of keys, rows that see nothing; every rule. */
static void test_lengths_and_rules(void **state) {
  (void)state;
  static const int64_t lengths[][2] = {{1, 1},  {9, 40},   {50, 300}, {3, 4500}, {1, 9000},
                                       {40, 0}, {40, 129}, {0, 5},    {130, 130}};
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
    for (int rule = (int)i % USUAL_OR_LONG(7, 1); rule < rule_count; rule += USUAL_OR_LONG(7, 1)) {
      fovea_problem problem = problem_with(4, rule % 2 ? 2 : 4, lengths[i][0], lengths[i][1]);
      problem_apply(&problem, &rule_list[rule]);
      problem.sink = (fovea_sink)(rule % 3);
      check(&problem, (uint64_t)rule);
      problem.scores.kind = (fovea_score_output)(FOVEA_SCORES_RAW + rule % 3);
      problem.softcap = rule % 2 ? 4.0 : 0.0;
      check(&problem, (uint64_t)rule);
    }
}

static void test_masks(void **state) {
  (void)state;
  for (int type = FOVEA_MASK_BOOL; type <= FOVEA_MASK_BF16; type++)
    for (uint64_t seed = 0; seed < 6; seed += USUAL_OR_LONG(3, 1)) {
      fovea_problem problem = problem_with(3, 1, 37, 300);
      problem.mask.type = (fovea_mask_type)type;
      problem.mask.strides = fovea_mask_layout(problem.mask.type, 2, 3, 37, 300);
      for (int output = FOVEA_SCORES_WEIGHTS; output <= FOVEA_SCORES_BIASED; output++) {
        problem.scores.kind = (fovea_score_output)output;
        problem.softcap = (seed + (uint64_t)output) % 3 == 0 ? 30.0 : 0.0;
        check(&problem, seed);
      }
    }
}

/* Rows sum to 1 within the rounding errors of their weights and of l. */
static void test_sums(void **state) {
  (void)state;
  fovea_problem problem = problem_with(2, 2, 60, 1000);
  problem.causal = 1;
  struct trial trial = trial_create(&problem, 7);
  trial_run(&trial, NULL, NULL);
  for (int64_t h = 0; h < 2; h++)
    for (int64_t i = 0; i < 60; i++) {
      const float *row = tensor_row(&trial.scores, 1, h, i);
      double sum = 0.0;
      for (int64_t j = 0; j < 1000; j++) sum += (double)row[j];
      assert_true(fabs(sum - 1.0) < 60.0 * 0x1p-24);
    }
  trial_destroy(&trial);
}

/* NaN and infinities: rows of NaN have weight 0 where they see nothing; +Inf makes NaN; -Inf has weight 0. */
static void test_special_values(void **state) {
  (void)state;
  static const float values[] = {NAN, INFINITY, -INFINITY, 3e38f};
  for (size_t v = 0; v < sizeof values / sizeof values[0]; v++)
    for (int64_t rows = 1; rows < 80; rows += USUAL_OR_LONG(49, 39)) {
      fovea_problem problem = problem_with(2, 2, rows, 300);
      problem.causal = 1;
      problem.offset = 140;
      struct trial trial = trial_create(&problem, v);
      tensor_row(&trial.k, 0, 1, 135)[3] = values[v];
      tensor_row(&trial.q, 1, 0, 0)[0] = values[v];
      const char *const *isas = usable_isas_for(&problem);
      for (int isa = 0; isas[isa] != NULL; isa++)
        for (int output = FOVEA_SCORES_WEIGHTS; output <= FOVEA_SCORES_BIASED; output++) {
          trial.problem.scores.kind = (fovea_score_output)output;
          trial_run(&trial, isas[isa], NULL);
          assert_contract(&trial, USUAL_OR_LONG(12000, INT64_MAX / 2));
        }
      trial_destroy(&trial);
    }
}

static fovea_range random_range(struct generator *generator, int64_t all) {
  const int64_t begin = generator_below(generator, all + 1),
                end = begin + generator_below(generator, all - begin + 1);
  return (fovea_range){begin, end == all && generator_below(generator, 2) ? FOVEA_UNLIMITED : end};
}

/* Some heads, rows and keys, each by itself or with others; other scores are not touched. */
static void test_ranges(void **state) {
  (void)state;
  struct generator generator = {55};
  for (int i = 0; i < USUAL_OR_LONG(30, 150); i++) {
    struct listed_problem listed;
    problem_random(&listed, &generator, USUAL_OR_LONG(300000, 1500000));
    fovea_problem *problem = &listed.problem;
    problem_random_features(problem, &generator);
    if (i % 2) problem_random_layout(problem, &generator);
    problem->scores.kind = (fovea_score_output)(1 + generator_below(&generator, 4));
    const int64_t row = problem->kv_len + generator_below(&generator, 3);
    if (i % 3 < 2) problem->scores.heads = random_range(&generator, problem->heads);
    if (i % 5 < 3) problem->scores.rows = random_range(&generator, problem->q_len);
    if (i % 7 < 5) problem->scores.keys = random_range(&generator, problem_score_keys(problem));
    problem->scores.strides = (fovea_strides){problem->heads * problem->q_len * row, problem->q_len * row, row};
    if (i % 4 == 0)
      problem->scores.strides = (fovea_strides){row * problem->heads, row, problem->batch * problem->heads * row};
    check(problem, (uint64_t)i);
  }
}

/* Few rows and many keys, split into parts; the range ends within a block. */
static void test_ranges_of_parts(void **state) {
  (void)state;
  for (int64_t rows = 1; rows < USUAL_OR_LONG(28, 40); rows += USUAL_OR_LONG(26, 13)) {
    fovea_problem problem;
    fovea_problem_init(&problem, 1, 4, 1, rows, 9000, USUAL_OR_LONG(32, 128), USUAL_OR_LONG(24, 96));
    problem.scores.heads = (fovea_range){1, 3};
    problem.scores.rows = (fovea_range){rows / 2, FOVEA_UNLIMITED};
    problem.scores.keys = (fovea_range){2000, 4100};
    for (int output = FOVEA_SCORES_WEIGHTS; output <= FOVEA_SCORES_RAW; output++) {
      problem.scores.kind = (fovea_score_output)output;
      check(&problem, 3);
    }
  }
}

static void test_refusals(void **state) {
  (void)state;
  fovea_problem problem = problem_with(2, 2, 5, 7);
  struct trial trial = trial_create(&problem, 1);
  fovea_tensors tensors = trial_tensors(&trial);
  tensors.scores = NULL;
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_ARGUMENT, "scores is NULL");
  tensors.scores = trial.o.data;
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_ARGUMENT, "scores shares memory with o");
  tensors.scores = trial.lse.data;
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_ARGUMENT, "scores shares memory with lse");
  tensors.scores = trial.k.data;
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_ARGUMENT, "scores shares memory with k");
  tensors.scores = (float *)(void *)((char *)trial.scores.data + 1);
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_ARGUMENT, "scores");
  tensors.scores = trial.scores.data;
  problem.scores.strides.row = 6;
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_ARGUMENT, "scores.strides.row");
  problem = problem_with(2, 2, 5, 7);
  problem.scores.kind = (fovea_score_output)5;
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_ARGUMENT, "scores.kind is 5");
  problem.scores.kind = FOVEA_SCORES_WEIGHTS;
  problem.scores.heads = (fovea_range){1, 3};
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_ARGUMENT,
                        "scores.heads is 1 to 3; it must ascend, from 0 to heads, which is 2");
  problem.scores.heads = (fovea_range){2, 1};
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_ARGUMENT, "scores.heads is 2 to 1");
  problem.scores.heads = (fovea_range){0, 2};
  problem.scores.rows = (fovea_range){-1, FOVEA_UNLIMITED};
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_ARGUMENT, "scores.rows is -1 to -1");
  problem.scores.rows = (fovea_range){5, FOVEA_UNLIMITED};
  problem.scores.keys = (fovea_range){0, 8};
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_ARGUMENT,
                        "scores.keys is 0 to 8; it must ascend, from 0 to kv_len, which is 7");
  problem.scores.keys.end = 7;
  problem.scores.kind = FOVEA_SCORES_NONE;
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_UNUSED, "scores.heads is 0 to 2 and would not be used");
  problem = problem_with(2, 2, 5, 7);
  problem.scores.kind = FOVEA_SCORES_NONE;
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_UNUSED, "scores is not NULL and would not be used");
  problem.scores.kind = FOVEA_SCORES_WEIGHTS;
  problem.state = 1;
  assert_attend_refused(&problem, &tensors, FOVEA_ERROR_UNUSED,
                        "scores.kind is 1 and would not be used: state is 1");
  trial_destroy(&trial);
}

/* Scratch may not lie in the scores, and a state that is finished has none. */
static void test_other_calls(void **state) {
  (void)state;
  fovea_problem problem = problem_with(2, 2, 256, 256);
  struct trial trial = trial_create(&problem, 1);
  fovea_tensors tensors = trial_tensors(&trial);
  fovea_execution execution;
  fovea_error error;
  static float numbers[2 * 2 * 256 * 14];
  fovea_state from;
  fovea_execution_init(&execution);
  execution.threads = 1;
  execution.scratch = (void *)(((uintptr_t)trial.scores.data + 63) / 64 * 64);
  execution.scratch_size = 1 << 30;
  assert_int_equal(fovea_attend(&problem, &tensors, &execution, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "scratch shares memory with scores");
  fovea_state_init(&from, 2, 2, 256, 12, 0, 256, numbers);
  tensors.state = &from;
  assert_int_equal(fovea_state_finish(&problem, &tensors, NULL, &error), FOVEA_ERROR_UNUSED);
  assert_error_says(&error, "scores.kind is 1 and would not be used: a state has no room for it");
  trial_destroy(&trial);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lengths_and_rules),
      cmocka_unit_test(test_masks),
      cmocka_unit_test(test_sums),
      cmocka_unit_test(test_special_values),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_other_calls),
      cmocka_unit_test(test_ranges),
      cmocka_unit_test(test_ranges_of_parts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

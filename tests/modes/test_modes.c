/* Modes have the bits of their contract on every instruction set and with AMX: each size, each rule, and what
 * scores may have added. Random problems are in the tests of exact mode, which draw modes, too. */
#include "support/check.h"
#include "support/modes.h"
#include "support/problems.h"
#include "support/trial.h"

#include <math.h>

#define BUDGET USUAL_OR_LONG(10000, 40000)

/* On one set all rows that the budget allows; the others have its bits, and some rows of the contract's, too. */
static void check(const fovea_problem *problem, uint64_t seed) {
  const char *sets[MODE_SETS];
  const int count = mode_sets_for(problem, sets);
  struct trial first = trial_create(problem, seed), other = trial_sharing_inputs(&first);
  trial_run(&first, sets[0], NULL);
  assert_contract(&first, BUDGET);
  for (int i = 1; i < count; i++) {
    trial_run(&other, sets[i], NULL);
    assert_same_outputs(&other, &first);
    assert_true(trial_gaps_untouched(&other));
  }
  trial_destroy(&other);
  trial_destroy(&first);
}

static fovea_problem problem_of(int modes, int64_t heads, int64_t rows, int64_t keys, int64_t qk_dim,
                                int64_t v_dim) {
  fovea_problem problem;
  fovea_problem_init(&problem, 1, heads, 1, rows, keys, qk_dim, v_dim);
  fovea_problem_resolve(&problem, NULL);
  problem_set_modes(&problem, modes);
  return problem;
}

static void check_dim(int scores, int values, int64_t dim) {
  const fovea_problem of_scores = problem_of(scores, 1, 5, 37, dim, 3),
                      of_values = problem_of(values, 2, 35, 19, 3, dim);
  check(&of_scores, 1);
  check(&of_values, 2);
}

/* bf16 has groups of 32 dims, the last filled up; int8 has groups of 2, 4 or 8, and takes 1,032 dims in scores. */
static void test_every_dim(void **state) {
  (void)state;
  for (int64_t dim = 1; dim <= USUAL_OR_LONG(70, 300); dim += dim < 70 ? 1 : 9)
    check_dim(dim % 4 ? BF16_SCORES : BF16_BOTH, dim % 4 ? BF16_VALUES : BF16_BOTH, dim);
  for (int64_t dim = 1; dim <= USUAL_OR_LONG(70, 300); dim++)
    check_dim(dim % 4 ? INT8_SCORES : INT8_BOTH, dim % 4 ? INT8_VALUES : INT8_BOTH, dim);
  for (int64_t dim = 1025; dim <= 1032; dim++) check_dim(INT8_BOTH, INT8_VALUES, dim);
}

static void test_every_q_len(void **state) {
  (void)state;
  for (int64_t q_len = 0; q_len <= USUAL_OR_LONG(70, 270); q_len += q_len < 35 ? 1 : 11)
    for (int i = 0; i < 4; i++) {
      fovea_problem problem = problem_of(i % 2 ? BF16_BOTH : INT8_BOTH, i < 2 ? 1 : 4, q_len, 33, 16, 16);
      problem.causal = (int)(q_len % 2);
      problem_say_offset(&problem);
      check(&problem, 3);
    }
}

/* Groups of 32 keys in blocks of 128. */
static void test_every_kv_len(void **state) {
  (void)state;
  for (int64_t kv_len = 0; kv_len <= USUAL_OR_LONG(300, 5000); kv_len += kv_len < 140   ? 1
                                                                         : kv_len < 300 ? 7
                                                                                        : 271) {
    fovea_problem problem =
        problem_of(1 + (int)((kv_len + kv_len / 8) % (MODE_PAIRS - 1)), 1, 1 + kv_len % 7, kv_len, 8, 8);
    check(&problem, 4);
    problem.causal = 1;
    problem.q_len = 20;
    problem_say_offset(&problem);
    check(&problem, 5);
  }
}

static void test_span_borders(void **state) {
  (void)state;
  static const int64_t lengths[] = {2047, 2048, 2049, 4097, 8193, 12300};
  const int count = (int)(sizeof lengths / sizeof lengths[0]);
  for (int i = 0; i < USUAL_OR_LONG(3, count); i++)
    for (int64_t q_len = 1; q_len <= 40; q_len += 39) {
      fovea_problem problem = problem_of(i % 2 ? BF16_BOTH : INT8_BOTH, 1, q_len, lengths[i], 16, 8);
      check(&problem, 6);
      problem.window_left = 2100; /* skips whole spans */
      problem.offset = lengths[i] / 2;
      check(&problem, 7);
    }
}

static void test_every_rule(void **state) {
  (void)state;
  static const int64_t lengths[][2] = {{1, 1}, {1, 300}, {40, 40}, {150, 150}, {70, 400}, {200, 60}};
  const int count = (int)(sizeof lengths / sizeof lengths[0]);
  for (int rule = 0; rule < rule_count; rule++)
    for (int i = 0; i < USUAL_OR_LONG(3, count); i++) {
      fovea_problem problem =
          problem_of(1 + (rule + i) % (MODE_PAIRS - 1), 2, lengths[i][0], lengths[i][1], 24, 17);
      problem_apply(&problem, &rule_list[rule]);
      check(&problem, (uint64_t)rule);
    }
}

/* Scores with all that is added to them, in each mode, each type, over tiles and single rows. */
static void test_score_terms(void **state) {
  (void)state;
  const fovea_position_term terms[] = {fovea_term_alibi(0), fovea_term_t5(4, 32, 90, 1)};
  for (int i = 0; i < USUAL_OR_LONG(24, 144); i++) {
    fovea_problem problem;
    fovea_problem_init(&problem, 1 + i % 2, 4, 2, i % 5 ? 40 : 1, 150 + i, 40, 24);
    fovea_problem_resolve(&problem, NULL);
    problem_set_modes(&problem, 1 + i / 2 % (MODE_PAIRS - 1));
    problem.softcap = i & 1 ? 20 : 0;
    problem.sink = (fovea_sink)(i / 2 % 3);
    problem.scales = (fovea_scales)(i / 3 % 4);
    if (problem.scales & FOVEA_SCALES_PER_HEAD) problem.scale = 1.0 / sqrt(40.0);
    if (i / 4 % 3 > 0) fovea_problem_set_terms(&problem, terms, i / 4 % 3);
    problem.mask.type = (fovea_mask_type)(i / 5 % 6);
    if (problem.mask.type != FOVEA_MASK_NONE)
      problem.mask.strides =
          fovea_mask_layout(problem.mask.type, problem.batch, problem.heads, problem.q_len, problem.kv_len);
    problem.q_type = (fovea_type)(i % 3);
    problem.k_type = (fovea_type)(i / 3 % 3);
    problem.v_type = (fovea_type)(i / 9 % 3);
    problem.o_type = (fovea_type)(i / 2 % 3);
    check(&problem, (uint64_t)i);
  }
}

/* Scales of rows and heads, with nothing else that changes scores, and with rules. int8 multiplies by them itself.
 */
static void test_scales(void **state) {
  (void)state;
  for (int modes = 1; modes < MODE_PAIRS; modes++)
    for (int i = 0; i < 12; i++) {
      fovea_problem problem;
      fovea_problem_init(&problem, 1, 4, 2, i % 2 ? 1 : 40, i < 6 ? 60 : 200, 33, 16);
      fovea_problem_resolve(&problem, NULL);
      problem_set_modes(&problem, modes);
      problem.scales = (fovea_scales)(1 + i / 2 % 3);
      if (problem.scales & FOVEA_SCALES_PER_HEAD) problem.scale = 1.0 / sqrt(33.0);
      problem.causal = i >= 6;
      check(&problem, (uint64_t)i);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_dim),    cmocka_unit_test(test_every_q_len), cmocka_unit_test(test_every_kv_len),
      cmocka_unit_test(test_span_borders), cmocka_unit_test(test_every_rule),  cmocka_unit_test(test_score_terms),
      cmocka_unit_test(test_scales),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

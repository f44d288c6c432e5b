/* LeakyReLU of products: activation.kind. */
#include "src/plan/plan.h"
#include "support/check.h"
#include "support/patterns.h"
#include "support/reference.h"
#include "support/refusals.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* On every instruction set, against the contract. Destroys the trial. */
static void check_and_destroy(struct trial *made) {
  for (const char *const *isa = usable_isas_for(&made->problem); *isa != NULL; isa++) {
    trial_run(made, *isa, NULL);
    assert_contract(made, USUAL_OR_LONG(8000, 300000));
    assert_true(trial_gaps_untouched(made));
  }
  trial_destroy(made);
}

static void test_slopes_and_scales(void **state) {
  (void)state;
  static const double slopes[] = {0.0, -0.0, 1e-45, 1e-30, 0.01, 0.2, 0.5, 0.999, 1.0 - 1e-12};
  static const double scales[] = {1.0, 0.25, 0.0, -3.0, 1e-40, 1e6};
  for (size_t i = 0; i < sizeof slopes / sizeof slopes[0]; i++)
    for (size_t j = 0; j < sizeof scales / sizeof scales[0]; j++) {
      fovea_problem problem;
      fovea_problem_init(&problem, 1, 2, 1, (i + j) % 2 ? 35 : 3, 150, 2 + (int64_t)j * 3, 9);
      problem_set_leaky(&problem, slopes[i]);
      problem.scale = scales[j];
      problem.scores.kind = (fovea_score_output)((i + j) % 5);
      if (i % 3 == 1) problem.softcap = 3.0;
      if (i % 3 == 2) problem_set_normaliser(&problem, (int)j);
      problem.causal = (int)(i + j) % 2;
      struct trial made = trial_create(&problem, i * 10 + j);
      check_and_destroy(&made);
    }
}

/* With every rule, every kind of mask, and scales of heads and rows. */
static void test_rules_and_masks(void **state) {
  (void)state;
  for (int rule = 0; rule < rule_count; rule++)
    for (int type = FOVEA_MASK_NONE; type <= FOVEA_MASK_BF16; type++) {
      fovea_problem problem;
      fovea_problem_init(&problem, 1, 2, 2, type % 2 ? 70 : 5, 200, 8, 8);
      problem_apply(&problem, &rule_list[rule]);
      problem_set_leaky(&problem, 0.2);
      problem.scales = (fovea_scales)((rule + type) % 4);
      problem.mask.type = (fovea_mask_type)type;
      problem.mask.strides = fovea_mask_layout(problem.mask.type, 1, 2, problem.q_len, 200);
      struct trial made = trial_create(&problem, (uint64_t)(rule * 6 + type));
      check_and_destroy(&made);
    }
}

/* Products that are infinite, NaN, zeros of both signs, subnormal, or become subnormal. */
static void test_special_products(void **state) {
  (void)state;
  static const float values[] = {INFINITY, -INFINITY, NAN, FLT_MAX, 0.0f, -0.0f, 1e-45f, 3e-39f, FLT_MIN};
  for (int i = 0; i < 9; i++)
    for (int j = 0; j < 4; j++) {
      fovea_problem problem;
      fovea_problem_init(&problem, 1, 1, 1, j % 2 ? 30 : 2, 140, 1, 5);
      problem_set_leaky(&problem, j / 2 ? 0.0 : 0.3);
      problem.scale = 1.0;
      problem.scores.kind = j < 2 ? FOVEA_SCORES_CAPPED : FOVEA_SCORES_WEIGHTS;
      struct trial made = trial_create(&problem, 3);
      tensor_row(&made.k, 0, 0, 77)[0] = values[i];
      for (int64_t row = 0; row < problem.q_len; row++)
        tensor_row(&made.q, 0, 0, row)[0] = row % 2 == 0 ? 1.0f : -1.0f;
      trial_run(&made, NULL, NULL);
      const int nan = isnan(*tensor_row(&made.lse, 0, 0, 0)) != 0;
      /* +Inf, NaN, -Inf times a slope of 0, and what overflows in units of log2 */
      assert_int_equal(nan, i == 0 || i == 2 || i == 3 || (i == 1 && j / 2));
      check_and_destroy(&made);
    }
}

/* The bits of the score of one key: zeros are +0. */
static void test_words(void **state) {
  (void)state;
  static const float products[] = {2.0f, -2.0f, -1e-45f, -FLT_MIN, FLT_MAX, -FLT_MAX};
  const double slope = 0.2;
  for (const char *const *isa = usable_isas_for(NULL); *isa != NULL; isa++)
    for (int i = 0; i < 6; i++)
      for (int rows = 1; rows <= 70; rows += 69) {
        fovea_problem problem;
        fovea_problem_init(&problem, 1, 1, 1, rows, 1, 1, 1);
        problem_set_leaky(&problem, slope);
        problem.scale = 1.0;
        problem.scores.kind = FOVEA_SCORES_CAPPED;
        struct trial made = trial_create(&problem, 3);
        for (int r = 0; r < rows; r++) made.q.data[r] = products[i];
        made.k.data[0] = 1.0f;
        trial_run(&made, *isa, NULL);
        const float expected = products[i] > 0.0f ? products[i] : products[i] * (float)slope + 0.0f;
        assert_memory_equal(&made.scores.data[rows - 1], &expected, sizeof expected);
        problem.scores.kind = FOVEA_SCORES_RAW;
        struct trial raw = trial_create(&problem, 3);
        for (int r = 0; r < rows; r++) raw.q.data[r] = products[i];
        raw.k.data[0] = 1.0f;
        trial_run(&raw, *isa, NULL);
        assert_memory_equal(&raw.scores.data[rows - 1], &products[i], sizeof products[i]);
        trial_destroy(&raw);
        trial_destroy(&made);
      }
}

static void test_accuracy(void **state) {
  (void)state;
  for (int i = 0; i < USUAL_OR_LONG(6, 20); i++) {
    fovea_problem problem;
    fovea_problem_init(&problem, 1, 2, 1, i % 2 ? 4 : 40, 200 + 150 * i, 2 + i * 9, 20);
    problem_set_leaky(&problem, 0.1 * (i % 10));
    problem.softcap = i % 3 ? 0.0 : 4.0;
    problem.scales = (fovea_scales)(i % 4);
    struct trial made = trial_create(&problem, (uint64_t)i);
    trial_run(&made, NULL, NULL);
    assert_accuracy(&made, 16.0, 1000000);
    trial_destroy(&made);
  }
}

static int is_gathered(const fovea_problem *problem) {
  fovea_plan *plan;
  assert_int_equal(fovea_plan_create(problem, NULL, &plan, NULL), FOVEA_OK);
  const int gathered = plan->gathered;
  fovea_plan_destroy(plan);
  return gathered;
}

/* Rows that see few keys are computed from lists. They have the bits of a mask, and of the contract. */
static void test_lists(void **state) {
  (void)state;
  int gathered = 0;
  for (uint64_t seed = 0; seed < USUAL_OR_LONG(16, 80); seed++) {
    struct generator generator = {seed};
    struct made_rules made = {0};
    fovea_problem problem;
    const int64_t rows = 1 + generator_below(&generator, 150), keys = 1 + generator_below(&generator, 3000);
    const int64_t group = 1 + generator_below(&generator, 3);
    fovea_problem_init(&problem, 1, 2 * group, 2, rows, keys, seed % 2 ? 2 : 1 + (int64_t)seed, 8);
    const fovea_rule *rule = rule_sparse(&made, &generator, rows, keys);
    fovea_pattern *pattern = pattern_of(rule, 0, rows, keys, 0);
    const struct rule_table rules = same_rules(rule, 0);
    problem.offset = 0;
    problem.pattern = pattern;
    if (seed % 4 != 3) problem_set_leaky(&problem, 0.2);
    if (seed % 4 >= 2) problem.softcap = 2.0;
    problem.sink = (fovea_sink)(seed % 3);
    struct trial patterned = trial_create(&problem, seed), masked = masked_trial(&patterned, seed, &rules);
    gathered += is_gathered(&problem) << 8 * (seed % 4);
    for (const char *const *isa = usable_isas_for(&problem); *isa != NULL; isa++) {
      trial_run(&patterned, *isa, NULL);
      trial_run(&masked, *isa, NULL);
      assert_same_outputs(&patterned, &masked);
      assert_contract(&masked, 100000);
    }
    trial_destroy(&masked);
    trial_destroy(&patterned);
    fovea_pattern_destroy(pattern);
    rules_free(&made);
  }
  for (int i = 0; i < 4; i++)
    assert_true((gathered >> 8 * i & 255) > 1); /* each activation, with and without cap */
}

/* q = (u, 1) and k = (1, v) give fl(u + v), so GAT's scores. */
static void test_sums(void **state) {
  (void)state;
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 3, 3, 50, 60, 2, 4);
  problem_set_leaky(&problem, 0.2);
  problem.scale = 1.0;
  problem.scores.kind = FOVEA_SCORES_BIASED;
  struct trial made = trial_create(&problem, 7);
  for (int64_t i = 0; i < 3 * 50; i++) made.q.data[2 * i + 1] = 1.0f;
  for (int64_t i = 0; i < 3 * 60; i++) made.k.data[2 * i] = 1.0f;
  for (const char *const *isa = usable_isas_for(&problem); *isa != NULL; isa++) {
    trial_run(&made, *isa, NULL);
    for (int64_t h = 0; h < 3; h++)
      for (int64_t i = 0; i < 50; i++)
        for (int64_t j = 0; j < 60; j++) {
          const float sum = made.q.data[2 * (h * 50 + i)] + made.k.data[2 * (h * 60 + j) + 1];
          const float expected = sum > 0.0f ? sum : sum * 0.2f;
          assert_true(made.scores.data[(h * 50 + i) * 60 + j] == expected);
        }
  }
  trial_destroy(&made);
}

static void test_refusals(void **state) {
  (void)state;
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 1, 1, 5, 7, 2, 2);
  problem_set_leaky(&problem, 0.2);
  trial = trial_create(&problem, 1);
  ACCEPTED((void)0);
  ACCEPTED(call.problem.activation.leaky_slope = 0.0);
  REFUSED(call.problem.activation.leaky_slope = 1.0, FOVEA_ERROR_ARGUMENT, "leaky_slope is 1.0", "below 1");
  REFUSED(call.problem.activation.leaky_slope = -0.2, FOVEA_ERROR_ARGUMENT, "leaky_slope is -0.2", "at least 0");
  REFUSED(call.problem.activation.leaky_slope = NAN, FOVEA_ERROR_ARGUMENT, "leaky_slope is", "nan");
  REFUSED(call.problem.activation.leaky_slope = INFINITY, FOVEA_ERROR_ARGUMENT, "leaky_slope is inf");
  REFUSED(call.problem.activation.kind = (fovea_score_activation)2, FOVEA_ERROR_ARGUMENT, "activation.kind", "2",
          "1");
  REFUSED(call.problem.activation.kind = (fovea_score_activation)-1, FOVEA_ERROR_ARGUMENT, "activation.kind", "-1");
  REFUSED(call.problem.activation.kind = FOVEA_SCORE_ACTIVATION_NONE, FOVEA_ERROR_UNUSED, "leaky_slope is 0.2",
          "activation.kind is FOVEA_SCORE_ACTIVATION_NONE");
  trial_destroy(&trial);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_slopes_and_scales),
      cmocka_unit_test(test_rules_and_masks),
      cmocka_unit_test(test_special_products),
      cmocka_unit_test(test_words),
      cmocka_unit_test(test_accuracy),
      cmocka_unit_test(test_lists),
      cmocka_unit_test(test_sums),
      cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

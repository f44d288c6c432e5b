/* Softcap: softcap * tanh(score / softcap), before anything is added, for every size of scores and caps. */
#include "support/check.h"
#include "support/problems.h"
#include "support/trial.h"

#include <float.h>
#include <math.h>

static const struct part start = {0, 0, 0};

/* On every instruction set, against the contract. Destroys the trial. */
static void check_and_destroy(struct trial *trial) {
  const char *const *isas = whole_isas_for(&trial->problem);
  for (int isa = 0; isas[isa] != NULL; isa++) {
    trial_run(trial, isas[isa], NULL);
    assert_contract(trial, USUAL_OR_LONG(20000, 1000000));
  }
  trial_destroy(trial);
}

static void test_caps_and_scales(void **state) {
  (void)state;
  static const double caps[] = {1e-37, 1e-10, 0.01, 1.0, 20.0, 30.0, 50.0, 1e4, 1e20, 2.3e38};
  static const double scales[] = {0.0, -0.0, 1e-45, 1e-6, 0.25, 1.0, -3.0, 100.0, 1e6, 5e37};
  for (size_t i = 0; i < sizeof caps / sizeof caps[0]; i++)
    for (size_t j = 0; j < sizeof scales / sizeof scales[0]; j++) {
      if (fabs(scales[j] / caps[i]) > (double)FLT_MAX) continue;
      fovea_problem problem;
      fovea_problem_init(&problem, 1, 2, 1, 35, 150, 12, 9);
      fovea_problem_resolve(&problem, NULL);
      problem.softcap = caps[i];
      problem.scale = scales[j];
      problem.causal = (int)(i + j) % 2;
      struct trial trial = trial_create(&problem, i * 10 + j);
      check_and_destroy(&trial);
    }
}

/* With every rule and every kind of mask. */
static void test_rules_and_masks(void **state) {
  (void)state;
  for (int rule = 0; rule < rule_count; rule++)
    for (int type = FOVEA_MASK_NONE; type <= FOVEA_MASK_BF16; type++) {
      fovea_problem problem;
      fovea_problem_init(&problem, 1, 2, 2, 70, 200, 8, 8);
      fovea_problem_resolve(&problem, NULL);
      problem_apply(&problem, &rule_list[rule]);
      problem.softcap = 1.5;
      problem.mask.type = (fovea_mask_type)type;
      problem.mask.strides = fovea_mask_layout(problem.mask.type, 1, 2, 70, 200);
      struct trial trial = trial_create(&problem, (uint64_t)(rule * 6 + type));
      const char *const *isas = whole_isas_for(&problem);
      for (int isa = 0; isas[isa] != NULL; isa++) {
        trial_run(&trial, isas[isa], NULL);
        assert_contract(&trial, USUAL_OR_LONG(10000, 60000));
      }
      trial_destroy(&trial);
    }
}

/* An infinite product gives a score of the cap. NaN stays NaN, and infinity times a scale of 0 is NaN. */
static void test_infinite_scores(void **state) {
  (void)state;
  static const float values[] = {INFINITY, -INFINITY, NAN, 1e30f, -1e30f};
  for (int i = 0; i < 5; i++)
    for (int zero = 0; zero <= 1; zero++) {
      fovea_problem problem;
      fovea_problem_init(&problem, 1, 1, 1, 30, 140, 6, 5);
      fovea_problem_resolve(&problem, NULL);
      problem.softcap = 10.0;
      if (zero) problem.scale = 0.0;
      struct trial trial = trial_create(&problem, 3);
      tensor_row(&trial.k, 0, 0, 77)[2] = values[i];
      for (int64_t row = 0; row < 30; row++) tensor_row(&trial.q, 0, 0, row)[2] = row % 2 == 0 ? 1e20f : -1e20f;
      trial_run(&trial, NULL, NULL);
      const float first = *tensor_row(&trial.lse, 0, 0, 0);
      assert_int_equal(isfinite(first) != 0, i != 2 && !zero);
      check_and_destroy(&trial);
    }
}

/* A negative scale equals a positive scale of negated queries: tanh is odd. */
static void test_odd(void **state) {
  (void)state;
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 2, 1, 50, 300, 16, 8);
  fovea_problem_resolve(&problem, NULL);
  problem.softcap = 2.0;
  struct trial straight = trial_create(&problem, 4);
  problem.scale = -problem.scale;
  struct trial negated = trial_of_part(&problem, &straight, start, start);
  for (int64_t i = 0; i < 2 * 50 * 16; i++) negated.q.data[i] = -negated.q.data[i];
  const char *const *isas = whole_isas_for(&problem);
  for (int isa = 0; isas[isa] != NULL; isa++) {
    trial_run(&straight, isas[isa], NULL);
    trial_run(&negated, isas[isa], NULL);
    assert_same_outputs(&negated, &straight);
  }
  trial_destroy(&straight);
  trial_destroy(&negated);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_caps_and_scales),
      cmocka_unit_test(test_rules_and_masks),
      cmocka_unit_test(test_infinite_scores),
      cmocka_unit_test(test_odd),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

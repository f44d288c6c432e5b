/* Scales per head and per row. */
#include "support/check.h"
#include "support/positions.h"
#include "support/problems.h"
#include "support/reference.h"
#include "support/refusals.h"

#include <math.h>
#include <string.h>

static fovea_problem problem_of(int64_t q_len, int64_t kv_len, fovea_scales scales) {
  fovea_problem problem;
  fovea_problem_init(&problem, 2, 4, 2, q_len, kv_len, 40, 24);
  fovea_problem_resolve(&problem, NULL);
  problem.scales = scales;
  return problem;
}

static double *scales_of(const struct guarded *memory) {
  return (double *)(void *)memory->data;
}

static void test_contract(void **state) {
  (void)state;
  for (int i = 0; i < USUAL_OR_LONG(20, 60); i++) {
    fovea_problem problem = problem_of(i % 2 ? 1 + i % 12 : 20 + i, 50 + 25 * i, (fovea_scales)(1 + i % 3));
    problem_apply(&problem, &rule_list[i % rule_count]);
    problem.softcap = i % 5 ? 0.0 : 7.0;
    problem.q_type = problem.k_type = (fovea_type)(i % 3);
    problem.scores.kind = (fovea_score_output)(i % 5);
    struct trial made = trial_create(&problem, (uint64_t)i);
    const char *const *isas = usable_isas_for(&problem);
    for (int isa = 0; isas[isa] != NULL; isa++) {
      trial_run(&made, isas[isa], NULL);
      assert_contract(&made, USUAL_OR_LONG(10000, 500000));
      assert_true(trial_gaps_untouched(&made));
    }
    if (i % 10 == 0) assert_accuracy(&made, 16.0, 1000000);
    trial_destroy(&made);
  }
}

/* Equal scales have the bits of one scale. */
static void test_equal(void **state) {
  (void)state;
  for (int i = 0; i < 6; i++) {
    fovea_problem problem = problem_of(i % 2 ? 3 : 70, 300, (fovea_scales)(1 + i / 2)), plain = problem;
    plain.scales = FOVEA_SCALES_NONE;
    struct trial made = trial_create(&problem, 3), expected = trial_create(&plain, 3);
    for (int h = 0; h < 4 && (problem.scales & FOVEA_SCALES_PER_HEAD); h++)
      scales_of(&made.head_scales)[h] = plain.scale;
    for (int r = 0; r < 2 * problem.q_len && (problem.scales & FOVEA_SCALES_PER_ROW); r++)
      scales_of(&made.row_scales)[r] = 1.0;
    for (const char *const *isa = usable_isas_for(&problem); *isa != NULL; isa++) {
      trial_run(&made, *isa, NULL);
      trial_run(&expected, *isa, NULL);
      assert_same_outputs(&made, &expected);
    }
    trial_destroy(&made);
    trial_destroy(&expected);
  }
}

static void test_refusals(void **state) {
  (void)state;
  fovea_problem problem = problem_of(5, 7, FOVEA_SCALES_BOTH);
  trial = trial_create(&problem, 1);
  static double bad[10];
  REFUSED(call.problem.scale = 0.5, FOVEA_ERROR_UNUSED, "scale is 0.5", "heads have scales");
  REFUSED(call.problem.scales = (fovea_scales)4, FOVEA_ERROR_ARGUMENT, "scales is 4");
  REFUSED(call.problem.scales = FOVEA_SCALES_PER_HEAD, FOVEA_ERROR_UNUSED, "row_scales is not NULL");
  REFUSED(call.problem.scales = FOVEA_SCALES_PER_ROW, FOVEA_ERROR_UNUSED, "head_scales is not NULL");
  REFUSED(call.tensors.head_scales = NULL, FOVEA_ERROR_ARGUMENT, "head_scales is NULL");
  REFUSED(call.tensors.row_scales = NULL, FOVEA_ERROR_ARGUMENT, "row_scales is NULL");
  bad[3] = NAN;
  REFUSED(call.tensors.row_scales = bad, FOVEA_ERROR_ARGUMENT, "row_scales[3] is nan");
  REFUSED(call.tensors.head_scales = bad, FOVEA_ERROR_ARGUMENT, "head_scales[3] is nan");
  bad[3] = -1e40;
  REFUSED(call.tensors.row_scales = bad, FOVEA_ERROR_ARGUMENT, "row_scales make a scale of");
  REFUSED(call.tensors.head_scales = (const double *)(void *)((char *)trial.head_scales.data + 4),
          FOVEA_ERROR_ARGUMENT, "head_scales");
  REFUSED(call.tensors.o = trial.row_scales.data, FOVEA_ERROR_ARGUMENT, "o shares memory with row_scales");
  REFUSED(call.tensors.lse = (float *)(void *)trial.head_scales.data, FOVEA_ERROR_ARGUMENT,
          "lse shares memory with head_scales");
  trial_destroy(&trial);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_contract),
      cmocka_unit_test(test_equal),
      cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Compares every kernel with the textbook formula in float64, within the bounds that the library promises. */
#include "support/check.h"
#include "support/problems.h"
#include "support/reference.h"

#include <math.h>
#include <stdio.h>

enum { BUDGET = 3000000 };

/* Runs on every instruction set. Prints the worst error, in u (2 + A). */
static void check_accuracy(struct trial *trial, double bound, const char *what) {
  const char *const *isas = whole_isas_for(&trial->problem);
  double worst = 0.0;
  for (int i = 0; isas[i] != NULL; i++) {
    trial_run(trial, isas[i], NULL);
    worst = fmax(worst, assert_accuracy(trial, bound, BUDGET));
  }
  print_message("%s, %lld keys, dim %lld: %.2f u (2 + A), bound %.0f\n", what, (long long)trial->problem.kv_len,
                (long long)trial->problem.qk_dim, worst, bound);
}

static const int64_t sizes[][4] = {/* q_len, kv_len, qk_dim, v_dim */
                                   {3, 7, 1, 1},        {20, 77, 16, 20},   {33, 500, 64, 64},
                                   {50, 50, 96, 96},    {9, 2500, 80, 8},   {40, 1000, 128, 64},
                                   {20, 700, 256, 256}, {4, 300, 576, 512}, {2, 9000, 64, 64}};
static const int size_count = (int)(sizeof sizes / sizeof sizes[0]);

static fovea_problem problem_of_size(int index) {
  fovea_problem problem;
  const int64_t *size = sizes[index];
  fovea_problem_init(&problem, 1, 2, 1, size[0], size[1], size[2], size[3]);
  fovea_problem_resolve(&problem, NULL);
  return problem;
}

static void test_random_sign(void **state) {
  (void)state;
  static const double gains[] = {0.3, 1.0, 8.0, -30.0};
  for (int i = 0; i < size_count; i++)
    for (int gain = 0; gain < 4; gain++) {
      fovea_problem problem = problem_of_size(i);
      problem.scale *= gains[gain];
      problem.causal = gain % 2;
      struct trial trial = trial_create(&problem, (uint64_t)(i * 4 + gain));
      check_accuracy(&trial, BOUND_RANDOM, "random sign");
      trial_destroy(&trial);
    }
}

static void make_absolute(struct tensor *tensor) {
  for (int64_t h = 0; h < tensor->heads; h++)
    for (int64_t i = 0; i < tensor->rows; i++)
      for (int64_t d = 0; d < tensor->dim; d++) {
        float *number = tensor_row(tensor, 0, h, i) + d;
        *number = fabsf(*number);
      }
}

/* Products and values of one sign: rounding errors add up instead of cancelling. */
static void test_coherent(void **state) {
  (void)state;
  for (int i = 0; i < size_count; i++) {
    const fovea_problem problem = problem_of_size(i);
    struct trial trial = trial_create(&problem, (uint64_t)(100 + i));
    make_absolute(&trial.q);
    make_absolute(&trial.k);
    make_absolute(&trial.v);
    check_accuracy(&trial, BOUND_COHERENT, "coherent");
    trial_destroy(&trial);
  }
}

static void test_constant(void **state) {
  (void)state;
  for (int i = 0; i < size_count; i++) {
    const fovea_problem problem = problem_of_size(i);
    struct trial trial = trial_create(&problem, 0);
    tensor_fill_constant(&trial.q, 0.7f);
    tensor_fill_constant(&trial.k, 0.9f);
    tensor_fill_constant(&trial.v, 1.1f);
    check_accuracy(&trial, BOUND_COHERENT, "constant");
    trial_destroy(&trial);
  }
}

/* The rules, measured in the same way: a second witness of the contract's rules. */
static void test_rules(void **state) {
  (void)state;
  for (int rule = 0; rule < rule_count; rule++) {
    fovea_problem problem;
    fovea_problem_init(&problem, 2, 2, 2, 60, 300, 32, 32);
    fovea_problem_resolve(&problem, NULL);
    problem_apply(&problem, &rule_list[rule]);
    struct trial trial = trial_create(&problem, (uint64_t)(200 + rule));
    check_accuracy(&trial, BOUND_RANDOM, rule_list[rule].name);
    trial_destroy(&trial);
  }
}

/* Softcap, masks, sinks and types, whose only other witness is the contract. */
static void test_features(void **state) {
  (void)state;
  static const double softcaps[] = {0.0, 0.5, 5.0, 50.0};
  for (int i = 0; i < 48; i++) {
    fovea_problem problem;
    fovea_problem_init(&problem, 2, 2, 1, 40, 300 + i, 64, 32);
    fovea_problem_resolve(&problem, NULL);
    problem.scale *= i % 5 == 0 ? 8.0 : 1.0;
    problem.causal = i % 2;
    problem.softcap = softcaps[i % 4];
    problem.sink = (fovea_sink)(i / 2 % 3);
    problem.mask.type = (fovea_mask_type)(i % 6);
    problem.mask.strides = fovea_mask_layout(problem.mask.type, 2, 2, 40, problem.kv_len);
    problem.q_type = problem.k_type = problem.v_type = (fovea_type)(i / 3 % 3);
    problem.o_type = (fovea_type)(i / 4 % 3);
    struct trial trial = trial_create(&problem, (uint64_t)(300 + i));
    check_accuracy(&trial, BOUND_RANDOM, "features");
    trial_destroy(&trial);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_sign), cmocka_unit_test(test_coherent), cmocka_unit_test(test_constant),
      cmocka_unit_test(test_rules),       cmocka_unit_test(test_features),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

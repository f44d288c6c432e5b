/* Errors of modes against float64, within the bounds of docs/numerics.md, section 16: for inputs of bf16, in bf16
 * mode, (2^-8 + 2 * 1.014e-4 + 48 u (2 + A)) times the sum of weight * |v|; and not as small as exact mode's. */
#include "support/check.h"
#include "support/modes.h"
#include "support/problems.h"
#include "support/reference.h"

#include <math.h>

#define BUDGET USUAL_OR_LONG(200000, 600000)

static const int64_t sizes[][4] = {/* q_len, kv_len, qk_dim, v_dim */
                                   {3, 7, 1, 1},     {20, 77, 16, 20},    {33, 500, 64, 64},  {50, 50, 96, 96},
                                   {9, 2500, 80, 8}, {40, 1000, 128, 64}, {4, 300, 576, 512}, {2, 9000, 64, 64}};
static const int size_count = (int)(sizeof sizes / sizeof sizes[0]);

static void check(struct trial *trial) {
  const char *sets[MODE_SETS];
  const int count = mode_sets(sets);
  for (int i = 0; i < count; i += USUAL_OR_LONG(1, count - 1)) { /* all have the same bits: other tests */
    trial_run(trial, sets[i], NULL);
    assert_accuracy(trial, BOUND_COHERENT, BUDGET);
  }
}

static fovea_problem problem_of(int size, int modes, fovea_type type) {
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 2, 1, sizes[size][0], sizes[size][1], sizes[size][2], sizes[size][3]);
  fovea_problem_resolve(&problem, NULL);
  problem_set_modes(&problem, modes);
  problem.q_type = problem.k_type = problem.v_type = type;
  return problem;
}

static void test_random_sign(void **state) {
  (void)state;
  static const double gains[] = {0.3, 1.0, 8.0, -30.0};
  for (int size = 0; size < size_count; size++)
    for (int i = 0; i < 32; i++) {
      fovea_problem problem = problem_of(size, 1 + i % 8, (i + size) % 2 ? FOVEA_BF16 : (fovea_type)(i / 4 % 2));
      problem.scale *= gains[i / 8];
      problem.causal = i % 5 == 0;
      struct trial trial = trial_create(&problem, (uint64_t)(size * 32 + i));
      check(&trial);
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

/* Roundings add up. */
static void test_coherent(void **state) {
  (void)state;
  for (int size = 0; size < size_count; size++)
    for (int modes = 1; modes < MODE_PAIRS; modes++) {
      const fovea_problem problem = problem_of(size, modes, size % 2 ? FOVEA_BF16 : FOVEA_F32);
      struct trial trial = trial_create(&problem, (uint64_t)size);
      make_absolute(&trial.q);
      make_absolute(&trial.k);
      make_absolute(&trial.v);
      check(&trial);
      trial_destroy(&trial);
    }
}

/* Any rules, masks, softcap, sinks, types. */
static void test_random_problems(void **state) {
  (void)state;
  struct generator generator = {9};
  for (int i = 0; i < USUAL_OR_LONG(30, 200); i++) {
    struct listed_problem listed;
    problem_random(&listed, &generator, 500000);
    problem_random_features(&listed.problem, &generator);
    problem_random_modes(&listed.problem, &generator, 1);
    problem_remove_vectors(&listed.problem);
    struct trial trial = trial_create(&listed.problem, (uint64_t)i);
    check(&trial);
    trial_destroy(&trial);
  }
}

/* The mode rounds: somewhere its error is more than exact mode's may be. */
static void test_it_rounds(void **state) {
  (void)state;
  for (int modes = 1; modes < MODE_PAIRS; modes++) {
    fovea_problem problem = problem_of(2, modes, FOVEA_F32);
    struct trial trial = trial_create(&problem, 1), exact = trial_sharing_inputs(&trial);
    double largest = 0;
    exact.problem.modes.score = exact.problem.modes.value = FOVEA_MODE_EXACT;
    trial_run(&exact, NULL, NULL);
    trial_run(&trial, NULL, NULL);
    for (int64_t i = 0; i < problem.q_len; i++)
      for (int64_t d = 0; d < problem.v_dim; d++)
        largest = fmax(largest,
                       fabs((double)tensor_row(&trial.o, 0, 0, i)[d] - (double)tensor_row(&exact.o, 0, 0, i)[d]));
    assert_true(largest > 1e-4 && largest < 0.04);
    trial_destroy(&exact);
    trial_destroy(&trial);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_sign),
      cmocka_unit_test(test_coherent),
      cmocka_unit_test(test_random_problems),
      cmocka_unit_test(test_it_rounds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Rows of up to twenty million keys: sums keep their accuracy, and bits stay the contract's. Tensors with a row
 * stride of 0 make such rows from a few bytes. */
#include "support/check.h"
#include "support/reference.h"

#include <math.h>

/* The largest error from float64 of all inputs, in u (2 + A): far less than a plain sum of this length would have.
 */
#define BOUND_SINK 12.0

static fovea_problem one_row(int64_t keys, int64_t dim) {
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 1, 1, 1, keys, dim, dim);
  problem.scale = 1.0;
  return problem;
}

static void run_and_check(struct trial *trial, double bound, const char *isa) {
  trial_run(trial, isa, NULL);
  const double worst = assert_accuracy(trial, bound, INT64_C(1) << 40);
  print_message("%s, %lld keys: %.2f u (2 + A)\n", isa, (long long)trial->problem.kv_len, worst);
}

/* One key has weight 1. The weights of the other n - 1 keys are far smaller, too small to change a sum that has
 * reached 1. Their scores are no integers in base 2. */
static void sink(int64_t keys, int64_t sink_at, float tail_score, float tail_value) {
  const fovea_problem problem = one_row(keys, 1);
  struct trial trial = trial_create(&problem, 0);
  tensor_fill_constant(&trial.q, 1.0f);
  tensor_fill_constant(&trial.k, tail_score);
  tensor_fill_constant(&trial.v, tail_value);
  *tensor_row(&trial.k, 0, 0, sink_at) = 0.0f;
  *tensor_row(&trial.v, 0, 0, sink_at) = 1.0f;
  const char *const *isas = whole_isas_for(&problem);
  for (int i = 0; isas[i] != NULL; i++) run_and_check(&trial, BOUND_SINK, isas[i]);
  assert_contract(&trial, 1);
  trial_destroy(&trial);
}

static void test_sink_first(void **state) {
  (void)state;
  sink(USUAL_OR_LONG(100003, 1000003), 0, -17.1f, 1.0f);
}

static void test_sink_last(void **state) {
  (void)state;
  sink(USUAL_OR_LONG(70001, 700001), USUAL_OR_LONG(70000, 700000), -16.7f, 3.0f);
}

static void test_sink_in_the_middle(void **state) {
  (void)state;
  sink(USUAL_OR_LONG(33333, 1234567), 12345, -17.9f, -1.0f);
}

/* A million keys with random scores and values. */
static void test_random_million(void **state) {
  (void)state;
  const fovea_problem problem = one_row(USUAL_OR_LONG(100000, 1000001), 4);
  struct trial trial = trial_create(&problem, 7);
  const char *const *isas = whole_isas_for(&problem);
  for (int i = 0; isas[i] != NULL; i++) run_and_check(&trial, BOUND_RANDOM, isas[i]);
  assert_contract(&trial, 1);
  trial_destroy(&trial);
}

/* Equal scores: a running sum in f32 would stop at 2^24. */
static void test_twenty_million_equal_keys(void **state) {
  (void)state;
  fovea_problem problem = one_row(USUAL_OR_LONG(300000, 20000000), 1);
  problem.k_strides.row = 0;
  problem.v_strides.row = 0;
  struct trial trial = trial_create(&problem, 0);
  tensor_fill_constant(&trial.q, 0.3f);
  tensor_fill_constant(&trial.k, 0.4f);
  tensor_fill_constant(&trial.v, 0.7f);
  const char *const *isas = whole_isas_for(&problem);
  for (int i = 0; isas[i] != NULL; i++) {
    trial_run(&trial, isas[i], NULL);
    const double o = (double)*trial.o.data, lse = (double)*trial.lse.data;
    const double expected = (double)0.3f * (double)0.4f + log((double)problem.kv_len);
    assert_true(fabs(o - (double)0.7f) <= BOUND_COHERENT * 2.12 * 0x1p-24 * 0.7);
    assert_true(fabs(lse - expected) <= BOUND_COHERENT * 2.12 * 0x1p-24 + 0x1p-23 * expected);
    assert_contract(&trial, 1);
  }
  trial_destroy(&trial);
}

/* Keys that are not visible cost nothing, however many there are. Keys far from position 0 give the same bits as
 * near it, at the same place within a span: two spans merge once. */
static void test_far_positions(void **state) {
  (void)state;
  const char *const *isas = whole_isas_for(NULL);
  const int64_t far = INT64_C(1) << 40;
  for (int isa = 0; isas[isa] != NULL; isa++)
    for (int64_t place = 0; place < 2048; place += 500) {
      fovea_problem problem;
      fovea_problem_init(&problem, 1, 2, 1, 40, 1, 8, 8);
      problem.k_strides.row = problem.v_strides.row = 0;
      problem.window_left = 300;
      problem.window_right = 10;
      struct trial there = trial_create(&problem, 3), here = trial_create(&problem, 3);
      there.problem.kv_len = here.problem.kv_len = far + 2 * 2048;
      there.problem.offset = far + place;
      here.problem.offset = 2048 + place;
      trial_run(&there, isas[isa], NULL);
      trial_run(&here, isas[isa], NULL);
      assert_same_outputs(&there, &here);
      trial_destroy(&there);
      trial_destroy(&here);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sink_first),
      cmocka_unit_test(test_sink_last),
      cmocka_unit_test(test_sink_in_the_middle),
      cmocka_unit_test(test_random_million),
      cmocka_unit_test(test_twenty_million_equal_keys),
      cmocka_unit_test(test_far_positions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

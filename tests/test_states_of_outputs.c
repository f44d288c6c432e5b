/* States that are made of O and LSE, as other libraries give them: as close to the formula as one run, and what rows
 * without keys give. */
#include "support/check.h"
#include "support/made_states.h"
#include "support/reference.h"

#include <math.h>

/* Makes a state of O and LSE over a range of keys, as another library gives them. */
static struct made from_output(struct trial *trial, int64_t begin, int64_t end) {
  struct made made = made_create(&trial->problem, begin, end);
  fovea_error error;
  trial->problem.keys.begin = begin;
  trial->problem.keys.end = end;
  trial_run(trial, NULL, NULL);
  fovea_tensors tensors = trial_tensors(trial);
  tensors.state = &made.state;
  expect_ok(fovea_state_from_output(&trial->problem, &tensors, NULL, &error), &error, &trial->problem);
  trial->problem.keys.begin = 0;
  trial->problem.keys.end = FOVEA_UNLIMITED;
  return made;
}

static void test_pairs(void **state) {
  (void)state;
  static const int64_t cuts[] = {0, 5000, 7000, 9000};
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 4, 2, 20, 9000, 32, 16);
  fovea_problem_resolve(&problem, NULL);
  problem.causal = 1; /* the first rows see nothing of the last range */
  problem.offset = 6990;
  struct trial trial = trial_create(&problem, 3);
  struct made sum = run_range(&trial, NULL, 1, 0, 5000); /* merges with states of runs */
  for (int i = 1; i < 3; i++) {
    struct made next = from_output(&trial, cuts[i], cuts[i + 1]), both = merge_states(&trial, NULL, &sum, &next);
    made_destroy(&sum);
    made_destroy(&next);
    sum = both;
  }
  finish_state(&trial, NULL, &sum);
  assert_accuracy(&trial, BOUND_RANDOM, 3000000);
  made_destroy(&sum);
  trial_destroy(&trial);
}

/* O and LSE of one row over a range, by the formula in float64: what any other library gives, except for rounding.
 */
static void formula_row(const struct trial *trial, int64_t head, int64_t row, int64_t begin, int64_t end) {
  const fovea_problem *problem = &trial->problem;
  const int64_t kv_head = head / (problem->heads / problem->kv_heads), dim = problem->v_dim;
  const float *q = tensor_row(&trial->q, 0, head, row);
  double sum = 0.0, out[16] = {0.0};
  for (int64_t key = begin; key < end; key++) {
    const float *k = tensor_row(&trial->k, 0, kv_head, key), *v = tensor_row(&trial->v, 0, kv_head, key);
    double score = 0.0;
    for (int64_t d = 0; d < problem->qk_dim; d++) score += (double)q[d] * (double)k[d];
    const double weight = exp(score * problem->scale);
    sum += weight;
    for (int64_t d = 0; d < dim; d++) out[d] += weight * (double)v[d];
  }
  for (int64_t d = 0; d < dim; d++) tensor_row(&trial->o, 0, head, row)[d] = (float)(out[d] / sum);
  tensor_row(&trial->lse, 0, head, row)[0] = (float)log(sum);
}

static void test_pairs_of_others(void **state) {
  (void)state;
  enum { KEYS = 3000, RANGE = 700 };
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 4, 2, 5, KEYS, 24, 16);
  fovea_problem_resolve(&problem, NULL);
  struct trial trial = trial_create(&problem, 7);
  struct made sum = made_create(&problem, 0, 0);
  for (int64_t begin = 0; begin < KEYS; begin += RANGE) {
    const int64_t end = begin + RANGE < KEYS ? begin + RANGE : KEYS;
    for (int64_t head = 0; head < problem.heads; head++) {
      for (int64_t row = 0; row < problem.q_len; row++) formula_row(&trial, head, row, begin, end);
    }
    struct made next = made_create(&problem, begin, end);
    fovea_tensors tensors = trial_tensors(&trial);
    tensors.state = &next.state;
    assert_int_equal(fovea_state_from_output(&problem, &tensors, NULL, NULL), FOVEA_OK);
    struct made both = merge_states(&trial, NULL, &sum, &next);
    made_destroy(&next);
    made_destroy(&sum);
    sum = both;
  }
  finish_state(&trial, NULL, &sum);
  assert_accuracy(&trial, BOUND_RANDOM, 3000000);
  made_destroy(&sum);
  trial_destroy(&trial);
}

/* One pair, computed by hand: weights 3 and 1 of values 2 and 10, then a sink of weight 4. */
static void test_pairs_by_hand(void **state) {
  (void)state;
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_state left, right, merged;
  float numbers[3][3], o[2] = {2.0f, 10.0f}, lse[2] = {logf(3.0f), 0.0f}, result[1], sum[1], sink = logf(4.0f);
  fovea_problem_init(&problem, 1, 1, 1, 1, 200, 8, 1);
  fovea_problem_resolve(&problem, NULL);
  fovea_tensors_init(&tensors, NULL, NULL, NULL, o, lse);
  fovea_state_init(&left, 1, 1, 1, 1, 0, 100, numbers[0]);
  fovea_state_init(&right, 1, 1, 1, 1, 100, 200, numbers[1]);
  fovea_state_init(&merged, 1, 1, 1, 1, 0, 200, numbers[2]);
  tensors.state = &left;
  assert_int_equal(fovea_state_from_output(&problem, &tensors, NULL, NULL), FOVEA_OK);
  fovea_tensors_init(&tensors, NULL, NULL, NULL, o + 1, lse + 1);
  tensors.state = &right;
  assert_int_equal(fovea_state_from_output(&problem, &tensors, NULL, NULL), FOVEA_OK);
  assert_int_equal(fovea_state_merge(&left, &right, &merged, NULL, NULL), FOVEA_OK);
  fovea_tensors_init(&tensors, NULL, NULL, NULL, result, sum);
  tensors.state = &merged;
  assert_int_equal(fovea_state_finish(&problem, &tensors, NULL, NULL), FOVEA_OK);
  assert_true(fabsf(result[0] - 4.0f) < 1e-6f && fabsf(sum[0] - logf(4.0f)) < 1e-6f);
  problem.sink = FOVEA_SINK_PER_HEAD;
  tensors.sink = &sink;
  assert_int_equal(fovea_state_finish(&problem, &tensors, NULL, NULL), FOVEA_OK);
  assert_true(fabsf(result[0] - 2.0f) < 1e-6f && fabsf(sum[0] - logf(8.0f)) < 1e-6f);
}

/* A row that saw nothing, whatever the other library wrote for it: with every LSE that means so, the state has the
 * bytes of an empty one. */
static void check_empty_pair(float empty_o, float empty_lse) {
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_state made;
  float o[2] = {empty_o, 7.0f}, lse[2] = {empty_lse, 1.0f}, numbers[2 * 2 * 3], result[2], sum[2];
  fovea_problem_init(&problem, 1, 1, 1, 2, 3 * FOVEA_SPAN_KEYS, 8, 1);
  fovea_problem_resolve(&problem, NULL);
  assert_int_equal(fovea_state_numbers(1, 0, 3 * FOVEA_SPAN_KEYS), 6); /* two nodes */
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) numbers[i] = NAN;
  fovea_state_init(&made, 1, 1, 2, 1, 0, 3 * FOVEA_SPAN_KEYS, numbers);
  fovea_tensors_init(&tensors, NULL, NULL, NULL, o, lse);
  tensors.state = &made;
  assert_int_equal(fovea_state_from_output(&problem, &tensors, NULL, NULL), FOVEA_OK);
  const float empty[6] = {0, -INFINITY, 0, 0, -INFINITY, 0};
  assert_memory_equal(numbers, empty, sizeof empty);
  fovea_tensors_init(&tensors, NULL, NULL, NULL, result, sum);
  tensors.state = &made;
  assert_int_equal(fovea_state_finish(&problem, &tensors, NULL, NULL), FOVEA_OK);
  assert_true(result[0] == 0.0f && sum[0] == -INFINITY && result[1] == 7.0f && fabsf(sum[1] - 1.0f) < 1e-6f);
}

/* FlashAttention-2 writes zeros and +Inf, others -Inf, and anything as O. */
static void test_empty_pairs(void **state) {
  (void)state;
  static const float any[] = {0.0f, 3.0f, NAN, INFINITY, -INFINITY};
  for (int i = 0; i < 5; i++) {
    check_empty_pair(any[i], -INFINITY);
    check_empty_pair(any[i], INFINITY);
  }
}

/* An empty row of FlashAttention-2 leaves the other state as it is, on either side; a NaN does not. */
static void test_empty_pairs_merge(void **state) {
  (void)state;
  static const float lses[3] = {INFINITY, -INFINITY, NAN};
  for (int i = 0; i < 6; i++) {
    const int side = i / 3, cut = FOVEA_SPAN_KEYS;
    float o[2] = {0}, lse[2], numbers[3][2 * 3], result, sum;
    fovea_problem problem;
    fovea_tensors tensors;
    fovea_state states[3];
    o[!side] = 7.0f;
    lse[!side] = 1.0f;
    lse[side] = lses[i % 3];
    fovea_problem_init(&problem, 1, 1, 1, 1, 2 * cut, 8, 1);
    for (int range = 0; range < 2; range++) {
      problem.keys.begin = range * cut;
      problem.keys.end = (range + 1) * cut;
      fovea_state_init(&states[range], 1, 1, 1, 1, range * cut, (range + 1) * cut, numbers[range]);
      fovea_tensors_init(&tensors, NULL, NULL, NULL, &o[range], &lse[range]);
      tensors.state = &states[range];
      assert_int_equal(fovea_state_from_output(&problem, &tensors, NULL, NULL), FOVEA_OK);
    }
    fovea_state_init(&states[2], 1, 1, 1, 1, 0, 2 * cut, numbers[2]);
    assert_int_equal(fovea_state_merge(&states[0], &states[1], &states[2], NULL, NULL), FOVEA_OK);
    problem.keys.begin = 0;
    fovea_tensors_init(&tensors, NULL, NULL, NULL, &result, &sum);
    tensors.state = &states[2];
    assert_int_equal(fovea_state_finish(&problem, &tensors, NULL, NULL), FOVEA_OK);
    if (i % 3 == 2)
      assert_true(isnan(result) && isnan(sum));
    else
      assert_true(result == 7.0f && fabsf(sum - 1.0f) < 1e-6f);
  }
}

/* A state of no keys has no numbers. None are written, whatever O and LSE are. */
static void test_no_keys(void **state) {
  (void)state;
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 2, 1, 3, 100, 8, 4);
  fovea_problem_resolve(&problem, NULL);
  struct trial trial = trial_create(&problem, 8);
  trial_run(&trial, NULL, NULL); /* LSE of rows that did see keys */
  fovea_tensors tensors = trial_tensors(&trial);
  struct made none = made_create(&problem, 50, 50);
  none.state.numbers = NULL;
  tensors.state = &none.state;
  assert_int_equal(fovea_state_from_output(&problem, &tensors, NULL, NULL), FOVEA_OK);
  finish_state(&trial, NULL, &none);
  for (int64_t row = 0; row < 3; row++) {
    assert_true(tensor_row(&trial.o, 0, 1, row)[3] == 0.0f && tensor_row(&trial.lse, 0, 1, row)[0] == -INFINITY);
  }
  made_destroy(&none);
  trial_destroy(&trial);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pairs),
      cmocka_unit_test(test_pairs_of_others),
      cmocka_unit_test(test_pairs_by_hand),
      cmocka_unit_test(test_empty_pairs),
      cmocka_unit_test(test_empty_pairs_merge),
      cmocka_unit_test(test_no_keys),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

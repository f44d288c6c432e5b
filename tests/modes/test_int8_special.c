/* int8 mode with rows that have no codes, zeros, rows of the smallest and of the largest numbers, ties of rounding,
 * and values of which some are far smaller than others: what docs/numerics.md says of them, and the bits of the
 * contract, on every instruction set. */
#include "changed.h"
#include "support/check.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const int scores_in_int8[] = {2, 5, 8, 0}, values_in_int8[] = {6, 7, 8, 0}, any_int8[] = {2, 5, 6, 7, 8, 0};

/* ---- Rows without codes -------------------------------------------------------------------------------------- */

static const float not_finite[] = {NAN, INFINITY, -INFINITY};

static void see_half(struct trial *trial) {
  trial->problem.causal = 1;
  trial->problem.offset = 100;
}

/* Row i sees the keys up to 100 + i. */
static void rows_from_20_are_nan(const struct trial *changed, const struct trial *clean) {
  const struct part start = {0, 0, 0};
  assert_same_part(changed, start, clean, start, 1, 1, 20);
  for (int64_t i = 20; i < ROWS; i++) assert_row_is_nan(changed, i);
}

static void spoil_seen_k(struct trial *trial, float number) {
  k_of(trial, 140)[DIM - 1] = number;
}
static void spoil_some_k(struct trial *trial, float number) {
  see_half(trial);
  k_of(trial, 120)[1] = k_of(trial, 131)[0] = number;
}

static void test_keys_without_codes(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    run_changed_in(scores_in_int8, spoil_seen_k, not_finite[i], all_rows_are_nan);
    run_changed_in(scores_in_int8, spoil_some_k, not_finite[i], rows_from_20_are_nan);
  }
}

/* One element takes the codes of all. */
static void spoil_seen_v(struct trial *trial, float number) {
  v_of(trial, 140)[6] = number;
}
static void spoil_some_v(struct trial *trial, float number) {
  see_half(trial);
  v_of(trial, 120)[6] = v_of(trial, 131)[6] = number;
}

static void test_values_without_codes(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    run_changed_in(values_in_int8, spoil_seen_v, not_finite[i], all_rows_are_nan);
    run_changed_in(values_in_int8, spoil_some_v, not_finite[i], rows_from_20_are_nan);
  }
}

/* ---- Small and large rows ------------------------------------------------------------------------------------ */

static void scale_row(float *row, float number) {
  for (int64_t d = 0; d < DIM; d++) row[d] = row[d] == 0 ? 0 : copysignf(number, row[d]);
}

/* Some rows of each tensor have this magnitude. Scores of such queries with such keys are made visible. */
static void set_magnitude(struct trial *trial, float number) {
  for (int64_t i = 0; i < ROWS; i += 3) scale_row(q_of(trial, i), number);
  for (int64_t j = 0; j < KEYS; j += 2) scale_row(k_of(trial, j), number);
  for (int64_t j = 0; j < KEYS; j += 3) scale_row(v_of(trial, j), number);
  trial->problem.scale = fmin(1e30, fmax(1e-30, 1 / (double)number));
}

static void test_magnitudes(void **state) {
  (void)state;
  static const float numbers[] = {FLT_MAX,  0x1p127f,        0x1p64f,   1e-20f,    0x1p-79f, 0x1.000002p-80f,
                                  0x1p-80f, 0x1.fffffep-81f, 0x1p-126f, 0x1p-149f, 0.0f};
  for (int i = 0; i < 11; i++) {
    const int two[] = {INT8_BOTH, any_int8[i % 4], 0}; /* the other modes take turns */
    run_changed_in(USUAL_OR_LONG(0, 1) ? any_int8 : two, set_magnitude, numbers[i], NULL);
  }
}

/* The outputs of both trials on every set. */
static void assert_same_everywhere(struct trial *one, struct trial *other) {
  const char *sets[MODE_SETS];
  const int count = mode_sets(sets);
  for (int i = 0; i < count; i++) {
    trial_run(one, sets[i], NULL);
    trial_run(other, sets[i], NULL);
    assert_same_outputs(one, other);
  }
}

static struct trial trial_in(int modes) {
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 1, 1, ROWS, KEYS, DIM, DIM);
  problem_set_modes(&problem, modes);
  return trial_create(&problem, 1);
}

/* Rows below 2^-80 are rows of zeros; at 2^-80 they are not. */
static void test_below_the_smallest(void **state) {
  (void)state;
  static const float numbers[] = {0x1.fffffep-81f, 0x1p-126f, 0x1p-149f};
  for (int i = 0; i < 3; i++) {
    struct trial small = trial_in(INT8_BOTH), zeros = trial_in(INT8_BOTH);
    small.problem.scale = zeros.problem.scale = 0x1p79;
    for (int64_t j = 0; j < KEYS; j += 2) {
      scale_row(k_of(&small, j), numbers[i]), scale_row(k_of(&zeros, j), 0);
      scale_row(v_of(&small, j), numbers[i]), scale_row(v_of(&zeros, j), -0.0f);
    }
    scale_row(q_of(&small, 3), numbers[i]), scale_row(q_of(&zeros, 3), 0);
    assert_same_everywhere(&small, &zeros);
    trial_destroy(&small);
    trial_destroy(&zeros);
  }
}

static void test_the_smallest(void **state) {
  (void)state;
  struct trial small = trial_in(INT8_BOTH);
  for (int64_t j = 0; j < KEYS; j++) {
    scale_row(v_of(&small, j), 0x1p-80f);
    v_of(&small, j)[1] = 0x1p-80f;
  }
  trial_run(&small, NULL, NULL);
  for (int64_t i = 0; i < ROWS; i++) assert_true(fabsf(tensor_row(&small.o, 0, 0, i)[1] - 0x1p-80f) < 0x1p-87f);
  trial_destroy(&small);
}

/* ---- Rounding ------------------------------------------------------------------------------------------------ */

/* A row whose step is 1, or another power of two, of integers and halves. */
static void fill_with_halves(float *row, int64_t number, float step) {
  for (int64_t d = 0; d < DIM; d++)
    row[d] = step * ((float)((number * 31 + d * 17) % 253 - 126) + (d % 2 ? 0.5f : 0.0f));
  row[number % DIM] = number % 2 ? 127 * step : -127 * step;
}

/* Halves go to the even neighbour. */
static void round_row(float *row, float step) {
  for (int64_t d = 0; d < DIM; d++) row[d] = step * rintf(row[d] / step);
}

static void test_ties(void **state) {
  (void)state;
  for (int i = 0; any_int8[i] != 0; i++) {
    struct trial halves = trial_in(any_int8[i]), rounded = trial_in(any_int8[i]);
    halves.problem.scale = rounded.problem.scale = 1e-4;
    for (int64_t j = 0; j < ROWS + 2 * KEYS; j++) {
      const int is_q = j < ROWS, is_k = !is_q && j < ROWS + KEYS;
      const float step = ldexpf(1, (int)(j % 5) - 2);
      struct trial *both[] = {&halves, &rounded};
      for (int t = 0; t < 2; t++) {
        float *row = is_q ? q_of(both[t], j) : is_k ? k_of(both[t], j - ROWS) : v_of(both[t], j - ROWS - KEYS);
        fill_with_halves(row, j, step);
        const fovea_mode mode = is_q || is_k ? halves.problem.modes.score : halves.problem.modes.value;
        if (t == 1 && mode == FOVEA_MODE_INT8) round_row(row, step);
      }
    }
    assert_same_everywhere(&halves, &rounded);
    assert_contract(&halves, 100000);
    trial_destroy(&halves);
    trial_destroy(&rounded);
  }
}

/* The products of a row with 127 / a are rounded, too: numbers beside halves, of any a. */
static void put_beside_halves(struct trial *trial, float number) {
  for (int64_t j = 0; j < KEYS; j++) {
    float *const rows[] = {q_of(trial, j % ROWS), k_of(trial, j), v_of(trial, j)};
    for (int r = 0; r < 3; r++)
      for (int64_t d = 0; d < DIM; d++) {
        const float a = number * (1 + (float)(j % 97) / 89), half = (float)((j * 7 + d * 13) % 127) + 0.5f;
        const float near = half * a / 127;
        rows[r][d] = d == j % DIM ? a : d % 3 == 0 ? near : nextafterf(near, d % 3 == 1 ? 0 : a);
        if ((j + d) % 2) rows[r][d] = -rows[r][d];
      }
  }
  trial->problem.scale = 1 / ((double)number * (double)number);
}

static void test_beside_ties(void **state) {
  (void)state;
  run_changed_in(any_int8, put_beside_halves, 1.0f, NULL);
  run_changed_in(any_int8, put_beside_halves, 0.37f, NULL);
  run_changed_in(any_int8, put_beside_halves, 1e-9f, NULL);
}

/* ---- Weights ------------------------------------------------------------------------------------------------- */

/* Scores so large that M is rounded by more than a weight's step: some weights would be above 255. */
static void make_scores_large(struct trial *trial, float number) {
  for (int64_t i = 0; i < ROWS; i++)
    for (int64_t d = 0; d < DIM; d++) q_of(trial, i)[d] = d == 0 ? 1 + (float)i / 64 : 0;
  for (int64_t j = 0; j < KEYS; j++)
    for (int64_t d = 0; d < DIM; d++) k_of(trial, j)[d] = d > 0 ? 0 : number + (float)(j % 3);
}

static void test_bound_of_weights(void **state) {
  (void)state;
  static const float numbers[] = {0x1p14f,   0x1p15f, 70000,    0x1.3p17f, 0x1p19f,
                                  0x1.7p20f, 0x1p22f, -0x1p17f, -0x1p20f};
  for (int i = 0; i < 9; i++) run_changed_in(values_in_int8, make_scores_large, numbers[i], NULL);
}

/* Weights at halves, and down to the smallest. */
static void spread_weights(struct trial *trial, float number) {
  for (int64_t i = 0; i < ROWS; i++)
    for (int64_t d = 0; d < DIM; d++) q_of(trial, i)[d] = d == 0;
  for (int64_t j = 0; j < KEYS; j++)
    for (int64_t d = 0; d < DIM; d++) {
      k_of(trial, j)[d] = d > 0 ? 0 : -number * (float)(j % BLOCK) / BLOCK;
      if (d > 0) v_of(trial, j)[d] = (float)(j % 2) - 0.5f;
    }
  trial->problem.scale = 0x1.62e42fefa39efp-1;
}

static void test_small_weights(void **state) {
  (void)state;
  run_changed_in(values_in_int8, spread_weights, 10.0f, NULL);
  run_changed_in(values_in_int8, spread_weights, 60.0f, NULL);
  run_changed_in(values_in_int8, spread_weights, 200.0f, NULL);
}

/* Values whose magnitudes go from 2^-110 to 2^110, in one block and across blocks. */
static void spread_values(struct trial *trial, float number) {
  for (int64_t j = 0; j < KEYS; j++)
    for (int64_t d = 0; d < DIM; d++)
      v_of(trial, j)[d] = ldexpf(v_of(trial, j)[d], (int)((j * 37) % (2 * (int)number + 1)) - (int)number);
}

static void test_spread_values(void **state) {
  (void)state;
  run_changed_in(values_in_int8, spread_values, 3, NULL);
  run_changed_in(values_in_int8, spread_values, 12, NULL);
  run_changed_in(values_in_int8, spread_values, 110, NULL);
}

/* A row that sees one key has its value, but for half a step of it and the error of a weight. */
static void test_each_value_alone(void **state) {
  (void)state;
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 1, 1, KEYS, KEYS, DIM, DIM);
  problem_set_modes(&problem, INT8_BOTH);
  problem.window_left = problem.window_right = 0;
  struct trial trial = trial_create(&problem, 1);
  spread_values(&trial, 70);
  const char *sets[MODE_SETS];
  const int count = mode_sets(sets);
  for (int i = 0; i < count; i++) {
    trial_run(&trial, sets[i], NULL);
    for (int64_t j = 0; j < KEYS; j++) {
      float a = 0;
      for (int64_t d = 0; d < DIM; d++) a = fmaxf(a, fabsf(v_of(&trial, j)[d]));
      for (int64_t d = 0; d < DIM; d++)
        assert_true(fabsf(tensor_row(&trial.o, 0, 0, j)[d] - v_of(&trial, j)[d]) <= a * (1.0f / 254 + 1.2e-4f));
    }
  }
  trial_destroy(&trial);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_keys_without_codes), cmocka_unit_test(test_values_without_codes),
      cmocka_unit_test(test_magnitudes),         cmocka_unit_test(test_below_the_smallest),
      cmocka_unit_test(test_the_smallest),       cmocka_unit_test(test_ties),
      cmocka_unit_test(test_beside_ties),        cmocka_unit_test(test_bound_of_weights),
      cmocka_unit_test(test_small_weights),      cmocka_unit_test(test_spread_values),
      cmocka_unit_test(test_each_value_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

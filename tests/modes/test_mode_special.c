/* Modes with NaN, infinities, zeros, and numbers at the ends of what bf16 holds: what docs/numerics.md says of
 * them, and the bits of the contract, on every instruction set and with AMX. test_int8_special.c has what only
 * codes know. */
#include "changed.h"
#include "support/check.h"
#include "support/execution.h"

#include <float.h>
#include <fovea/state.h>
#include <math.h>

static const struct part start = {0, 0, 0};

/* ---- Queries and keys ---------------------------------------------------------------------------------------- */

static void only_row_7_is_nan(const struct trial *changed, const struct trial *clean) {
  const struct part after = {0, 0, 8};
  assert_same_part(changed, start, clean, start, 1, 1, 7);
  assert_row_is_nan(changed, 7);
  assert_same_part(changed, after, clean, after, 1, 1, ROWS - 8);
}

static void change_q(struct trial *trial, float number) {
  q_of(trial, 7)[DIM - 1] = number;
}

/* Infinities meet keys of either sign, so that some score is +Inf. */
static void test_q(void **state) {
  (void)state;
  run_changed(change_q, NAN, only_row_7_is_nan);
  run_changed(change_q, from_bits(0xff800123), only_row_7_is_nan);
  run_changed(change_q, from_bits(0x7fffffff), only_row_7_is_nan); /* adding to its bits does not leave a NaN */
  run_changed(change_q, INFINITY, only_row_7_is_nan);
  run_changed(change_q, -INFINITY, only_row_7_is_nan);
}

/* The same in states, whose outputs no NaN of a sum of weights has spoilt yet: all numbers are NaN, but for m. */
static void check_state(struct trial *trial, int64_t rows, const char *set) {
  enum { NUMBERS = DIM + 2 };
  float numbers[ROWS * NUMBERS];
  fovea_problem problem = trial->problem;
  fovea_tensors tensors = trial_tensors(trial);
  fovea_state state;
  fovea_error error;
  assert_int_equal(fovea_state_numbers(DIM, 0, KEYS), NUMBERS);
  fovea_state_init(&state, 1, 1, rows, DIM, 0, KEYS, numbers);
  tensors.o = NULL;
  tensors.lse = NULL;
  tensors.state = &state;
  problem.q_len = rows;
  problem.state = 1;
  if (fovea_attend(&problem, &tensors, on_isa(set), &error) != FOVEA_OK) fail_msg("%s", error.text);
  for (int64_t row = 0; row < rows; row++) {
    int lost = 0;
    for (int i = 0; i < NUMBERS; i++) lost += bits_of(numbers[row * NUMBERS + i]) == 0x7fc00000u;
    assert_int_equal(lost, row == 7 ? DIM + 1 : 0);
  }
}

static void test_states_of_q(void **state) {
  (void)state;
  const float spoilt[] = {NAN, from_bits(0x7fffffff), INFINITY};
  for (int modes = 1; modes < MODE_PAIRS; modes++) {
    const char *sets[MODE_SETS];
    fovea_problem problem;
    fovea_problem_init(&problem, 1, 1, 1, ROWS, KEYS, DIM, DIM);
    fovea_problem_resolve(&problem, NULL);
    problem_set_modes(&problem, modes);
    struct trial trial = trial_create(&problem, 1);
    const int count = mode_sets_for(&problem, sets);
    for (int i = 0; i < 3 * count; i++) {
      q_of(&trial, 7)[DIM - 1] = spoilt[i % 3];
      check_state(&trial, 8, sets[i / 3]);
      check_state(&trial, ROWS, sets[i / 3]);
    }
    trial_destroy(&trial);
  }
}

static void change_k(struct trial *trial, float number) {
  for (int64_t i = 0; i < ROWS; i++) q_of(trial, i)[3] = 1;
  k_of(trial, 150)[3] = number;
}

static void test_seen_k(void **state) {
  (void)state;
  run_changed(change_k, from_bits(0x7f800001), all_rows_are_nan);
  run_changed(change_k, INFINITY, all_rows_are_nan);
}

/* Numbers that bf16 rounds to infinity, and the largest that it does not. */
static void test_overflow_in_scores(void **state) {
  (void)state;
  run_changed(change_k, from_bits(0x7f7f7fff), NULL);
  run_changed(change_k, from_bits(0x7f7f8000), NULL);
  run_changed(change_k, -FLT_MAX, NULL);
  run_changed(change_q, FLT_MAX, NULL);
}

static void change_scale(struct trial *trial, float number) {
  trial->problem.scale = (double)number;
}

static void test_scales(void **state) {
  (void)state;
  static const float scales[] = {1e-40f, 0.0f, -1.0f, -0.0f, -1e37f, 100.0f, 1e30f};
  for (int i = 0; i < 7; i += USUAL_OR_LONG(2, 1)) run_changed(change_scale, scales[i], NULL);
}

/* Below 2^-56 bf16 knows only +0. Half of the last place under it is rounded first. */
static void change_small(struct trial *trial, float number) {
  for (int64_t i = 0; i < ROWS; i++) q_of(trial, i)[i % DIM] = i % 2 ? number : -number;
  for (int64_t j = 0; j < KEYS; j++) {
    k_of(trial, j)[j % DIM] = j % 3 ? number : -number;
    for (int64_t d = 0; d < DIM; d++) v_of(trial, j)[d] = (j + d) % 3 ? number : d % 2 ? -number : 0;
  }
}

static void test_small_numbers(void **state) {
  (void)state;
  static const uint32_t numbers[] = {0x237f8000, 0x23800000, 0x237fffff, 0x237f7fff, 0x23808001,
                                     0x23000000, 0x007fffff, 0x00800000, 0x80000000, 0x00000001};
  for (int i = 0; i < 10; i += USUAL_OR_LONG(3, 1)) run_changed(change_small, from_bits(numbers[i]), NULL);
}

/* Numbers that bf16 rounds, ties among them, on both sides of 2^110, where the way may change. */
static void change_large(struct trial *trial, float number) {
  k_of(trial, 9)[3] = number;
  for (int64_t j = 0; j < KEYS; j++) v_of(trial, j)[j % DIM] = j % 2 ? number : -number;
}

static void test_large_numbers(void **state) {
  (void)state;
  static const float numbers[] = {0x1.01p109f,     0x1.03p109f, 0x1.fefffep109f, 0x1.01p110f,
                                  0x1.fefffep111f, 0x1.ffp112f, 0x1.010002p125f};
  for (int i = 0; i < 7; i += USUAL_OR_LONG(3, 1)) run_changed(change_large, numbers[i], NULL);
}

static void make_products_small(struct trial *trial, float number) {
  for (int64_t i = 0; i < KEYS * DIM; i++) trial->k.data[i] *= number;
  for (int64_t i = 0; i < ROWS * DIM; i++) trial->q.data[i] *= number;
  trial->problem.scale = 1 / ((double)number * (double)number);
}

static void test_small_products(void **state) {
  (void)state;
  run_changed(make_products_small, 0x1p-30f, NULL);
  run_changed(make_products_small, 0x1p-50f, NULL); /* some numbers are below 2^-56 */
}

/* ---- Scores of -Inf ------------------------------------------------------------------------------------------ */

static void hide_by_score(struct trial *trial, int64_t first, int64_t end, float value) {
  for (int64_t i = 0; i < ROWS; i++) q_of(trial, i)[DIM - 1] = 1;
  for (int64_t key = first; key < end && key < KEYS; key++) {
    k_of(trial, key)[DIM - 1] = -INFINITY;
    v_of(trial, key)[4] = value;
  }
}

/* Blocks without state are passed over, values and all. */
static void hide_first_block(struct trial *trial, float value) {
  hide_by_score(trial, 0, BLOCK, value);
}
static void hide_middle_block(struct trial *trial, float value) {
  hide_by_score(trial, BLOCK, 2 * BLOCK, value);
}
static void hide_last_block(struct trial *trial, float value) {
  hide_by_score(trial, 2 * BLOCK, KEYS, value);
}
static void hide_most(struct trial *trial, float value) {
  hide_by_score(trial, 0, KEYS - 1, value);
}
static void hide_all(struct trial *trial, float value) {
  hide_by_score(trial, 0, KEYS, value);
}

/* A key that is not finite has no codes. */
static void all_rows_are_empty(const struct trial *changed, const struct trial *clean) {
  (void)clean;
  if (changed->problem.modes.score == FOVEA_MODE_INT8) return;
  for (int64_t i = 0; i < ROWS; i++) {
    for (int64_t d = 0; d < DIM; d++) assert_int_equal(o_bits(changed, i, d), 0);
    assert_int_equal(lse_bits(changed, i), bits_of(-INFINITY));
  }
}

static void test_minus_infinity(void **state) {
  (void)state;
  static const float values[] = {NAN, 1, INFINITY};
  static change *const hide[] = {hide_first_block, hide_middle_block, hide_last_block, hide_most};
  for (int i = 0; i < 3; i++) {
    /* A NaN that is not passed over shows everywhere. The others take turns. */
    for (int j = 0; j < 4; j++)
      if (i == 0 || j % 2 == i - 1 || USUAL_OR_LONG(0, 1)) run_changed(hide[j], values[i], NULL);
    if (i < 2 || USUAL_OR_LONG(0, 1)) run_changed(hide_all, values[i], all_rows_are_empty);
  }
}

static void hide_all_but_nan(struct trial *trial, float number) {
  hide_all(trial, number);
  k_of(trial, 200)[0] = NAN;
}

static void test_nan_among_minus_infinity(void **state) {
  (void)state;
  run_changed(hide_all_but_nan, 1, all_rows_are_nan);
}

/* ---- Values -------------------------------------------------------------------------------------------------- */

/* An element of a value changes all codes of its row. */
static void only_column_6_differs(const struct trial *changed, const struct trial *clean) {
  if (changed->problem.modes.value == FOVEA_MODE_INT8) return;
  for (int64_t i = 0; i < ROWS; i++) {
    for (int64_t d = 0; d < DIM; d++)
      if (d != 6) assert_int_equal(o_bits(changed, i, d), o_bits(clean, i, d));
    assert_int_equal(lse_bits(changed, i), lse_bits(clean, i));
  }
}

static void change_v(struct trial *trial, float number) {
  v_of(trial, 140)[6] = number;
}
static void change_two_v(struct trial *trial, float number) {
  v_of(trial, 10)[6] = number;
  v_of(trial, KEYS - 1)[6] = -number;
}

static void test_seen_v(void **state) {
  (void)state;
  static const uint32_t numbers[] = {0x7fc00000, 0xff800001, 0xff800000, 0x7f800000,
                                     0x7f7f8000, 0x7f7fffff, 0x7f7f7fff, 0x80000000};
  for (int i = 0; i < 8; i += USUAL_OR_LONG(2, 1)) {
    run_changed(change_v, from_bits(numbers[i]), only_column_6_differs);
    if (i % 4 > 0 || USUAL_OR_LONG(0, 1)) run_changed(change_two_v, from_bits(numbers[i]), only_column_6_differs);
  }
}

/* Finite sums overflow beside an infinity of the other sign: in a chain, and where two blocks merge. The chain has
 * the infinity first, so that stays. */
static void overflow_in_chain(struct trial *trial, float number) {
  for (int64_t i = 0; i < ROWS; i++)
    for (int64_t d = 0; d < DIM; d++) q_of(trial, i)[d] = 0;
  v_of(trial, 0)[6] = number;
  v_of(trial, 2)[6] = v_of(trial, 4)[6] = number > 0 ? -3e38f : 3e38f;
}
static void overflow_in_merge(struct trial *trial, float number) {
  overflow_in_chain(trial, 0);
  v_of(trial, 2)[6] = v_of(trial, 4)[6] = 0;
  v_of(trial, 0)[6] = v_of(trial, BLOCK)[6] = number > 0 ? -2e38f : 2e38f;
  v_of(trial, BLOCK + 2)[6] = number;
}

static void test_overflow_beside_infinity(void **state) {
  (void)state;
  for (int sign = -1; sign <= 1; sign += 2) {
    run_changed(overflow_in_chain, (float)sign * INFINITY, NULL);
    run_changed(overflow_in_merge, (float)sign * INFINITY, NULL);
  }
}

/* Weights around 2^-56, below which there is none, beside one of 1. */
static void spread_scores(struct trial *trial, float number) {
  for (int64_t i = 0; i < ROWS; i++)
    for (int64_t d = 0; d < DIM; d++) q_of(trial, i)[d] = d == 0;
  for (int64_t j = 0; j < KEYS; j++)
    for (int64_t d = 0; d < DIM; d++) k_of(trial, j)[d] = d > 0 || j == 150 ? 0 : -number - (float)(j % 40) / 16;
  for (int64_t d = 0; d < DIM; d++) v_of(trial, 150)[d] = d % 2 ? 0 : 1;
  trial->problem.scale = 0x1.62e42fefa39efp-1;
}

static void test_small_weights(void **state) {
  (void)state;
  run_changed(spread_scores, 54.5f, NULL);
  run_changed(spread_scores, 125.0f, NULL);
  run_changed(spread_scores, 5e5f, NULL);
}

/* ---- What no row, or not every row, sees --------------------------------------------------------------------- */

static void see_half(struct trial *trial) {
  trial->problem.causal = 1;
  trial->problem.offset = 100; /* rows see keys of one block or of two */
}
static void hide_end(struct trial *trial, float number) {
  see_half(trial);
  for (int64_t key = 140; key < KEYS; key++) {
    for (int64_t d = 0; d < DIM; d++) k_of(trial, key)[d] = v_of(trial, key)[d] = number;
  }
}
static void hide_some_k(struct trial *trial, float number) {
  see_half(trial);
  k_of(trial, 120)[1] = k_of(trial, 131)[0] = number;
}
static void hide_some_v(struct trial *trial, float number) {
  see_half(trial);
  v_of(trial, 120)[6] = v_of(trial, 131)[6] = number;
}

static void rows_before_key_120_are_clean(const struct trial *changed, const struct trial *clean) {
  assert_same_part(changed, start, clean, start, 1, 1, 20);
}

static void test_unseen(void **state) {
  (void)state;
  static const float numbers[] = {NAN, -INFINITY, FLT_MAX, INFINITY};
  for (int i = 0; i < 4; i += USUAL_OR_LONG(3, 1)) {
    run_changed(hide_end, numbers[i], nothing_differs);
    run_changed(hide_some_k, numbers[i], rows_before_key_120_are_clean);
  }
}

/* Values of a block that some rows see, and others do not. */
static void test_partly_unseen_v(void **state) {
  (void)state;
  static const float numbers[] = {NAN, -INFINITY, FLT_MAX, INFINITY};
  for (int i = 0; i < 4; i += USUAL_OR_LONG(3, 1)) {
    run_changed(hide_some_v, numbers[i], rows_before_key_120_are_clean);
    run_changed(hide_some_v, numbers[i], only_column_6_differs);
  }
}

/* Rows that see nothing, among rows that see something. */
static void see_little(struct trial *trial, float number) {
  trial->problem.window_left = trial->problem.window_right = 1;
  trial->problem.offset = KEYS - 20;
  for (int64_t key = 0; key < KEYS - 30; key++) v_of(trial, key)[6] = number;
}

static void last_rows_are_empty(const struct trial *changed, const struct trial *clean) {
  nothing_differs(changed, clean);
  for (int64_t i = 22; i < ROWS; i++) {
    for (int64_t d = 0; d < DIM; d++) assert_int_equal(o_bits(changed, i, d), 0);
    assert_int_equal(lse_bits(changed, i), bits_of(-INFINITY));
  }
}

static void test_rows_without_keys(void **state) {
  (void)state;
  run_changed(see_little, 1, last_rows_are_empty);
  run_changed(see_little, NAN, last_rows_are_empty);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_q),
      cmocka_unit_test(test_states_of_q),
      cmocka_unit_test(test_seen_k),
      cmocka_unit_test(test_overflow_in_scores),
      cmocka_unit_test(test_scales),
      cmocka_unit_test(test_small_numbers),
      cmocka_unit_test(test_large_numbers),
      cmocka_unit_test(test_small_products),
      cmocka_unit_test(test_minus_infinity),
      cmocka_unit_test(test_nan_among_minus_infinity),
      cmocka_unit_test(test_seen_v),
      cmocka_unit_test(test_overflow_beside_infinity),
      cmocka_unit_test(test_small_weights),
      cmocka_unit_test(test_unseen),
      cmocka_unit_test(test_partly_unseen_v),
      cmocka_unit_test(test_rows_without_keys),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

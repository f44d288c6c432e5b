#include "changed.h"

#include "support/check.h"
#include "support/execution.h"

#include <stdlib.h>
#include <string.h>

float *q_of(struct trial *trial, int64_t row) {
  return tensor_row(&trial->q, 0, 0, row);
}
float *k_of(struct trial *trial, int64_t key) {
  return tensor_row(&trial->k, 0, 0, key);
}
float *v_of(struct trial *trial, int64_t key) {
  return tensor_row(&trial->v, 0, 0, key);
}
uint32_t o_bits(const struct trial *trial, int64_t row, int64_t d) {
  return bits_of(tensor_row(&trial->o, 0, 0, row)[d]);
}
uint32_t lse_bits(const struct trial *trial, int64_t row) {
  return bits_of(*tensor_row(&trial->lse, 0, 0, row));
}

/* K and V hold what their type can. */
static void round_rows(struct trial *trial) {
  for (int64_t i = 0; i < KEYS * DIM; i++) {
    trial->k.data[i] = rounded_number(trial->problem.k_type, trial->k.data[i]);
    trial->v.data[i] = rounded_number(trial->problem.v_type, trial->v.data[i]);
  }
}

static void compare_with_clean(const struct trial *changed, comparison *check, const char *set) {
  struct trial clean = trial_create(&changed->problem, 1);
  trial_run(&clean, set, NULL);
  check(changed, &clean);
  trial_destroy(&clean);
}

/* A few rows at a time: such tiles are decoded, or have keys and dims in their lanes. */
static void run_few_rows(struct trial *trial, const char *set) {
  const int64_t offset = problem_entry(&trial->problem, 0).offset;
  static const int64_t counts[] = {1, 2, 4, 8};
  enum { RUNS = sizeof counts / sizeof *counts };
  for (int64_t row = 0, i = 0, count; i < RUNS; row += count, i++) {
    count = counts[i];
    fovea_problem problem = trial->problem;
    fovea_tensors tensors = trial_tensors(trial);
    fovea_error error;
    problem.q_len = count;
    problem.offset = offset + row;
    tensors.q = (const float *)tensors.q + row * problem.q_strides.row;
    tensors.o = (float *)tensors.o + row * problem.o_strides.row;
    tensors.lse += row * problem.lse_strides.row;
    memset(tensors.o, 0x5a, (size_t)(count * problem.o_strides.row) * sizeof(float)); /* what a run before left */
    if (fovea_attend(&problem, &tensors, on_isa(set), &error) != FOVEA_OK) fail_msg("%s", error.text);
  }
  trial_load(trial);
}

/* The contract's bits on one set; the others have the same. */
static void run_changed_as(int modes, fovea_type type, change *change_it, float number, comparison *check) {
  const char *sets[MODE_SETS];
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 1, 1, ROWS, KEYS, DIM, DIM);
  fovea_problem_resolve(&problem, NULL);
  problem_set_modes(&problem, modes);
  problem.k_type = problem.v_type = type;
  struct trial first = trial_create(&problem, 1);
  change_it(&first, number);
  if (type != FOVEA_F32) round_rows(&first);
  struct trial changed = trial_sharing_inputs(&first);
  const int count = mode_sets_for(&first.problem, sets);
  trial_run(&first, sets[0], NULL);
  assert_contract(&first, USUAL_OR_LONG(30000, 100000));
  for (int i = 0; i < count; i++) {
    trial_run(&changed, sets[i], NULL);
    assert_same_outputs(&changed, &first);
    if (check != NULL) compare_with_clean(&changed, check, sets[i]);
    if (type != FOVEA_F32 || changed.problem.mask.type != FOVEA_MASK_NONE) continue;
    run_few_rows(&changed, sets[i]);
    assert_same_outputs(&changed, &first);
  }
  trial_destroy(&changed);
  trial_destroy(&first);
}

/* Where programs are slow, each call takes one pair in four, and the next call others: elsewhere all pairs meet all numbers. */
void run_changed_in(const int *modes, change *change_it, float number, comparison *check) {
  static int calls = 0;
  const int step = USUAL_OR_SLOW(1, 4);
  calls++;
  for (int i = 0; modes[i] != 0; i++) {
    if ((i + calls) % step != 0) continue;
    run_changed_as(modes[i], FOVEA_F32, change_it, number, check);
    if (i % USUAL_OR_LONG(2, 1) == 0) run_changed_as(modes[i], FOVEA_BF16, change_it, number, NULL);
  }
}

void run_changed(change *change_it, float number, comparison *check) {
  static const int every[MODE_PAIRS] = {1, 2, 3, 4, 5, 6, 7, 8, 0};
  run_changed_in(every, change_it, number, check);
}

void assert_row_is_nan(const struct trial *trial, int64_t row) {
  const uint32_t quiet_nan = 0x7fc00000;
  for (int64_t d = 0; d < DIM; d++) assert_int_equal(o_bits(trial, row, d), quiet_nan);
  assert_int_equal(lse_bits(trial, row), quiet_nan);
}

void all_rows_are_nan(const struct trial *changed, const struct trial *clean) {
  (void)clean;
  for (int64_t i = 0; i < ROWS; i++) assert_row_is_nan(changed, i);
}

void nothing_differs(const struct trial *changed, const struct trial *clean) {
  assert_same_outputs(changed, clean);
}

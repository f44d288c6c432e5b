#include "changed.h"

#include "support/check.h"

static struct trial plain_trial(int modes) {
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 1, 1, ROWS, KEYS, DIM, DIM);
  problem_set_modes(&problem, modes);
  return trial_create(&problem, 1);
}

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

/* The contract's bits on one set; the others have the same. */
void run_changed_in(const int *modes, change *change_it, float number, comparison *check) {
  const char *sets[MODE_SETS];
  const int count = mode_sets(sets);
  for (; *modes != 0; modes++) {
    struct trial clean = plain_trial(*modes), first = plain_trial(*modes);
    change_it(&first, number);
    clean.problem = first.problem;
    struct trial changed = trial_sharing_inputs(&first);
    trial_run(&first, sets[0], NULL);
    assert_contract(&first, IF_QUICK(30000, 100000));
    for (int i = 0; i < count; i++) {
      trial_run(&changed, sets[i], NULL);
      assert_same_outputs(&changed, &first);
      if (check == NULL) continue;
      trial_run(&clean, sets[i], NULL);
      check(&changed, &clean);
    }
    trial_destroy(&changed);
    trial_destroy(&first);
    trial_destroy(&clean);
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

/* New rows of packed batches, appended and rotated, give what one call for each batch element gives. Plans in the
 * caller's memory give what allocated plans give. */
#include "support/check.h"
#include "support/error_says.h"
#include "support/generator.h"
#include "support/guarded.h"
#include "support/problems.h"
#include "support/trial.h"

#include <fovea/cache.h>
#include <fovea/fovea.h>
#include <fovea/rotary.h>

#include <string.h>

enum { ENTRIES = 4, ROWS = 24, HEADS = 2, QK_DIM = 12, V_DIM = 7, CAPACITY = 64 };

static float k[HEADS][ROWS][QK_DIM], v[HEADS][ROWS][V_DIM];
static float k_cache[2][ENTRIES][HEADS][CAPACITY][QK_DIM], v_cache[2][ENTRIES][HEADS][CAPACITY][V_DIM];
static fovea_segment segments[2][ENTRIES];
static fovea_sequence sequences[2][ENTRIES];

static void fill(void *numbers, size_t size, struct generator *generator) {
  for (size_t i = 0; i < size / sizeof(float); i++) ((float *)numbers)[i] = generator_uniform(generator);
}

static void set_up_caches(struct generator *generator) {
  memset(k_cache, 0, sizeof k_cache);
  memset(v_cache, 0, sizeof v_cache);
  fill(k, sizeof k, generator);
  fill(v, sizeof v, generator);
  for (int side = 0; side < 2; side++)
    for (int b = 0; b < ENTRIES; b++) {
      segments[side][b] = (fovea_segment){.rows = CAPACITY,
                                          .k = k_cache[side][b],
                                          .v = v_cache[side][b],
                                          .k_head = CAPACITY * QK_DIM,
                                          .k_row = QK_DIM,
                                          .v_head = CAPACITY * V_DIM,
                                          .v_row = V_DIM};
      sequences[side][b] = fovea_sequence_of(&segments[side][b], 1);
    }
}

/* Random lengths, some of them 0, whose sum is at most ROWS, and first positions. */
static void random_lengths(int32_t cumulative[ENTRIES + 1], int64_t firsts[ENTRIES], struct generator *generator) {
  cumulative[0] = (int32_t)generator_below(generator, 3);
  for (int b = 0; b < ENTRIES; b++) {
    const int64_t left = ROWS - cumulative[b];
    cumulative[b + 1] = cumulative[b] + (int32_t)generator_below(generator, left < 8 ? left + 1 : 8);
    firsts[b] = generator_below(generator, CAPACITY - 8);
  }
}

static void test_append(void **state) {
  (void)state;
  struct generator generator = {1};
  for (int round = 0; round < 100; round++) {
    int32_t cumulative[ENTRIES + 1];
    int64_t firsts[ENTRIES];
    fovea_new_rows rows;
    fovea_rotary rotary;
    fovea_error error;
    set_up_caches(&generator);
    random_lengths(cumulative, firsts, &generator);
    fovea_rotary_init(&rotary, FOVEA_ROTARY_HALVES, 8);
    fovea_new_rows_init(&rows, ENTRIES, HEADS, ROWS, QK_DIM, V_DIM, k, v, sequences[0]);
    rows.cu_seqlens = cumulative;
    rows.first_positions = firsts;
    if (fovea_append(&rows, round % 2 ? &rotary : NULL, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
    for (int b = 0; b < ENTRIES; b++) {
      const int64_t count = cumulative[b + 1] - cumulative[b];
      if (count == 0) continue;
      fovea_new_rows_init(&rows, 1, HEADS, count, QK_DIM, V_DIM, k[0][cumulative[b]], v[0][cumulative[b]],
                          &sequences[1][b]);
      rows.k_strides.head = ROWS * QK_DIM;
      rows.v_strides.head = ROWS * V_DIM;
      rows.first_position = firsts[b];
      if (fovea_append(&rows, round % 2 ? &rotary : NULL, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
    }
    assert_memory_equal(k_cache[0], k_cache[1], sizeof k_cache[0]);
    assert_memory_equal(v_cache[0], v_cache[1], sizeof v_cache[0]);
  }
}

static void test_refused_rows(void **state) {
  (void)state;
  struct generator generator = {2};
  int32_t cumulative[ENTRIES + 1] = {0, 3, 3, 9, 20};
  const int64_t counts[ENTRIES] = {1, 1, 1, 1};
  fovea_new_rows rows;
  fovea_error error;
  set_up_caches(&generator);
  fovea_new_rows_init(&rows, ENTRIES, HEADS, ROWS, QK_DIM, V_DIM, k, v, sequences[0]);
  rows.cu_seqlens = cumulative;
  rows.row_lens = counts;
  assert_int_equal(fovea_append(&rows, NULL, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_string_equal(error.text, "cu_seqlens is given together with row_lens; one of them must be NULL");
  rows.row_lens = NULL;
  cumulative[2] = 2;
  assert_int_equal(fovea_append(&rows, NULL, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_string_equal(error.text, "cu_seqlens[2] is 2; it must not be less than the one before, 3");
  cumulative[2] = 3;
  cumulative[4] = ROWS + 1;
  assert_int_equal(fovea_append(&rows, NULL, NULL, &error), FOVEA_ERROR_ARGUMENT);
  cumulative[4] = ROWS;
  rows.layer = 1;
  assert_int_equal(fovea_append(&rows, NULL, NULL, &error), FOVEA_ERROR_ARGUMENT);
  rows.layer = -1;
  assert_int_equal(fovea_append(&rows, NULL, NULL, &error), FOVEA_ERROR_ARGUMENT);
  rows.layer = 0;
  rows.k = k_cache[0][2][0]; /* batch element 2 writes there */
  assert_int_equal(fovea_append(&rows, NULL, NULL, &error), FOVEA_ERROR_ARGUMENT);
  rows.k = k_cache[0][1][0]; /* batch element 1 has no rows, and batch element 0 reads none there */
  assert_int_equal(fovea_append(&rows, NULL, NULL, &error), FOVEA_OK);
}

static void test_rotation(void **state) {
  (void)state;
  struct generator generator = {3};
  static float from[HEADS][ROWS][QK_DIM], to[HEADS][ROWS][QK_DIM], expected[HEADS][ROWS][QK_DIM];
  for (int round = 0; round < 100; round++) {
    int32_t cumulative[ENTRIES + 1];
    int64_t firsts[ENTRIES], positions[ROWS];
    fovea_rotary rotary;
    fovea_rotation rotation;
    fovea_error error;
    fill(from, sizeof from, &generator);
    random_lengths(cumulative, firsts, &generator);
    for (int i = 0; i < ROWS; i++) positions[i] = generator_below(&generator, 1000) - 500;
    memset(to, 0, sizeof to);
    memset(expected, 0, sizeof expected);
    fovea_rotary_init(&rotary, FOVEA_ROTARY_INTERLEAVED, 10);
    fovea_rotation_init(&rotation, ENTRIES, HEADS, ROWS, QK_DIM, from, to);
    rotation.cu_seqlens = cumulative;
    if (round % 3 == 0) rotation.first_positions = firsts;
    if (round % 3 == 1) rotation.positions = positions;
    if (round % 3 == 2) rotation.first_position = 77;
    if (fovea_rotary_apply(&rotary, &rotation, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
    for (int b = 0; b < ENTRIES; b++) {
      const int64_t first = cumulative[b], count = cumulative[b + 1] - first;
      if (count == 0) continue;
      fovea_rotation_init(&rotation, 1, HEADS, count, QK_DIM, from[0][first], expected[0][first]);
      rotation.from_strides.head = rotation.to_strides.head = ROWS * QK_DIM;
      if (round % 3 == 0) rotation.first_position = firsts[b];
      if (round % 3 == 1) rotation.positions = positions + first;
      if (round % 3 == 2) rotation.first_position = 77;
      if (fovea_rotary_apply(&rotary, &rotation, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
    }
    assert_memory_equal(to, expected, sizeof to);
  }
  int32_t cumulative[2] = {0, ROWS + 1};
  fovea_rotary rotary;
  fovea_rotation rotation;
  fovea_rotary_init(&rotary, FOVEA_ROTARY_INTERLEAVED, 10);
  fovea_rotation_init(&rotation, 1, HEADS, ROWS, QK_DIM, from, to);
  rotation.cu_seqlens = cumulative;
  assert_int_equal(fovea_rotary_apply(&rotary, &rotation, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  cumulative[1] = ROWS;
  rotation.cu_seqlens = (const int32_t *)(const void *)to;
  memset(to, 0, sizeof to);
  assert_int_equal(fovea_rotary_apply(&rotary, &rotation, NULL, NULL), FOVEA_ERROR_ARGUMENT);
}

/* The plan of each step is made in the same memory, which has exactly the stated size. */
static void test_plans_in_memory(void **state) {
  (void)state;
  const int64_t batch = 3;
  const size_t size = fovea_plan_size(batch);
  struct guarded memory = guarded_create((size + 63) / 64 * 64, GUARD_AT_START);
  assert_true(size > 0);
  for (int64_t length = 1; length < 200; length += 37) {
    fovea_problem problem;
    fovea_plan *plan;
    fovea_error error;
    fovea_problem_init(&problem, batch, 4, 2, 5, length, 16, 12);
    problem.causal = 1;
    problem_say_offset(&problem);
    struct trial trial = trial_create(&problem, (uint64_t)length),
                 expected = trial_create(&problem, (uint64_t)length);
    trial_run(&expected, NULL, NULL);
    if (fovea_plan_create_in(&problem, NULL, memory.data, size, &plan, &error) != FOVEA_OK)
      fail_msg("%s", error.text);
    assert_ptr_equal(plan, memory.data);
    const fovea_tensors tensors = trial_tensors(&trial);
    if (fovea_plan_run(plan, &tensors, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
    assert_same_outputs(&trial, &expected);
    fovea_plan_destroy(plan); /* does nothing */
    assert_int_equal(fovea_plan_run(plan, &tensors, NULL, &error), FOVEA_OK);
    trial_destroy(&trial);
    trial_destroy(&expected);
  }
  assert_true(guarded_slack_intact(&memory));
  guarded_destroy(&memory);
}

static void test_refused_memory(void **state) {
  (void)state;
  _Alignas(64) static unsigned char memory[1 << 16];
  fovea_problem problem;
  fovea_plan *plan = (fovea_plan *)(void *)memory;
  fovea_error error;
  fovea_problem_init(&problem, 2, 4, 2, 5, 50, 16, 12);
  assert_int_equal(fovea_plan_create_in(&problem, NULL, NULL, sizeof memory, &plan, &error), FOVEA_ERROR_ARGUMENT);
  assert_null(plan);
  assert_int_equal(fovea_plan_create_in(&problem, NULL, memory + 8, sizeof memory - 8, &plan, &error),
                   FOVEA_ERROR_SPACE);
  assert_int_equal(fovea_plan_create_in(&problem, NULL, memory, fovea_plan_size(2) - 1, &plan, &error),
                   FOVEA_ERROR_SPACE);
  assert_error_says(&error, "size: the plan needs");
  assert_int_equal(fovea_plan_create_in(&problem, NULL, memory, sizeof memory, NULL, &error), FOVEA_ERROR_ARGUMENT);
  problem.heads = 3;
  assert_int_equal(fovea_plan_create_in(&problem, NULL, memory, sizeof memory, &plan, &error),
                   FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_plan_size(0), 0);
  assert_true(fovea_plan_size(INT64_MAX) == SIZE_MAX);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_append),         cmocka_unit_test(test_refused_rows),
      cmocka_unit_test(test_rotation),       cmocka_unit_test(test_plans_in_memory),
      cmocka_unit_test(test_refused_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

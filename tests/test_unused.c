/* Settings that would not be used are refused, with a text that names them and why: if a call ignored one, it would
 * give the answer to another problem. Each case sets one such thing in a call that succeeds. */
#include "src/feature/all_features.h"
#include "src/feature/refuse.h"
#include "support/refusals.h"
#include "support/single_task.h"

#include <fovea/cache.h>
#include <fovea/rotary.h>
#include <fovea/state.h>
#include <stdio.h>
#include <string.h>

enum { BATCH = 2, HEADS = 4, KV_HEADS = 2, ROWS = 3, KEYS = 20, DIM = 8, NUMBERS = 2048 };

static const int64_t numbers_of_entries[BATCH * ROWS];
static float numbers[NUMBERS], others[NUMBERS], sinks[HEADS];

static int set_up(void **state) {
  (void)state;
  fovea_problem problem;
  fovea_problem_init(&problem, BATCH, HEADS, KV_HEADS, ROWS, KEYS, DIM, DIM);
  trial = trial_create(&problem, 1);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  trial_destroy(&trial);
  return 0;
}

static void test_rules(void **state) {
  (void)state;
  ACCEPTED((void)0);
  REFUSED(call.problem.chunks.left = 64, FOVEA_ERROR_UNUSED, "chunks.left is 64", "chunks.size is 0");
  REFUSED(call.problem.chunks.left = FOVEA_UNLIMITED, FOVEA_ERROR_UNUSED, "chunks.left is -1", "chunks.size is 0");
  REFUSED(call.problem.chunks.right = 1, FOVEA_ERROR_UNUSED, "chunks.right is 1", "chunks.size is 0");
  ACCEPTED((call.problem.chunks.size = 4, call.problem.chunks.left = 64, call.problem.chunks.right = 1));
  REFUSED((call.problem.offsets = numbers_of_entries, call.problem.offset = 0), FOVEA_ERROR_UNUSED, "offset is 0",
          "offsets is not NULL");
  ACCEPTED(call.problem.offsets = numbers_of_entries);
  ACCEPTED(call.problem.kv_begins = numbers_of_entries);
}

static void test_sinks(void **state) {
  (void)state;
  REFUSED(call.tensors.sink = sinks, FOVEA_ERROR_UNUSED, "sink is", "sink of the problem", "FOVEA_SINK_PER_HEAD");
  REFUSED((call.tensors.sink = sinks, call.problem.sink = FOVEA_SINK_ZERO), FOVEA_ERROR_UNUSED, "sink is",
          "FOVEA_SINK_PER_HEAD");
  ACCEPTED((call.tensors.sink = sinks, call.problem.sink = FOVEA_SINK_PER_HEAD));
}

static void test_segments(void **state) {
  (void)state;
  fovea_segment segment = {.rows = KEYS,
                           .k = numbers,
                           .v = others,
                           .k_head = DIM * KEYS,
                           .k_row = DIM,
                           .v_head = DIM * KEYS,
                           .v_row = DIM};
  const fovea_sequence sequences[BATCH] = {fovea_sequence_of(&segment, 1), fovea_sequence_of(&segment, 1)};
  REFUSED(call.tensors.cache.sequences = sequences, FOVEA_ERROR_UNUSED, "sequences is", "cache.segmented is 0");
#define SEGMENTED                                                                                                  \
  (call.problem.cache.segmented = 1, call.tensors.cache.sequences = sequences,                                     \
   call.tensors.k = call.tensors.v = NULL)
  ACCEPTED(SEGMENTED);
  ACCEPTED((SEGMENTED, call.problem.kv_begins = numbers_of_entries));
  REFUSED((SEGMENTED, call.tensors.k = numbers), FOVEA_ERROR_UNUSED, "k is", "cache.segmented is 1", "sequences");
  REFUSED((SEGMENTED, call.tensors.v = numbers), FOVEA_ERROR_UNUSED, "v is", "cache.segmented is 1", "sequences");
}

static void test_states(void **state) {
  (void)state;
  fovea_state result;
  fovea_state_init(&result, BATCH, HEADS, ROWS, DIM, 0, KEYS, numbers);
  REFUSED(call.tensors.state = &result, FOVEA_ERROR_UNUSED, "state is", "state is 0");
#define TO_STATE                                                                                                   \
  (call.problem.state = 1, call.tensors.state = &result, call.tensors.o = NULL, call.tensors.lse = NULL)
  ACCEPTED(TO_STATE);
  REFUSED((TO_STATE, call.tensors.o = others), FOVEA_ERROR_UNUSED, "o is", "state is 1", "state");
  REFUSED((TO_STATE, call.tensors.lse = others), FOVEA_ERROR_UNUSED, "lse is", "state is 1", "state");

  /* Finishing uses a state, and sinks as a run does. */
  struct call call = good_call();
  fovea_error error;
  static const char *const words[] = {"sink is", "FOVEA_SINK_PER_HEAD", NULL};
  call.tensors.state = &result;
  assert_int_equal(fovea_state_from_output(&call.problem, &call.tensors, NULL, NULL), FOVEA_OK);
  assert_int_equal(fovea_state_finish(&call.problem, &call.tensors, NULL, NULL), FOVEA_OK);
  tensor_fill_untouched(&trial.o);
  tensor_fill_untouched(&trial.lse);
  call.tensors.sink = sinks;
  assert_int_equal(fovea_state_finish(&call.problem, &call.tensors, NULL, &error), FOVEA_ERROR_UNUSED);
  assert_says(&error, FOVEA_ERROR_UNUSED, words);
}

static void test_single_tasks(void **state) {
  (void)state;
  struct call call = good_call();
  fovea_plan *plan;
  fovea_error error;
  static const char *const words[] = {"sink is", "FOVEA_SINK_PER_HEAD", NULL};
  assert_int_equal(fovea_plan_create(&call.problem, NULL, &plan, NULL), FOVEA_OK);
  call.tensors.sink = sinks;
  assert_int_equal(single_task(plan, &call.tensors, 0, 0, 0, 1, NULL, 0, &error), FOVEA_ERROR_UNUSED);
  assert_says(&error, FOVEA_ERROR_UNUSED, words);
  fovea_plan_destroy(plan);
}

static void never_called(void *context, int64_t tasks, int workers, fovea_task_function run, void *job) {
  (void)context, (void)tasks, (void)workers, (void)run, (void)job;
  fail();
}

static void test_executions(void **state) {
  (void)state;
  REFUSED(call.execution.scratch_size = 64, FOVEA_ERROR_UNUSED, "scratch_size is 64", "scratch is NULL");
  char most[64];
  snprintf(most, sizeof most, "scratch_size is %llu and", (unsigned long long)SIZE_MAX);
  REFUSED(call.execution.scratch_size = SIZE_MAX, FOVEA_ERROR_UNUSED, most);
  REFUSED(call.execution.parallel_context = numbers, FOVEA_ERROR_UNUSED, "parallel_context is",
          "parallel_for is NULL");
  ACCEPTED((call.execution.parallel_context = numbers, call.execution.parallel_for = never_called,
            call.execution.threads = 1));
  REFUSED(call.execution.allocator.context = numbers, FOVEA_ERROR_UNUSED, "allocator.context is",
          "allocator.allocate is NULL");
}

struct rotary_call {
  fovea_rotary rotary;
  fovea_rotation rotation;
};

static struct rotary_call good_rotation(void) {
  struct rotary_call call;
  fovea_rotary_init(&call.rotary, FOVEA_ROTARY_HALVES, DIM);
  fovea_rotation_init(&call.rotation, BATCH, 1, ROWS, DIM, numbers, others);
  return call;
}

static void expect_rotation(const struct rotary_call *call, fovea_status status, const char *const *words) {
  fovea_error error;
  memset(others, 0x3a, sizeof others);
  const fovea_status actual = fovea_rotary_apply(&call->rotary, &call->rotation, NULL, &error);
  if (actual != status) fail_msg("status %d, not %d: %.250s", (int)actual, (int)status, error.text);
  if (status == FOVEA_OK) return;
  assert_says(&error, status, words);
  for (size_t i = 0; i < sizeof others; i++) assert_int_equal(((const unsigned char *)others)[i], 0x3a);
}

#define ROTATION(change, status, ...)                                                                              \
  do {                                                                                                             \
    struct rotary_call call = good_rotation();                                                                     \
    change;                                                                                                        \
    const char *const words[] = {__VA_ARGS__, NULL};                                                               \
    expect_rotation(&call, status, words);                                                                         \
  } while (0)

static void test_rotation(void **state) {
  (void)state;
  static const double frequencies[DIM / 2];
  static const float table[ROWS * DIM / 2];
#define TABLES (call.rotary.cosines = call.rotary.sines = table, call.rotary.table_rows = ROWS)
  ROTATION((void)0, FOVEA_OK, "");
  ROTATION(TABLES, FOVEA_OK, "");
  ROTATION(call.rotary.base = 5e5;
           call.rotary.frequencies = frequencies, FOVEA_ERROR_UNUSED, "base is 500000", "frequencies is not NULL");
  ROTATION(call.rotary.base = -1; TABLES, FOVEA_ERROR_UNUSED, "base is -1", "cosines and sines");
  ROTATION(call.rotary.table_rows = ROWS, FOVEA_ERROR_UNUSED, "table_rows is 3", "cosines is NULL");
  ROTATION(call.rotation.first_position = 7; call.rotation.first_positions = numbers_of_entries, FOVEA_ERROR_UNUSED,
                                             "first_position is 7", "first_positions is not NULL");
  ROTATION(call.rotation.first_position = 7; call.rotation.positions = numbers_of_entries, FOVEA_ERROR_UNUSED,
                                             "first_position is 7", "positions is not NULL");
  ROTATION(call.rotation.first_positions = call.rotation.positions = numbers_of_entries, FOVEA_ERROR_UNUSED,
           "first_positions is", "positions is not NULL");
}

static void test_new_rows(void **state) {
  (void)state;
  fovea_segment segment = {.rows = KEYS,
                           .k = numbers,
                           .v = others,
                           .k_head = DIM * KEYS,
                           .k_row = DIM,
                           .v_head = DIM * KEYS,
                           .v_row = DIM};
  const fovea_sequence sequence = fovea_sequence_of(&segment, 1);
  static const char *const words[] = {"first_position is 2", "first_positions is not NULL", NULL};
  static const float from[DIM];
  fovea_new_rows rows;
  fovea_error error;
  fovea_new_rows_init(&rows, 1, 1, 1, DIM, DIM, from, from, &sequence);
  rows.first_position = 2;
  assert_int_equal(fovea_append(&rows, NULL, NULL, NULL), FOVEA_OK);
  rows.first_positions = numbers_of_entries;
  memset(numbers, 0x3a, sizeof numbers);
  assert_int_equal(fovea_append(&rows, NULL, NULL, &error), FOVEA_ERROR_UNUSED);
  assert_says(&error, FOVEA_ERROR_UNUSED, words);
  for (size_t i = 0; i < sizeof numbers; i++) assert_int_equal(((const unsigned char *)numbers)[i], 0x3a);
}

/* The texts of refusals take what is refused from the problem: where nothing is set, they refuse nothing. */
static void test_nothing(void **state) {
  (void)state;
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 1, 1, 1, 1, 1, 1);
  assert_int_equal(fovea_refuse_field(&problem, FOVEA_FEATURE_MASK, 1, "", NULL), FOVEA_OK);
  assert_int_equal(fovea_refuse_stray(&problem, FOVEA_HAS(LENGTHS), NULL), FOVEA_OK);
  assert_int_equal(fovea_refuse_value(&problem, NULL), FOVEA_OK);
  assert_string_equal(fovea_set_switch(&problem, FOVEA_FEATURE_SOFTCAP), "");
  assert_int_equal(fovea_list_inputs(FOVEA_FEATURE_SOFTCAP, NULL, NULL, NULL), 0); /* no feature with numbers */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rules),    cmocka_unit_test(test_sinks),        cmocka_unit_test(test_segments),
      cmocka_unit_test(test_states),   cmocka_unit_test(test_single_tasks), cmocka_unit_test(test_executions),
      cmocka_unit_test(test_rotation), cmocka_unit_test(test_new_rows),     cmocka_unit_test(test_nothing),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}

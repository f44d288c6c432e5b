/* Calls on states that are refused. One call would succeed; each case spoils one thing in it, and nothing is
 * written. */
#include "support/check.h"
#include "support/execution.h"
#include "support/guarded.h"
#include "support/refusals.h"

#include <fovea/cache.h>
#include <fovea/state.h>
#include <string.h>

enum { BATCH = 2, HEADS = 4, ROWS = 3, DIM = 6, KEYS = 5000, CUT = 4096 };

/* The numbers of the range before the cut, of the range after it, and of both. */
enum { LEFT = BATCH * HEADS * ROWS * (DIM + 2), RIGHT = LEFT, BOTH = 2 * LEFT };

static float left_numbers[LEFT], right_numbers[RIGHT], merged_numbers[BOTH];
static fovea_state run_state;

static int set_up(void **state) {
  (void)state;
  fovea_problem problem;
  fovea_problem_init(&problem, BATCH, HEADS, 2, ROWS, KEYS, 8, DIM);
  problem.keys.begin = CUT;
  problem.state = 1;
  problem.sink = FOVEA_SINK_PER_HEAD;
  trial = trial_create(&problem, 1);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  trial_destroy(&trial);
  return 0;
}

/* Prepares a run. Its state is set again for each call. */
static void prepare(struct call *call) {
  fovea_state_init(&run_state, BATCH, HEADS, ROWS, DIM, CUT, KEYS, right_numbers);
  memset(right_numbers, 0x3a, sizeof right_numbers);
  call->tensors.state = &run_state;
}

static void assert_unwritten(const float *numbers, size_t size) {
  for (size_t i = 0; i < size; i++) assert_int_equal(((const unsigned char *)numbers)[i], 0x3a);
}

#define RUN_REFUSED(change, status, ...)                                                                           \
  do {                                                                                                             \
    REFUSED((prepare(&call), change), status, __VA_ARGS__);                                                        \
    assert_unwritten(right_numbers, sizeof right_numbers);                                                         \
  } while (0)

static void test_runs(void **state) {
  (void)state;
  ACCEPTED(prepare(&call));
  RUN_REFUSED(call.problem.keys.begin = -1, FOVEA_ERROR_ARGUMENT, "keys.begin", "-1", "5000");
  RUN_REFUSED(call.problem.keys.begin = KEYS + 1, FOVEA_ERROR_ARGUMENT, "keys.begin", "5001");
  RUN_REFUSED(call.problem.keys.end = CUT - 1, FOVEA_ERROR_ARGUMENT, "keys.end", "4095", "4096 to 5000");
  RUN_REFUSED(call.problem.keys.end = KEYS + 1, FOVEA_ERROR_ARGUMENT, "keys.end", "5001");
  RUN_REFUSED(call.problem.keys.end = -2, FOVEA_ERROR_ARGUMENT, "keys.end", "-2");
  RUN_REFUSED(call.problem.state = 2, FOVEA_ERROR_ARGUMENT, "state", "2");
  RUN_REFUSED(call.tensors.state = NULL, FOVEA_ERROR_ARGUMENT, "state");
  RUN_REFUSED(run_state.struct_size = 8, FOVEA_ERROR_ARGUMENT, "state.struct_size: fovea_state_init()");
  RUN_REFUSED(run_state.struct_size = 8000, FOVEA_ERROR_ARGUMENT, "state.struct_size: another version");
  RUN_REFUSED(run_state.batch = 1, FOVEA_ERROR_ARGUMENT, "state.batch", "1", "2");
  RUN_REFUSED(run_state.heads = 2, FOVEA_ERROR_ARGUMENT, "state.heads", "2", "4");
  RUN_REFUSED(run_state.rows = 4, FOVEA_ERROR_ARGUMENT, "state.rows", "4", "q_len", "3");
  RUN_REFUSED(run_state.dim = 8, FOVEA_ERROR_ARGUMENT, "state.dim", "8", "v_dim", "6");
  RUN_REFUSED(run_state.keys.begin = 0, FOVEA_ERROR_ARGUMENT, "state.keys.begin", "4096");
  RUN_REFUSED(run_state.keys.end = KEYS - 1, FOVEA_ERROR_ARGUMENT, "state.keys.end", "4999", "5000");
  RUN_REFUSED(run_state.numbers = NULL, FOVEA_ERROR_ARGUMENT, "state.numbers is NULL");
  RUN_REFUSED(run_state.numbers = (float *)(void *)((char *)right_numbers + 1), FOVEA_ERROR_ARGUMENT,
              "state.numbers", "4");
  RUN_REFUSED(run_state.strides.row = DIM + 1, FOVEA_ERROR_ARGUMENT, "state.strides.row", "7", "8");
  RUN_REFUSED(run_state.strides.batch = 0, FOVEA_ERROR_ARGUMENT, "state.strides.batch", "0");
  RUN_REFUSED(run_state.strides.head = INT64_MAX, FOVEA_ERROR_ARGUMENT, "state.strides");
  RUN_REFUSED(call.tensors.q = right_numbers + 8, FOVEA_ERROR_ARGUMENT, "state", "q");
  /* A state has no sink, so the numbers are not asked for, nor may they be set. */
  RUN_REFUSED(call.tensors.sink = trial.lse.data, FOVEA_ERROR_UNUSED, "sink is not NULL and would not be used",
              "the result is a state", "fovea_state_finish() takes it");
}

/* Keys before the range are not read, so a state may lie there. At the range's first key it may not. */
static void test_keys_before_the_range(void **state) {
  (void)state;
  enum { ROW = 8 };
  static float keys[BATCH * 2 * KEYS * ROW];
#define LIES_AT(place) (prepare(&call), call.tensors.k = keys, run_state.numbers = keys + (place))
  ACCEPTED(LIES_AT(0));
  ACCEPTED(LIES_AT(CUT * ROW - RIGHT));
  REFUSED(LIES_AT(CUT * ROW - RIGHT + 1), FOVEA_ERROR_ARGUMENT, "state", "k", "by 4 bytes");
  REFUSED(LIES_AT(BATCH * 2 * KEYS * ROW - 1), FOVEA_ERROR_ARGUMENT, "state", "k", "by 4 bytes");
}

/* Scratch over the numbers, or over the struct, which tasks read. */
static void test_scratch(void **state) {
  (void)state;
  static _Alignas(FOVEA_SCRATCH_ALIGNMENT) char scratch[1 << 18];
  struct call needs = good_call();
  prepare(&needs);
  fovea_plan *plan;
  assert_int_equal(fovea_plan_create(&needs.problem, NULL, &plan, NULL), FOVEA_OK);
  const size_t needed = fovea_plan_scratch_size(plan, 1);
  fovea_plan_destroy(plan);
  assert_true(needed <= sizeof scratch - sizeof right_numbers);
#define WITH_SCRATCH                                                                                               \
  (prepare(&call), call.execution.threads = 1, call.execution.scratch = scratch,                                   \
   call.execution.scratch_size = sizeof scratch)
  ACCEPTED(WITH_SCRATCH);
  ACCEPTED((WITH_SCRATCH, run_state.numbers = (float *)(void *)(scratch + needed)));
  REFUSED((WITH_SCRATCH, run_state.numbers = (float *)(void *)(scratch + needed - 4)), FOVEA_ERROR_ARGUMENT,
          "scratch shares memory with state");
  REFUSED((WITH_SCRATCH, *(fovea_state *)(void *)scratch = run_state,
           call.tensors.state = (fovea_state *)(void *)scratch),
          FOVEA_ERROR_ARGUMENT, "scratch shares memory with state");
}

/* No run writes a state that shares memory with its segments. */
static void test_segments(void **state) {
  (void)state;
  fovea_segment segment = {.first = CUT,
                           .rows = KEYS - CUT,
                           .k = tensor_pointer(&trial.k),
                           .v = tensor_pointer(&trial.v),
                           .k_row = 8,
                           .v_row = DIM};
  const fovea_sequence sequences[BATCH] = {fovea_sequence_of(&segment, 1), fovea_sequence_of(&segment, 1)};
#define SEGMENTED                                                                                                  \
  (prepare(&call), call.problem.cache.segmented = 1, call.tensors.cache.sequences = sequences,                     \
   call.tensors.k = NULL, call.tensors.v = NULL)
  segment.k_head = 8;
  segment.v_head = DIM;
  ACCEPTED(SEGMENTED);
  segment.v = right_numbers;
  REFUSED(SEGMENTED, FOVEA_ERROR_ARGUMENT, "state", "v");
  assert_unwritten(right_numbers, sizeof right_numbers);
}

struct merge_call {
  fovea_state left, right, merged;
};

static struct merge_call good_merge(void) {
  struct merge_call call;
  fovea_state_init(&call.left, BATCH, HEADS, ROWS, DIM, 0, CUT, left_numbers);
  fovea_state_init(&call.right, BATCH, HEADS, ROWS, DIM, CUT, KEYS, right_numbers);
  fovea_state_init(&call.merged, BATCH, HEADS, ROWS, DIM, 0, KEYS, merged_numbers);
  return call;
}

static void assert_merge_refused(const struct merge_call *call, fovea_status status, const char *const *words) {
  fovea_error error;
  memset(&error, 'x', sizeof error);
  memset(merged_numbers, 0x3a, sizeof merged_numbers);
  assert_int_equal(fovea_state_merge(&call->left, &call->right, &call->merged, NULL, &error), status);
  assert_says(&error, status, words);
  assert_int_equal(fovea_state_merge(&call->left, &call->right, &call->merged, NULL, NULL), status);
  assert_unwritten(merged_numbers, sizeof merged_numbers);
}

#define MERGE_REFUSED(change, status, ...)                                                                         \
  do {                                                                                                             \
    struct merge_call call = good_merge();                                                                         \
    change;                                                                                                        \
    const char *const words[] = {__VA_ARGS__, NULL};                                                               \
    assert_merge_refused(&call, status, words);                                                                    \
  } while (0)

static void test_merging(void **state) {
  (void)state;
  const struct merge_call good = good_merge();
  assert_int_equal(fovea_state_merge(&good.left, &good.right, &good.merged, NULL, NULL), FOVEA_OK);
  assert_int_equal(fovea_state_merge(NULL, &good.right, &good.merged, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_state_merge(&good.left, NULL, &good.merged, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_state_merge(&good.left, &good.right, NULL, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  MERGE_REFUSED(call.left.batch = 0, FOVEA_ERROR_ARGUMENT, "left.batch", "0", "1");
  MERGE_REFUSED(call.right.rows = -1, FOVEA_ERROR_ARGUMENT, "right.rows", "-1");
  MERGE_REFUSED(call.merged.dim = INT64_MAX, FOVEA_ERROR_ARGUMENT, "merged.dim");
  MERGE_REFUSED((call.left.batch = INT64_C(1) << 40, call.left.heads = INT64_C(1) << 40), FOVEA_ERROR_ARGUMENT,
                "left", "more than");
  MERGE_REFUSED(call.left.keys.begin = -1, FOVEA_ERROR_ARGUMENT, "left.keys", "-1");
  MERGE_REFUSED(call.right.keys.end = CUT - 1, FOVEA_ERROR_ARGUMENT, "right.keys", "4096", "4095");
  MERGE_REFUSED(call.merged.keys.end = INT64_MAX, FOVEA_ERROR_ARGUMENT, "merged.keys");
  MERGE_REFUSED(call.right.heads = 2, FOVEA_ERROR_ARGUMENT, "right.heads", "2", "4");
  MERGE_REFUSED(call.merged.dim = DIM - 1, FOVEA_ERROR_ARGUMENT, "merged.dim", "5", "6");
  MERGE_REFUSED(call.right.keys.begin = CUT + 1, FOVEA_ERROR_ARGUMENT, "right.keys.begin", "4097", "4096");
  MERGE_REFUSED(call.merged.keys.begin = 1, FOVEA_ERROR_ARGUMENT, "merged.keys", "1 to 5000", "0 to 5000");
  MERGE_REFUSED(call.merged.keys.end = KEYS - 1, FOVEA_ERROR_ARGUMENT, "merged.keys", "0 to 4999");
  MERGE_REFUSED(call.left.numbers = NULL, FOVEA_ERROR_ARGUMENT, "left.numbers is NULL");
  MERGE_REFUSED(call.right.strides.head = INT64_MAX / 2, FOVEA_ERROR_ARGUMENT, "right.strides");
  MERGE_REFUSED(call.merged.strides.row = 0, FOVEA_ERROR_ARGUMENT, "merged.strides.row", "0");
  MERGE_REFUSED(call.left.numbers = merged_numbers + 4, FOVEA_ERROR_ARGUMENT, "merged", "left");
  MERGE_REFUSED(call.right.numbers = merged_numbers, FOVEA_ERROR_ARGUMENT, "merged", "right");
  assert_int_equal(fovea_state_merge(&good.left, &good.right, &good.merged, on_isa("nonsense"), NULL),
                   FOVEA_ERROR_ARGUMENT);
}

/* Outputs made of a state, and a state made of outputs. */
struct output_call {
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_state state;
};

static float o[BATCH * HEADS * ROWS * DIM], lse[BATCH * HEADS * ROWS], sinks[HEADS];

static struct output_call good_output(void) {
  struct output_call call = {.problem = trial.problem};
  fovea_state_init(&call.state, BATCH, HEADS, ROWS, DIM, CUT, KEYS, right_numbers);
  fovea_tensors_init(&call.tensors, NULL, NULL, NULL, o, lse);
  call.tensors.sink = sinks;
  return call;
}

static void assert_output_refused(struct output_call *call, int finishing, fovea_status status,
                                  const char *const *words) {
  fovea_error error;
  memset(&error, 'x', sizeof error);
  if (call->tensors.state == NULL) call->tensors.state = &call->state;
  if (!finishing && call->tensors.sink == sinks) call->tensors.sink = NULL;
  memset(o, 0x3a, sizeof o);
  memset(lse, 0x3a, sizeof lse);
  memset(right_numbers, 0x3a, sizeof right_numbers);
  const fovea_status actual = finishing ? fovea_state_finish(&call->problem, &call->tensors, NULL, &error)
                                        : fovea_state_from_output(&call->problem, &call->tensors, NULL, &error);
  assert_int_equal(actual, status);
  assert_says(&error, status, words);
  assert_unwritten(o, sizeof o);
  assert_unwritten(lse, sizeof lse);
  assert_unwritten(right_numbers, sizeof right_numbers);
}

#define OUTPUT_REFUSED(finishing, change, status, ...)                                                             \
  do {                                                                                                             \
    struct output_call call = good_output();                                                                       \
    change;                                                                                                        \
    const char *const words[] = {__VA_ARGS__, NULL};                                                               \
    assert_output_refused(&call, finishing, status, words);                                                        \
  } while (0)

static void test_outputs(void **state) {
  (void)state;
  struct output_call good = good_output();
  good.tensors.state = &good.state;
  good.tensors.sink = NULL;
  assert_int_equal(fovea_state_from_output(&good.problem, &good.tensors, NULL, NULL), FOVEA_OK);
  assert_int_equal(fovea_state_from_output(&good.problem, &good.tensors, on_isa("nonsense"), NULL),
                   FOVEA_ERROR_ARGUMENT);
  good.tensors.sink = sinks;
  assert_int_equal(fovea_state_finish(&good.problem, &good.tensors, NULL, NULL), FOVEA_OK);
  assert_int_equal(fovea_state_finish(&good.problem, &good.tensors, on_isa("nonsense"), NULL),
                   FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_state_finish(NULL, &good.tensors, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_state_finish(&good.problem, NULL, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  good.tensors.state = NULL;
  assert_int_equal(fovea_state_finish(&good.problem, &good.tensors, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  for (int finishing = 0; finishing < 2; finishing++) {
    OUTPUT_REFUSED(finishing, call.state.rows = 2, FOVEA_ERROR_ARGUMENT, "state.rows", "2", "3");
    OUTPUT_REFUSED(finishing, call.state.keys.begin = -1, FOVEA_ERROR_ARGUMENT, "state.keys", "-1");
    OUTPUT_REFUSED(finishing, call.problem.o_strides.row = INT64_MAX, FOVEA_ERROR_ARGUMENT, "o_strides");
    OUTPUT_REFUSED(finishing, call.problem.heads = 3, FOVEA_ERROR_ARGUMENT, "kv_heads");
    OUTPUT_REFUSED(finishing, call.tensors.o = NULL, FOVEA_ERROR_ARGUMENT, "o is NULL");
    OUTPUT_REFUSED(finishing, call.tensors.lse = right_numbers + 5, FOVEA_ERROR_ARGUMENT,
                   finishing ? "lse" : "state", "lse", "state");
  }
  OUTPUT_REFUSED(0, call.tensors.lse = NULL, FOVEA_ERROR_ARGUMENT, "lse is NULL");
  OUTPUT_REFUSED(0, call.tensors.sink = &sinks[1], FOVEA_ERROR_UNUSED, "sink is not NULL", "the result is a state");
  OUTPUT_REFUSED(0, call.state.strides.row = 0, FOVEA_ERROR_ARGUMENT, "state.strides.row");
  OUTPUT_REFUSED(1, call.tensors.sink = NULL, FOVEA_ERROR_ARGUMENT, "sink is NULL");
  OUTPUT_REFUSED(1, call.tensors.lse = o, FOVEA_ERROR_ARGUMENT, "lse", "o");
  OUTPUT_REFUSED(1, call.tensors.sink = o, FOVEA_ERROR_ARGUMENT, "o", "sink");
}

/* Only plans read a problem's arrays. They may be gone when a state is finished. */
static void test_arrays_that_are_gone(void **state) {
  (void)state;
  struct guarded nowhere = guarded_create(0, GUARD_AT_END);
  const void *gone = nowhere.data;
  for (int packed = 0; packed < 2; packed++) {
    struct output_call call = good_output();
    call.problem.offsets = call.problem.kv_begins = gone;
    call.problem.q_lens = call.problem.kv_lens = gone;
    call.problem.cu_seqlens_kv = gone;
    call.tensors.state = &call.state;
    if (packed) {
      call.problem.cu_seqlens_q = gone;
      fovea_state_init(&call.state, 1, HEADS, ROWS, DIM, CUT, KEYS, right_numbers);
    }
    call.tensors.sink = NULL;
    assert_int_equal(fovea_state_from_output(&call.problem, &call.tensors, NULL, NULL), FOVEA_OK);
    call.tensors.sink = sinks;
    assert_int_equal(fovea_state_finish(&call.problem, &call.tensors, NULL, NULL), FOVEA_OK);
    call.state.batch = 3;
    assert_int_equal(fovea_state_finish(&call.problem, &call.tensors, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  }
  guarded_destroy(&nowhere);
}

/* The numbers of one row; 0 for arguments that no state has. */
static void test_numbers(void **state) {
  (void)state;
  assert_int_equal(fovea_state_numbers(6, 0, 2048), 8);
  assert_int_equal(fovea_state_numbers(6, 0, 2049), 8); /* a node of two spans */
  assert_int_equal(fovea_state_numbers(6, 2047, 2049), 8);
  assert_int_equal(fovea_state_numbers(6, 2048, 3 * 2048), 16); /* spans 1 and 2 have no parent of their own */
  assert_int_equal(fovea_state_numbers(6, 2048, 7 * 2048), 32); /* 1, 2 to 3, 4 to 5, 6 */
  assert_int_equal(fovea_state_numbers(6, 500, 500), 0);
  assert_int_equal(fovea_state_numbers(0, 0, 500), 0);
  assert_int_equal(fovea_state_numbers(6, -1, 500), 0);
  assert_int_equal(fovea_state_numbers(6, 500, 499), 0);
  assert_int_equal(fovea_state_numbers(6, 0, INT64_MAX), 0);
  assert_int_equal(fovea_state_numbers(INT64_MAX, 0, 500), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_runs),
                                     cmocka_unit_test(test_keys_before_the_range),
                                     cmocka_unit_test(test_scratch),
                                     cmocka_unit_test(test_segments),
                                     cmocka_unit_test(test_merging),
                                     cmocka_unit_test(test_outputs),
                                     cmocka_unit_test(test_arrays_that_are_gone),
                                     cmocka_unit_test(test_numbers)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}

/* Row-wise calls (new rows of caches, copies, rotary embedding, states) give the same bits on the calling thread,
 * on the library's threads and on a caller's parallel-for, in any order of tasks. */
#include "support/check.h"
#include "support/error_says.h"
#include "support/executors.h"
#include "support/generator.h"

#include <fovea/cache.h>
#include <fovea/rotary.h>
#include <fovea/state.h>
#include <stdlib.h>
#include <string.h>

/* Each call moves more than 23,438 elements, the least that are shared out. More than one piece of pairs is
 * rotated, and no count of rows is a multiple of a task's. */
enum {
  BATCH = 3,
  HEADS = 2,
  ROWS = 150,
  DIM = 160,
  ROTATED = 150,
  LAYERS = 2,
  PAGE_ROWS = 320,
  CUT = 2048,
  KEYS = 2048 + 77
};
enum { ELEMENTS = BATCH * HEADS * ROWS * DIM, STATE_ROWS = BATCH * HEADS * ROWS };

static float numbers[ELEMENTS], more_numbers[ELEMENTS], lse[STATE_ROWS];
static float *left, *right; /* states of keys 0 to CUT, and of the others */

/* A call's results, all of them compared. */
struct results {
  char *bytes;
  size_t size, taken;
};

static void *take(struct results *results, size_t bytes) {
  assert_true(results->taken + bytes <= results->size);
  void *place = results->bytes + results->taken;
  results->taken += (bytes + 63) / 64 * 64;
  return place;
}

static void rotate(const fovea_execution *execution, struct results *results) {
  const int64_t first_positions[BATCH] = {5, 0, 100000};
  const int32_t cumulative[BATCH + 1] = {0, 7, ROWS, BATCH * ROWS};
  fovea_rotary rotary;
  fovea_rotation rotation;
  fovea_rotary_init(&rotary, FOVEA_ROTARY_HALVES, ROTATED);
  fovea_rotation_init(&rotation, BATCH, HEADS, ROWS, DIM, numbers, take(results, sizeof numbers));
  rotation.first_positions = first_positions;
  assert_int_equal(fovea_rotary_apply(&rotary, &rotation, execution, NULL), FOVEA_OK);
  fovea_rotation_init(&rotation, BATCH, HEADS, BATCH * ROWS, DIM, numbers, take(results, sizeof numbers));
  rotation.cu_seqlens = cumulative;
  rotation.first_positions = first_positions;
  assert_int_equal(fovea_rotary_apply(&rotary, &rotation, execution, NULL), FOVEA_OK);
}

/* A cache of one page for each batch element, whose rows begin at position `first`. */
static void make_caches(struct results *results, fovea_type type, fovea_segment segments[BATCH],
                        fovea_sequence sequences[BATCH]) {
  fovea_pages pages;
  fovea_pages_init(&pages, BATCH, PAGE_ROWS, HEADS, DIM, DIM, type, FOVEA_KEYS_IN_PANELS);
  pages.layers = LAYERS;
  const size_t bytes = (size_t)BATCH * LAYERS * HEADS * PAGE_ROWS * DIM * sizeof(float);
  pages.k = take(results, bytes);
  pages.v = take(results, bytes);
  for (int64_t b = 0; b < BATCH; b++) {
    assert_int_equal(fovea_cache_contiguous(&pages, b, &segments[b], NULL), FOVEA_OK);
    sequences[b] = fovea_sequence_of(&segments[b], 1);
  }
}

static void append_and_copy(const fovea_execution *execution, struct results *results) {
  const int64_t first_positions[BATCH] = {5, 0, 130}, counts[BATCH] = {ROWS, 65, 64};
  fovea_segment segments[BATCH], copied_segments[BATCH];
  fovea_sequence sequences[BATCH], copies[BATCH];
  fovea_rotary rotary;
  fovea_new_rows rows;
  make_caches(results, FOVEA_F16, segments, sequences);
  make_caches(results, FOVEA_F32, copied_segments, copies);
  fovea_rotary_init(&rotary, FOVEA_ROTARY_INTERLEAVED, ROTATED);
  fovea_new_rows_init(&rows, BATCH, HEADS, ROWS, DIM, DIM, numbers, more_numbers, sequences);
  rows.first_positions = first_positions;
  rows.row_lens = counts;
  for (rows.layer = 0; rows.layer < LAYERS; rows.layer++) {
    assert_int_equal(fovea_append(&rows, &rotary, execution, NULL), FOVEA_OK);
  }
  assert_int_equal(
      fovea_sequence_copy(&sequences[0], &copies[0], LAYERS, HEADS, DIM, DIM, 3, ROWS + 5, execution, NULL),
      FOVEA_OK);
}

static fovea_state make_state(int64_t begin, int64_t end, float *place) {
  fovea_state state;
  fovea_state_init(&state, BATCH, HEADS, ROWS, DIM, begin, end, place);
  return state;
}

static size_t state_bytes(int64_t begin, int64_t end) {
  return (size_t)(STATE_ROWS * fovea_state_numbers(DIM, begin, end)) * sizeof(float);
}

static void work_on_states(const fovea_execution *execution, struct results *results) {
  fovea_problem problem;
  fovea_tensors tensors;
  const fovea_state states[2] = {make_state(0, CUT, left), make_state(CUT, KEYS, right)};
  const fovea_state merged = make_state(0, KEYS, take(results, state_bytes(0, KEYS)));
  const fovea_state made = make_state(0, CUT, take(results, state_bytes(0, CUT)));
  assert_int_equal(fovea_state_merge(&states[0], &states[1], &merged, execution, NULL), FOVEA_OK);
  fovea_problem_init(&problem, BATCH, HEADS, HEADS, ROWS, KEYS, DIM, DIM);
  fovea_tensors_init(&tensors, NULL, NULL, NULL, take(results, sizeof numbers), take(results, sizeof lse));
  tensors.state = &merged;
  assert_int_equal(fovea_state_finish(&problem, &tensors, execution, NULL), FOVEA_OK);
  fovea_tensors_init(&tensors, NULL, NULL, NULL, numbers, lse);
  tensors.state = &made;
  assert_int_equal(fovea_state_from_output(&problem, &tensors, execution, NULL), FOVEA_OK);
}

typedef void (*row_wise)(const fovea_execution *execution, struct results *results);

static void assert_same_bits(row_wise act) {
  const size_t size = 32 * sizeof numbers;
  struct results alone = {calloc(size, 1), size, 0}, other = {malloc(size), size, 0};
  fovea_execution execution;
  assert_non_null(alone.bytes);
  assert_non_null(other.bytes);
  fovea_execution_init(&execution);
  execution.threads = 1;
  act(&execution, &alone);
  for (int threads = 0; threads <= 5; threads += 5) { /* the library's */
    memset(other.bytes, 0, size);
    other.taken = 0;
    execution.threads = threads;
    act(threads == 0 ? NULL : &execution, &other);
    assert_memory_equal(other.bytes, alone.bytes, alone.taken);
  }
  for (int order = 0; order < TASK_ORDERS; order++) {
    struct executor executor = {(enum task_order)order, 0};
    memset(other.bytes, 0, size);
    other.taken = 0;
    execution.threads = 3;
    execution.parallel_for = order == TASKS_BACKWARDS ? serial_for : threads_for;
    execution.parallel_context = &executor;
    act(&execution, &other);
    assert_true(executor.calls >= 3); /* every call was shared out */
    assert_memory_equal(other.bytes, alone.bytes, alone.taken);
  }
  free(alone.bytes);
  free(other.bytes);
}

static void test_rotary(void **state) {
  (void)state;
  assert_same_bits(rotate);
}

static void test_caches(void **state) {
  (void)state;
  assert_same_bits(append_and_copy);
}

static void test_states(void **state) {
  (void)state;
  assert_same_bits(work_on_states);
}

/* A decoding step's few rows are not worth a team. */
static void test_little_work(void **state) {
  (void)state;
  struct executor executor = {TASKS_FORWARDS, 0};
  float place[DIM];
  fovea_rotary rotary;
  fovea_rotation rotation;
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.parallel_for = serial_for;
  execution.parallel_context = &executor;
  fovea_rotary_init(&rotary, FOVEA_ROTARY_HALVES, ROTATED);
  fovea_rotation_init(&rotation, 1, 1, 1, DIM, numbers, place);
  assert_int_equal(fovea_rotary_apply(&rotary, &rotation, &execution, NULL), FOVEA_OK);
  assert_int_equal(executor.calls, 0);
}

/* Scratch would not be used; and other nonsense. */
static void test_refused(void **state) {
  (void)state;
  static float scratch[64], place[ELEMENTS];
  fovea_execution executions[3];
  fovea_segment segment;
  const fovea_sequence sequence = fovea_sequence_of(&segment, 1);
  const fovea_status expected[3] = {FOVEA_ERROR_UNUSED, FOVEA_ERROR_UNUSED, FOVEA_ERROR_ARGUMENT};
  fovea_rotary rotary;
  fovea_rotation rotation;
  fovea_new_rows rows;
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_pages pages;
  const fovea_state states[2] = {make_state(0, CUT, left), make_state(CUT, KEYS, right)};
  const fovea_state merged = make_state(0, KEYS, place);
  for (int i = 0; i < 3; i++) fovea_execution_init(&executions[i]);
  executions[0].scratch = scratch;
  executions[0].scratch_size = sizeof scratch;
  executions[1].scratch_size = sizeof scratch;
  executions[2].threads = -1;
  fovea_rotary_init(&rotary, FOVEA_ROTARY_HALVES, ROTATED);
  fovea_rotation_init(&rotation, 1, 1, 1, DIM, numbers, place);
  fovea_pages_init(&pages, 1, 8, 1, DIM, DIM, FOVEA_F32, FOVEA_KEYS_IN_ROWS);
  pages.k = place;
  pages.v = place + 8 * DIM;
  assert_int_equal(fovea_cache_contiguous(&pages, 0, &segment, NULL), FOVEA_OK);
  fovea_new_rows_init(&rows, 1, 1, 1, DIM, DIM, numbers, numbers, &sequence);
  fovea_problem_init(&problem, BATCH, HEADS, HEADS, ROWS, KEYS, DIM, DIM);
  fovea_tensors_init(&tensors, NULL, NULL, NULL, numbers, lse);
  tensors.state = &states[0];
  for (int i = 0; i < 3; i++) {
    fovea_error error;
    assert_int_equal(fovea_rotary_apply(&rotary, &rotation, &executions[i], &error), expected[i]);
    assert_error_says(&error, i == 0 ? "scratch" : i == 1 ? "scratch_size" : "threads");
    assert_int_equal(fovea_append(&rows, NULL, &executions[i], NULL), expected[i]);
    assert_int_equal(fovea_sequence_copy(&sequence, &sequence, 1, 1, DIM, DIM, 0, 0, &executions[i], NULL),
                     expected[i]);
    assert_int_equal(fovea_state_merge(&states[0], &states[1], &merged, &executions[i], NULL), expected[i]);
    assert_int_equal(fovea_state_finish(&problem, &tensors, &executions[i], NULL), expected[i]);
    assert_int_equal(fovea_state_from_output(&problem, &tensors, &executions[i], NULL), expected[i]);
  }
}

static void fill(float *place, size_t count, struct generator *generator) {
  for (size_t i = 0; i < count; i++) place[i] = generator_uniform(generator);
}

static int set_up(void **state) {
  (void)state;
  struct generator generator = {91};
  fill(numbers, ELEMENTS, &generator);
  fill(more_numbers, ELEMENTS, &generator);
  fill(lse, STATE_ROWS, &generator);
  left = malloc(state_bytes(0, CUT));
  right = malloc(state_bytes(CUT, KEYS));
  if (!left || !right) return 1;
  fill(left, state_bytes(0, CUT) / sizeof *left, &generator);
  fill(right, state_bytes(CUT, KEYS) / sizeof *right, &generator);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  free(left);
  free(right);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rotary),      cmocka_unit_test(test_caches),  cmocka_unit_test(test_states),
      cmocka_unit_test(test_little_work), cmocka_unit_test(test_refused),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}

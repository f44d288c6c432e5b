/* Like test_float_state.c, for everything else that is computed: rotary embedding, rows of caches, states. */
#include "support/check.h"
#include "support/everywhere.h"
#include "support/execution.h"

#include <fovea/cache.h>
#include <fovea/rotary.h>
#include <fovea/state.h>
#include <math.h>
#include <string.h>

enum {
  HEADS = 2,
  ROWS = 48,
  DIM = 40,
  ROTATED = 32,
  KEYS = 96,
  CUT = 40,
  NUMBERS = DIM + 2,
  ROW_COUNT = HEADS * ROWS
};
enum { ROW_BYTES = ROW_COUNT * DIM * sizeof(float) };

static float q[ROW_COUNT * DIM], k[HEADS * KEYS * DIM], v[HEADS * KEYS * DIM];
static float new_rows[ROW_COUNT * DIM]; /* some of them beyond the largest f16 */
static float o[ROW_COUNT * DIM], lse[ROW_COUNT];
static float left_numbers[ROW_COUNT * NUMBERS], right_numbers[ROW_COUNT * NUMBERS];
static float whole_numbers[ROW_COUNT * NUMBERS];

static fovea_problem problem_of_states(void) {
  fovea_problem problem;
  fovea_problem_init(&problem, 1, HEADS, HEADS, ROWS, KEYS, DIM, DIM);
  return problem;
}

static void make_state(float *numbers, int64_t begin, int64_t end) {
  fovea_problem problem = problem_of_states();
  fovea_tensors tensors;
  fovea_state state;
  fovea_state_init(&state, 1, HEADS, ROWS, DIM, begin, end, numbers);
  fovea_tensors_init(&tensors, q, k, v, NULL, NULL);
  problem.keys.begin = begin;
  problem.keys.end = end;
  problem.state = 1;
  tensors.state = &state;
  assert_int_equal(fovea_attend(&problem, &tensors, on_isa(everywhere_isa), NULL), FOVEA_OK);
}

static int set_up(void **state) {
  (void)state;
  struct generator generator = {78};
  fill_values(q, ROW_COUNT * DIM, &generator);
  fill_numbers(k, HEADS * KEYS * DIM, 1, &generator);
  fill_values(v, HEADS * KEYS * DIM, &generator);
  fill_values(new_rows, ROW_COUNT * DIM, &generator);
  for (int i = 0; i < ROW_COUNT * DIM; i += 14) new_rows[i] *= 0x1p20f;
  make_state(left_numbers, 0, CUT);
  make_state(right_numbers, CUT, KEYS);
  make_state(whole_numbers, 0, KEYS);
  const fovea_problem problem = problem_of_states();
  fovea_tensors tensors;
  fovea_tensors_init(&tensors, q, k, v, o, lse);
  assert_int_equal(fovea_attend(&problem, &tensors, on_isa(everywhere_isa), NULL), FOVEA_OK);
  return 0;
}

static void rotate(const fovea_rotary *rotary, fovea_type type) {
  fovea_rotation rotation;
  fovea_rotation_init(&rotation, 1, HEADS, ROWS, DIM, new_rows, everywhere_room(ROW_BYTES));
  rotation.to_type = type;
  rotation.first_position = 1234567;
  everywhere_keep(
      fovea_rotary_apply(rotary, &rotation, on_isa(everywhere_isa), everywhere_room(sizeof(fovea_error))));
}

static void act_rotary(void) {
  static const double frequencies[ROTATED / 2] = {0.3, -1.7, 1e-7, 3e9};
  static const double refused[] = {0x1.fffffffffffffp-1, 0x1p-1074, -1e200, HUGE_VAL};
  fovea_rotary rotary;
  fovea_rotary_init(&rotary, FOVEA_ROTARY_HALVES, ROTATED);
  rotate(&rotary, FOVEA_F32);
  rotate(&rotary, FOVEA_F16);
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    rotary.base = refused[i];
    rotate(&rotary, FOVEA_F32);
  }
  rotary.frequencies = frequencies;
  rotary.layout = FOVEA_ROTARY_INTERLEAVED;
  rotate(&rotary, FOVEA_BF16);
}

static void test_rotary(void **state) {
  (void)state;
  assert_same_everywhere_on_isas(act_rotary);
}

/* A cache of one page, in memory that is compared. */
static fovea_segment make_segment(fovea_type type, fovea_key_layout layout) {
  fovea_pages pages;
  fovea_segment segment = {0};
  fovea_pages_init(&pages, 1, ROWS, HEADS, DIM, DIM, type, layout);
  pages.k = everywhere_room(ROW_BYTES);
  pages.v = everywhere_room(ROW_BYTES);
  everywhere_keep(fovea_cache_contiguous(&pages, 0, &segment, NULL));
  return segment;
}

static void append(fovea_segment segment, const fovea_rotary *rotary) {
  const fovea_sequence sequence = fovea_sequence_of(&segment, 1);
  fovea_new_rows rows;
  fovea_new_rows_init(&rows, 1, HEADS, ROWS, DIM, DIM, new_rows, v, &sequence);
  everywhere_keep(fovea_append(&rows, rotary, on_isa(everywhere_isa), everywhere_room(sizeof(fovea_error))));
}

static void act_append(void) {
  fovea_rotary rotary;
  fovea_rotary_init(&rotary, FOVEA_ROTARY_INTERLEAVED, ROTATED);
  append(make_segment(FOVEA_F16, FOVEA_KEYS_IN_ROWS), NULL);
  append(make_segment(FOVEA_F32, FOVEA_KEYS_IN_ROWS), &rotary);
  append(make_segment(FOVEA_F16, FOVEA_KEYS_IN_PANELS), &rotary);
  append(make_segment(FOVEA_BF16, FOVEA_KEYS_IN_PANELS), &rotary);
  rotary.base = 1e-3;
  append(make_segment(FOVEA_F32, FOVEA_KEYS_IN_ROWS), &rotary);
}

static void test_append(void **state) {
  (void)state;
  assert_same_everywhere_on_isas(act_append);
}

static void act_copy(void) {
  const fovea_type types[] = {FOVEA_F16, FOVEA_BF16, FOVEA_F32};
  fovea_segment from = {.rows = ROWS, .k = new_rows, .v = v, .k_row = DIM, .k_head = ROWS * DIM, .v_row = DIM};
  from.v_head = from.k_head;
  const fovea_sequence source = fovea_sequence_of(&from, 1);
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    const fovea_segment to = make_segment(types[i], i % 2 == 0 ? FOVEA_KEYS_IN_ROWS : FOVEA_KEYS_IN_PANELS);
    const fovea_sequence target = fovea_sequence_of(&to, 1);
    everywhere_keep(fovea_sequence_copy(&source, &target, 1, HEADS, DIM, DIM, 0, ROWS, NULL, NULL));
  }
}

static void test_copy(void **state) {
  (void)state;
  assert_same_everywhere(act_copy);
}

/* The copy of a shared page. */
static void act_own(void) {
  fovea_pages pages;
  fovea_page_pool pool;
  int32_t references[2], page = -1;
  fovea_pages_init(&pages, 2, ROWS, HEADS, DIM, DIM, FOVEA_F32, FOVEA_KEYS_IN_PANELS);
  float *keys = pages.k = everywhere_room(2 * ROW_BYTES);
  float *values = pages.v = everywhere_room(2 * ROW_BYTES);
  memcpy(keys, q, sizeof q);
  memcpy(values, v, ROW_BYTES);
  everywhere_keep(fovea_page_pool_init(&pool, references, 2, NULL));
  everywhere_keep(fovea_page_take(&pool, &page, NULL));
  everywhere_keep(fovea_page_share(&pool, page, NULL));
  everywhere_keep(fovea_page_own(&pages, 1, &pool, &page, ROWS, NULL));
}

static void test_own(void **state) {
  (void)state;
  assert_same_everywhere(act_own);
}

static void act_merge(void) {
  fovea_state left, right, merged;
  fovea_state_init(&left, 1, HEADS, ROWS, DIM, 0, CUT, left_numbers);
  fovea_state_init(&right, 1, HEADS, ROWS, DIM, CUT, KEYS, right_numbers);
  fovea_state_init(&merged, 1, HEADS, ROWS, DIM, 0, KEYS, everywhere_room(sizeof whole_numbers));
  everywhere_keep(fovea_state_merge(&left, &right, &merged, on_isa(everywhere_isa), NULL));
}

static void test_merge(void **state) {
  (void)state;
  assert_same_everywhere_on_isas(act_merge);
}

/* Some scales are refused. */
static const double scales[] = {0.3, 1e40, -1.7e39, HUGE_VAL};

static void act_finish(void) {
  fovea_problem problem = problem_of_states();
  fovea_tensors tensors;
  fovea_state whole;
  fovea_state_init(&whole, 1, HEADS, ROWS, DIM, 0, KEYS, whole_numbers);
  for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
    problem.scale = scales[i];
    problem.sink = FOVEA_SINK_ZERO;
    fovea_tensors_init(&tensors, NULL, NULL, NULL, everywhere_room(sizeof o), everywhere_room(sizeof lse));
    tensors.state = &whole;
    everywhere_keep(
        fovea_state_finish(&problem, &tensors, on_isa(everywhere_isa), everywhere_room(sizeof(fovea_error))));
  }
}

static void test_finish(void **state) {
  (void)state;
  assert_same_everywhere_on_isas(act_finish);
}

static void act_from_output(void) {
  fovea_problem problem = problem_of_states();
  fovea_tensors tensors;
  fovea_state made;
  fovea_tensors_init(&tensors, NULL, NULL, NULL, o, lse);
  tensors.state = &made;
  for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
    problem.scale = scales[i];
    fovea_state_init(&made, 1, HEADS, ROWS, DIM, 0, KEYS, everywhere_room(sizeof whole_numbers));
    everywhere_keep(
        fovea_state_from_output(&problem, &tensors, on_isa(everywhere_isa), everywhere_room(sizeof(fovea_error))));
  }
}

static void test_from_output(void **state) {
  (void)state;
  assert_same_everywhere_on_isas(act_from_output);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rotary),      cmocka_unit_test(test_append), cmocka_unit_test(test_copy),
      cmocka_unit_test(test_own),         cmocka_unit_test(test_merge),  cmocka_unit_test(test_finish),
      cmocka_unit_test(test_from_output),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}

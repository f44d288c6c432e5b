/* The recipes of docs/caches.md for rows whose place in the cache is not their position: trees of drafts, left
 * padding, context shift, attention sinks with a window, eviction, holes. */
#include "support/check.h"
#include "support/error_says.h"
#include "support/generator.h"

#include <fovea/format.h>
#include <fovea/pattern.h>

#include <math.h>
#include <string.h>

enum { DIM = 64, MOST = 256 };

static float keys[MOST][DIM], values[MOST][DIM], queries[MOST][DIM];

static int fill(void **state) {
  (void)state;
  struct generator generator = {1};
  for (int i = 0; i < MOST; i++)
    for (int d = 0; d < DIM; d++) {
      keys[i][d] = generator_uniform(&generator);
      values[i][d] = generator_uniform(&generator);
      queries[i][d] = generator_uniform(&generator);
    }
  return 0;
}

/* A contiguous f32 cache. */
struct cache {
  float k[MOST][DIM], v[MOST][DIM];
  fovea_segment segment;
  fovea_sequence sequence;
};

static void make_cache(struct cache *c) {
  memset(c, 0, sizeof *c);
  c->segment = (fovea_segment){
      .rows = MOST, .k = c->k, .v = c->v, .k_head = MOST * DIM, .k_row = DIM, .v_head = MOST * DIM, .v_row = DIM};
  c->sequence = fovea_sequence_of(&c->segment, 1);
}

static fovea_rotary rotary_of(void) {
  fovea_rotary rotary;
  fovea_rotary_init(&rotary, FOVEA_ROTARY_HALVES, DIM);
  return rotary;
}

/* Rows `first` on of keys and values go to `to`, rotated by `positions`, or by their places. */
static void append(const fovea_sequence *sequence, int64_t first, int64_t count, int64_t to,
                   const int64_t *positions) {
  const fovea_rotary rotary = rotary_of();
  fovea_new_rows rows;
  fovea_error error;
  fovea_new_rows_init(&rows, 1, 1, count, DIM, DIM, keys[first], values[first], sequence);
  rows.first_position = to;
  rows.rotary_positions = positions;
  if (fovea_append(&rows, &rotary, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
}

static void rotate_queries(const float *from, float *to, int64_t count, const int64_t *positions, int64_t first) {
  const fovea_rotary rotary = rotary_of();
  fovea_rotation rotation;
  fovea_rotation_init(&rotation, 1, 1, count, DIM, from, to);
  rotation.positions = positions;
  rotation.first_position = positions ? 0 : first;
  assert_int_equal(fovea_rotary_apply(&rotary, &rotation, NULL, NULL), FOVEA_OK);
}

static void attend(const fovea_sequence *sequence, int64_t rows, int64_t length, const fovea_pattern *pattern,
                   const float *q, float *o) {
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_error error;
  fovea_problem_init(&problem, 1, 1, 1, rows, length, DIM, DIM);
  problem.cache.segmented = 1;
  problem.pattern = pattern;
  fovea_tensors_init(&tensors, q, NULL, NULL, o, NULL);
  tensors.cache.sequences = sequence;
  if (fovea_attend(&problem, &tensors, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
}

static double turned(const float *row, int d, int64_t position) {
  const int pair = d % (DIM / 2);
  const double angle = (double)position * pow(10000, -2.0 * pair / DIM);
  const double x = (double)row[pair], y = (double)row[pair + DIM / 2];
  return d < DIM / 2 ? x * cos(angle) - y * sin(angle) : y * cos(angle) + x * sin(angle);
}

/* Compares o with attention in double: row `query` at `at` over rows keys[list[j]] at positions[j]. */
static void assert_near(const float *o, int query, int64_t at, const int *list, const int64_t *positions, int count,
                        double bound) {
  double weights[MOST], sum = 0, most = -INFINITY;
  for (int j = 0; j < count; j++) {
    weights[j] = 0;
    for (int d = 0; d < DIM; d++)
      weights[j] += turned(queries[query], d, at) * turned(keys[list[j]], d, positions[j]);
    weights[j] /= sqrt(DIM);
    if (weights[j] > most) most = weights[j];
  }
  for (int j = 0; j < count; j++) sum += weights[j] = exp(weights[j] - most);
  for (int d = 0; d < DIM; d++) {
    double expected = 0;
    for (int j = 0; j < count; j++) expected += weights[j] / sum * (double)values[list[j]][d];
    if (!(fabs((double)o[d] - expected) <= bound))
      fail_msg("row %d, dim %d: %g, not %g", query, d, (double)o[d], expected);
  }
}

/* Drafts lie after each other, and are at the position of their depth: each branch as if it were alone. */
static void test_tree_of_drafts(void **state) {
  (void)state;
  enum { PREFIX = 20, DRAFTS = 5 };
  static const int64_t parents[DRAFTS] = {-1, 0, 0, 1, 2};
  static const int depths[DRAFTS] = {0, 1, 1, 2, 2};
  static struct cache c;
  int64_t positions[DRAFTS];
  float q[DRAFTS * DIM], o[DRAFTS * DIM];
  fovea_pattern_options options;
  fovea_pattern *pattern;
  make_cache(&c);
  append(&c.sequence, 0, PREFIX, 0, NULL);
  for (int i = 0; i < DRAFTS; i++) positions[i] = PREFIX + depths[i];
  append(&c.sequence, PREFIX, DRAFTS, PREFIX, positions);
  rotate_queries(queries[0], q, DRAFTS, positions, 0);
  const fovea_rule tree = fovea_rule_tree(PREFIX, DRAFTS, parents);
  fovea_pattern_options_init(&options, &tree, DRAFTS, PREFIX + DRAFTS);
  options.first_row = PREFIX;
  assert_int_equal(fovea_pattern_create(&options, &pattern, NULL), FOVEA_OK);
  attend(&c.sequence, DRAFTS, PREFIX + DRAFTS, pattern, q, o);
  for (int i = 0; i < DRAFTS; i++) {
    int list[MOST], count = 0;
    int64_t at[MOST];
    for (; count < PREFIX; count++) list[count] = count, at[count] = count;
    for (int64_t draft = i; draft >= 0; draft = parents[draft], count++)
      list[count] = PREFIX + (int)draft, at[count] = positions[draft];
    assert_near(o + i * DIM, i, positions[i], list, at, count, 5e-7);
  }
  fovea_pattern_destroy(pattern);
}

/* Keys after left padding have the bits of keys without it. */
static void test_left_padding(void **state) {
  (void)state;
  enum { PADDING = 7, ROWS = 13 };
  static struct cache padded, plain;
  int64_t positions[PADDING + ROWS];
  make_cache(&padded);
  make_cache(&plain);
  for (int i = 0; i < PADDING + ROWS; i++) positions[i] = i < PADDING ? 0 : i - PADDING;
  append(&padded.sequence, 0, PADDING + ROWS, 0, positions);
  append(&plain.sequence, PADDING, ROWS, 0, NULL);
  assert_memory_equal(padded.k[PADDING], plain.k[0], sizeof plain.k[0] * ROWS);
  assert_memory_equal(padded.v[PADDING], plain.v[0], sizeof plain.v[0] * ROWS);
}

/* Positions KEEP to KEEP + DROP - 1 are forgotten, in every format: the rest moves down, and is rotated back. */
static void test_context_shift(void **state) {
  (void)state;
  enum { ROWS = 96, KEEP = 8, DROP = 40, LENGTH = ROWS - DROP };
  static const struct {
    int name; /* -1: f32, -2: f16 */
    double bound;
  } formats[] = {{-1, 5e-7},
                 {-2, 2e-4},
                 {FOVEA_FORMAT_Q8_0, 0.005},
                 {FOVEA_FORMAT_Q8_KV, 0.005},
                 {FOVEA_FORMAT_OPENVINO_U8, 0.005},
                 {FOVEA_FORMAT_I8_ROWS, 0.005},
                 {FOVEA_FORMAT_Q4_0, 0.08}};
  static float memory[2][MOST * DIM];
  const fovea_rotary rotary = rotary_of();
  for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
    fovea_pages pages;
    fovea_segment segment;
    fovea_format format;
    fovea_move move;
    fovea_error error;
    float q[DIM], o[DIM];
    int list[MOST];
    int64_t at[MOST];
    const fovea_type type = formats[i].name == -2 ? FOVEA_F16 : FOVEA_F32;
    fovea_pages_init(&pages, 1, ROWS, 1, DIM, DIM, type, FOVEA_KEYS_IN_ROWS);
    if (formats[i].name >= 0) {
      assert_int_equal(fovea_format_init(&format, (fovea_format_name)formats[i].name, NULL), FOVEA_OK);
      assert_int_equal(fovea_pages_set_formats(&pages, &format, &format, NULL), FOVEA_OK);
    }
    if (formats[i].name == FOVEA_FORMAT_I8_ROWS) { /* scales apart */
      static float scales[2][MOST];
      pages.k_scales.scales = scales[0];
      pages.v_scales.scales = scales[1];
    }
    pages.k = memory[0];
    pages.v = memory[1];
    assert_int_equal(fovea_cache_contiguous(&pages, 0, &segment, NULL), FOVEA_OK);
    const fovea_sequence sequence = fovea_sequence_of(&segment, 1);
    append(&sequence, 0, ROWS, 0, NULL);
    fovea_move_init(&move, &sequence, 1, DIM, DIM, KEEP + DROP, ROWS, KEEP);
    move.rotary = &rotary;
    if (fovea_sequence_move(&move, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
    rotate_queries(queries[3], q, 1, NULL, LENGTH - 1);
    attend(&sequence, 1, LENGTH, NULL, q, o);
    for (int j = 0; j < LENGTH; j++) list[j] = j < KEEP ? j : j + DROP, at[j] = j;
    assert_near(o, 3, LENGTH - 1, list, at, LENGTH, formats[i].bound);
  }
}

/* StreamingLLM: attention sinks and the last rows. Places are numbered on, so nothing has a gap; the window's keys
 * are rotated back, so that they follow the sinks. */
static void test_sinks_and_window(void **state) {
  (void)state;
  enum { SINKS = 4, WINDOW = 64, ROWS = 200, LENGTH = SINKS + WINDOW };
  static struct cache c;
  const fovea_rotary rotary = rotary_of();
  fovea_move move;
  float q[DIM], o[DIM];
  int list[MOST];
  int64_t at[MOST];
  make_cache(&c);
  append(&c.sequence, 0, LENGTH, 0, NULL);
  for (int row = LENGTH; row < ROWS; row++) { /* one row leaves, one comes */
    fovea_move_init(&move, &c.sequence, 1, DIM, DIM, SINKS + 1, LENGTH, SINKS);
    move.rotary = &rotary;
    assert_int_equal(fovea_sequence_move(&move, NULL, NULL), FOVEA_OK);
    append(&c.sequence, row, 1, LENGTH - 1, NULL);
  }
  rotate_queries(queries[5], q, 1, NULL, LENGTH - 1);
  attend(&c.sequence, 1, LENGTH, NULL, q, o);
  for (int j = 0; j < LENGTH; j++) list[j] = j < SINKS ? j : ROWS - LENGTH + j, at[j] = j;
  assert_near(o, 5, LENGTH - 1, list, at, LENGTH, 4e-6); /* 132 rotations of a key, each with its rounding */
}

/* H2O, SnapKV: rows from anywhere are given up. Rows that stay move together, without a rotation; queries and new
 * keys are rotated to positions that still count the others. */
static void test_eviction(void **state) {
  (void)state;
  enum { ROWS = 100 };
  static const int64_t kept[][2] = {{0, 4}, {10, 11}, {30, 47}, {90, 100}};
  static struct cache c;
  int64_t length = 0, at[MOST], now = ROWS;
  int list[MOST];
  float q[DIM], o[DIM];
  make_cache(&c);
  append(&c.sequence, 0, ROWS, 0, NULL);
  for (int run = 0; run < 4; run++) {
    fovea_move move;
    fovea_move_init(&move, &c.sequence, 1, DIM, DIM, kept[run][0], kept[run][1], length);
    assert_int_equal(fovea_sequence_move(&move, NULL, NULL), FOVEA_OK);
    for (int64_t row = kept[run][0]; row < kept[run][1]; row++, length++) list[length] = (int)row, at[length] = row;
  }
  append(&c.sequence, ROWS, 1, length, &now);
  list[length] = ROWS, at[length++] = now;
  rotate_queries(queries[7], q, 1, &now, 0);
  attend(&c.sequence, 1, length, NULL, q, o);
  assert_near(o, 7, now, list, at, (int)length, 5e-7);
}

/* Whole pages leave a table: the others are numbered on. */
static void test_dropped_pages(void **state) {
  (void)state;
  enum { PAGE = 16, PAGES = 5 };
  static float k[PAGES * PAGE * DIM], v[PAGES * PAGE * DIM];
  static const int32_t all[PAGES] = {4, 1, 0, 3, 2},
                       some[] = {4, 3, 2}; /* pages 1 and 2 of positions are forgotten */
  fovea_pages pages;
  fovea_segment segments[PAGES];
  fovea_sequence sequence;
  float q[DIM], o[DIM];
  int list[MOST];
  int64_t at[MOST];
  const int64_t last = PAGES * PAGE - 1;
  fovea_pages_init(&pages, PAGES, PAGE, 1, DIM, DIM, FOVEA_F32, FOVEA_KEYS_IN_PANELS);
  pages.k = k;
  pages.v = v;
  assert_int_equal(fovea_cache_paged(&pages, all, PAGES, 0, PAGES * PAGE, segments, PAGES, &sequence, NULL),
                   FOVEA_OK);
  append(&sequence, 0, PAGES * PAGE, 0, NULL);
  assert_int_equal(fovea_cache_paged(&pages, some, 3, 0, 3 * PAGE, segments, PAGES, &sequence, NULL), FOVEA_OK);
  rotate_queries(queries[9], q, 1, &last, 0);
  attend(&sequence, 1, 3 * PAGE, NULL, q, o);
  for (int j = 0; j < 3 * PAGE; j++) at[j] = list[j] = j < PAGE ? j : j + 2 * PAGE;
  assert_near(o, 9, last, list, at, 3 * PAGE, 5e-7);
}

/* StreamingLLM, where rows keep their positions: a hole between the sinks and the window has the bits of all rows
 * with a mask. A hole that the problem does not speak of is refused. */
static void test_hole(void **state) {
  (void)state;
  enum { SINKS = 4, WINDOW = 64, ROWS = 200, FROM = ROWS - WINDOW };
  static struct cache c;
  float o[DIM], expected[DIM];
  unsigned char mask[ROWS];
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_error error;
  make_cache(&c);
  append(&c.sequence, 0, ROWS, 0, NULL);
  for (int j = 0; j < ROWS; j++) mask[j] = j < SINKS || j >= FROM;
  fovea_problem_init(&problem, 1, 1, 1, 1, ROWS, DIM, DIM);
  problem.mask.type = FOVEA_MASK_BOOL;
  fovea_tensors_init(&tensors, queries[1], c.k, c.v, expected, NULL);
  tensors.mask = mask;
  assert_int_equal(fovea_attend(&problem, &tensors, NULL, NULL), FOVEA_OK);

  fovea_segment stretches[2] = {c.segment, c.segment};
  stretches[0].rows = SINKS;
  stretches[1].first = FROM;
  stretches[1].rows = WINDOW;
  stretches[1].k = c.k[FROM];
  stretches[1].v = c.v[FROM];
  for (int j = SINKS; j < FROM; j++)
    for (int d = 0; d < DIM; d++) c.k[j][d] = c.v[j][d] = NAN;
  const fovea_sequence sequence = fovea_sequence_of(stretches, 2);
  fovea_problem_init(&problem, 1, 1, 1, 1, ROWS, DIM, DIM);
  problem.cache.segmented = problem.cache.holes = 1;
  fovea_tensors_init(&tensors, queries[1], NULL, NULL, o, NULL);
  tensors.cache.sequences = &sequence;
  assert_int_equal(fovea_attend(&problem, &tensors, NULL, &error), FOVEA_OK);
  assert_memory_equal(o, expected, sizeof o);

  problem.cache.holes = 0;
  assert_int_equal(fovea_attend(&problem, &tensors, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "segments[1] begins at position 136; the one before ends before 4: set cache.holes");
  assert_error_says(&error, "cache.sequences[0].segments[1] begins at position 136");
}

/* Pages between the sinks' pages and the window's pages have left the table. */
static void test_hole_in_pages(void **state) {
  (void)state;
  enum { PAGE = 16, PAGES = 5, SINKS = 4, FROM = 3 * PAGE, LENGTH = PAGES * PAGE };
  static float k[PAGES * PAGE * DIM], v[PAGES * PAGE * DIM];
  static const int32_t all[PAGES] = {4, 1, 0, 3, 2}, left[PAGES] = {4, -1, -1, 3, 2};
  const int64_t last = LENGTH - 1;
  fovea_pages pages;
  fovea_segment segments[PAGES];
  fovea_sequence sequence, window;
  fovea_problem problem;
  fovea_tensors tensors;
  float q[DIM], o[DIM];
  int list[MOST], count = 0;
  int64_t at[MOST];
  fovea_pages_init(&pages, PAGES, PAGE, 1, DIM, DIM, FOVEA_F32, FOVEA_KEYS_IN_PANELS);
  pages.k = k;
  pages.v = v;
  assert_int_equal(fovea_cache_paged(&pages, all, PAGES, 0, LENGTH, segments, PAGES, &sequence, NULL), FOVEA_OK);
  append(&sequence, 0, LENGTH, 0, NULL);
  assert_int_equal(fovea_cache_paged(&pages, left, PAGES, 0, SINKS, segments, PAGES, &sequence, NULL), FOVEA_OK);
  segments[0].rows = SINKS;
  assert_int_equal(fovea_cache_paged(&pages, left, PAGES, FROM, LENGTH, segments + 1, PAGES - 1, &window, NULL),
                   FOVEA_OK);
  sequence = fovea_sequence_of(segments, 1 + window.count);
  rotate_queries(queries[9], q, 1, &last, 0);
  fovea_problem_init(&problem, 1, 1, 1, 1, LENGTH, DIM, DIM);
  problem.cache.segmented = problem.cache.holes = 1;
  fovea_tensors_init(&tensors, q, NULL, NULL, o, NULL);
  tensors.cache.sequences = &sequence;
  assert_int_equal(fovea_attend(&problem, &tensors, NULL, NULL), FOVEA_OK);
  for (int j = 0; j < LENGTH; j++)
    if (j < SINKS || j >= FROM) list[count] = j, at[count++] = j;
  assert_near(o, 9, last, list, at, count, 5e-7);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tree_of_drafts), cmocka_unit_test(test_left_padding),
      cmocka_unit_test(test_context_shift),  cmocka_unit_test(test_sinks_and_window),
      cmocka_unit_test(test_eviction),       cmocka_unit_test(test_dropped_pages),
      cmocka_unit_test(test_hole),           cmocka_unit_test(test_hole_in_pages),
  };
  return cmocka_run_group_tests(tests, fill, NULL);
}

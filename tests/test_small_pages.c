/* Pages of one row and of a few: one segment for nearly every key. Segments that are alike are checked and found
 * faster than others, so here one of thousands differs, in every way in which it may, and in every way in which it
 * may not. Results have the bits of contiguous tensors. */
#include "support/check.h"
#include "support/error_says.h"
#include "support/execution.h"
#include "support/guarded.h"
#include "support/trial.h"

#include <fovea/cache.h>
#include <string.h>

enum { HEADS = 6, KV_HEADS = 2, DIM = 24, KEYS = 300, LAYERS = 3, LAYER = 1, ROWS_LIMIT = 20 };
enum { ROOM = (KEYS + 16) * KV_HEADS * LAYERS * 32 };

static float q[HEADS * ROWS_LIMIT * DIM], o[HEADS * ROWS_LIMIT * DIM], expected[HEADS * ROWS_LIMIT * DIM];
static float keys[KV_HEADS * KEYS * DIM], values[KV_HEADS * KEYS * DIM];
static float k_memory[ROOM], v_memory[ROOM], spare_k[LAYERS * KV_HEADS * DIM * 4],
    spare_v[LAYERS * KV_HEADS * DIM * 4];
static struct guarded memory; /* of the segments: a byte after the last is not readable */
static fovea_segment *segments;
static int64_t count;
static fovea_sequence sequence;
static fovea_problem problem;
static fovea_tensors tensors;

/* Small numbers, which every type holds. */
static float number_at(int64_t i) {
  return (float)(i * 7919 % 251 - 125) / 32.0f;
}

static void fill_all(void) {
  for (int64_t i = 0; i < (int64_t)(sizeof q / sizeof *q); i++) q[i] = number_at(3 * i + 1) / 4.0f;
  for (int64_t i = 0; i < (int64_t)(sizeof keys / sizeof *keys); i++) {
    keys[i] = number_at(i) / 4.0f;
    values[i] = number_at(i + 100);
  }
}

static void put_row(const fovea_segment *segment, int side, int64_t head, int64_t row, const float *numbers) {
  float *to = side ? segment->v : segment->k;
  to += head * (side ? segment->v_head : segment->k_head) + row * (side ? segment->v_row : segment->k_row);
  to += segment->layers > 1 ? LAYER * (side ? segment->v_layer : segment->k_layer) : 0;
  memcpy(to, numbers, DIM * sizeof *to);
}

static void put_segment(const fovea_segment *segment) {
  for (int64_t head = 0; head < KV_HEADS; head++)
    for (int64_t row = 0; row < segment->rows && segment->first + row < KEYS; row++) {
      const int64_t from = (head * KEYS + segment->first + row) * DIM;
      put_row(segment, 0, head, row, keys + from);
      put_row(segment, 1, head, row, values + from);
    }
}

/* Pages of `rows` rows and LAYERS layers, in an order that leaps. Numbers of other layers are NaN. */
static void make_pages(int64_t rows) {
  fovea_pages pages;
  fovea_error error;
  int32_t table[KEYS];
  const int64_t length = (KEYS + rows - 1) / rows;
  fovea_pages_init(&pages, length + 1, rows, KV_HEADS, DIM, DIM, FOVEA_F32, FOVEA_KEYS_IN_ROWS);
  pages.layers = LAYERS;
  pages.k_layer = pages.v_layer = pages.k_strides.batch;
  pages.k_strides.batch = pages.v_strides.batch = LAYERS * pages.k_strides.batch;
  assert_true((length + 1) * pages.k_strides.batch <= ROOM);
  memset(k_memory, 0xff, sizeof k_memory);
  memset(v_memory, 0xff, sizeof v_memory);
  pages.k = k_memory;
  pages.v = v_memory;
  for (int64_t i = 0; i < length; i++) table[i] = (int32_t)(length - i);
  static fovea_segment made[KEYS];
  assert_int_equal(fovea_cache_paged(&pages, table, length, 0, KEYS, made, KEYS, &sequence, &error), FOVEA_OK);
  count = sequence.count;
  memory = guarded_create((size_t)count * sizeof *segments, GUARD_AT_END);
  segments = (fovea_segment *)(void *)memory.data;
  memcpy(segments, made, (size_t)count * sizeof *segments);
  sequence = fovea_sequence_of(segments, count);
  for (int64_t i = 0; i < count; i++) put_segment(&segments[i]);
}

static void make_call(int64_t q_len) {
  fovea_problem_init(&problem, 1, HEADS, KV_HEADS, q_len, KEYS, DIM, DIM);
  problem.causal = 1;
  fovea_tensors_init(&tensors, q, keys, values, expected, NULL);
  assert_int_equal(fovea_attend(&problem, &tensors, NULL, NULL), FOVEA_OK);
  problem.cache.segmented = 1;
  tensors.k = tensors.v = NULL;
  tensors.o = o;
  tensors.cache.sequences = &sequence;
  tensors.cache.layer = LAYER;
}

static void assert_same_bits(void) {
  for (const char *const *isa = usable_isas_for(&problem); *isa != NULL; isa++) {
    fovea_error error;
    memset(o, 0xff, sizeof o);
    if (fovea_attend(&problem, &tensors, on_isa(*isa), &error) != FOVEA_OK) fail_msg("%s: %s", *isa, error.text);
    assert_memory_equal(o, expected, (size_t)(HEADS * problem.q_len * DIM) * sizeof *o);
  }
}

static const int64_t page_sizes[] = {1, 2, 3, 5, 16};
enum { PAGE_SIZES = sizeof page_sizes / sizeof *page_sizes };

static void test_alike(void **state) {
  (void)state;
  fill_all();
  for (int size = 0; size < PAGE_SIZES; size++) {
    make_pages(page_sizes[size]);
    for (int64_t rows = 1; rows <= ROWS_LIMIT; rows += USUAL_OR_LONG(3, 1)) {
      make_call(rows);
      assert_same_bits();
    }
    guarded_destroy(&memory);
  }
}

/* The ways in which a segment may differ from all others. */
enum difference { HEAD_STRIDES, ROW_STRIDES, LAYER_STRIDES, NO_LAYERS, ONE_TYPE, BOTH_TYPES, DIFFERENCES };

static void shrink(void *numbers, int64_t n) {
  const float *from = numbers;
  for (int64_t i = 0; i < n; i++) {
    uint32_t bits;
    memcpy(&bits, &from[i], sizeof bits);
    const uint16_t half = (uint16_t)(bits >> 16); /* bf16 holds these numbers */
    memcpy((char *)numbers + 2 * i, &half, sizeof half);
  }
}

/* Gives segment i other memory, in which it lies in another way. */
static void differ(int64_t i, enum difference difference) {
  fovea_segment *segment = &segments[i];
  memset(spare_k, 0xff, sizeof spare_k);
  memset(spare_v, 0xff, sizeof spare_v);
  segment->k = spare_k;
  segment->v = spare_v;
  segment->k_layer = segment->v_layer = KV_HEADS * segment->rows * DIM;
  segment->k_head = segment->v_head = segment->rows * DIM;
  segment->k_row = segment->v_row = DIM;
  if (difference == HEAD_STRIDES) segment->v_head = segment->v_layer, segment->v_layer = segment->rows * DIM;
  if (difference == ROW_STRIDES && segment->rows == 1) segment->k_row = INT64_MAX, segment->v_row = INT64_MIN;
  if (difference == LAYER_STRIDES) segment->k_layer += DIM;
  if (difference == NO_LAYERS) segment->layers = 2;
  put_segment(segment);
  if (difference == ONE_TYPE || difference == BOTH_TYPES) {
    shrink(spare_v, LAYERS * KV_HEADS * segment->rows * DIM);
    segment->v_type = FOVEA_BF16;
  }
  if (difference == BOTH_TYPES) {
    shrink(spare_k, LAYERS * KV_HEADS * segment->rows * DIM);
    segment->k_type = FOVEA_BF16;
  }
}

static void test_one_differs(void **state) {
  (void)state;
  fill_all();
  for (int size = 0; size < 3; size++)
    for (int difference = 0; difference < DIFFERENCES; difference++) {
      make_pages(page_sizes[size]);
      differ(difference % 2 ? count - 1 : count / 2, (enum difference)difference);
      for (int64_t rows = 1; rows <= ROWS_LIMIT; rows += 9) {
        make_call(rows);
        assert_same_bits();
      }
      guarded_destroy(&memory);
    }
}

/* The stride of a single row may be any number: of all segments, if each has one row. */
static void test_any_stride_of_single_rows(void **state) {
  (void)state;
  fill_all();
  make_pages(1);
  assert_int_equal(count, KEYS);
  for (int64_t i = 0; i < count; i++) segments[i].k_row = INT64_MAX, segments[i].v_row = INT64_MIN;
  make_call(1);
  assert_same_bits();
  make_call(ROWS_LIMIT);
  assert_same_bits();
  guarded_destroy(&memory);
}

static void assert_refused_as(fovea_status status, const char *text) {
  fovea_error error;
  memset(o, 0x3a, sizeof o);
  assert_int_equal(fovea_attend(&problem, &tensors, NULL, &error), status);
  assert_error_says(&error, text);
  for (size_t i = 0; i < sizeof o; i++) assert_int_equal(((const unsigned char *)o)[i], 0x3a);
  guarded_destroy(&memory);
}

/* A change of segment `i` of the pages, which the call is refused for. */
#define SPOILED(i, change, status, text)                                                                           \
  do {                                                                                                             \
    make_pages(1);                                                                                                 \
    make_call(2);                                                                                                  \
    fovea_segment *segment = &segments[i];                                                                         \
    change;                                                                                                        \
    assert_refused_as(status, text);                                                                               \
  } while (0)

/* Each fault is found in the middle of segments that are right, and in the last one. */
static void test_faults(void **state) {
  (void)state;
  fill_all();
  SPOILED(200, segment->k = NULL, FOVEA_ERROR_ARGUMENT, "segments[200].k is NULL");
  SPOILED(299, segment->v = NULL, FOVEA_ERROR_ARGUMENT, "segments[299].v is NULL");
  SPOILED(200, segment->k = (char *)segment->k + 2, FOVEA_ERROR_ARGUMENT, "segments[200].k");
  SPOILED(299, segment->v = (char *)segment->v + 1, FOVEA_ERROR_ARGUMENT, "segments[299].v");
  SPOILED(200, segment->rows = 0, FOVEA_ERROR_ARGUMENT, "segments[200] has 0 rows");
  SPOILED(299, segment->rows = -1, FOVEA_ERROR_ARGUMENT, "segments[299] has -1 rows");
  SPOILED(200, segment->rows = INT64_MAX, FOVEA_ERROR_ARGUMENT, "segments[200] has 9223372036854775807 rows");
  SPOILED(200, segment->first--, FOVEA_ERROR_ARGUMENT, "segments[200] begins at position 199");
  SPOILED(200, segment->first = INT64_MIN, FOVEA_ERROR_ARGUMENT, "segments[200] has 1 rows from position");
  SPOILED(200, segment->k_type = (fovea_type)9, FOVEA_ERROR_ARGUMENT, "segments[200].k_type is 9");
  SPOILED(200, segment->k_layout = FOVEA_KEYS_IN_PANELS, FOVEA_ERROR_ARGUMENT, "segments[200] has panels");
  SPOILED(200, segment->layers = 1, FOVEA_ERROR_ARGUMENT, "layer is 1; sequences[0].segments[200].layers is 1");
  SPOILED(200, segment->v_head = INT64_MAX, FOVEA_ERROR_ARGUMENT, "segments[200].v: the elements reach further");
  SPOILED(200, segment->k_scales.scales = q, FOVEA_ERROR_UNUSED, "segments[200].k_scales is set");
  SPOILED(200, segment->v = o, FOVEA_ERROR_ARGUMENT, "o shares memory with v");
  SPOILED(299, segment->k = o, FOVEA_ERROR_ARGUMENT, "o shares memory with k");
}

/* Scratch may share nothing with a page, whichever it is. */
static void test_scratch_over_a_page(void **state) {
  (void)state;
  static _Alignas(64) char scratch[1 << 20];
  fovea_execution execution;
  fovea_plan *plan;
  fovea_error error;
  fill_all();
  make_pages(1);
  make_call(1);
  assert_int_equal(fovea_plan_create(&problem, NULL, &plan, &error), FOVEA_OK);
  fovea_execution_init(&execution);
  execution.threads = 1;
  execution.scratch = scratch;
  execution.scratch_size = fovea_plan_scratch_size(plan, 1);
  assert_true(execution.scratch_size > 0 && execution.scratch_size <= sizeof scratch - 4096);
  for (int64_t i = 0; i < count; i += 149) {
    const fovea_segment kept = segments[i];
    char *after = scratch + execution.scratch_size;
    segments[i].v = (char *)(after - LAYER * (size_t)kept.v_layer * sizeof(float));
    for (int64_t head = 0; head < KV_HEADS; head++)
      put_row(&segments[i], 1, head, 0, values + (head * KEYS + segments[i].first) * DIM);
    assert_int_equal(fovea_plan_run(plan, &tensors, &execution, &error), FOVEA_OK);
    assert_memory_equal(o, expected, HEADS * DIM * sizeof *o);
    segments[i].v = (char *)segments[i].v - 64;
    assert_int_equal(fovea_plan_run(plan, &tensors, &execution, &error), FOVEA_ERROR_ARGUMENT);
    segments[i] = kept;
  }
  fovea_plan_destroy(plan);
  guarded_destroy(&memory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_alike),
      cmocka_unit_test(test_one_differs),
      cmocka_unit_test(test_any_stride_of_single_rows),
      cmocka_unit_test(test_faults),
      cmocka_unit_test(test_scratch_over_a_page),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

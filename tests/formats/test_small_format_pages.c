/* Pages of one row and of a few with formats: one segment for nearly every key, whose scales may lie apart. Of
 * segments that are alike only pointers and positions are checked, so here one of many is wrong, in every way in
 * which it may be. Bits are those of f32 tensors that hold the numbers of the codes. */
#include "narrow_pages.h"

#include "support/check.h"
#include "support/error_says.h"
#include "support/execution.h"
#include "support/trial.h"

#include <string.h>

enum { HEADS = 4, KV_HEADS = 2, DIM = 64, KEYS = 300, LAYERS = 2, LAYER = 1, ROWS_LIMIT = 20 };

static float q[HEADS * ROWS_LIMIT * DIM], o[HEADS * ROWS_LIMIT * DIM], expected[HEADS * ROWS_LIMIT * DIM];
static float keys[KV_HEADS * KEYS * DIM], values[KV_HEADS * KEYS * DIM];
static float other_centre[LAYERS * KV_HEADS * DIM + 1]; /* of one segment */
static struct generator generator;
static struct narrow_pages made;
static fovea_format other_format; /* of one segment */
static int32_t table[KEYS];
static struct guarded memory; /* of the segments: a byte after the last is not readable */
static fovea_segment *segments;
static fovea_sequence sequence;
static fovea_problem problem;
static fovea_tensors tensors;

/* ---- Pages --------------------------------------------------------------------------------------------------- */

/* Pages in an order that leaps. */
static void make_pages(const fovea_format *k, const fovea_format *v, int64_t rows, enum page_layout layout) {
  static fovea_segment list[KEYS];
  fovea_error error;
  const int64_t length = (KEYS + rows - 1) / rows;
  narrow_pages_make(&made, k, v, length, rows, KV_HEADS, DIM, DIM, LAYERS, layout, &generator);
  for (int64_t i = 0; i < length; i++) table[i] = (int32_t)(length - 1 - i);
  if (fovea_cache_paged(&made.pages, table, length, 0, KEYS, list, KEYS, &sequence, &error) != FOVEA_OK)
    fail_msg("%s", error.text);
  memory = guarded_create((size_t)sequence.count * sizeof *segments, GUARD_AT_END);
  segments = (fovea_segment *)(void *)memory.data;
  memcpy(segments, list, (size_t)sequence.count * sizeof *segments);
  sequence = fovea_sequence_of(segments, sequence.count);
}

static void destroy_pages(void) {
  narrow_pages_destroy(&made);
  guarded_destroy(&memory);
}

static void make_call(int64_t q_len) {
  for (size_t i = 0; i < sizeof q / sizeof *q; i++) q[i] = generator_uniform(&generator);
  fovea_problem_init(&problem, 1, HEADS, KV_HEADS, q_len, KEYS, DIM, DIM);
  problem.causal = 1;
  problem.cache.segmented = 1;
  fovea_tensors_init(&tensors, q, NULL, NULL, o, NULL);
  tensors.cache.sequences = &sequence;
  tensors.cache.layer = LAYER;
}

/* Attention over f32 tensors with the numbers of the codes. */
static void run_expected(void) {
  for (int side = 0; side < 2; side++)
    for (int64_t head = 0; head < KV_HEADS; head++)
      for (int64_t i = 0; i < KEYS; i++)
        for (int64_t d = 0; d < DIM; d++)
          (side ? values : keys)[(head * KEYS + i) * DIM + d] = narrow_pages_element(
              &made, side, LAYER, table[i / made.pages.page_rows], head, i % made.pages.page_rows, d);
  fovea_problem contiguous = problem;
  fovea_tensors of;
  contiguous.cache.segmented = 0;
  fovea_tensors_init(&of, q, keys, values, expected, NULL);
  assert_int_equal(fovea_attend(&contiguous, &of, on_isa("scalar"), NULL), FOVEA_OK);
}

static void assert_same_bits(void) {
  for (const char *const *isa = usable_isas_for(&problem); *isa != NULL; isa++) {
    fovea_error error;
    memset(o, 0xff, sizeof o);
    if (fovea_attend(&problem, &tensors, on_isa(*isa), &error) != FOVEA_OK) fail_msg("%s: %s", *isa, error.text);
    assert_memory_equal(o, expected, (size_t)(HEADS * problem.q_len * DIM) * sizeof *o);
  }
}

/* Formats with scales apart for each row, for all rows of a page, and with zeros; with scales and zeros in front of
 * codes; a format that decoding does not know, and one with groups of keys. */
enum { FORMATS = 8 };

static fovea_format format_at(int i) {
  static const fovea_format_name names[FORMATS] = {
      FOVEA_FORMAT_I8_ROWS, FOVEA_FORMAT_E4M3,  FOVEA_FORMAT_KIVI_V4,     FOVEA_FORMAT_I8_ROWS,
      FOVEA_FORMAT_Q8_0,    FOVEA_FORMAT_Q8_KV, FOVEA_FORMAT_OPENVINO_U8, FOVEA_FORMAT_Q5_0};
  fovea_format format = narrow_format(names[i]);
  if (i == 3) format.scale_type = FOVEA_F16;
  return format;
}

static void test_alike(void **state) {
  (void)state;
  static const int64_t page_sizes[] = {1, 2, 3, 16};
  generator = (struct generator){1};
  for (int i = 0; i < FORMATS; i++)
    for (int size = 0; size < 4; size++) {
      const fovea_format k = format_at(i), v = format_at(size % 2 ? (i + size) % FORMATS : i);
      const int one_side = (i + size) % 5; /* now and then a side is f32 */
      make_pages(one_side == 3 ? NULL : &k, one_side == 4 ? NULL : &v, page_sizes[size],
                 (enum page_layout)((i + size) % PAGE_LAYOUTS));
      for (int64_t rows = 1; rows <= ROWS_LIMIT; rows += 9) {
        make_call(rows);
        run_expected();
        assert_same_bits();
      }
      destroy_pages();
    }
}

/* Moves scales or zeros of a segment of one row to other memory. */
static void *move_numbers(const void *from, const fovea_code_scales *scales, int64_t groups, int64_t bytes,
                          char *to) {
  for (int64_t head = 0; head < KV_HEADS; head++)
    for (int64_t group = 0; group < groups; group++) {
      const int64_t at = LAYER * scales->layer + head * scales->head + group * scales->group;
      memcpy(to + at, (const char *)from + at, (size_t)bytes);
    }
  return to;
}

/* One segment has its scales or its zeros elsewhere, or a format of its own. */
static void test_one_differs(void **state) {
  (void)state;
  static char elsewhere[4][1 << 13];
  const fovea_format rows = narrow_format(FOVEA_FORMAT_I8_ROWS), zeros = narrow_format(FOVEA_FORMAT_KIVI_V4);
  generator = (struct generator){7};
  for (int difference = 0; difference < 4; difference++)
    for (int64_t i = 150; i < KEYS; i += 149) {
      const fovea_format *format = difference < 2 ? &zeros : &rows;
      const int64_t groups = difference < 2 ? DIM / 32 : 1, bytes = difference < 2 ? 2 : 4;
      make_pages(format, format, 1, PAGES_ROWS_FIRST);
      fovea_segment *segment = &segments[i];
      fovea_code_scales *k = &segment->k_scales, *v = &segment->v_scales;
      if (difference == 0) {
        k->zeros = move_numbers(k->zeros, k, groups, bytes, elsewhere[0]);
        v->zeros = move_numbers(v->zeros, v, groups, bytes, elsewhere[1]);
      } else if (difference < 3) {
        k->scales = move_numbers(k->scales, k, groups, bytes, elsewhere[2]);
        v->scales = move_numbers(v->scales, v, groups, bytes, elsewhere[3]);
      } else {
        other_format = rows;
        segment->k_format = segment->v_format = &other_format;
      }
      make_call(1 + difference);
      run_expected();
      assert_same_bits();
      destroy_pages();
    }
}

/* ---- Faults -------------------------------------------------------------------------------------------------- */

static void assert_refused_as(fovea_status status, const char *text) {
  fovea_error error;
  memset(o, 0x3a, sizeof o);
  assert_int_equal(fovea_attend(&problem, &tensors, NULL, &error), status);
  assert_error_says(&error, text);
  for (size_t i = 0; i < sizeof o; i++) assert_int_equal(((const unsigned char *)o)[i], 0x3a);
  destroy_pages();
}

/* Pages of `rows` rows without a centre, all of which are right. */
static void make_right(const fovea_format *format, int64_t rows) {
  make_pages(format, format, rows, PAGES_ROWS_FIRST);
  for (int64_t i = 0; i < sequence.count; i++) segments[i].k_scales.centre = segments[i].v_scales.centre = NULL;
  make_call(2);
  assert_int_equal(fovea_attend(&problem, &tensors, NULL, NULL), FOVEA_OK);
}

/* A change of segment `i`, which the call is refused for. */
#define SPOILED(format, page_rows, i, change, status, text)                                                        \
  do {                                                                                                             \
    make_right(&(format), page_rows);                                                                              \
    fovea_segment *segment = &segments[i];                                                                         \
    change;                                                                                                        \
    assert_refused_as(status, text);                                                                               \
  } while (0)
#define WRONG(i, change, text)  SPOILED(format, 1, i, change, FOVEA_ERROR_ARGUMENT, text)
#define UNUSED(i, change, text) SPOILED(format, 1, i, change, FOVEA_ERROR_UNUSED, text)

/* Each fault is found in the middle of segments that are right, and in the last one. */
static void test_faults(void **state) {
  (void)state;
  const fovea_format format = narrow_format(FOVEA_FORMAT_I8_ROWS);
  generator = (struct generator){2};
  WRONG(200, segment->k = NULL, "segments[200].k is NULL");
  WRONG(299, segment->v = NULL, "segments[299].v is NULL");
  WRONG(200, segment->k_scales.scales = NULL, "segments[200].k_scales.scales is NULL");
  WRONG(299, segment->v_scales.scales = NULL, "segments[299].v_scales.scales is NULL");
  WRONG(299, segment->k_scales.scales = NULL, "segments[299].k_scales.scales is NULL");
  UNUSED(200, segment->k_scales.zeros = q, "segments[200].k_scales.zeros is set");
  UNUSED(299, segment->v_scales.zeros = q, "segments[299].v_scales.zeros is set");
  WRONG(200, segment->k_scales.centre = (float *)(void *)((char *)other_centre + 1),
        "segments[200].k_scales.centre is at an address");
  WRONG(299, segment->v_scales.centre = (float *)(void *)((char *)other_centre + 2),
        "segments[299].v_scales.centre is at an address");
  WRONG(200, segment->rows = 0, "segments[200] has 0 rows");
  WRONG(299, segment->rows = -1, "segments[299] has -1 rows");
  WRONG(299, segment->rows = INT64_MAX, "segments[299] has 9223372036854775807 rows");
  WRONG(299, (segment->rows = INT64_C(1) << 48, segment->k_scales.row = INT64_C(1) << 12),
        "segments[299].k_scales.scales reaches further");
  WRONG(200, segment->rows = 2, "segments[201] begins at position 201");
  WRONG(200, segment->first--, "segments[200] begins at position 199");
  WRONG(200, segment->first++, "segments[200] begins at position 201");
  WRONG(200, segment->first = INT64_MIN, "segments[200] has 1 rows from position");
  WRONG(200, segment->k_layout = FOVEA_KEYS_IN_PANELS, "segments[200] has panels from position 200");
  WRONG(299, segment->k_layout = (fovea_key_layout)2, "segments[299].k_layout is 2");
  WRONG(200, segment->layers = 1, "layer: layer is 1; sequences[0].segments[200].layers is 1");
  WRONG(200, segment->kv_heads = 3, "kv_heads: segments[200].kv_heads is 3");
  WRONG(299, segment->v_dim = 1, "v_dim: segments[299].v_dim is 1");
  WRONG(200, segment->v_scales.head = INT64_MAX, "segments[200].v_scales.scales reaches further");
  WRONG(200, (other_format = format, other_format.struct_size = 0, segment->k_format = &other_format),
        "segments[200].k_format.struct_size is 0");
  UNUSED(200, segment->v_type = FOVEA_BF16, "segments[200].v_type is 2");
  UNUSED(200, segment->k_format = NULL, "segments[200].k_scales is set, but k_format is NULL");
}

/* The same of formats with zeros apart, with scales beside their codes, and in panels, whose first position may be
 * wrong only if there are holes. */
static void test_faults_of_other_formats(void **state) {
  (void)state;
  const fovea_format beside = narrow_format(FOVEA_FORMAT_Q8_0), zeros = narrow_format(FOVEA_FORMAT_KIVI_V4);
  generator = (struct generator){3};
  SPOILED(beside, 1, 200, segment->k_scales.scales = q, FOVEA_ERROR_UNUSED, "segments[200].k_scales.scales is set");
  SPOILED(beside, 1, 299, segment->v_scales.zeros = q, FOVEA_ERROR_UNUSED, "segments[299].v_scales.zeros is set");
  SPOILED(zeros, 1, 200, segment->k_scales.zeros = NULL, FOVEA_ERROR_ARGUMENT,
          "segments[200].k_scales.zeros is NULL");
  SPOILED(zeros, 1, 299, segment->v_scales.zeros = NULL, FOVEA_ERROR_ARGUMENT,
          "segments[299].v_scales.zeros is NULL");
  const fovea_format format = narrow_format(FOVEA_FORMAT_I8_ROWS);
  do make_pages(&format, &format, 16, PAGES_DEFAULT);
  while (segments[0].k_layout != FOVEA_KEYS_IN_PANELS && (destroy_pages(), 1));
  make_call(2);
  problem.cache.holes = 1;
  assert_int_equal(fovea_attend(&problem, &tensors, NULL, NULL), FOVEA_OK);
  segments[9].first += 8;
  segments[9].rows = 8;
  assert_refused_as(FOVEA_ERROR_ARGUMENT, "segments[9] has panels from position 152");
}

/* Each part of a segment lies in memory of its own, of which none may be an output's. */
#define SHARED(format, i, pointer, step, name)                                                                     \
  SPOILED(format, 1, i, segment->pointer = (void *)((char *)o - LAYER * segment->step), FOVEA_ERROR_ARGUMENT,      \
          "o: shares memory with " name)

static void test_overlap(void **state) {
  (void)state;
  const fovea_format apart = narrow_format(FOVEA_FORMAT_I8_ROWS), zeros = narrow_format(FOVEA_FORMAT_KIVI_V4);
  generator = (struct generator){4};
  SHARED(apart, 200, k, k_layer, "k");
  SHARED(apart, 299, v, v_layer, "v");
  SHARED(apart, 200, k_scales.scales, k_scales.layer, "k");
  SHARED(apart, 299, v_scales.scales, v_scales.layer, "v");
  SHARED(zeros, 200, k_scales.zeros, k_scales.layer, "k");
  SHARED(zeros, 299, v_scales.zeros, v_scales.layer, "v");
  SHARED(apart, 200, k_scales.centre, k_scales.centre_layer, "k");
  SHARED(apart, 299, v_scales.centre, v_scales.centre_layer, "v");
}

/* A segment that has memory before an output and one that has memory after it, so that the output lies between: it
 * is compared with each segment. */
static void test_output_between(void **state) {
  (void)state;
  static char room[3 * 4096];
  const fovea_format format = narrow_format(FOVEA_FORMAT_I8_ROWS);
  generator = (struct generator){5};
  make_right(&format, 1);
  float *const between = (float *)(void *)(room + 4096);
  for (int side = 0; side < 2; side++) {
    fovea_code_scales *first = side ? &segments[7].v_scales : &segments[7].k_scales;
    fovea_code_scales *last = side ? &segments[290].v_scales : &segments[290].k_scales;
    first->scales = room - LAYER * first->layer;
    last->scales = room + 2 * 4096 + 1024 - LAYER * last->layer;
  }
  problem.q_len = 1;
  tensors.o = between;
  assert_int_equal(fovea_attend(&problem, &tensors, NULL, NULL), FOVEA_OK);
  segments[150].v_scales.scales = (char *)between + 2 * DIM * sizeof(float) - LAYER * segments[150].v_scales.layer;
  assert_refused_as(FOVEA_ERROR_ARGUMENT, "o: shares memory with v");
}

/* All scales lie before the output, and one of them in it. */
static void test_output_after(void **state) {
  (void)state;
  enum { ROOM = 1 << 13 };
  static _Alignas(64) char room[2 * ROOM];
  const fovea_format format = narrow_format(FOVEA_FORMAT_I8_ROWS);
  generator = (struct generator){8};
  make_right(&format, 1);
  for (int64_t i = 0; i < sequence.count; i++) segments[i].v_scales.scales = room + i * KV_HEADS * 4;
  tensors.o = room + ROOM;
  problem.q_len = 1;
  assert_int_equal(fovea_attend(&problem, &tensors, NULL, NULL), FOVEA_OK);
  segments[150].v_scales.scales = room + ROOM - LAYER * segments[150].v_scales.layer;
  assert_refused_as(FOVEA_ERROR_ARGUMENT, "o: shares memory with v");
}

/* Scratch may share nothing with the scales of a page, whichever it is. */
static void test_scratch_over_scales(void **state) {
  (void)state;
  static _Alignas(64) char scratch[1 << 20];
  const fovea_format format = narrow_format(FOVEA_FORMAT_I8_ROWS);
  fovea_execution execution;
  fovea_plan *plan;
  fovea_error error;
  generator = (struct generator){6};
  make_right(&format, 1);
  assert_int_equal(fovea_plan_create(&problem, NULL, &plan, &error), FOVEA_OK);
  fovea_execution_init(&execution);
  execution.threads = 1;
  execution.scratch = scratch;
  execution.scratch_size = fovea_plan_scratch_size(plan, 1);
  assert_true(execution.scratch_size > 0 && execution.scratch_size <= sizeof scratch - 4096);
  for (int64_t i = 0; i < sequence.count; i += 149) {
    const fovea_segment kept = segments[i];
    fovea_code_scales *scales = &segments[i].v_scales;
    scales->scales = scratch + execution.scratch_size - LAYER * scales->layer;
    assert_int_equal(fovea_plan_run(plan, &tensors, &execution, &error), FOVEA_OK);
    scales->scales = (char *)scales->scales - 4;
    assert_int_equal(fovea_plan_run(plan, &tensors, &execution, &error), FOVEA_ERROR_ARGUMENT);
    assert_error_says(&error, "scratch: shares memory with v");
    segments[i] = kept;
  }
  fovea_plan_destroy(plan);
  destroy_pages();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_alike),        cmocka_unit_test(test_one_differs),
      cmocka_unit_test(test_faults),       cmocka_unit_test(test_faults_of_other_formats),
      cmocka_unit_test(test_overlap),      cmocka_unit_test(test_output_between),
      cmocka_unit_test(test_output_after), cmocka_unit_test(test_scratch_over_scales),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

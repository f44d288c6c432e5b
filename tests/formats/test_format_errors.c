/* Formats that are refused, each with a text that names the field and its value: alone, in segments, in pages.
 * Outputs are then untouched. Random descriptors are refused or work. Programs whose structs have no formats work
 * as before. */
#include "narrow.h"

#include "arch/codes.h"

#include "support/caches.h"
#include "support/check.h"
#include "support/error_says.h"
#include "support/memory.h"
#include "support/refusals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 2, ROWS = 3, KEYS = 64, DIM = 64, UNTOUCHED = 0x3a };

static float q[HEADS * ROWS * DIM], o[HEADS * ROWS * DIM], lse[HEADS * ROWS];
/* Codes of both sides, scales and zeros: room for any format of DIM dims. */
static float memory[4][HEADS * KEYS * DIM];
static float centre[HEADS * DIM];
static const int8_t table[16] = {1, 2, 3};

struct scene {
  fovea_format format, v_format;
  fovea_segment segments[2];
  fovea_sequence sequence;
  fovea_problem problem;
  fovea_tensors tensors;
};

/* The second of two segments has the format. */
static void set_scene(struct scene *scene, fovea_format_name name) {
  const int64_t bytes = 8 * KEYS * DIM;
  memset(scene, 0, sizeof *scene);
  scene->format = scene->v_format = narrow_format(name);
  scene->segments[0] = (fovea_segment){
      .rows = 1, .k = memory[0], .v = memory[1], .k_head = DIM, .k_row = DIM, .v_head = DIM, .v_row = DIM};
  fovea_segment *segment = &scene->segments[1];
  segment->first = 1;
  segment->rows = KEYS - 1;
  segment->k = memory[0];
  segment->v = memory[1];
  segment->k_head = segment->v_head = bytes / 8;
  segment->k_row = segment->v_row = 2 * DIM;
  segment->k_format = &scene->format;
  segment->v_format = &scene->v_format;
  if (scene->format.place == FOVEA_SCALES_APART) {
    segment->k_scales.scales = segment->v_scales.scales = memory[2];
    if (scene->format.formula != FOVEA_FORMULA_SCALE) segment->k_scales.zeros = segment->v_scales.zeros = memory[3];
  }
  scene->sequence = fovea_sequence_of(scene->segments, 2);
  fovea_problem_init(&scene->problem, 1, HEADS, HEADS, ROWS, KEYS, DIM, DIM);
  scene->problem.cache.segmented = 1;
  fovea_tensors_init(&scene->tensors, q, NULL, NULL, o, lse);
  scene->tensors.cache.sequences = &scene->sequence;
}

static int is_untouched(const void *bytes, size_t size) {
  for (size_t i = 0; i < size; i++)
    if (((const unsigned char *)bytes)[i] != UNTOUCHED) return 0;
  return 1;
}

static void assert_attend(const struct scene *scene, fovea_status status, const char *const *words) {
  fovea_error error;
  memset(&error, 'x', sizeof error);
  memset(o, UNTOUCHED, sizeof o);
  memset(lse, UNTOUCHED, sizeof lse);
  const fovea_status actual = fovea_attend(&scene->problem, &scene->tensors, NULL, &error);
  if (actual != status) fail_msg("status %d, not %d: %.250s", (int)actual, (int)status, error.text);
  if (status == FOVEA_OK) return;
  assert_says(&error, status, words);
  assert_true(is_untouched(o, sizeof o) && is_untouched(lse, sizeof lse));
  assert_int_equal(fovea_attend(&scene->problem, &scene->tensors, NULL, NULL), status);
}

/* SEGMENT(preset, change of `segment` or `scene`, status, words...). */
#define SEGMENT(name, change, status, ...)                                                                         \
  do {                                                                                                             \
    static struct scene scene;                                                                                     \
    set_scene(&scene, name);                                                                                       \
    fovea_segment *segment = &scene.segments[1];                                                                   \
    (void)segment;                                                                                                 \
    change;                                                                                                        \
    const char *const words[] = {__VA_ARGS__, NULL};                                                               \
    assert_attend(&scene, status, words);                                                                          \
  } while (0)

static void set_pages(fovea_pages *pages, fovea_format *format, fovea_format *v_format, fovea_format_name name) {
  fovea_error error;
  *format = *v_format = narrow_format(name);
  fovea_pages_init(pages, 2, 32, HEADS, DIM, DIM, FOVEA_F32, FOVEA_KEYS_IN_ROWS);
  if (fovea_pages_set_formats(pages, format, v_format, &error) != FOVEA_OK) fail_msg("%s", error.text);
  pages->k = memory[0];
  pages->v = memory[1];
  if (format->place != FOVEA_SCALES_APART) return;
  pages->k_scales.scales = pages->v_scales.scales = memory[2];
  if (format->formula != FOVEA_FORMULA_SCALE) pages->k_scales.zeros = pages->v_scales.zeros = memory[3];
}

static void assert_not_made(const fovea_pages *pages, fovea_status status, const char *const *words) {
  fovea_segment segment;
  fovea_error error;
  memset(&segment, UNTOUCHED, sizeof segment);
  memset(&error, 'x', sizeof error);
  const fovea_status actual = fovea_cache_contiguous(pages, 1, &segment, &error);
  if (actual != status) fail_msg("status %d, not %d: %.250s", (int)actual, (int)status, error.text);
  if (status == FOVEA_OK) return;
  assert_says(&error, status, words);
  assert_true(is_untouched(&segment, sizeof segment));
}

/* PAGES(preset, change of `pages`, `format` or `v_format`, status, words...). */
#define PAGES(name, change, status, ...)                                                                           \
  do {                                                                                                             \
    fovea_format format, v_format;                                                                                 \
    fovea_pages pages;                                                                                             \
    set_pages(&pages, &format, &v_format, name);                                                                   \
    change;                                                                                                        \
    const char *const words[] = {__VA_ARGS__, NULL};                                                               \
    assert_not_made(&pages, status, words);                                                                        \
  } while (0)

/* A format by itself, as the second side of a segment and of pages. */
static void assert_format_refused(const fovea_format *format, fovea_status status, const char *field,
                                  const char *const *words) {
  static struct scene scene;
  char text[100];
  const char *all[8] = {text}; /* and NULL after the words */
  for (size_t i = 0; words[i] != NULL; i++) all[i + 1] = words[i];
  fovea_error error;
  memset(&error, 'x', sizeof error);
  assert_int_equal(fovea_format_bytes(format, DIM, &error), 0);
  snprintf(text, sizeof text, "format.%s is ", field);
  assert_says(&error, status, all);
  assert_int_equal(fovea_format_bytes(format, DIM, NULL), 0);

  set_scene(&scene, FOVEA_FORMAT_Q8_0);
  scene.v_format = *format;
  snprintf(text, sizeof text, "sequences[0].segments[1].v_format.%s is ", field);
  assert_attend(&scene, status, all);

  fovea_format good, bad;
  fovea_pages pages, before;
  set_pages(&pages, &good, &bad, FOVEA_FORMAT_Q8_0);
  bad = *format;
  snprintf(text, sizeof text, "pages.v_format.%s is ", field);
  assert_not_made(&pages, status, all);
  before = pages;
  assert_int_equal(fovea_pages_set_formats(&pages, &good, format, &error), status);
  assert_says(&error, status, all);
  assert_memory_equal(&pages, &before, sizeof pages);
}

/* FORMAT(preset, change of `f`, status, field, words...). */
#define FORMAT(name, change, status, field, ...)                                                                   \
  do {                                                                                                             \
    fovea_format f = narrow_format(name);                                                                          \
    change;                                                                                                        \
    const char *const words[] = {__VA_ARGS__, NULL};                                                               \
    assert_format_refused(&f, status, field, words);                                                               \
  } while (0)

#define I8   FOVEA_FORMAT_I8_ROWS
#define Q8_0 FOVEA_FORMAT_Q8_0
#define Q4_0 FOVEA_FORMAT_Q4_0
#define KIVI FOVEA_FORMAT_KIVI_K4
#define ZERO FOVEA_FORMAT_OPENVINO_U8

static void test_kinds(void **state) {
  (void)state;
  FORMAT(I8, f.struct_size = 0, FOVEA_ERROR_ARGUMENT, "struct_size", "is 0", "fovea_format_init");
  FORMAT(I8, f.struct_size--, FOVEA_ERROR_ARGUMENT, "struct_size", "fovea_format_init");
  FORMAT(I8, f.struct_size++, FOVEA_ERROR_ARGUMENT, "struct_size", "fovea_format_init");
  FORMAT(I8, f.code = (fovea_code)13, FOVEA_ERROR_ARGUMENT, "code", "is 13", "0 to 12");
  FORMAT(I8, f.order = (fovea_code_order)4, FOVEA_ERROR_ARGUMENT, "order", "is 4", "0 to 3");
  FORMAT(I8, f.order = (fovea_code_order)-1, FOVEA_ERROR_ARGUMENT, "order", "is -1");
  FORMAT(I8, f.code = (fovea_code)-1, FOVEA_ERROR_ARGUMENT, "code", "is -1");
  FORMAT(I8, f.formula = (fovea_formula)3, FOVEA_ERROR_ARGUMENT, "formula", "is 3", "0 to 2");
  FORMAT(I8, f.formula = (fovea_formula)-1, FOVEA_ERROR_ARGUMENT, "formula", "is -1");
  FORMAT(I8, f.place = (fovea_scale_place)3, FOVEA_ERROR_ARGUMENT, "place", "is 3", "0 to 2");
  FORMAT(I8, f.place = (fovea_scale_place)-1, FOVEA_ERROR_ARGUMENT, "place", "is -1");
  FORMAT(I8, f.scale_type = (fovea_type)3, FOVEA_ERROR_ARGUMENT, "scale_type", "is 3", "0 to 2");
  FORMAT(I8, f.scale_type = (fovea_type)-2, FOVEA_ERROR_ARGUMENT, "scale_type", "is -2");
  FORMAT(FOVEA_FORMAT_Q8_KV, f.sums = 2, FOVEA_ERROR_ARGUMENT, "sums", "is 2", "0 or 1");
  FORMAT(FOVEA_FORMAT_Q8_KV, f.sums = -1, FOVEA_ERROR_ARGUMENT, "sums", "is -1");
}

static void test_unused(void **state) {
  (void)state;
  FORMAT(Q4_0, f.bias = -1, FOVEA_ERROR_ARGUMENT, "bias", "is -1", "0 to 128");
  FORMAT(Q4_0, f.bias = 129, FOVEA_ERROR_ARGUMENT, "bias", "is 129");
  FORMAT(I8, f.bias = 1, FOVEA_ERROR_UNUSED, "bias", "is 1", "unsigned");
  FORMAT(FOVEA_FORMAT_E4M3, f.bias = 7, FOVEA_ERROR_UNUSED, "bias", "is 7");
  FORMAT(ZERO, f.bias = 8, FOVEA_ERROR_UNUSED, "bias", "FOVEA_FORMULA_SCALE");
  FORMAT(KIVI, f.bias = 8, FOVEA_ERROR_UNUSED, "bias", "FOVEA_FORMULA_SCALE");
  FORMAT(FOVEA_FORMAT_IQ4_NL, f.bias = 8, FOVEA_ERROR_UNUSED, "bias", "without a table");
  FORMAT(I8, f.table = table, FOVEA_ERROR_UNUSED, "table", "4 bits");
  FORMAT(FOVEA_FORMAT_Q5_0, f.bias = 0; f.table = table, FOVEA_ERROR_UNUSED, "table", "4 bits");
  FORMAT(FOVEA_FORMAT_OPENVINO_U4, f.table = table, FOVEA_ERROR_UNUSED, "table", "FOVEA_FORMULA_SCALE");
  FORMAT(KIVI, f.formula = FOVEA_FORMULA_SCALE; f.table = table, FOVEA_ERROR_UNUSED, "table", "one key");
  FORMAT(I8, f.sums = 1, FOVEA_ERROR_UNUSED, "sums", "single keys");
  FORMAT(Q8_0, f.sums = 1, FOVEA_ERROR_UNUSED, "sums", "f32");
  FORMAT(ZERO, f.sums = 1, FOVEA_ERROR_UNUSED, "sums", "FOVEA_FORMULA_SCALE");
  FORMAT(FOVEA_FORMAT_Q8_KV, f.key_group = 2, FOVEA_ERROR_UNUSED, "sums", "single keys");
}

static void test_groups(void **state) {
  (void)state;
  FORMAT(Q8_0, f.group = -1, FOVEA_ERROR_ARGUMENT, "group", "is -1", "divide the dim");
  FORMAT(Q8_0, f.group = 24, FOVEA_ERROR_ARGUMENT, "group", "is 24", "divide the dim");
  FORMAT(Q8_0, f.group = 128, FOVEA_ERROR_ARGUMENT, "group", "is 128", "divide the dim");
  FORMAT(Q8_0, f.group = INT64_MIN, FOVEA_ERROR_ARGUMENT, "group", "divide the dim");
  FORMAT(I8, f.key_group = -1, FOVEA_ERROR_ARGUMENT, "key_group", "is -1", "2^48");
  FORMAT(I8, f.key_group = INT64_MAX, FOVEA_ERROR_ARGUMENT, "key_group", "2^48");
  FORMAT(FOVEA_FORMAT_Q5_0, f.group = 16, FOVEA_ERROR_ARGUMENT, "group", "is 16", "be 32", "5 bits");
  FORMAT(FOVEA_FORMAT_Q5_1, f.group = 0, FOVEA_ERROR_ARGUMENT, "group", "is 0", "be 32");
  FORMAT(Q4_0, f.group = 1, FOVEA_ERROR_ARGUMENT, "group", "is 1", "even");
  FORMAT(FOVEA_FORMAT_OPENVINO_U4, f.group = 1, FOVEA_ERROR_ARGUMENT, "group", "is 1", "whole bytes");
  FORMAT(FOVEA_FORMAT_KIVI_V2, f.place = FOVEA_SCALES_AFTER;
         f.group = 2, FOVEA_ERROR_ARGUMENT, "group", "whole bytes");
  FORMAT(Q8_0, f.key_group = 0, FOVEA_ERROR_ARGUMENT, "key_group", "is 0", "beside");
  FORMAT(Q8_0, f.key_group = 4097, FOVEA_ERROR_ARGUMENT, "key_group", "is 4097", "4096");
  FORMAT(KIVI, f.place = FOVEA_SCALES_BEFORE; f.key_group = 1, FOVEA_ERROR_ARGUMENT, "place", "FOVEA_SCALES_APART");
  FORMAT(KIVI, f.place = FOVEA_SCALES_BEFORE, FOVEA_ERROR_ARGUMENT, "key_group", "1 with codes along keys");
  FORMAT(KIVI, f.key_group = 12, FOVEA_ERROR_ARGUMENT, "key_group", "is 12", "multiple of the keys of a word");
  FORMAT(FOVEA_FORMAT_KIVI_K2, f.key_group = 8, FOVEA_ERROR_ARGUMENT, "key_group", "is 8", "of a word");
  FORMAT(FOVEA_FORMAT_E4M3, f.code = FOVEA_CODE_BF16;
         f.key_group = 1, FOVEA_ERROR_ARGUMENT, "key_group", "is 1", "bf16");
  FORMAT(FOVEA_FORMAT_E4M3, f.code = FOVEA_CODE_BF16;
         f.formula = FOVEA_FORMULA_ZERO, FOVEA_ERROR_ARGUMENT, "formula", "is 1", "FOVEA_FORMULA_SCALE");
  fovea_error error;
  const fovea_format format = narrow_format(Q8_0);
  assert_int_equal(fovea_format_bytes(NULL, DIM, &error), 0);
  assert_int_equal(error.status, FOVEA_ERROR_ARGUMENT);
  for (int64_t dim = -1; dim < 1; dim++) {
    assert_int_equal(fovea_format_bytes(&format, dim, &error), 0);
    assert_int_equal(error.status, FOVEA_ERROR_ARGUMENT);
  }
  assert_int_equal(fovea_format_bytes(&format, INT64_MAX, &error), 0);
  assert_int_equal(error.status, FOVEA_ERROR_ARGUMENT);
}

static void test_orders(void **state) {
  (void)state;
  const fovea_format_name keys = FOVEA_FORMAT_VLLM_E4M3_KEYS, values = FOVEA_FORMAT_VLLM_BF16_VALUES;
  FORMAT(I8, f.order_keys = 2, FOVEA_ERROR_UNUSED, "order_keys", "is 2", "FOVEA_ORDER_ROWS");
  FORMAT(keys, f.order = FOVEA_ORDER_DIMS, FOVEA_ERROR_ARGUMENT, "order", "is 3", "codes along keys");
  FORMAT(KIVI, f.order = FOVEA_ORDER_KEY_PAIRS; f.order_keys = 32, FOVEA_ERROR_ARGUMENT, "order", "8 or 16 bits");
  FORMAT(FOVEA_FORMAT_ORT_U4, f.order = FOVEA_ORDER_DIM_PAIRS;
         f.order_keys = 16, FOVEA_ERROR_ARGUMENT, "order", "8 or 16 bits");
  FORMAT(FOVEA_FORMAT_OPENVINO_I8, f.order = FOVEA_ORDER_DIM_PAIRS;
         f.order_keys = 16, FOVEA_ERROR_ARGUMENT, "place", "FOVEA_SCALES_APART");
  FORMAT(keys, f.order_keys = 0, FOVEA_ERROR_ARGUMENT, "order_keys", "is 0");
  FORMAT(keys, f.order_keys = -16, FOVEA_ERROR_ARGUMENT, "order_keys", "is -16");
  FORMAT(keys, f.order_keys = INT64_MAX, FOVEA_ERROR_ARGUMENT, "order_keys", "2^57");
  FORMAT(values, f.order_keys = 127, FOVEA_ERROR_ARGUMENT, "order_keys", "is 127", "even");
  FORMAT(KIVI, f.order = FOVEA_ORDER_DIMS; f.order_keys = 12, FOVEA_ERROR_ARGUMENT, "order_keys", "whole words");
  fovea_format format = narrow_format(keys);
  fovea_error error;
  assert_int_equal(fovea_format_bytes(&format, 7, &error), 0);
  assert_error_says(&error, "format.order: even number of dims");
  assert_int_equal(fovea_format_bytes(&format, 40, &error), 40 * 16);
  assert_int_equal(fovea_format_panel_bytes(&format, 40, &error), 0);
  assert_error_says(&error, "format.order: FOVEA_ORDER_ROWS");
  format = narrow_format(values);
  assert_int_equal(fovea_format_bytes(&format, 40, &error), 0);
  assert_error_says(&error, "format.order: 16 dims");
  assert_int_equal(fovea_format_bytes(&format, 64, &error), 2 * 64 * 128);
  format = narrow_format(keys);
  format.group = 3;
  assert_int_equal(fovea_format_bytes(&format, 48, &error), 0);
  assert_error_says(&error, "format.group is 3; it must be even");
  format = narrow_format(I8);
  format.group = 18; /* codes of 36 dims in two groups of 18 bytes */
  assert_int_equal(fovea_format_panel_bytes(&format, 36, &error), 0);
  assert_error_says(&error, "format.group is 18; it must have codes that fill words of 4 bytes");
  format = narrow_format(KIVI);
  format.order = FOVEA_ORDER_DIMS;
  format.order_keys = 96;
  assert_int_equal(fovea_format_bytes(&format, 64, &error), 64 * 96 / 2);
}

static void test_presets(void **state) {
  (void)state;
  fovea_format format;
  fovea_error error;
  memset(&format, UNTOUCHED, sizeof format);
  assert_int_equal(fovea_format_init(NULL, Q8_0, &error), FOVEA_ERROR_ARGUMENT);
  for (int i = 0; i < 2; i++) {
    const int name = i ? NARROW_FORMATS : -1;
    assert_int_equal(fovea_format_init(&format, (fovea_format_name)name, &error), FOVEA_ERROR_ARGUMENT);
    assert_error_says(&error, i ? "name is 27" : "name is -1");
    assert_null(fovea_format_text((fovea_format_name)name));
  }
  for (size_t other = 0; other < sizeof format + 16; other++) {
    if (other == sizeof format) continue;
    assert_int_equal(fovea_format_init_sized(&format, other, Q8_0, &error), FOVEA_ERROR_ARGUMENT);
  }
  assert_true(is_untouched(&format, sizeof format));
  for (int name = 0; name < NARROW_FORMATS; name++)
    assert_int_equal(fovea_format_named(fovea_format_text((fovea_format_name)name)), name);
  assert_int_equal(fovea_format_named("q8_2"), -1);
  assert_int_equal(fovea_format_named(NULL), -1);
}

/* What a side of a segment lacks, or has and does not use. */
static void test_sides(void **state) {
  (void)state;
  SEGMENT(I8, (void)0, FOVEA_OK, "");
  SEGMENT(ZERO, (void)0, FOVEA_OK, "");
  SEGMENT(I8, segment->k = NULL, FOVEA_ERROR_ARGUMENT, "segments[1].k is NULL");
  SEGMENT(I8, segment->v = NULL, FOVEA_ERROR_ARGUMENT, "segments[1].v is NULL");
  SEGMENT(I8, segment->k_scales.scales = NULL, FOVEA_ERROR_ARGUMENT, "segments[1].k_scales.scales is NULL");
  SEGMENT(I8, segment->v_scales.scales = NULL, FOVEA_ERROR_ARGUMENT, "segments[1].v_scales.scales is NULL");
  SEGMENT(KIVI, segment->v_scales.zeros = NULL, FOVEA_ERROR_ARGUMENT, "segments[1].v_scales.zeros is NULL");
  SEGMENT(I8, segment->k_scales.zeros = centre, FOVEA_ERROR_UNUSED, "k_scales.zeros is set", "none apart");
  SEGMENT(Q8_0, segment->v_scales.scales = centre, FOVEA_ERROR_UNUSED, "v_scales.scales is set", "beside");
  SEGMENT(ZERO, segment->v_scales.zeros = centre, FOVEA_ERROR_UNUSED, "v_scales.zeros is set", "none apart");
  SEGMENT(ZERO, segment->k_scales.centre = centre, FOVEA_ERROR_UNUSED, "k_scales.centre is set", "FORMULA_SCALE");
  SEGMENT(FOVEA_FORMAT_IQ4_NL, segment->k_scales.centre = centre, FOVEA_ERROR_UNUSED, "k_scales.centre", "table");
  SEGMENT(I8, segment->v_scales.centre = centre, FOVEA_OK, "");
  SEGMENT(I8, segment->v_scales.centre = (const float *)(const void *)((const char *)centre + 2),
          FOVEA_ERROR_ARGUMENT, "v_scales.centre", "multiple of 4");
  SEGMENT(I8, segment->k_type = FOVEA_F16, FOVEA_ERROR_UNUSED, "k_type is 1", "must be 0");
  SEGMENT(I8, segment->v_type = FOVEA_BF16, FOVEA_ERROR_UNUSED, "v_type is 2", "must be 0");
  SEGMENT(I8, segment->v_format = NULL; segment->v_scales.scales = NULL; segment->v_row = DIM / 8, FOVEA_OK, "");
  SEGMENT(I8, segment->v_format = NULL, FOVEA_ERROR_UNUSED, "v_scales is set", "v_format is NULL");
  SEGMENT(Q8_0, segment->k_format = NULL; segment->k_scales.zeros = centre, FOVEA_ERROR_UNUSED, "k_scales is set");
  SEGMENT(Q8_0, segment->k_format = NULL; segment->k_scales.centre = centre, FOVEA_ERROR_UNUSED, "k_scales is set");
}

static void test_reach(void **state) {
  (void)state;
  const int64_t far = INT64_C(1) << 57;
  SEGMENT(I8, segment->k_row = far, FOVEA_ERROR_ARGUMENT, "segments[1].k reaches", "2^57");
  SEGMENT(I8, segment->v_head = -far, FOVEA_ERROR_ARGUMENT, "segments[1].v reaches");
  SEGMENT(I8, segment->v_head = INT64_MIN, FOVEA_ERROR_ARGUMENT, "segments[1].v reaches");
  SEGMENT(I8, segment->layers = 3; segment->k_layer = far / 2 + 1, FOVEA_ERROR_ARGUMENT, "segments[1].k reaches");
  SEGMENT(I8, segment->layers = far / 512; segment->k_layer = far, FOVEA_ERROR_ARGUMENT, "segments[1].k reaches");
  SEGMENT(I8, segment->k_scales.row = far / 8, FOVEA_ERROR_ARGUMENT, "k_scales.scales reaches");
  SEGMENT(I8, segment->v_scales.head = INT64_MAX, FOVEA_ERROR_ARGUMENT, "v_scales.scales reaches");
  SEGMENT(I8, segment->layers = 2; segment->v_scales.layer = INT64_MIN, FOVEA_ERROR_ARGUMENT, "v_scales.scales");
  SEGMENT(KIVI, segment->v_scales.group = far / 16, FOVEA_ERROR_ARGUMENT, "v_scales.scales reaches");
  SEGMENT(I8, segment->k_scales.centre = centre;
          segment->k_scales.centre_head = far, FOVEA_ERROR_ARGUMENT, "k_scales.centre reaches");
  /* Strides of axes with one element are not used. */
  SEGMENT(I8, segment->k_scales.group = INT64_MIN, FOVEA_OK, "");
  SEGMENT(I8, segment->k_layer = segment->k_scales.layer = INT64_MAX, FOVEA_OK, "");
}

static void test_pages(void **state) {
  (void)state;
  const int64_t far = INT64_C(1) << 57;
  PAGES(I8, (void)0, FOVEA_OK, "");
  PAGES(KIVI, (void)0, FOVEA_OK, "");
  PAGES(I8, pages.k = NULL, FOVEA_ERROR_ARGUMENT, "pages.k is NULL");
  PAGES(Q8_0, pages.v = NULL, FOVEA_ERROR_ARGUMENT, "pages.v is NULL");
  PAGES(I8, pages.v_scales.scales = NULL, FOVEA_ERROR_ARGUMENT, "pages.v_scales.scales is NULL");
  PAGES(KIVI, pages.k_scales.zeros = NULL, FOVEA_ERROR_ARGUMENT, "pages.k_scales.zeros is NULL");
  PAGES(Q8_0, pages.k_scales.scales = centre, FOVEA_ERROR_UNUSED, "pages.k_scales.scales is set", "beside");
  PAGES(ZERO, pages.v_scales.centre = centre, FOVEA_ERROR_UNUSED, "pages.v_scales.centre is set");
  PAGES(I8, pages.k_format = NULL, FOVEA_ERROR_UNUSED, "pages.k_scales is set", "k_format is NULL");
  PAGES(I8, pages.k_type = FOVEA_F16, FOVEA_ERROR_UNUSED, "pages.k_type is 1", "must be 0");
  PAGES(I8, pages.v_type = FOVEA_BF16, FOVEA_ERROR_UNUSED, "pages.v_type is 2");
  PAGES(I8, pages.segment_size = offsetof(fovea_segment, k_format), FOVEA_ERROR_ARGUMENT, "pages.segment_size",
        "fovea_pages_init");
  PAGES(KIVI, pages.page_rows = 48, FOVEA_ERROR_ARGUMENT, "page_rows is 48", "k_format", "multiple of 32");
  PAGES(I8, pages.page_rows = 24; v_format = narrow_format(FOVEA_FORMAT_OPENVINO_U8_KEYS);
        pages.v_scales.scales = NULL, FOVEA_ERROR_ARGUMENT, "page_rows is 24", "v_format", "multiple of 32");
  PAGES(KIVI, format.key_group = v_format.key_group = 0;
        format.quantiser = v_format.quantiser = FOVEA_QUANTISE_NEAREST;
        pages.page_rows = 12, FOVEA_ERROR_ARGUMENT, "page_rows is 12", "multiple of 8");
  PAGES(KIVI, format.key_group = v_format.key_group = 0;
        format.quantiser = v_format.quantiser = FOVEA_QUANTISE_NEAREST; pages.page_rows = 24, FOVEA_OK, "");
  PAGES(Q8_0, pages.k_layout = FOVEA_KEYS_IN_PANELS, FOVEA_ERROR_ARGUMENT, "pages.k_format.place is 1", "panels");
  PAGES(KIVI, pages.k_layout = FOVEA_KEYS_IN_PANELS, FOVEA_ERROR_ARGUMENT, "pages.k_format.place is 0",
        "single keys");
  PAGES(I8, pages.k_layout = FOVEA_KEYS_IN_PANELS; format.code = FOVEA_CODE_U4_HALVES;
        format.group = 4, FOVEA_ERROR_ARGUMENT, "pages.k_format.group is 4", "words of 4 bytes");
  PAGES(I8, pages.k_layout = FOVEA_KEYS_IN_PANELS; pages.k_strides.row *= 16, FOVEA_OK, "");
  PAGES(I8, pages.k_layout = FOVEA_KEYS_IN_PANELS;
        pages.page_rows = 24, FOVEA_ERROR_ARGUMENT, "pages.page_rows: multiple of 16");
  PAGES(I8, pages.k_scale_page = far + 1, FOVEA_ERROR_ARGUMENT, "pages.k_scale_page is", "2 pages", "bytes");
  PAGES(I8, pages.v_scale_page = INT64_MIN, FOVEA_ERROR_ARGUMENT, "pages.v_scale_page is");
  PAGES(Q8_0, pages.v_scale_page = INT64_MIN, FOVEA_OK, ""); /* there are none apart */
  PAGES(I8, pages.k_strides.batch = INT64_MAX, FOVEA_ERROR_ARGUMENT, "pages.k_strides");
  PAGES(I8, pages.v_strides.row = far, FOVEA_ERROR_ARGUMENT, "pages.v");
  PAGES(I8, pages.k_scales.row = far, FOVEA_ERROR_ARGUMENT, "pages.k_scales.scales reaches");
  PAGES(I8, pages.layers = 3; pages.v_scales.layer = far, FOVEA_ERROR_ARGUMENT, "pages.v_scales.scales reaches");
}

static void test_set_formats(void **state) {
  (void)state;
  fovea_pages pages, before;
  fovea_error error;
  const fovea_format format = narrow_format(I8), kivi = narrow_format(KIVI);
  assert_int_equal(fovea_pages_set_formats(NULL, &format, &format, &error), FOVEA_ERROR_ARGUMENT);
  fovea_pages_init(&pages, 4, 16, HEADS, DIM, DIM, FOVEA_F32, FOVEA_KEYS_IN_PANELS);
  before = pages;
  const fovea_format blocks = narrow_format(Q8_0);
  assert_int_equal(fovea_pages_set_formats(&pages, &blocks, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "pages.k_format.place is 1");
  assert_int_equal(fovea_pages_set_formats(&pages, NULL, &kivi, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "pages.page_rows: multiple of 32");
  pages.page_rows = before.page_rows = 0;
  assert_int_equal(fovea_pages_set_formats(&pages, NULL, &format, &error), FOVEA_ERROR_ARGUMENT);
  pages.page_rows = before.page_rows = 16;
  assert_int_equal(fovea_pages_set_formats(&pages, NULL, NULL, &error), FOVEA_OK);
  assert_memory_equal(&pages, &before, sizeof pages);
  pages.v_type = FOVEA_F16;
  assert_int_equal(fovea_pages_set_formats(&pages, NULL, &format, &error), FOVEA_OK);
  assert_int_equal(pages.v_type, FOVEA_F32);
  assert_memory_equal(&pages.k_strides, &before.k_strides, sizeof pages.k_strides);
  assert_int_equal(pages.v_strides.batch, HEADS * 16 * DIM);
  assert_int_equal(pages.v_scales.row, 4);
  assert_int_equal(pages.v_scale_page, HEADS * 16 * 4);
}

/* A group of keys that share scales holds keys of one round of a ring. */
static void test_rings(void **state) {
  (void)state;
  fovea_format format, v_format;
  fovea_pages pages;
  fovea_segment segments[FOVEA_RING_SEGMENTS];
  fovea_sequence sequence;
  fovea_error error;
  set_pages(&pages, &format, &v_format, KIVI);
  pages.page_rows = 64; /* two groups */
  pages.k_strides.head *= 2, pages.k_strides.batch *= 2;
  pages.v_strides.head *= 2, pages.v_strides.batch *= 2;
  assert_int_equal(fovea_cache_ring(&pages, 0, 32, 96, segments, &sequence, &error), FOVEA_OK);
  assert_int_equal(fovea_cache_ring(&pages, 0, 32, 65, segments, &sequence, &error), FOVEA_OK);
  assert_int_equal(sequence.count, 2);
  assert_int_equal(fovea_cache_ring(&pages, 0, 31, 65, segments, &sequence, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "begin is 31 and the last position 64");
  assert_error_says(&error, "begin: 3 groups of keys");
  v_format = narrow_format(I8);
  pages.v_strides = (fovea_strides){HEADS * 64 * DIM, 64 * DIM, DIM};
  pages.v_scales.zeros = NULL;
  assert_int_equal(fovea_cache_ring(&pages, 0, 31, 65, segments, &sequence, &error), FOVEA_ERROR_ARGUMENT);
  format.key_group = 0; /* words alone are written key by key */
  format.quantiser = FOVEA_QUANTISE_NEAREST;
  assert_int_equal(fovea_cache_ring(&pages, 0, 1, 65, segments, &sequence, &error), FOVEA_OK);
  assert_int_equal(segments[0].first, 0);
}

/* Outputs and scratch over codes, scales, zeros and centres that are read. */
static void assert_overlap(void *written, size_t bytes, void *read, int which) {
  static struct scene scene;
  set_scene(&scene, which == 2 ? FOVEA_FORMAT_KIVI_V4 : I8);
  if (which == 3) scene.segments[1].v_scales.centre = read;
  if (which == 2) scene.segments[1].v_scales.zeros = read;
  if (which == 1) scene.segments[1].v_scales.scales = read;
  if (which == 0) scene.segments[1].v = read;
  fovea_error error;
  fovea_execution execution;
  fovea_execution_init(&execution);
  if (bytes > sizeof o) { /* scratch */
    execution.scratch = written;
    execution.scratch_size = bytes;
    execution.threads = 1;
  } else if (bytes == sizeof lse) {
    scene.tensors.lse = written;
  } else {
    scene.tensors.o = written;
  }
  static float before[sizeof memory / sizeof(float)];
  memcpy(before, memory, sizeof memory);
  assert_int_equal(fovea_attend(&scene.problem, &scene.tensors, &execution, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, bytes > sizeof o      ? "scratch shares memory with v"
                            : bytes == sizeof lse ? "lse shares memory with v"
                                                  : "o shares memory with v");
  assert_memory_equal(before, memory, sizeof memory);
}

static void test_overlap(void **state) {
  (void)state;
  enum { SCRATCH = 1 << 22 };
  unsigned char *scratch = memory_allocate(SCRATCH);
  memset(scratch, 0, SCRATCH);
  static float shared[HEADS * KEYS * DIM];
  for (int which = 0; which < 4; which++) {
    assert_overlap(shared, sizeof o, shared, which);
    assert_overlap(shared, sizeof lse, shared, which);
    assert_overlap(scratch, SCRATCH, scratch + 64, which);
  }
  memory_free(scratch);
}

/* Any numbers in every field of a descriptor. */
static void test_random_descriptors(void **state) {
  (void)state;
  static const int64_t numbers[] = {0, 1, 2, 3, 4, 7, 8, 12, 16, 32, 48, 64, 4096, 4097, -1, INT64_MAX, INT64_MIN};
  enum { NUMBERS = sizeof numbers / sizeof numbers[0] };
  struct generator generator = {1};
  int accepted = 0;
  for (int i = 0; i < USUAL_OR_LONG(4000, 40000); i++) {
    fovea_format f = {.struct_size = sizeof f};
    const int64_t dim = 1 + generator_below(&generator, i % 2 ? 96 : 9);
    if (i % 4) { /* often within reach */
      f.code = (fovea_code)generator_below(&generator, FOVEA_CODE_COUNT);
      f.formula = (fovea_formula)generator_below(&generator, 3);
      f.place = (fovea_scale_place)generator_below(&generator, 3);
      f.scale_type = (fovea_type)generator_below(&generator, 3);
    } else {
      f.struct_size = (size_t)numbers[generator_below(&generator, NUMBERS)] * 8;
      f.code = (fovea_code)(int)numbers[generator_below(&generator, NUMBERS)];
      f.formula = (fovea_formula)(int)numbers[generator_below(&generator, NUMBERS)];
      f.place = (fovea_scale_place)(int)numbers[generator_below(&generator, NUMBERS)];
      f.scale_type = (fovea_type)(int)numbers[generator_below(&generator, NUMBERS)];
    }
    f.group = numbers[generator_below(&generator, NUMBERS)];
    f.key_group = generator_below(&generator, 2) ? 1 : numbers[generator_below(&generator, NUMBERS)];
    f.bias = generator_below(&generator, 3) ? 0 : (int)numbers[generator_below(&generator, NUMBERS)];
    f.sums = generator_below(&generator, 6) ? 0 : (int)numbers[generator_below(&generator, NUMBERS)];
    f.table = generator_below(&generator, 6) ? NULL : table;
    fovea_error error;
    error.text[0] = '\0';
    const int64_t bytes = fovea_format_bytes(&f, dim, &error);
    if (bytes == 0) {
      assert_true(error.status != FOVEA_OK && error.text[0] != '\0');
      continue;
    }
    if (accepted++ % USUAL_OR_LONG(8, 4) != 0) continue;
    struct narrow sides[2];
    float outputs[96], row[96] = {0};
    fovea_segment segment = {.rows = 1 + generator_below(&generator, 40)};
    fovea_problem problem;
    fovea_tensors tensors;
    narrow_make(&sides[0], &f, 1, dim, 1, &segment, 0, &generator);
    narrow_make(&sides[1], &f, 1, dim, 1, &segment, 1, &generator);
    const fovea_sequence sequence = fovea_sequence_of(&segment, 1);
    fovea_problem_init(&problem, 1, 1, 1, 1, segment.rows, dim, dim);
    problem.cache.segmented = 1;
    fovea_tensors_init(&tensors, row, NULL, NULL, outputs, NULL);
    tensors.cache.sequences = &sequence;
    if (fovea_attend(&problem, &tensors, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
    narrow_destroy(&sides[0]);
    narrow_destroy(&sides[1]);
  }
  assert_true(accepted > USUAL_OR_LONG(50, 500));
}

/* Programs know these sizes: a change of one is a change for all of them. */
static void test_struct_sizes(void **state) {
  (void)state;
  if (sizeof(void *) != 8) skip();
  assert_int_equal(sizeof(fovea_format), 72);
  assert_int_equal(sizeof(fovea_code_scales), 72);
  assert_int_equal(sizeof(fovea_segment), 288);
  assert_int_equal(sizeof(fovea_pages), 336);
  assert_int_equal(sizeof(fovea_sequence), 24);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_kinds),        cmocka_unit_test(test_unused),
      cmocka_unit_test(test_groups),       cmocka_unit_test(test_orders),
      cmocka_unit_test(test_presets),      cmocka_unit_test(test_sides),
      cmocka_unit_test(test_reach),        cmocka_unit_test(test_pages),
      cmocka_unit_test(test_set_formats),  cmocka_unit_test(test_rings),
      cmocka_unit_test(test_overlap),      cmocka_unit_test(test_random_descriptors),
      cmocka_unit_test(test_struct_sizes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

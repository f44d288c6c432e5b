/* Formats that are refused, each with a text that names the field and its value: alone, in segments, in pages. Random
 * descriptors are refused or work. */
#include "format_scenes.h"

#include "arch/codes.h"

#include "support/caches.h"
#include "support/check.h"
#include "support/error_says.h"

#include <string.h>

static const int8_t table[16] = {1, 2, 3};

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
      cmocka_unit_test(test_presets),      cmocka_unit_test(test_random_descriptors),
      cmocka_unit_test(test_struct_sizes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Pages and rings with formats that are refused, with texts that name the field; nothing is made then. */
#include "format_scenes.h"

#include "support/check.h"
#include "support/error_says.h"

#include <stddef.h>

static void test_pages(void **state) {
  (void)state;
  const int64_t far = INT64_C(1) << 57;
  PAGES(I8, (void)0, FOVEA_OK, "");
  PAGES(KIVI, (void)0, FOVEA_OK, "");
  PAGES(I8, pages.k = NULL, FOVEA_ERROR_ARGUMENT, "pages.k is NULL");
  PAGES(Q8_0, pages.v = NULL, FOVEA_ERROR_ARGUMENT, "pages.v is NULL");
  PAGES(I8, pages.v_scales.scales = NULL, FOVEA_ERROR_ARGUMENT, "pages.v_scales.scales is NULL");
  PAGES(KIVI, pages.k_scales.zeros = NULL, FOVEA_ERROR_ARGUMENT, "pages.k_scales.zeros is NULL");
  PAGES(Q8_0, pages.k_scales.scales = scene_centre, FOVEA_ERROR_UNUSED, "pages.k_scales.scales is set", "beside");
  PAGES(ZERO, pages.v_scales.centre = scene_centre, FOVEA_ERROR_UNUSED, "pages.v_scales.centre is set");
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
  scene_pages(&pages, &format, &v_format, KIVI);
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pages),
      cmocka_unit_test(test_set_formats),
      cmocka_unit_test(test_rings),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

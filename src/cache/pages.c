/* Reads and checks the caller's pages, and lays out pages of codes. */
#include "pages.h"

#include "../base/error.h"
#include "../base/groups.h"
#include "../base/types.h"
#include "../base/validate.h"
#include "coded_parts.h"

#include <stdlib.h>

static fovea_status check_sizes(const fovea_pages *pages, fovea_error *error) {
  const fovea_bounded sizes[] = {
      {"count", pages->count, 1, FOVEA_LENGTH_LIMIT},       {"page_rows", pages->page_rows, 1, FOVEA_LENGTH_LIMIT},
      {"kv_heads", pages->kv_heads, 1, FOVEA_LENGTH_LIMIT}, {"qk_dim", pages->qk_dim, 1, FOVEA_DIM_LIMIT},
      {"v_dim", pages->v_dim, 1, FOVEA_DIM_LIMIT},          {"layers", pages->layers, 1, FOVEA_LENGTH_LIMIT}};
  fovea_status status = fovea_validate_bounds("pages", sizes, sizeof sizes / sizeof sizes[0], error);
  if (status) return status;
  const fovea_bounded types[] = {fovea_bounded_type("k_type", pages->k_type),
                                 fovea_bounded_type("v_type", pages->v_type),
                                 {"k_layout", (int)pages->k_layout, 0, FOVEA_KEYS_IN_PANELS}};
  status = fovea_validate_bounds("pages", types, sizeof types / sizeof types[0], error);
  if (status) return status;
  if (pages->k_layout == FOVEA_KEYS_IN_PANELS && pages->page_rows % FOVEA_PANEL_ROWS != 0) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "pages.page_rows is %jd; with panels it must be a multiple of %jd", pages->page_rows,
                      (int64_t)FOVEA_PANEL_ROWS);
  }
  return FOVEA_OK;
}

/* Checks that the last of `count` layers (pages) is no further from the first than elements of a tensor may be. */
static fovea_status check_distance(const char *name, int64_t count, const char *things, int64_t step,
                                   const char *units, fovea_error *error) {
  const int64_t limit = INT64_C(1) << 57;
  int64_t last;
  if (!__builtin_mul_overflow(count - 1, step, &last) && last <= limit && last >= -limit) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "pages.%s is %jd; %jd %s reach further than 2^57 %s", name, step,
                    count, things, units);
}

static fovea_code_layout lay_out_codes(const fovea_pages *pages, const fovea_format *format, int values) {
  if (!FOVEA_BUILDS_FORMATS) return (fovea_code_layout){.unit_bytes = 0};
  return fovea_lay_out_codes(format, values ? pages->v_dim : pages->qk_dim,
                             !values && pages->k_layout == FOVEA_KEYS_IN_PANELS);
}

/* Pages hold whole groups of keys that share scales, words or a unit. */
static fovea_status check_groups(const fovea_pages *pages, const fovea_code_layout *layout, int values,
                                 fovea_error *error) {
  const int64_t share = layout->key_group == INT64_MAX ? 1 : layout->key_group;
  const int64_t together = pages->page_rows % layout->unit_keys == 0 ? share : layout->unit_keys;
  if (pages->page_rows % together == 0) return FOVEA_OK;
  return fovea_fail(
      error, FOVEA_ERROR_ARGUMENT,
      "pages.page_rows is %jd; with %s_format it must be a multiple of %jd, the keys that share scales, "
      "words or a unit",
      pages->page_rows, values ? "v" : "k", together);
}

/* Checks a side with a format, as a segment of page 0. */
static fovea_status check_codes(const fovea_pages *pages, int values, fovea_error *error) {
  if (!FOVEA_BUILDS_FORMATS) return FOVEA_OK;
  const fovea_segment segment = {
      .rows = pages->page_rows,
      .k = pages->k,
      .v = pages->v,
      .k_head = pages->k_strides.head,
      .k_row = pages->k_strides.row,
      .v_head = pages->v_strides.head,
      .v_row = pages->v_strides.row,
      .k_type = pages->k_type,
      .v_type = pages->v_type,
      .k_layout = pages->k_layout,
      .layers = pages->layers,
      .k_layer = pages->k_layer,
      .v_layer = pages->v_layer,
      .k_format = pages->k_format,
      .v_format = pages->v_format,
      .k_scales = pages->k_scales,
      .v_scales = pages->v_scales,
  };
  const fovea_sequence sequence = fovea_sequence_of(&segment, 1);
  const fovea_segment_shape shape = {pages->kv_heads, pages->qk_dim, pages->v_dim, 0};
  const fovea_format *format = fovea_page_format(pages, values);
  if (pages->segment_size < FOVEA_SEGMENT_WITH_FORMATS)
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "pages.%s_format is set; segments of segment_size %ju have none",
                      values ? "v" : "k", (uint64_t)pages->segment_size);
  fovea_status status = fovea_check_coded_side(&sequence, &segment, &shape, values, FOVEA_ENTRY_OF_PAGES, 0, error);
  if (status) return status;
  const fovea_code_layout layout = lay_out_codes(pages, format, values);
  status = check_groups(pages, &layout, values, error);
  if (status || !layout.apart) return status;
  return check_distance(values ? "v_scale_page" : "k_scale_page", pages->count, "pages",
                        values ? pages->v_scale_page : pages->k_scale_page, "bytes", error);
}

/* What a side lies in, whose format has been checked: its rows, and the elements or bytes of one. */
static fovea_shape know_side(fovea_known_pages *known, int values) {
  const fovea_pages *pages = &known->pages;
  const fovea_format *format = fovea_page_format(pages, values);
  const fovea_type type = values ? pages->v_type : pages->k_type;
  int64_t dim = values ? pages->v_dim : pages->qk_dim;
  int bits = fovea_type_bits(type);
  known->row_keys[values] = 1;
  known->scale_keys[values] = 1;
  if (FOVEA_BUILDS_FORMATS && format) {
    const fovea_code_layout layout = lay_out_codes(pages, format, values);
    known->row_keys[values] = layout.unit_keys;
    known->scale_keys[values] = format->key_group;
    dim = layout.unit_bytes;
    bits = 8;
  } else if (!values && pages->k_layout == FOVEA_KEYS_IN_PANELS) {
    known->row_keys[values] = FOVEA_PANEL_ROWS;
    dim = fovea_panel_elements(dim, type);
  }
  return fovea_make_shape(values ? "pages.v" : "pages.k", pages->count, pages->kv_heads,
                          pages->page_rows / known->row_keys[values], dim,
                          values ? pages->v_strides : pages->k_strides, bits);
}

static int has_scales(const fovea_code_scales *scales) {
  return scales->scales || scales->zeros || scales->centre;
}

/* Whether rows of all pages and layers share no memory, judged by nested axes; a stride of 0 repeats. If not, sets
 * the stride that is too small, and the least that it may be. */
static int rows_are_apart(const fovea_shape *shape, int64_t layers, int64_t layer, int64_t *stride,
                          int64_t *needed) {
  int64_t extents[] = {shape->extent[0], shape->extent[1], shape->extent[2], layers};
  const int64_t strides[] = {shape->stride[0], shape->stride[1], shape->stride[2], layer};
  *needed = shape->dim;
  for (int done = 0; done < 4; done++) { /* the axis with the next smallest stride */
    int next = -1;
    for (int i = 0; i < 4; i++)
      if (extents[i] > 1 && strides[i] != 0 && (next < 0 || llabs(strides[i]) < llabs(strides[next]))) next = i;
    if (next < 0) return 1;
    *stride = strides[next];
    if (llabs(*stride) < *needed) return 0;
    *needed += llabs(*stride) * (extents[next] - 1);
    extents[next] = 1;
  }
  return 1;
}

/* Strides are made from sizes when pages are initialised, and kept. */
static fovea_status check_apart(const fovea_pages *pages, const fovea_shape *shape, int values,
                                fovea_error *error) {
  const int64_t layer = values ? pages->v_layer : pages->k_layer;
  int64_t stride, needed;
  if (rows_are_apart(shape, pages->layers, layer, &stride, &needed)) return FOVEA_OK;
  return fovea_fail(
      error, FOVEA_ERROR_ARGUMENT,
      "%s has rows that share memory: a stride is %jd, less than %jd; after a size of pages was changed, call "
      "fovea_pages_init() again, or set the strides and layers' distances",
      shape->name, stride, needed);
}

static fovea_status check_side(fovea_known_pages *known, int values, fovea_reach *reach, fovea_error *error) {
  const fovea_pages *pages = &known->pages;
  if (fovea_page_format(pages, values)) {
    fovea_status status = FOVEA_BUILDS_FORMATS ? check_codes(pages, values, error)
                                               : fovea_fail_left_out(FOVEA_GROUP_PLACE_FORMATS, error);
    if (status) return status;
  } else if (has_scales(values ? &pages->v_scales : &pages->k_scales)) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "pages.%s_scales is set, but %s_format is NULL",
                      values ? "v" : "k", values ? "v" : "k");
  }
  const fovea_shape shape = know_side(known, values);
  return fovea_validate_strides(&shape, 0, reach, error);
}

fovea_status fovea_know_pages(const fovea_pages *given, fovea_known_pages *known, fovea_error *error) {
  fovea_pages *pages = &known->pages;
  fovea_reach k_reach, v_reach;
  fovea_status status = fovea_read_pages(given, pages, error);
  if (!status) status = check_sizes(pages, error);
  if (!status) status = check_side(known, 0, &k_reach, error);
  if (!status) status = check_side(known, 1, &v_reach, error);
  if (!status && pages->layers > 1 && pages->segment_size < FOVEA_SEGMENT_WITH_LAYERS) {
    status = fovea_fail(error, FOVEA_ERROR_UNUSED, "pages.layers is %jd; segments of segment_size %ju have one",
                        pages->layers, (uint64_t)pages->segment_size);
  }
  if (!status)
    status = check_distance("k_layer", pages->layers, "layers", pages->k_layer,
                            pages->k_format ? "bytes" : "elements", error);
  if (!status)
    status = check_distance("v_layer", pages->layers, "layers", pages->v_layer,
                            pages->v_format ? "bytes" : "elements", error);
  for (int values = 0; values < 2 && !status; values++) {
    const fovea_shape shape = know_side(known, values);
    status = check_apart(pages, &shape, values, error);
  }
  if (!status) status = fovea_validate_pointer(&k_reach, pages->k, error);
  if (!status) status = fovea_validate_pointer(&v_reach, pages->v, error);
  return status;
}

/* The least common multiple of numbers whose multiple is a page, so that it cannot overflow. */
static int64_t common_multiple(int64_t a, int64_t b) {
  int64_t x = a, y = b;
  while (y != 0) {
    const int64_t rest = x % y;
    x = y, y = rest;
  }
  return a / x * b;
}

int64_t fovea_page_step(const fovea_known_pages *known) {
  int64_t step = 1;
  for (int values = 0; values < 2; values++) {
    step = common_multiple(step, known->row_keys[values]);
    if (known->scale_keys[values] > 0) step = common_multiple(step, known->scale_keys[values]);
  }
  return step;
}

/* ---- Layouts ------------------------------------------------------------------------------------------------- */

/* Strides of codes and scales apart, of sizes that were checked. Products wrap: pages that make no sense are
 * refused when they are used. */
static void lay_out_side(fovea_pages *pages, const fovea_format *format, int values) {
  if (!FOVEA_BUILDS_FORMATS) return;
  const int64_t dim = values ? pages->v_dim : pages->qk_dim;
  const fovea_code_layout layout = lay_out_codes(pages, format, values);
  const uint64_t count = (uint64_t)pages->count, heads = (uint64_t)pages->kv_heads;
  const uint64_t rows = (uint64_t)(pages->page_rows / layout.unit_keys), row = (uint64_t)layout.unit_bytes;
  const fovea_strides strides = {(int64_t)(heads * rows * row), (int64_t)(rows * row), (int64_t)row};
  fovea_code_scales scales = {0};
  uint64_t page = 0;
  if (layout.apart) {
    const int shared = layout.key_group == INT64_MAX;
    const uint64_t groups = (uint64_t)(dim / layout.codes.group), scale = (uint64_t)fovea_scale_bytes(format);
    const uint64_t keys = shared ? 1 : (uint64_t)(pages->page_rows / layout.key_group);
    page = shared ? 0 : heads * keys * groups * scale;
    scales.group = (int64_t)scale;
    scales.row = shared ? 0 : (int64_t)(groups * scale);
    scales.head = (int64_t)(keys * groups * scale);
    scales.layer = (int64_t)(shared ? heads * groups * scale : count * page);
  }
  *(values ? &pages->v_format : &pages->k_format) = format;
  *(values ? &pages->v_type : &pages->k_type) = FOVEA_F32;
  *(values ? &pages->v_strides : &pages->k_strides) = strides;
  *(values ? &pages->v_layer : &pages->k_layer) = (int64_t)(count * (uint64_t)strides.batch);
  *(values ? &pages->v_scales : &pages->k_scales) = scales;
  *(values ? &pages->v_scale_page : &pages->k_scale_page) = (int64_t)page;
}

fovea_status fovea_pages_set_formats(fovea_pages *pages, const fovea_format *k_format, const fovea_format *v_format,
                                     fovea_error *error) {
  fovea_pages known;
  const fovea_format *formats[2] = {k_format, v_format};
  fovea_status status = fovea_read_pages(pages, &known, error);
  if (!status) status = check_sizes(&known, error);
  for (int values = 0; values < 2 && !status; values++) {
    const int64_t dim = values ? known.v_dim : known.qk_dim;
    if (!formats[values]) continue;
    if (!FOVEA_BUILDS_FORMATS) return fovea_fail_left_out(FOVEA_GROUP_PLACE_FORMATS, error);
    status = fovea_check_format(formats[values], dim, FOVEA_ENTRY_OF_PAGES, 0, values, error);
    if (!status && !values && known.k_layout == FOVEA_KEYS_IN_PANELS)
      status = fovea_check_code_panels(formats[values], dim, FOVEA_ENTRY_OF_PAGES, 0, error);
    if (status) return status;
    const fovea_code_layout layout = lay_out_codes(&known, formats[values], values);
    status = check_groups(&known, &layout, values, error);
    lay_out_side(&known, formats[values], values);
  }
  if (!status) *pages = known;
  return status;
}

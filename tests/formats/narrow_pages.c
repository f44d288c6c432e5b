#include "narrow_pages.h"

#include "support/check.h"
#include "support/types.h"

#include <string.h>

/* Axes of codes and of scales. */
enum { LAYER, PAGE, HEAD, ROW, GROUP, AXES };

static const fovea_format *format_of(const struct narrow_pages *made, int values) {
  return values ? made->pages.v_format : made->pages.k_format;
}

static int in_panels(const struct narrow_pages *made, int values) {
  return !values && made->pages.k_layout == FOVEA_KEYS_IN_PANELS;
}

static int64_t row_keys(const struct narrow_pages *made, int values) {
  if (format_of(made, values)) return narrow_row_keys(&made->sides[values], in_panels(made, values));
  return in_panels(made, values) ? 16 : 1;
}

static int64_t row_bytes(const struct narrow_pages *made, int values) {
  if (format_of(made, values)) return narrow_row_bytes(&made->sides[values], in_panels(made, values));
  return row_keys(made, values) * made->sides[values].dim * 4;
}

static int64_t scale_bytes(const fovea_format *format) {
  return format->scale_type == FOVEA_F32 ? 4 : 2;
}

/* Gives axes, the outermost first, steps after each other. Returns the bytes of all. */
static int64_t lay_out(const int *order, const int64_t extent[AXES], int64_t bytes, int64_t gap,
                       int64_t step[AXES]) {
  for (int i = AXES - 1; i >= 0; i--) {
    step[order[i]] = bytes + gap;
    bytes = step[order[i]] * (extent[order[i]] - 1) + bytes;
  }
  return bytes;
}

static unsigned char *add_memory(struct narrow_pages *made, int64_t bytes) {
  made->memory[made->memory_count] =
      guarded_create((size_t)bytes, made->memory_count % 2 ? GUARD_AT_START : GUARD_AT_END);
  return made->memory[made->memory_count++].data;
}

static void set_codes(struct narrow_pages *made, int values, const int64_t step[AXES]) {
  const int64_t unit = format_of(made, values) ? 1 : 4;
  *(values ? &made->pages.v_strides : &made->pages.k_strides) =
      (fovea_strides){step[PAGE] / unit, step[HEAD] / unit, step[ROW] / unit};
  *(values ? &made->pages.v_layer : &made->pages.k_layer) = step[LAYER] / unit;
}

static void set_scales(struct narrow_pages *made, int values, const int64_t step[AXES]) {
  fovea_code_scales *scales = values ? &made->pages.v_scales : &made->pages.k_scales;
  scales->layer = step[LAYER];
  scales->head = step[HEAD];
  scales->row = step[ROW];
  scales->group = step[GROUP];
  *(values ? &made->pages.v_scale_page : &made->pages.k_scale_page) = step[PAGE];
}

static void code_extents(const struct narrow_pages *made, int values, int64_t extent[AXES]) {
  const fovea_pages *p = &made->pages;
  const int64_t extents[AXES] = {p->layers, p->count, p->kv_heads, p->page_rows / row_keys(made, values), 1};
  memcpy(extent, extents, sizeof extents);
}

/* If all keys share a scale, each page still has its own. */
static void scale_extents(const struct narrow_pages *made, int values, int64_t extent[AXES]) {
  const fovea_pages *p = &made->pages;
  const struct narrow *side = &made->sides[values];
  const int64_t keys = side->format.key_group == 0 ? 1 : p->page_rows / side->format.key_group;
  const int64_t groups = side->format.group == 0 ? 1 : side->dim / side->format.group;
  const int64_t extents[AXES] = {p->layers, p->count, p->kv_heads, keys, groups};
  memcpy(extent, extents, sizeof extents);
}

static void any_order(int order[AXES], struct generator *generator) {
  for (int i = 0; i < AXES; i++) order[i] = i;
  for (int i = AXES - 1; i > 0; i--) {
    const int j = (int)generator_below(generator, i + 1), moved = order[i];
    order[i] = order[j];
    order[j] = moved;
  }
}

static void put_scales(struct narrow_pages *made, int values, int zeros, unsigned char *memory) {
  fovea_code_scales *scales = values ? &made->pages.v_scales : &made->pages.k_scales;
  *(zeros ? &scales->zeros : &scales->scales) = memory;
}

/* How many arrays of scales a side has: scales, and zeros. */
static int arrays(const struct narrow_pages *made, int values) {
  const fovea_format *format = format_of(made, values);
  if (!format || format->place != FOVEA_SCALES_APART) return 0;
  return format->formula == FOVEA_FORMULA_SCALE ? 1 : 2;
}

/* What the header says about sizes. */
static void lay_out_default(struct narrow_pages *made) {
  fovea_pages *p = &made->pages;
  for (int values = 0; values < 2; values++) {
    const fovea_strides *strides = values ? &p->v_strides : &p->k_strides;
    const fovea_code_scales *scales = values ? &p->v_scales : &p->k_scales;
    const int64_t page = values ? p->v_scale_page : p->k_scale_page;
    const int64_t unit = format_of(made, values) ? 1 : 4;
    *(values ? &p->v : &p->k) = add_memory(made, p->layers * p->count * strides->batch * unit);
    for (int i = 0; i < arrays(made, values); i++)
      put_scales(made, values, i,
                 add_memory(made, p->layers * (made->sides[values].format.key_group == 0 ? scales->layer
                                                                                         : p->count * page)));
  }
}

static void lay_out_axes(struct narrow_pages *made, int any, struct generator *generator) {
  static const int rows_first[AXES] = {LAYER, PAGE, ROW, HEAD, GROUP};
  for (int values = 0; values < 2; values++) {
    int64_t extent[AXES], step[AXES];
    int order[AXES];
    memcpy(order, rows_first, sizeof order);
    if (any) any_order(order, generator);
    code_extents(made, values, extent);
    const int64_t bytes = lay_out(order, extent, row_bytes(made, values), any ? 4 : 0, step);
    set_codes(made, values, step);
    *(values ? &made->pages.v : &made->pages.k) = add_memory(made, bytes);
    if (!arrays(made, values)) continue;
    const int64_t scale = scale_bytes(&made->sides[values].format);
    scale_extents(made, values, extent);
    if (any) any_order(order, generator);
    const int64_t size = lay_out(order, extent, scale, any ? scale : 0, step);
    set_scales(made, values, step);
    for (int i = 0; i < arrays(made, values); i++) put_scales(made, values, i, add_memory(made, size));
  }
}

static void lay_out_in_one(struct narrow_pages *made) {
  static const int order[AXES] = {LAYER, PAGE, HEAD, ROW, GROUP};
  fovea_pages *p = &made->pages;
  int64_t at[2], scales_at[2][2], steps[2][AXES], scale_steps[2][AXES], page = 0;
  for (int values = 0; values < 2; values++) {
    int64_t extent[AXES];
    code_extents(made, values, extent);
    extent[LAYER] = extent[PAGE] = 1;
    at[values] = page;
    page += (lay_out(order, extent, row_bytes(made, values), 0, steps[values]) + 3) / 4 * 4;
    for (int i = 0; i < arrays(made, values); i++) {
      scale_extents(made, values, extent);
      extent[LAYER] = extent[PAGE] = 1;
      scales_at[values][i] = page;
      page +=
          (lay_out(order, extent, scale_bytes(&made->sides[values].format), 0, scale_steps[values]) + 3) / 4 * 4;
    }
  }
  unsigned char *memory = add_memory(made, p->layers * p->count * page);
  for (int values = 0; values < 2; values++) {
    steps[values][PAGE] = page, steps[values][LAYER] = page * p->count;
    set_codes(made, values, steps[values]);
    *(values ? &p->v : &p->k) = memory + at[values];
    if (!arrays(made, values)) continue;
    scale_steps[values][PAGE] = page, scale_steps[values][LAYER] = page * p->count;
    set_scales(made, values, scale_steps[values]);
    for (int i = 0; i < arrays(made, values); i++) put_scales(made, values, i, memory + scales_at[values][i]);
  }
}

/* A side of a page of a layer, as a segment. */
static fovea_segment page_segment(const struct narrow_pages *made, int values, int64_t layer, int64_t page) {
  const fovea_pages *p = &made->pages;
  const fovea_strides *strides = values ? &p->v_strides : &p->k_strides;
  const int64_t unit = format_of(made, values) ? 1 : 4;
  unsigned char *first = (unsigned char *)(values ? p->v : p->k) +
                         (layer * (values ? p->v_layer : p->k_layer) + page * strides->batch) * unit;
  fovea_segment segment = {.rows = p->page_rows, .k = first, .v = first};
  if (!values) segment.k_layout = p->k_layout;
  segment.k_head = segment.v_head = strides->head;
  segment.k_row = segment.v_row = strides->row;
  fovea_code_scales scales = values ? p->v_scales : p->k_scales;
  const int64_t at = layer * scales.layer + page * (values ? p->v_scale_page : p->k_scale_page);
  if (scales.scales) scales.scales = (unsigned char *)scales.scales + at;
  if (scales.zeros) scales.zeros = (unsigned char *)scales.zeros + at;
  if (scales.centre)
    scales.centre = (const float *)(const void *)((const char *)scales.centre + layer * scales.centre_layer);
  segment.k_scales = segment.v_scales = scales;
  return segment;
}

static float *element_at(const struct narrow_pages *made, const fovea_segment *s, int values, int64_t head,
                         int64_t row, int64_t d) {
  if (row_keys(made, values) == 16)
    return (float *)s->k + head * s->k_head + row / 16 * s->k_row + d * 16 + row % 16;
  return (float *)s->k + head * s->k_head + row * s->k_row + d;
}

float narrow_pages_element(const struct narrow_pages *made, int values, int64_t layer, int64_t page, int64_t head,
                           int64_t row, int64_t d) {
  const fovea_segment segment = page_segment(made, values, layer, page);
  if (!format_of(made, values)) return *element_at(made, &segment, values, head, row, d);
  return narrow_element(&made->sides[values], &segment, values, head, row, d);
}

static void fill(struct narrow_pages *made, struct generator *generator) {
  const fovea_pages *p = &made->pages;
  for (int values = 0; values < 2; values++)
    for (int64_t layer = 0; layer < p->layers; layer++)
      for (int64_t page = 0; page < p->count; page++) {
        const fovea_segment segment = page_segment(made, values, layer, page);
        if (format_of(made, values)) {
          narrow_fill(&made->sides[values], &segment, values, generator);
          continue;
        }
        for (int64_t i = 0; i < p->kv_heads * p->page_rows; i++)
          for (int64_t d = 0; d < made->sides[values].dim; d++)
            *element_at(made, &segment, values, i / p->page_rows, i % p->page_rows, d) =
                generator_uniform(generator);
      }
}

static void add_centre(struct narrow_pages *made, int values, struct generator *generator) {
  const struct narrow *side = &made->sides[values];
  fovea_code_scales *scales = values ? &made->pages.v_scales : &made->pages.k_scales;
  if (!format_of(made, values) || side->format.formula != FOVEA_FORMULA_SCALE || side->format.table) return;
  const int64_t numbers = made->pages.layers * side->kv_heads * side->dim;
  float *centre = (float *)(void *)add_memory(made, numbers * 4);
  for (int64_t i = 0; i < numbers; i++) centre[i] = generator_uniform(generator);
  scales->centre = centre;
  scales->centre_head = side->dim * 4;
  scales->centre_layer = side->kv_heads * side->dim * 4;
}

void narrow_pages_make(struct narrow_pages *made, const fovea_format *k, const fovea_format *v, int64_t count,
                       int64_t page_rows, int64_t kv_heads, int64_t qk_dim, int64_t v_dim, int64_t layers,
                       enum page_layout layout, struct generator *generator) {
  const int panels = page_rows % 16 == 0 &&
                     (!k || (fovea_format_panel_bytes(k, qk_dim, NULL) > 0 && generator_below(generator, 2)));
  fovea_error error;
  memset(made, 0, sizeof *made);
  made->sides[0].dim = qk_dim, made->sides[1].dim = v_dim;
  made->sides[0].kv_heads = made->sides[1].kv_heads = kv_heads;
  if (k) made->sides[0].format = *k;
  if (v) made->sides[1].format = *v;
  fovea_pages_init(&made->pages, count, page_rows, kv_heads, qk_dim, v_dim, FOVEA_F32,
                   panels ? FOVEA_KEYS_IN_PANELS : FOVEA_KEYS_IN_ROWS);
  if (fovea_pages_set_formats(&made->pages, k ? &made->sides[0].format : NULL, v ? &made->sides[1].format : NULL,
                              &error) != FOVEA_OK)
    fail_msg("%s", error.text);
  made->pages.layers = layers;
  switch (layout) {
  case PAGES_DEFAULT:
    lay_out_default(made);
    break;
  case PAGES_IN_ONE:
    lay_out_in_one(made);
    break;
  default:
    lay_out_axes(made, layout == PAGES_ANY, generator);
  }
  fill(made, generator);
  if (generator_below(generator, 3) == 0) add_centre(made, (int)generator_below(generator, 2), generator);
}

void narrow_pages_destroy(struct narrow_pages *made) {
  for (int i = 0; i < made->memory_count; i++) guarded_destroy(&made->memory[i]);
}

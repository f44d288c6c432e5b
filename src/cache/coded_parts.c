#include "coded_parts.h"

#include "../base/error.h"
#include "../base/validate.h"

#if FOVEA_BUILDS_FORMATS

static fovea_coded_part find_codes(const fovea_segment *segment, const fovea_format *format, int64_t dim,
                                   int values) {
  const int panels = !values && segment->k_layout == FOVEA_KEYS_IN_PANELS;
  const fovea_code_layout layout = fovea_lay_out_codes(format, dim, panels);
  return (fovea_coded_part){.first = values ? segment->v : segment->k,
                            .layer = values ? segment->v_layer : segment->k_layer,
                            .head = values ? segment->v_head : segment->k_head,
                            .row_keys = layout.unit_keys,
                            .row = values ? segment->v_row : segment->k_row,
                            .groups = 1,
                            .bytes = layout.unit_bytes};
}

fovea_coded_part fovea_find_part(const fovea_segment *segment, const fovea_format *format, int64_t dim, int values,
                                 int part) {
  const fovea_code_scales *scales = values ? &segment->v_scales : &segment->k_scales;
  switch (part) {
  case FOVEA_PART_CODES:
    return find_codes(segment, format, dim, values);
  case FOVEA_PART_CENTRE:
    return (fovea_coded_part){.first = (const char *)scales->centre,
                              .layer = scales->centre_layer,
                              .head = scales->centre_head,
                              .row_keys = INT64_MAX,
                              .groups = 1,
                              .bytes = dim * (int64_t)sizeof(float)};
  default:
    return (fovea_coded_part){.first = part == FOVEA_PART_SCALES ? scales->scales : scales->zeros,
                              .layer = scales->layer,
                              .head = scales->head,
                              .row_keys = format->key_group == 0 ? INT64_MAX : format->key_group,
                              .row = scales->row,
                              .groups = format->group == 0 ? 1 : dim / format->group,
                              .group = scales->group,
                              .bytes = fovea_scale_bytes(format)};
  }
}

/* Moves the ends of a range by an axis of `count` steps. */
static void extend(int64_t count, int64_t step, int64_t *low, int64_t *high) {
  if (count > 1) *(step < 0 ? low : high) += (count - 1) * step;
}

void fovea_part_range(const fovea_coded_part *part, const fovea_segment *segment, int64_t kv_heads, int64_t layer,
                      int64_t begin, int64_t end, uintptr_t *first, uintptr_t *last) {
  const int64_t row = (begin - segment->first) / part->row_keys,
                rows = (end - 1 - segment->first) / part->row_keys - row + 1;
  int64_t low = (layer > 0 ? layer * part->layer : 0) + (row > 0 ? row * part->row : 0), high = low + part->bytes;
  extend(kv_heads, part->head, &low, &high);
  extend(rows, part->row, &low, &high);
  extend(part->groups, part->group, &low, &high);
  *first = (uintptr_t)part->first + (uintptr_t)low;
  *last = (uintptr_t)part->first + (uintptr_t)high;
}

/* ---- Checks -------------------------------------------------------------------------------------------------- */

static const char names[2][FOVEA_PARTS][16] = {
    {"k", "k_scales.scales", "k_scales.zeros", "k_scales.centre"},
    {"v", "v_scales.scales", "v_scales.zeros", "v_scales.centre"},
};

/* A part by its place in error texts: in a segment, or in pages (FOVEA_ENTRY_OF_PAGES). */
typedef struct subject {
  const char *name;
  int64_t entry, number;
  fovea_error *error;
} subject;

/* The text of the place, which may be written into `room`. */
static const char *place_of(const subject *s, fovea_error *room) {
  if (s->entry == FOVEA_ENTRY_OF_PAGES) return "pages";
  fovea_fail(room, FOVEA_OK, "sequences[%jd].segments[%jd]", s->entry, s->number);
  return room->text;
}

/* Whether all bytes of a part can be addressed: no axis, nor all together, reach further than 2^57 bytes. */
static int is_near(const fovea_coded_part *part, int64_t layers, int64_t heads, int64_t rows) {
  const int64_t count = (rows - 1) / part->row_keys + 1;
  const int64_t extent[4] = {layers, heads, count, part->groups};
  const int64_t stride[4] = {part->layer, part->head, part->row, part->group};
  const int64_t limit = INT64_C(1) << 57;
  int64_t reach = part->bytes;
  for (int axis = 0; axis < 4; axis++) {
    int64_t step, far;
    if (extent[axis] <= 1) continue;
    if (stride[axis] < -limit || stride[axis] > limit) return 0;
    step = stride[axis] < 0 ? -stride[axis] : stride[axis];
    if (__builtin_mul_overflow(extent[axis] - 1, step, &far) || __builtin_add_overflow(reach, far, &reach))
      return 0;
  }
  return reach <= limit;
}

/* Pointers that the format needs, and pointers that it would not use. */
static fovea_status check_pointer(const subject *s, const void *pointer, int wanted, int optional,
                                  const char *reason) {
  fovea_error room;
  if (wanted && !pointer && !optional)
    return fovea_fail(s->error, FOVEA_ERROR_ARGUMENT, "%s.%s is NULL", place_of(s, &room), s->name);
  if (!wanted && pointer)
    return fovea_fail(s->error, FOVEA_ERROR_UNUSED, "%s.%s is set, but %s", place_of(s, &room), s->name, reason);
  return FOVEA_OK;
}

static fovea_status check_pointers(const fovea_segment *segment, const fovea_format *format, int64_t dim,
                                   int values, subject s) {
  const int apart = format->place == FOVEA_SCALES_APART, zeros = format->formula != FOVEA_FORMULA_SCALE;
  const struct {
    int wanted, optional;
    const char *reason;
  } parts[FOVEA_PARTS] = {{1, 0, ""},
                          {apart, 0, "the format has its scales beside the codes"},
                          {apart && zeros, 0, "the format has none apart"},
                          {!zeros && !format->table, 1, "only FOVEA_FORMULA_SCALE without a table has a centre"}};
  for (int i = 0; i < FOVEA_PARTS; i++) {
    s.name = names[values][i];
    const void *pointer = fovea_find_part(segment, format, dim, values, i).first;
    fovea_status status = check_pointer(&s, pointer, parts[i].wanted, parts[i].optional, parts[i].reason);
    if (status) return status;
  }
  return FOVEA_OK;
}

/* What rows of elements have, and codes do not. */
static fovea_status check_elements(const fovea_segment *segment, int values, const subject *s) {
  const int type = (int)(values ? segment->v_type : segment->k_type);
  fovea_error room;
  if (type != 0)
    return fovea_fail(s->error, FOVEA_ERROR_UNUSED, "%s.%s_type is %jd; with a format it must be 0",
                      place_of(s, &room), s->name, (int64_t)type);
  return FOVEA_OK;
}

fovea_status fovea_check_coded_side(const fovea_segment *segment, const fovea_segment_shape *shape, int values,
                                    int64_t entry, int64_t number, fovea_error *error) {
  const fovea_format *format = fovea_segment_format(segment, values);
  if (!format) return FOVEA_OK;
  const int64_t dim = values ? shape->v_dim : shape->qk_dim;
  const fovea_code_scales *scales = values ? &segment->v_scales : &segment->k_scales;
  const subject s = {names[values][0], entry, number, error};
  fovea_error room;
  fovea_status status = check_elements(segment, values, &s);
  if (!status) status = fovea_check_format(format, dim, entry, number, values, error);
  if (!status && !values && segment->k_layout == FOVEA_KEYS_IN_PANELS)
    status = fovea_check_code_panels(format, dim, entry, number, error);
  if (!status) status = check_pointers(segment, format, dim, values, s);
  if (status) return status;
  for (int i = 0; i < FOVEA_PARTS; i++) {
    const fovea_coded_part part = fovea_find_part(segment, format, dim, values, i);
    if (part.first && !is_near(&part, segment->layers, shape->kv_heads, segment->rows))
      return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s.%s reaches further than 2^57 bytes from the first",
                        place_of(&s, &room), names[values][i]);
  }
  if ((uintptr_t)scales->centre % sizeof(float) != 0)
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s.%s is at an address that is no multiple of 4",
                      place_of(&s, &room), names[values][FOVEA_PART_CENTRE]);
  return FOVEA_OK;
}

/* ---- Claims of codes whose rows' bytes lie apart ------------------------------------------------------------- */

/* Keys `key` to `stop` - 1 of a unit. Pairs of keys are claimed as pairs. */
static fovea_claim claim_keys(const fovea_coded_part *part, const fovea_code_layout *layout, const char *unit,
                              int64_t kv_heads, int64_t key, int64_t stop) {
  const fovea_codes *codes = &layout->codes;
  if (layout->word_keys < layout->unit_keys) {
    const int64_t pair = key / layout->word_keys, pairs = (stop - 1) / layout->word_keys + 1 - pair;
    const int64_t chunks = codes->row_bytes / codes->item / 16;
    return fovea_claim_rows(unit + pair * layout->word_bytes, 8, kv_heads, part->head, chunks, codes->chunk_step,
                            pairs * layout->word_bytes);
  }
  const int64_t items = (codes->row_bytes + codes->item - 1) / codes->item;
  return fovea_claim_rows(unit + key * layout->key_bytes, 8, kv_heads, part->head, items, codes->item_step,
                          (stop - key) * layout->key_bytes);
}

/* Whole units as such, others key by key: two rounds of a ring may write to the same unit. */
static fovea_claim claim_units(const fovea_segment *segment, const fovea_coded_part *part,
                               const fovea_code_layout *layout, const fovea_segment_shape *shape, int64_t layer,
                               int64_t *position, int64_t end) {
  const int64_t keys = layout->unit_keys, row = *position - segment->first, unit = row / keys, key = row % keys;
  const uintptr_t first = (uintptr_t)part->first + (uintptr_t)(layer > 0 ? layer * part->layer : 0) +
                          (uintptr_t)(unit > 0 ? unit * part->row : 0);
  const int64_t left = end - *position, whole = key == 0 ? left / keys : 0;
  if (whole > 0) {
    *position += whole * keys;
    return fovea_claim_rows((const char *)first, 8, shape->kv_heads, part->head, whole, part->row, part->bytes);
  }
  const int64_t stop = key + left < keys ? key + left : keys;
  *position += stop - key;
  return claim_keys(part, layout, (const char *)first, shape->kv_heads, key, stop);
}

/* ---- Claims -------------------------------------------------------------------------------------------------- */

fovea_claim fovea_claim_part(const fovea_segment *segment, const fovea_format *format,
                             const fovea_segment_shape *shape, int values, int part, int64_t layer,
                             int64_t *position, int64_t end) {
  const int64_t dim = values ? shape->v_dim : shape->qk_dim;
  const fovea_coded_part p = fovea_find_part(segment, format, dim, values, part);
  const int panels = !values && segment->k_layout == FOVEA_KEYS_IN_PANELS;
  if (part == FOVEA_PART_CODES && (panels || format->order != FOVEA_ORDER_ROWS)) {
    const fovea_code_layout layout = fovea_lay_out_codes(format, dim, panels);
    if (layout.codes.item && !layout.key_bits)
      return claim_units(segment, &p, &layout, shape, layer, position, end);
  }
  const int64_t row = (*position - segment->first) / p.row_keys, last = (end - 1 - segment->first) / p.row_keys;
  const char *first = (const char *)((uintptr_t)p.first + (uintptr_t)(layer > 0 ? layer * p.layer : 0) +
                                     (uintptr_t)(row > 0 ? row * p.row : 0));
  const int joined = p.groups == 1 || p.group == p.bytes;
  if (joined || row == last) {
    *position = end;
    return joined ? fovea_claim_rows(first, 8, shape->kv_heads, p.head, last - row + 1, p.row, p.groups * p.bytes)
                  : fovea_claim_rows(first, 8, shape->kv_heads, p.head, p.groups, p.group, p.bytes);
  }
  *position = segment->first + (row + 1) * p.row_keys;
  return fovea_claim_rows(first, 8, shape->kv_heads, p.head, p.groups, p.group, p.bytes);
}
#endif

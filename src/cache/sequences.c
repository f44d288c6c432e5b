#include "sequences.h"

#include "../base/caller.h"
#include "../base/error.h"
#include "../base/groups.h"
#include "../base/types.h"
#include "../base/validate.h"
#include "coded_parts.h"
#include "segment_reach.h"

#include <string.h>

fovea_code_place fovea_place_codes(const fovea_segment *segment, int values, int64_t layer, int64_t head) {
  const fovea_code_scales *scales = values ? &segment->v_scales : &segment->k_scales;
  const int64_t at = (layer > 0 ? layer * scales->layer : 0) + (head > 0 ? head * scales->head : 0);
  const int64_t centre_at =
      (layer > 0 ? layer * scales->centre_layer : 0) + (head > 0 ? head * scales->centre_head : 0);
  return (fovea_code_place){
      .units = (const char *)(values ? segment->v : segment->k) + fovea_segment_head(segment, values, layer, head),
      .unit_step = values ? segment->v_row : segment->k_row,
      .scales = scales->scales ? (const char *)scales->scales + at : NULL,
      .zeros = scales->zeros ? (const char *)scales->zeros + at : NULL,
      .scale_step = scales->row,
      .centre = scales->centre ? (const float *)(const void *)((const char *)scales->centre + centre_at) : NULL,
  };
}

int fovea_find_head(const fovea_sequence *sequence, int64_t position, int values, int64_t dim, int64_t layer,
                    int64_t head, fovea_found_segment *found) {
  const fovea_segment *next = found->segment ? fovea_segment_after(sequence, found->segment) : NULL;
  int neighbour = next && next < fovea_segment_at(sequence, sequence->count) && fovea_segment_holds(next, position);
  if (!neighbour) {
    next = fovea_find_segment(sequence, position);
    if (!fovea_segment_holds(next, position)) return 0;
  }
  const fovea_format *format = fovea_segment_format(next, values);
  fovea_fetch_segment(sequence, next, 0, format ? sizeof *next : offsetof(fovea_segment, k_format));
  const fovea_format *known = found->segment ? found->format : NULL;
  found->segment = next;
  found->format = format;
  if (format) {
    const int panels = !values && next->k_layout == FOVEA_KEYS_IN_PANELS;
    if (FOVEA_BUILDS_FORMATS &&
        (format != known || panels != found->layout.codes.panels)) /* pages have one format */
      found->layout = fovea_lay_out_codes(format, dim, panels);
    if (found->layout.apart) found->layout.codes.scale_group = (values ? next->v_scales : next->k_scales).group;
    found->place = fovea_place_codes(next, values, layer, head);
    return 1;
  }
  found->rows = fovea_element(values ? next->v : next->k, values ? next->v_type : next->k_type,
                              fovea_segment_head(next, values, layer, head));
  return 1;
}

static int has_scales(const fovea_segment *segment, int values) {
  const fovea_code_scales *scales = values ? &segment->v_scales : &segment->k_scales;
  return scales->scales || scales->zeros || scales->centre;
}

static fovea_status check_side(const fovea_segment *segment, const fovea_segment_shape *shape, int values,
                               int64_t entry, int64_t number, fovea_error *error) {
  fovea_reach reach;
  const void *pointer = values ? segment->v : segment->k;
  int type = values ? (int)segment->v_type : (int)segment->k_type;
  const char *name = values ? "v" : "k";
  if (fovea_segment_format(segment, values))
    return FOVEA_BUILDS_FORMATS ? fovea_check_coded_side(segment, shape, values, entry, number, error)
                                : fovea_fail_left_out(FOVEA_GROUP_PLACE_FORMATS, error);
  if (has_scales(segment, values))
    return fovea_fail(error, FOVEA_ERROR_UNUSED,
                      "sequences[%jd].segments[%jd].%s_scales is set, but %s_format is NULL", entry, number, name,
                      name);
  if (type < 0 || type >= FOVEA_TYPES) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "sequences[%jd].segments[%jd].%s_type is %jd; it must be from 0 to %jd", entry, number, name,
                      (int64_t)type, (int64_t)FOVEA_TYPES - 1);
  }
  if (!fovea_segment_reach(segment, shape, values, &reach)) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "sequences[%jd].segments[%jd].%s: the elements reach further than 2^57 from the first", entry,
                      number, name);
  }
  if (!pointer)
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "sequences[%jd].segments[%jd].%s is NULL", entry, number, name);
  if ((uintptr_t)pointer % (uintptr_t)reach.alignment != 0) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "sequences[%jd].segments[%jd].%s is %jd bytes off an address that is a multiple of %jd",
                      entry, number, name, (int64_t)((uintptr_t)pointer % (uintptr_t)reach.alignment),
                      (int64_t)reach.alignment);
  }
  return FOVEA_OK;
}

/* A segment that knows its heads and dims has the heads and dims of the call. */
static fovea_status check_sizes(const fovea_segment *segment, const fovea_segment_shape *shape, int64_t entry,
                                int64_t number, fovea_error *error) {
  const struct {
    const char *name;
    int64_t wanted, known;
  } sizes[] = {{"kv_heads", shape->kv_heads, segment->kv_heads},
               {"qk_dim", shape->qk_dim, segment->qk_dim},
               {"v_dim", shape->v_dim, segment->v_dim}};
  for (int i = 0; i < 3; i++) {
    if (sizes[i].known == 0 || sizes[i].known == sizes[i].wanted) continue;
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is %jd; sequences[%jd].segments[%jd].%s is %jd",
                      sizes[i].name, sizes[i].wanted, entry, number, sizes[i].name, sizes[i].known);
  }
  return FOVEA_OK;
}

static fovea_status check_segment(const fovea_segment *segment, const fovea_segment_shape *shape, int64_t entry,
                                  int64_t number, fovea_error *error) {
  const int64_t limit = FOVEA_LENGTH_LIMIT;
  if (segment->first < 0 || segment->rows < 1 || segment->first > limit || segment->rows > limit) {
    return fovea_fail(
        error, FOVEA_ERROR_ARGUMENT,
        "sequences[%jd].segments[%jd] has %jd rows from position %jd; neither may be negative or beyond "
        "2^48, and there must be a row",
        entry, number, segment->rows, segment->first);
  }
  int layout = (int)segment->k_layout;
  if (layout < 0 || layout > FOVEA_KEYS_IN_PANELS) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "sequences[%jd].segments[%jd].k_layout is %jd; it must be 0 or 1", entry, number,
                      (int64_t)layout);
  }
  if (layout == FOVEA_KEYS_IN_PANELS && segment->first % FOVEA_PANEL_ROWS != 0) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "sequences[%jd].segments[%jd] has panels from position %jd; it must be a multiple of %jd",
                      entry, number, segment->first, (int64_t)FOVEA_PANEL_ROWS);
  }
  const int64_t layers = segment->layers;
  if (layers < 0 || layers > FOVEA_LENGTH_LIMIT) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "sequences[%jd].segments[%jd].layers is %jd; it must be from 0 to %jd", entry, number, layers,
                      FOVEA_LENGTH_LIMIT);
  }
  if (shape->layer > 0 && shape->layer >= layers) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "layer is %jd; sequences[%jd].segments[%jd].layers is %jd",
                      shape->layer, entry, number, layers);
  }
  fovea_status status = check_sizes(segment, shape, entry, number, error);
  if (!status) status = check_side(segment, shape, 0, entry, number, error);
  return status ? status : check_side(segment, shape, 1, entry, number, error);
}

/* The positions that a call wants, and what it may do without. */
typedef struct wanted_positions {
  int64_t entry, begin, end;
  int read, holes; /* by a run; whose problem has holes */
} wanted_positions;

/* Checks that segment `number` follows the one before, which ends before `position`. */
static fovea_status check_order(const wanted_positions *wanted, const fovea_segment *segment, int64_t number,
                                int64_t position, fovea_error *error) {
  if (segment->first < position) {
    return fovea_fail(
        error, FOVEA_ERROR_ARGUMENT,
        "sequences[%jd].segments[%jd] begins at position %jd; the one before ends before %jd: segments "
        "ascend and do not overlap",
        wanted->entry, number, segment->first, position);
  }
  if (segment->first == position || wanted->holes) return FOVEA_OK;
  if (segment->first <= wanted->begin || position >= wanted->end) return FOVEA_OK; /* a hole that nobody asks for */
  if (!wanted->read) {
    return fovea_fail(
        error, FOVEA_ERROR_ARGUMENT,
        "sequences[%jd].segments[%jd] begins at position %jd; the one before ends before %jd; positions %jd "
        "to %jd are wanted",
        wanted->entry, number, segment->first, position, wanted->begin, wanted->end - 1);
  }
  return fovea_fail(
      error, FOVEA_ERROR_ARGUMENT,
      "sequences[%jd].segments[%jd] begins at position %jd; the one before ends before %jd: set cache.holes "
      "of the problem to 1 if keys between them do not exist (docs/caches.md, \"Forgetting\")",
      wanted->entry, number, segment->first, position);
}

/* Checks that the segments reach from the first wanted position to the last. Only first ones may be missing. */
static fovea_status check_ends(const wanted_positions *wanted, int64_t first, int64_t end, fovea_error *error) {
  if ((first <= wanted->begin || wanted->holes) && end >= wanted->end) return FOVEA_OK;
  if (wanted->read && end >= wanted->end) {
    return fovea_fail(
        error, FOVEA_ERROR_ARGUMENT,
        "sequences[%jd] holds positions %jd to %jd; positions %jd to %jd are wanted: if earlier ones are "
        "not held any more, set kv_begins[%jd] of the problem to %jd",
        wanted->entry, first, end - 1, wanted->begin, wanted->end - 1, wanted->entry, first);
  }
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                    "sequences[%jd] holds positions %jd to %jd; positions %jd to %jd are wanted", wanted->entry,
                    first, end - 1, wanted->begin, wanted->end - 1);
}

/* Adds the memory of the segments to *memory, unless it is NULL. *alike becomes 0 if segments are not alike. */
static fovea_status check_segments(const fovea_sequence *sequence, const fovea_segment_shape *shape,
                                   const wanted_positions *wanted, fovea_segment_memory *memory, int *alike,
                                   fovea_error *error) {
  const int64_t entry = wanted->entry;
  if (wanted->begin >= wanted->end) return FOVEA_OK; /* no position is wanted */
  if (!sequence->segments && sequence->count > 0) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "sequences[%jd].segments is NULL while count is %jd", entry,
                      sequence->count);
  }
  if (sequence->count < 1) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "sequences[%jd] has no segments; positions %jd to %jd are wanted", entry, wanted->begin,
                      wanted->end - 1);
  }
  fovea_status status = fovea_check_segment_size(sequence, entry, error);
  if (status) return status;
  int64_t position = sequence->segments[0].first;
  fovea_alike known = {0};
  fovea_segment_kind kind = FOVEA_SEGMENT_UNLIKE;
  for (int64_t i = 0; i < sequence->count;) {
    const fovea_segment *segment = fovea_segment_at(sequence, i);
    if (kind != FOVEA_SEGMENT_RIGHT) {
      status = check_segment(segment, shape, entry, i, error);
      if (status) return status;
      if (known.of && memory) fovea_add_alike(&known, shape, memory);
      if (known.of && kind == FOVEA_SEGMENT_UNLIKE) *alike = 0;
      if (memory || sequence->count > 1) fovea_begin_alike(&known, segment);
    }
    if (segment->first != position) status = check_order(wanted, segment, i, position, error);
    if (status) return status;
    position = segment->first + segment->rows;
    i = fovea_pass_alike(&known, sequence, i + 1, &position, &kind);
  }
  if (memory) fovea_add_alike(&known, shape, memory);
  return check_ends(wanted, sequence->segments[0].first, position, error);
}

fovea_status fovea_check_sequence(const fovea_sequence *sequence, const fovea_segment_shape *shape, int64_t entry,
                                  int64_t begin, int64_t end, fovea_error *error) {
  const wanted_positions wanted = {.entry = entry, .begin = begin, .end = end};
  int alike;
  return check_segments(sequence, shape, &wanted, NULL, &alike, error);
}

fovea_status fovea_check_layers_of_sequence(const fovea_sequence *sequence, const fovea_segment_shape *shape,
                                            int64_t layers, int64_t entry, int64_t begin, int64_t end,
                                            fovea_error *error) {
  fovea_segment_shape last = *shape;
  last.layer = layers - 1;
  const fovea_status status = fovea_check_sequence(sequence, &last, entry, begin, end, error);
  if (!status || !error || strcmp(error->field, "layer") != 0) return status;
  const fovea_error of_last = *error;
  return fovea_fail(error, status, "layers is %jd, so the last %s", layers, of_last.text);
}

fovea_status fovea_check_read_sequence(const fovea_sequence *sequence, const fovea_segment_shape *shape,
                                       int64_t entry, int64_t begin, int64_t end, int holes,
                                       fovea_segment_memory *memory, int *alike, fovea_error *error) {
  const wanted_positions wanted = {entry, begin, end, 1, holes};
  return check_segments(sequence, shape, &wanted, memory, alike, error);
}

/* Keys or values of a segment that is written to: each row has memory of its own, also rows that the call leaves
 * alone. */
static fovea_status check_rows_apart(const fovea_segment *segment, const fovea_segment_shape *shape, int values,
                                     int64_t entry, int64_t number, fovea_error *error) {
  const fovea_format *format = fovea_segment_format(segment, values);
  const int panels = !values && segment->k_layout == FOVEA_KEYS_IN_PANELS;
  const int64_t dim = values ? shape->v_dim : shape->qk_dim, step = values ? segment->v_row : segment->k_row;
  int64_t keys = panels ? FOVEA_PANEL_ROWS : 1, size = panels ? fovea_panel_elements(dim, segment->k_type) : dim;
  if (FOVEA_BUILDS_FORMATS && format) {
    const fovea_coded_part codes = fovea_find_part(segment, format, dim, values, FOVEA_PART_CODES);
    keys = codes.row_keys;
    size = codes.bytes;
  }
  if (segment->rows <= keys || step >= size || step <= -size) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                    "sequences[%jd].segments[%jd].%s_row is %jd; rows share memory unless its size is at least %jd",
                    entry, number, values ? "v" : "k", step, size);
}

fovea_status fovea_check_written_sequence(const fovea_sequence *sequence, const fovea_segment_shape *shape,
                                          int64_t entry, int64_t begin, int64_t end, fovea_error *error) {
  fovea_status status = FOVEA_OK;
  for (int64_t i = 0; begin < end && i < sequence->count && !status; i++) {
    const fovea_segment *segment = fovea_segment_at(sequence, i);
    if (segment->first >= end || segment->first + segment->rows <= begin) continue;
    status = check_rows_apart(segment, shape, 0, entry, i, error);
    if (!status) status = check_rows_apart(segment, shape, 1, entry, i, error);
  }
  return status;
}

#include "cached_rows.h"

#include "../base/types.h"
#include "../rotary/rotary.h"
#include "panels.h"
#include "sequences.h"

fovea_cached_row fovea_find_cached_row(const fovea_segment *segment, int values, int64_t dim, int64_t layer,
                                       int64_t head, int64_t position) {
  int64_t row = position - segment->first, first = fovea_segment_head(segment, values, layer, head);
  if (values) {
    int64_t offset = first + row * segment->v_row;
    return (fovea_cached_row){fovea_output_element(segment->v, segment->v_type, offset), segment->v_type, dim, 0,
                              0};
  }
  int panels = segment->k_layout == FOVEA_KEYS_IN_PANELS;
  int64_t offset = first + (panels ? row / FOVEA_PANEL_ROWS : row) * segment->k_row;
  return (fovea_cached_row){fovea_output_element(segment->k, segment->k_type, offset), segment->k_type, dim, panels,
                            row % FOVEA_PANEL_ROWS};
}

void fovea_write_elements(const fovea_kernels *kernels, const fovea_cached_row *to, int64_t first, int64_t end,
                          const void *from, fovea_type from_type) {
  if (!to->panels) {
    fovea_pass_on(kernels, from, from_type, fovea_output_element(to->row, to->type, first), to->type, end - first);
    return;
  }
  float converted[FOVEA_MOVED_ELEMENTS];
  for (int64_t at = first; at < end; at += FOVEA_MOVED_ELEMENTS) {
    int64_t count = end - at < FOVEA_MOVED_ELEMENTS ? end - at : FOVEA_MOVED_ELEMENTS;
    fovea_pass_on(kernels, fovea_element(from, from_type, at - first), from_type, converted, to->type, count);
    fovea_panel_write(to->row, to->type, to->key, at, count, to->dim, converted);
  }
}

void fovea_copy_cached_row(const fovea_kernels *kernels, const fovea_cached_row *from, const fovea_cached_row *to) {
  if (!from->panels) {
    fovea_write_elements(kernels, to, 0, to->dim, from->row, from->type);
    return;
  }
  float elements[FOVEA_MOVED_ELEMENTS];
  for (int64_t at = 0; at < to->dim; at += FOVEA_MOVED_ELEMENTS) {
    int64_t end = to->dim - at < FOVEA_MOVED_ELEMENTS ? to->dim : at + FOVEA_MOVED_ELEMENTS;
    fovea_panel_read(from->row, from->type, from->key, at, end - at, elements);
    fovea_write_elements(kernels, to, at, end, elements, from->type);
  }
}

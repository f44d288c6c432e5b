#include "segment_reach.h"

#include "../base/types.h"

int fovea_segment_reach(const fovea_segment *segment, const fovea_segment_shape *shape, int values,
                        fovea_reach *reach) {
  int64_t layers = segment->layers, layer_step = 0;
  if (layers > 1) layer_step = values ? segment->v_layer : segment->k_layer;
  int panels = !values && segment->k_layout == FOVEA_KEYS_IN_PANELS;
  fovea_type type = values ? segment->v_type : segment->k_type;
  fovea_shape rows = {
      .name = values ? "v" : "k",
      .extent = {layers, shape->kv_heads, panels ? (segment->rows - 1) / FOVEA_PANEL_ROWS + 1 : segment->rows},
      .stride = {layer_step, values ? segment->v_head : segment->k_head, values ? segment->v_row : segment->k_row},
      .dim = values   ? shape->v_dim
             : panels ? fovea_panel_elements(shape->qk_dim, type)
                      : shape->qk_dim,
  };
  int64_t low, high;
  for (int axis = 0; axis < 3; axis++) {
    if (rows.extent[axis] <= 1) rows.stride[axis] = 0;
  }
  if (!fovea_shape_range(&rows, &low, &high)) return 0;
  int64_t layer = fovea_segment_head(segment, values, shape->layer, 0);
  if (rows.extent[0] > 1) {
    rows.extent[0] = 1;
    fovea_shape_range(&rows, &low, &high);
  }
  low += layer;
  high += layer;
  *reach = (fovea_reach){rows.name, fovea_bytes(type, low), fovea_bytes(type, high + 1), fovea_alignment(type)};
  return 1;
}

void fovea_part_reach(const fovea_segment *segment, const fovea_segment_shape *shape, int values, int part,
                      int64_t *begin, int64_t *end) {
  const fovea_format *format = fovea_segment_format(segment, values);
  if (FOVEA_BUILDS_FORMATS && format) {
    const int64_t dim = values ? shape->v_dim : shape->qk_dim, rows_end = segment->first + segment->rows;
    const fovea_coded_part coded = fovea_find_part(segment, format, dim, values, part);
    uintptr_t first, last;
    fovea_part_range(&coded, segment, shape->kv_heads, shape->layer, segment->first, rows_end, &first, &last);
    *begin = (int64_t)(first - (uintptr_t)coded.first);
    *end = (int64_t)(last - (uintptr_t)coded.first);
    return;
  }
  fovea_reach reach;
  fovea_segment_reach(segment, shape, values, &reach);
  *begin = reach.begin;
  *end = reach.end;
}

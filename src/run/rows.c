#include "rows.h"

#include "../cache/sequences.h"

static int holds(const fovea_segment *segment, int64_t position) {
  return segment->first <= position && position < segment->first + segment->rows;
}

/* Rows are wanted one after the other: mostly out of the segment before, or out of its neighbour. */
static const fovea_segment *find_segment(const fovea_task_context *context, int64_t position) {
  const fovea_segment *near = *context->source.found,
                      *end = context->source.segments + context->source.segment_count;
  if (near && !holds(near, position)) near = near + 1 < end && holds(near + 1, position) ? near + 1 : NULL;
  if (!near) near = fovea_find_segment(context->source.segments, context->source.segment_count, position);
  *context->source.found = near;
  return near;
}

/* Bytes from one row of a segment to the next. Where there is one row, its stride may be any number. */
static int64_t step_of(const fovea_segment *segment, int64_t stride, fovea_type type) {
  return segment->rows > 1 ? fovea_bytes(type, stride) : 0;
}

/* Where the task's layer and kv head begin. */
static const char *head_of(const fovea_task_context *context, const fovea_segment *segment, int values) {
  int64_t offset = fovea_segment_head(segment, values, context->tensors->layer, context->task->kv_head);
  return values ? fovea_element(segment->v, segment->v_type, offset)
                : fovea_element(segment->k, segment->k_type, offset);
}

fovea_row_run fovea_key_run(const fovea_task_context *context, int64_t position) {
  const fovea_problem *problem = &context->plan->problem;
  if (!context->source.segments) {
    int64_t stride = problem->k_strides.row;
    return (fovea_row_run){fovea_element(context->source.keys, problem->k_type, position * stride),
                           fovea_bytes(problem->k_type, stride), INT64_MAX, problem->k_type, 0};
  }
  const fovea_segment *segment = find_segment(context, position);
  int64_t row = position - segment->first;
  const char *head = head_of(context, segment, 0);
  fovea_row_run run = {.end = segment->first + segment->rows, .type = segment->k_type};
  if (segment->k_layout == FOVEA_KEYS_IN_PANELS) {
    int64_t panel = row / FOVEA_PANEL_ROWS;
    run.panels = 1;
    run.step = fovea_panel_step(run.type);
    run.row = head + fovea_bytes(run.type, panel * segment->k_row) + row % FOVEA_PANEL_ROWS * run.step;
    int64_t panel_end = segment->first + (panel + 1) * FOVEA_PANEL_ROWS;
    if (panel_end < run.end) run.end = panel_end;
    return run;
  }
  run.step = step_of(segment, segment->k_row, run.type);
  run.row = head + row * run.step;
  return run;
}

fovea_row_run fovea_value_run(const fovea_task_context *context, int64_t position) {
  const fovea_problem *problem = &context->plan->problem;
  if (!context->source.segments) {
    int64_t stride = problem->v_strides.row;
    return (fovea_row_run){fovea_element(context->source.values, problem->v_type, position * stride),
                           fovea_bytes(problem->v_type, stride), INT64_MAX, problem->v_type, 0};
  }
  const fovea_segment *segment = find_segment(context, position);
  int64_t step = step_of(segment, segment->v_row, segment->v_type);
  return (fovea_row_run){head_of(context, segment, 1) + (position - segment->first) * step, step,
                         segment->first + segment->rows, segment->v_type, 0};
}

void fovea_list_rows(const fovea_task_context *context, fovea_find_run *find, int64_t base, fovea_interval keys,
                     fovea_row_list *list) {
  int begin = (int)(keys.begin - base), end = (int)(keys.end - base);
  list->base = base;
  list->uniform = 1;
  for (int key = begin; key < end;) {
    fovea_row_run run = find(context, base + key);
    int run_end = run.end - base < end ? (int)(run.end - base) : end;
    if (key == begin) {
      list->type = run.type;
      list->panels = run.panels;
    } else if (run.type != list->type || run.panels != list->panels) {
      list->uniform = 0;
      return;
    }
    for (const char *row = run.row; key < run_end; key++, row += run.step) list->rows[key] = row;
  }
  /* In panels a vector of keys is found by its first one, which has to lie in its own panel. */
  for (int key = begin - 1; key >= 0; key--) {
    int in_panel = list->panels && key / FOVEA_PANEL_ROWS == begin / FOVEA_PANEL_ROWS;
    list->rows[key] =
        in_panel ? (const char *)list->rows[key + 1] - fovea_panel_step(list->type) : list->rows[begin];
  }
  for (int key = end; key < FOVEA_BLOCK_KEYS; key++) list->rows[key] = list->rows[end - 1];
}

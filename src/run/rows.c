#include "rows.h"

/* Rows are looked for in ascending order, so most lie in the segment that was found last, or in the next one. Keys
 * and values are looked for in turn, each with a segment of its own. */
static const fovea_found_segment *find_segment(const fovea_task_context *context, int values, int64_t position) {
  fovea_found_segment *found = &context->source.found[values];
  if (!fovea_segment_holds(found->segment, position)) {
    const fovea_problem *problem = &context->plan->problem;
    fovea_find_head(&context->source.sequence, position, values, values ? problem->v_dim : problem->qk_dim,
                    context->tensors->layer, context->task->kv_head, found);
  }
  return found;
}

/* Bytes from one row of a segment to the next. The stride of a single row may be any number. */
static int64_t step_of(const fovea_segment *segment, int64_t stride, fovea_type type) {
  return segment->rows > 1 ? fovea_bytes(type, stride) : 0;
}

/* A run of codes. */
static fovea_row_run coded_run(const fovea_found_segment *found, int64_t position) {
  const fovea_segment *segment = found->segment;
  fovea_row_run run = {.end = segment->first + segment->rows, .codes = &found->layout.codes};
  const int64_t follow = fovea_find_codes(&found->layout, &found->place, position - segment->first, &run.coded);
  if (follow < run.end - position) run.end = position + follow;
  return run;
}

fovea_row_run fovea_key_run(const fovea_task_context *context, int64_t position) {
  const fovea_problem *problem = &context->plan->problem;
  if (!context->source.sequence.segments) {
    int64_t stride = problem->k_strides.row;
    return (fovea_row_run){fovea_element(context->source.keys, problem->k_type, position * stride),
                           fovea_bytes(problem->k_type, stride),
                           INT64_MAX,
                           problem->k_type,
                           0,
                           NULL,
                           {0}};
  }
  const fovea_found_segment *found = find_segment(context, 0, position);
  const fovea_segment *segment = found->segment;
  if (found->format) return coded_run(found, position);
  int64_t row = position - segment->first;
  fovea_row_run run = {.end = segment->first + segment->rows, .type = segment->k_type};
  if (segment->k_layout == FOVEA_KEYS_IN_PANELS) {
    int64_t panel = row / FOVEA_PANEL_ROWS;
    run.panels = 1;
    run.step = fovea_panel_step(run.type);
    run.row = found->rows + fovea_bytes(run.type, panel * segment->k_row) + row % FOVEA_PANEL_ROWS * run.step;
    int64_t panel_end = segment->first + (panel + 1) * FOVEA_PANEL_ROWS;
    if (panel_end < run.end) run.end = panel_end;
    return run;
  }
  run.step = step_of(segment, segment->k_row, run.type);
  run.row = found->rows + row * run.step;
  return run;
}

fovea_row_run fovea_value_run(const fovea_task_context *context, int64_t position) {
  const fovea_problem *problem = &context->plan->problem;
  if (!context->source.sequence.segments) {
    int64_t stride = problem->v_strides.row;
    return (fovea_row_run){fovea_element(context->source.values, problem->v_type, position * stride),
                           fovea_bytes(problem->v_type, stride),
                           INT64_MAX,
                           problem->v_type,
                           0,
                           NULL,
                           {0}};
  }
  const fovea_found_segment *found = find_segment(context, 1, position);
  const fovea_segment *segment = found->segment;
  if (found->format) return coded_run(found, position);
  int64_t step = step_of(segment, segment->v_row, segment->v_type);
  return (fovea_row_run){.row = found->rows + (position - segment->first) * step,
                         .step = step,
                         .end = segment->first + segment->rows,
                         .type = segment->v_type};
}

void fovea_list_rows(const fovea_task_context *context, fovea_find_run *find, int64_t base, fovea_interval keys,
                     int whole, fovea_row_list *list) {
  int begin = (int)(keys.begin - base), end = (int)(keys.end - base);
  int first = whole ? 0 : begin / FOVEA_PANEL_ROWS * FOVEA_PANEL_ROWS;
  int last = whole ? FOVEA_BLOCK_KEYS : (end + FOVEA_PANEL_ROWS - 1) / FOVEA_PANEL_ROWS * FOVEA_PANEL_ROWS;
  list->base = base;
  list->uniform = 1;
  for (int key = begin; key < end;) {
    fovea_row_run run = find(context, base + key);
    int run_end = run.end - base < end ? (int)(run.end - base) : end;
    if (key == begin) {
      list->type = run.type;
      list->panels = run.panels;
    }
    if (run.codes || run.type != list->type || run.panels != list->panels) {
      list->uniform = 0;
      return;
    }
    for (const char *row = run.row; key < run_end; key++, row += run.step) list->rows[key] = row;
  }
  /* In panels a vector of keys is found by its first key, so that key's pointer must stay in its own panel. */
  for (int key = begin - 1; key >= first; key--) {
    int in_panel = list->panels && key / FOVEA_PANEL_ROWS == begin / FOVEA_PANEL_ROWS;
    list->rows[key] =
        in_panel ? (const char *)list->rows[key + 1] - fovea_panel_step(list->type) : list->rows[begin];
  }
  for (int key = end; key < last; key++) list->rows[key] = list->rows[end - 1];
}

#include "rows.h"

#include "holes.h"

#include <string.h>

/* Rows are looked for in ascending order, so most lie in the segment that was found last, or in the next one. Keys
 * and values are looked for in turn, each with a segment of its own. Returns 0 if the position is in a hole. */
static inline int find_segment(const fovea_row_source *source, int64_t position) {
  fovea_found_segment *found = source->found;
  if (fovea_segment_holds(found->segment, position)) return 1;
  return fovea_find_head(source->sequence, position, source->values, source->dim, source->layer, source->head,
                         found);
}

/* Bytes from one row of a segment to the next. The stride of a single row may be any number. */
static int64_t step_of(const fovea_segment *segment, int64_t stride, fovea_type type) {
  return segment->rows > 1 ? fovea_bytes(type, stride) : 0;
}

/* A run of codes. */
static fovea_row_run coded_run(const fovea_found_segment *found, int64_t position) {
  if (!FOVEA_BUILDS_FORMATS) return (fovea_row_run){.row = NULL};
  const fovea_segment *segment = found->segment;
  fovea_row_run run = {
      .end = segment->first + segment->rows, .codes = &found->layout.codes, .panels = found->layout.codes.panels};
  const int64_t follow = fovea_find_codes(&found->layout, &found->place, position - segment->first, &run.coded);
  if (follow < run.end - position) run.end = position + follow;
  return run;
}

/* A run of one panel of keys. */
static fovea_row_run panel_run(const fovea_found_segment *found, int64_t position) {
  const fovea_segment *segment = found->segment;
  const int64_t row = position - segment->first, panel = row / FOVEA_PANEL_ROWS;
  const int64_t step = fovea_panel_step(segment->k_type);
  return (fovea_row_run){.row = found->rows + fovea_bytes(segment->k_type, panel * segment->k_row) +
                                row % FOVEA_PANEL_ROWS * step,
                         .step = step,
                         .end = segment->first + fovea_least((panel + 1) * FOVEA_PANEL_ROWS, segment->rows),
                         .type = segment->k_type,
                         .panels = 1};
}

/* A run of keys that do not exist. No row sees them, so what is read in their place reaches no result: the row
 * before the hole, or the one after it, as the task meets them. Of panels the places of the keys are kept. */
__attribute__((noinline, cold)) static fovea_row_run hole_run(const fovea_row_source *source, int64_t position) {
  const fovea_segment *segment = fovea_find_segment(source->sequence, position);
  const int64_t before = segment->first + segment->rows - 1, after = fovea_next_held(source->sequence, position);
  const int use_before = before < position && (before >= source->met_from || after == INT64_MAX);
  const int64_t held = use_before ? before : after;
  fovea_row_run run = fovea_rows_at(source, held);
  run.end = after;
  run.coded.scale_step = 0;
  if (run.panels) {
    const int64_t keys = position % FOVEA_PANEL_ROWS - held % FOVEA_PANEL_ROWS;
    run.end = fovea_least(after, position / FOVEA_PANEL_ROWS * FOVEA_PANEL_ROWS + FOVEA_PANEL_ROWS);
    if (run.codes)
      run.coded.codes += keys * run.coded.code_step;
    else
      run.row += keys * run.step;
    return run;
  }
  run.step = run.coded.code_step = 0;
  run.coded.shift_step = 0;
  return run;
}

fovea_row_run fovea_rows_at(const fovea_row_source *source, int64_t position) {
  if (!source->sequence) {
    return (fovea_row_run){fovea_element(source->first, source->type, position * source->stride),
                           fovea_bytes(source->type, source->stride),
                           INT64_MAX,
                           source->type,
                           0,
                           NULL,
                           {0}};
  }
  if (!find_segment(source, position)) return hole_run(source, position);
  const fovea_found_segment *found = source->found;
  const fovea_segment *segment = found->segment;
  if (FOVEA_BUILDS_FORMATS && found->format) return coded_run(found, position);
  if (!source->values && segment->k_layout == FOVEA_KEYS_IN_PANELS) return panel_run(found, position);
  const fovea_type type = source->values ? segment->v_type : segment->k_type;
  const int64_t step = step_of(segment, source->values ? segment->v_row : segment->k_row, type);
  return (fovea_row_run){.row = found->rows + (position - segment->first) * step,
                         .step = step,
                         .end = segment->first + segment->rows,
                         .type = type};
}

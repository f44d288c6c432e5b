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

/* Bytes from a scale to its zero, which may lie in other memory. */
static int64_t zeros_at(const fovea_coded_rows *rows) {
  return rows->zeros ? (int64_t)((uintptr_t)rows->zeros - (uintptr_t)rows->scales) : 0;
}

/* Begins a list with its first run. Returns 0 if its rows must be widened first. */
static int begin_list(const fovea_row_run *run, int64_t dim, fovea_row_list *list) {
  list->type = run->type;
  list->panels = run->panels;
  list->panel_step = run->codes ? run->coded.code_step : run->step;
  list->coded = run->codes != NULL;
  if (!FOVEA_BUILDS_FORMATS || !list->coded) return 1;
  list->codes = *run->codes; /* the segment that was found may change before the list is read */
  list->has_zeros = run->coded.zeros != NULL;
  list->zeros_at = zeros_at(&run->coded);
  list->scale_step = run->coded.scale_step;
  return !run->coded.centre && fovea_decodes_codes(run->codes, dim);
}

/* Whether rows of a run lie as the rows of the list do. */
static int continues(const fovea_row_run *run, const fovea_row_list *list) {
  if (list->coded != (run->codes != NULL) || run->type != list->type || run->panels != list->panels) return 0;
  return !FOVEA_BUILDS_FORMATS || !list->coded ||
         (!run->coded.centre && fovea_same_codes(run->codes, &list->codes) &&
          zeros_at(&run->coded) == list->zeros_at);
}

static void list_codes(const fovea_coded_rows *rows, int begin, int end, fovea_row_list *list) {
  const char *codes = rows->codes, *scales = rows->scales;
  for (int key = begin; key < end; key++, codes += rows->code_step) list->rows[key] = codes;
  for (int key = begin; key < end; key++, scales += rows->scale_step) list->scales[key] = scales;
  /* Scales that lie side by side have lines of their own, which nothing else prefetches. */
  const int64_t reach = (end - begin) * rows->scale_step;
  for (int64_t byte = 0; byte < reach && reach <= FOVEA_BLOCK_KEYS * (int64_t)sizeof(float); byte += 64)
    __builtin_prefetch(rows->scales + byte, 0, 3);
}

/* Sets the pointers of a key to the pointers of another. */
static void repeat(fovea_row_list *list, int key, int other) {
  list->rows[key] = list->rows[other];
  if (list->coded) list->scales[key] = list->scales[other];
}

/* Lists rows of segments that are alike for keys `key` to `end` - 1: rows begin `head` bytes after the pointer at
 * `side` of a segment. Segments may have one row each: to find every one of them by itself would take longer than
 * to multiply its row. */
static inline const fovea_segment *list_alike(const fovea_sequence *sequence, const fovea_segment *segment,
                                              size_t side, int64_t head, int64_t stride, int64_t row,
                                              fovea_row_list *list, int key, int end) {
  const void **next = list->rows + key, **last = list->rows + end;
  for (;; segment = fovea_segment_after(sequence, segment), row = 0) {
    const char *rows;
    memcpy(&rows, (const char *)segment + side, sizeof rows);
    fovea_fetch_segment(sequence, segment, offsetof(fovea_segment, k_head));
    rows += head;
    if (segment->rows == 1) {
      *next++ = rows;
    } else {
      const int64_t step = fovea_bytes(list->type, stride), left = fovea_least(segment->rows - row, last - next);
      for (int64_t i = 0; i < left; i++) *next++ = rows + (row + i) * step;
    }
    if (next == last) return segment;
  }
}

/* Whether the rows of keys can be listed so: segment after segment, without holes. */
static int lie_alike(const fovea_row_source *source, fovea_interval keys, int64_t base) {
  fovea_row_words held;
  if (!source->alike || keys.begin >= keys.end) return 0;
  return !source->holes || fovea_holds_block(source->sequence, keys, base, &held);
}

/* The same for the keys or the values of a block. */
static void list_pages(const fovea_row_source *source, int begin, int end, fovea_row_list *list) {
  const int values = source->values;
  fovea_found_segment *found = source->found;
  find_segment(source, list->base + begin);
  const fovea_segment *first = found->segment;
  const size_t side = values ? offsetof(fovea_segment, v) : offsetof(fovea_segment, k);
  const int64_t row = list->base + begin - first->first;
  const int64_t head = found->rows - (const char *)(values ? first->v : first->k);
  list->type = values ? first->v_type : first->k_type;
  list->panels = list->coded = 0;
  const int64_t stride = values ? first->v_row : first->k_row;
  found->segment = list_alike(source->sequence, first, side, head, stride, row, list, begin, end);
  found->rows = (const char *)(values ? found->segment->v : found->segment->k) + head;
}

void fovea_list_rows(const fovea_row_source *source, int64_t base, fovea_interval keys, int whole,
                     fovea_row_list *list) {
  int begin = (int)(keys.begin - base), end = (int)(keys.end - base);
  int first = whole ? 0 : begin / FOVEA_PANEL_ROWS * FOVEA_PANEL_ROWS;
  int last = whole ? FOVEA_BLOCK_KEYS : (end + FOVEA_PANEL_ROWS - 1) / FOVEA_PANEL_ROWS * FOVEA_PANEL_ROWS;
  list->base = base;
  list->uniform = 1;
  const int alike = lie_alike(source, keys, base);
  if (alike) list_pages(source, begin, end, list);
  for (int key = begin; key < end && !alike;) {
    fovea_row_run run = fovea_rows_at(source, base + key);
    int run_end = run.end - base < end ? (int)(run.end - base) : end;
    if (key == begin ? !begin_list(&run, source->dim, list) : !continues(&run, list)) {
      list->uniform = 0;
      return;
    }
    if (key != begin) list->scale_step = -1;
    /* Rows of some runs may share scales, which values of int8 mode do not. */
    if (FOVEA_BUILDS_INT8 && list->coded && run.codes->int8_rows < list->codes.int8_rows)
      list->codes.int8_rows = run.codes->int8_rows;
    if (FOVEA_BUILDS_FORMATS && list->coded) list_codes(&run.coded, key, run_end, list);
    for (const char *row = run.row; !list->coded && key < run_end; key++, row += run.step) list->rows[key] = row;
    key = run_end;
  }
  /* In panels a vector of keys is found by its first key, so that key's pointer must stay in its own panel. */
  for (int key = begin - 1; key >= first; key--) {
    int in_panel = list->panels && key / FOVEA_PANEL_ROWS == begin / FOVEA_PANEL_ROWS;
    repeat(list, key, begin);
    if (in_panel) list->rows[key] = (const char *)list->rows[key + 1] - list->panel_step;
  }
  for (int key = end; key < last; key++) repeat(list, key, end - 1);
}

#include "row_list.h"

#include "holes.h"
#include "page_rows.h"

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

/* Pointers at equal distances, four at a time: decoding one row multiplies a key in some twenty cycles. */
__attribute__((noinline, hot)) static void list_from(const char *first, int64_t step, int count, const void **to) {
  const int64_t two = 2 * step, three = two + step, four = 4 * step;
  int i = 0;
  for (; i + 4 <= count; i += 4, first += four) {
    to[i] = first;
    to[i + 1] = first + step;
    to[i + 2] = first + two;
    to[i + 3] = first + three;
  }
  for (; i < count; i++, first += step) to[i] = first;
}

/* Panels of a segment without holes follow each other at equal distances, so that only the first is looked for. `run`
 * begins at key `key`. Returns the key after the last that was listed. */
static int list_panels(const fovea_row_source *source, const fovea_row_run *run, int key, int end,
                       fovea_row_list *list) {
  const fovea_segment *segment = source->found->segment;
  const int64_t rest = segment->first + segment->rows - list->base;
  /* The stride of a single panel may be any number. */
  const int64_t from_panel = segment->rows > FOVEA_PANEL_ROWS ? fovea_bytes(run->type, segment->k_row) : 0;
  if (rest < end) end = (int)rest;
  for (const char *row = run->row; key < end; row += from_panel) {
    const int in_panel = (int)((unsigned)key % FOVEA_PANEL_ROWS), next = key - in_panel + FOVEA_PANEL_ROWS;
    list_from(row, run->step, (next < end ? next : end) - key, list->rows + key);
    row -= in_panel * run->step;
    key = next;
  }
  return end;
}

static void list_codes(const fovea_coded_rows *rows, int begin, int end, fovea_row_list *list) {
  list_from(rows->codes, rows->code_step, end - begin, list->rows + begin);
  list_from(rows->scales, rows->scale_step, end - begin, list->scales + begin);
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

/* Gives keys from `first` and up to `last` that are not met the pointers of the nearest key that is. In panels a
 * vector of keys is found by its first key, so that key's pointer must stay in its own panel. */
__attribute__((noinline, cold)) static void repeat_ends(fovea_row_list *list, int first, int begin, int end,
                                                        int last) {
  for (int key = begin - 1; key >= first; key--) {
    int in_panel = list->panels && key / FOVEA_PANEL_ROWS == begin / FOVEA_PANEL_ROWS;
    repeat(list, key, begin);
    if (in_panel) list->rows[key] = (const char *)list->rows[key + 1] - list->panel_step;
  }
  for (int key = end; key < last; key++) repeat(list, key, end - 1);
}

/* Whether the rows of keys lie segment after segment, without holes, in segments that are alike. */
static int lie_alike(const fovea_row_source *source, fovea_interval keys, int64_t base) {
  fovea_row_words held;
  if (!source->alike || keys.begin >= keys.end) return 0;
  return !source->holes || fovea_holds_block(source->sequence, keys, base, &held);
}

/* The loops are elsewhere: this needs to be small, not fast. */
__attribute__((cold)) void fovea_list_rows(const fovea_row_source *source, int64_t base, fovea_interval keys,
                                           int whole, fovea_row_list *list) {
  const unsigned panel = FOVEA_PANEL_ROWS;
  const int begin = (int)(keys.begin - base), end = (int)(keys.end - base);
  const int first = whole ? 0 : (int)((unsigned)begin / panel * panel);
  const int last = whole ? FOVEA_BLOCK_KEYS : (int)(((unsigned)end + panel - 1) / panel * panel);
  list->base = base;
  list->uniform = 1;
  const int alike = lie_alike(source, keys, base);
  for (int key = begin; key < end;) {
    fovea_row_run run = fovea_rows_at(source, base + key);
    int run_end = run.end - base < end ? (int)(run.end - base) : end;
    if (key == begin ? !begin_list(&run, source->dim, list) : !continues(&run, list)) {
      list->uniform = 0;
      return;
    }
    if (alike && run_end < end && fovea_lie_as_pages(&run, &source->found->layout)) {
      fovea_list_pages(source, &run, begin, end, list);
      break;
    }
    if (key != begin) list->scale_step = -1;
    /* Rows of some runs may share scales, which values of int8 mode do not. */
    if (FOVEA_BUILDS_INT8 && list->coded && run.codes->int8_rows < list->codes.int8_rows)
      list->codes.int8_rows = run.codes->int8_rows;
    if (FOVEA_BUILDS_FORMATS && list->coded)
      list_codes(&run.coded, key, run_end, list);
    else if (run.panels && !source->holes)
      run_end = list_panels(source, &run, key, end, list);
    else
      list_from(run.row, run.step, run_end - key, list->rows + key);
    key = run_end;
  }
  if (first < begin || last > end) repeat_ends(list, first, begin, end, last);
}

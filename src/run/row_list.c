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

void fovea_list_rows(const fovea_row_source *source, int64_t base, fovea_interval keys, int whole,
                     fovea_row_list *list) {
  int begin = (int)(keys.begin - base), end = (int)(keys.end - base);
  int first = whole ? 0 : begin / FOVEA_PANEL_ROWS * FOVEA_PANEL_ROWS;
  int last = whole ? FOVEA_BLOCK_KEYS : (end + FOVEA_PANEL_ROWS - 1) / FOVEA_PANEL_ROWS * FOVEA_PANEL_ROWS;
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
    if (FOVEA_BUILDS_FORMATS && list->coded) list_codes(&run.coded, key, run_end, list);
    for (const char *row = run.row; !list->coded && key < run_end; key++, row += run.step) list->rows[key] = row;
    key = run_end;
  }
  if (first < begin || last > end) repeat_ends(list, first, begin, end, last);
}

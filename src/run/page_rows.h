/* Lists rows of segments that are alike (cache/alike.h), as pages are. Pages may have one row each: to find every one
 * of them by itself would take longer than to multiply its row. */
#ifndef FOVEA_SRC_RUN_PAGE_ROWS_H
#define FOVEA_SRC_RUN_PAGE_ROWS_H

#include "rows.h"

/* Whether rows, and scales if there are any, lie as far from the pointers of each segment as from the pointers of
 * one: they lie in rows, and zeros as far from scales. */
static inline int fovea_lie_as_pages(const fovea_row_run *run, const fovea_code_layout *layout) {
  if (!FOVEA_BUILDS_FORMATS || !run->codes) return !run->panels;
  return layout->unit_keys == 1 && !(layout->apart && layout->has_zeros) &&
         (layout->key_group == 1 || layout->key_group == INT64_MAX);
}

/* Lists keys `begin` to `end` - 1 of a block, which lie so in more than one segment, without holes. `run` has the
 * first of them, and began the list. */
void fovea_list_pages(const fovea_row_source *source, const fovea_row_run *run, int begin, int end,
                      fovea_row_list *list);

#endif

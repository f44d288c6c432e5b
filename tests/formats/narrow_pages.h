/* Pages with formats for tests: memory in any layout, filled with random codes, and each element by the words of
 * the headers. Shares no code with the library. */
#ifndef FOVEA_TESTS_NARROW_PAGES_H
#define FOVEA_TESTS_NARROW_PAGES_H

#include "narrow.h"

enum page_layout {
  PAGES_DEFAULT,    /* as fovea_pages_set_formats() lays them out, in memory of the size that the header says */
  PAGES_ROWS_FIRST, /* (page, row, head, dim), and (page, keys, head, dims) for scales */
  PAGES_ANY,        /* axes in any order, with gaps */
  PAGES_IN_ONE,     /* a page has codes of keys and values, then their scales and zeros */
  PAGE_LAYOUTS
};

/* It must not be copied: the pages point to the formats. */
struct narrow_pages {
  fovea_pages pages;
  struct narrow sides[2]; /* keys, values; only format, dim and kv_heads are set */
  struct guarded memory[8];
  int memory_count;
};

/* Sets sizes and formats (NULL: f32), lays out memory and fills it. Keys lie in
 * panels now and then, if page_rows and format allow it. */
void narrow_pages_make(struct narrow_pages *made, const fovea_format *k, const fovea_format *v, int64_t count,
                       int64_t page_rows, int64_t kv_heads, int64_t qk_dim, int64_t v_dim, int64_t layers,
                       enum page_layout layout, struct generator *generator);
void narrow_pages_destroy(struct narrow_pages *made);

/* Element `d` of a row of a page. */
float narrow_pages_element(const struct narrow_pages *made, int values, int64_t layer, int64_t page, int64_t head,
                           int64_t row, int64_t d);

#endif

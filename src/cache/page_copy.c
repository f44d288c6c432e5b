/* Copies pages of codes bit for bit: codes, and the scales that lie in them or apart. */
#include "page_copy.h"

#include "../base/types.h"
#include "claims.h"

#include <string.h>

#if FOVEA_BUILDS_FORMATS

/* Two pages as segments. The formats are the segments' own. */
typedef struct page_pair {
  const fovea_known_pages *known;
  fovea_segment segments[2]; /* from, to */
  fovea_sequence sequences[2];
  fovea_format formats[2]; /* of keys, of values */
  int64_t rows;            /* whole groups of keys */
} page_pair;

static fovea_claimed_rows claimed_rows(const void *call, int64_t index) {
  const page_pair *pair = call;
  const int64_t side = index % 2;
  return (fovea_claimed_rows){&pair->sequences[side], 0, pair->rows, side == 1, side, index / 2};
}

/* Scales that all keys share are the caller's, and stay as they are. If each page has its own, they are the scales
 * of the keys of a page. */
static void own_format(page_pair *pair, int values) {
  const fovea_pages *pages = &pair->known->pages;
  const fovea_format *format = fovea_page_format(pages, values);
  if (!format) return;
  pair->formats[values] = *format;
  if (format->key_group == 0 && (values ? pages->v_scale_page : pages->k_scale_page) != 0)
    pair->formats[values].key_group = pages->page_rows;
  for (int i = 0; i < 2; i++)
    *(values ? &pair->segments[i].v_format : &pair->segments[i].k_format) = &pair->formats[values];
}

/* Rows or panels of elements. */
static fovea_coded_part find_elements(const fovea_segment *segment, const fovea_pages *pages, int values) {
  const fovea_type type = values ? segment->v_type : segment->k_type;
  const int panels = !values && segment->k_layout == FOVEA_KEYS_IN_PANELS;
  const int64_t dim = values ? pages->v_dim : pages->qk_dim;
  return (fovea_coded_part){.first = values ? segment->v : segment->k,
                            .layer = fovea_bytes(type, values ? segment->v_layer : segment->k_layer),
                            .head = fovea_bytes(type, values ? segment->v_head : segment->k_head),
                            .row_keys = panels ? FOVEA_PANEL_ROWS : 1,
                            .row = fovea_bytes(type, values ? segment->v_row : segment->k_row),
                            .groups = 1,
                            .bytes = fovea_bytes(type, panels ? fovea_panel_elements(dim, type) : dim)};
}

static fovea_coded_part find_part(const page_pair *pair, int side, int values, int part) {
  const fovea_pages *pages = &pair->known->pages;
  const fovea_segment *segment = &pair->segments[side];
  const fovea_format *format = values ? segment->v_format : segment->k_format;
  if (FOVEA_BUILDS_FORMATS && format)
    return fovea_find_part(segment, format, values ? pages->v_dim : pages->qk_dim, values, part);
  return part == FOVEA_PART_CODES ? find_elements(segment, pages, values) : (fovea_coded_part){.first = NULL};
}

/* The distance of something along an axis: a stride of an axis with one element may be any number. */
static int64_t along(int64_t i, int64_t step) {
  return i > 0 ? i * step : 0;
}

static void copy_part(const page_pair *pair, const fovea_coded_part *from, const fovea_coded_part *to) {
  const fovea_pages *pages = &pair->known->pages;
  const int64_t rows = (pair->rows - 1) / from->row_keys + 1;
  for (int64_t layer = 0; layer < pages->layers; layer++)
    for (int64_t head = 0; head < pages->kv_heads; head++)
      for (int64_t row = 0; row < rows; row++)
        for (int64_t group = 0; group < from->groups; group++) {
          const int64_t at = along(layer, from->layer) + along(head, from->head) + along(row, from->row) +
                             along(group, from->group);
          memcpy((void *)((uintptr_t)to->first + (uintptr_t)at), from->first + at, (size_t)from->bytes);
        }
}

fovea_status fovea_copy_coded_page(const fovea_known_pages *known, const fovea_segment *from,
                                   const fovea_segment *to, int64_t rows, fovea_error *error) {
  const fovea_pages *pages = &known->pages;
  const int64_t step = fovea_page_step(known);
  page_pair pair = {.known = known, .segments = {*from, *to}, .rows = (rows - 1) / step * step + step};
  const fovea_claims claims = {.shape = {pages->kv_heads, pages->qk_dim, pages->v_dim, pages->layers - 1},
                               .sequence_count = 2 * pages->layers,
                               .call = &pair,
                               .sequence = claimed_rows};
  for (int i = 0; i < 2; i++) pair.sequences[i] = fovea_sequence_of(&pair.segments[i], 1);
  for (int values = 0; values < 2; values++) own_format(&pair, values);
  fovea_status status = fovea_check_claims(&claims, error);
  for (int i = 0; i < 2 * FOVEA_PART_CENTRE && !status; i++) {
    const int values = i / FOVEA_PART_CENTRE, part = i % FOVEA_PART_CENTRE;
    const fovea_format *format = fovea_page_format(pages, values);
    const fovea_coded_part source = find_part(&pair, 0, values, part), target = find_part(&pair, 1, values, part);
    const int shared = part != FOVEA_PART_CODES && format && pair.formats[values].key_group == 0;
    if (source.first && !shared) copy_part(&pair, &source, &target);
  }
  return status;
}
#endif

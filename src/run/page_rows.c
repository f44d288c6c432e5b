#include "page_rows.h"

#include <string.h>

/* What lies `offset` bytes after the pointer at `side` of a segment, and for each row of it `step` bytes on. */
typedef struct page_part {
  size_t side;
  int64_t offset, step;
} page_part;

/* The part that lies at `at` for a row of a segment, and `side` of which the segment has. */
static page_part part_at(const fovea_segment *segment, const void *side, const char *at, int64_t row,
                         int64_t step) {
  const char *first;
  memcpy(&first, side, sizeof first);
  return (page_part){(size_t)((const char *)side - (const char *)segment), at - first - row * step, step};
}

/* Lists where a part lies for keys `key` to `end` - 1, the first of which is row `row` of its segment. Returns the
 * last segment. */
static inline __attribute__((always_inline)) const fovea_segment *
list_part(const fovea_sequence *sequence, const fovea_segment *segment, page_part part, int64_t row, int64_t key,
          int64_t end, int fetch, const void **to) {
  for (;; segment = fovea_segment_after(sequence, segment), row = 0) {
    const char *at;
    memcpy(&at, (const char *)segment + part.side, sizeof at);
    fovea_fetch_segment(sequence, segment, part.side, sizeof at);
    at += part.offset;
    if (fetch) __builtin_prefetch(at, 0, 3);
    if (segment->rows == 1) {
      to[key++] = at;
    } else {
      const int64_t left = fovea_least(segment->rows - row, end - key);
      for (int64_t i = 0; i < left; i++) to[key++] = at + (row + i) * part.step;
    }
    if (key == end) return segment;
  }
}

/* Functions of their own, so that loops keep all that they need in registers. */
__attribute__((noinline, hot)) static const fovea_segment *list_rows(const fovea_sequence *sequence,
                                                                     const fovea_segment *segment, page_part part,
                                                                     int64_t row, int64_t key, int64_t end,
                                                                     const void **to) {
  return list_part(sequence, segment, part, row, key, end, 0, to);
}
/* Scales apart have lines of their own, which nothing else prefetches. */
__attribute__((noinline, hot)) static void list_scales(const fovea_sequence *sequence, const fovea_segment *segment,
                                                       page_part part, int64_t row, int64_t key, int64_t end,
                                                       const void **to) {
  list_part(sequence, segment, part, row, key, end, 1, to);
}

/* Bytes from row to row. If no segment has a second row, the stride may be any number, and is not used. */
static int64_t page_step(int64_t stride, fovea_type type) {
  const int64_t limit = INT64_C(1) << 57; /* no second row lies further */
  return stride < -limit || stride > limit ? 0 : fovea_bytes(type, stride);
}

/* The loops are elsewhere: this needs to be small, not fast. */
__attribute__((cold)) void fovea_list_pages(const fovea_row_source *source, const fovea_row_run *run, int begin,
                                            int end, fovea_row_list *list) {
  const int values = source->values;
  const fovea_sequence *sequence = source->sequence;
  fovea_found_segment *found = source->found;
  const fovea_segment *first = found->segment;
  const int64_t row = list->base + begin - first->first;
  const void *side = values ? &first->v : &first->k;
  const int coded = FOVEA_BUILDS_FORMATS && list->coded;
  const char *at = coded ? run->coded.codes : run->row;
  const int64_t step = coded ? run->coded.code_step : page_step(values ? first->v_row : first->k_row, run->type);
  const page_part rows = part_at(first, side, at, row, step);
  const fovea_segment *last = list_rows(sequence, first, rows, row, begin, end, list->rows);
  if (coded) {
    list->scale_step = -1;
    if (found->layout.apart) {
      const page_part scales = part_at(first, values ? &first->v_scales.scales : &first->k_scales.scales,
                                       run->coded.scales, row, run->coded.scale_step);
      list_scales(sequence, first, scales, row, begin, end, list->scales);
    } else {
      const int64_t beside = run->coded.scales - run->coded.codes;
      for (int key = begin; key < end; key++) list->scales[key] = (const char *)list->rows[key] + beside;
    }
  }
  /* Found from the one before it, as from a neighbour. */
  const int64_t position = last->first;
  found->segment = (const fovea_segment *)(const void *)((const char *)last - sequence->segment_size);
  fovea_find_head(sequence, position, values, source->dim, source->layer, source->head, found);
}

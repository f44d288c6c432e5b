/* Makes segments for caches of every kind, from memory in pages. */
#include "../base/error.h"
#include "../base/types.h"
#include "../base/validate.h"
#include "pages.h"
#include "sequences.h"

#include <string.h>

void fovea_segment_init_sized(fovea_segment *segment, size_t segment_size, int64_t first, int64_t rows,
                              int64_t qk_dim, int64_t v_dim, fovea_type type, void *k, void *v) {
  /* Segments are compared as bytes, so that bytes between fields are set, too. */
  fovea_segment made;
  memset(&made, 0, sizeof made);
  made.first = first;
  made.rows = rows;
  made.k = k;
  made.v = v;
  made.k_head = (int64_t)((uint64_t)rows * (uint64_t)qk_dim); /* sizes that make no sense are refused later */
  made.k_row = qk_dim;
  made.v_head = (int64_t)((uint64_t)rows * (uint64_t)v_dim);
  made.v_row = v_dim;
  made.k_type = made.v_type = type;
  made.qk_dim = qk_dim;
  made.v_dim = v_dim;
  memcpy(segment, &made, segment_size < sizeof made ? segment_size : sizeof made);
}

/* An address, computed as a number: strides may lead a page out of the caller's memory, where C allows no pointer.
 * Nothing is read there yet. */
static void *address_of(void *tensor, int64_t bytes) {
  return (void *)((uintptr_t)tensor + (uintptr_t)bytes);
}

/* Elements or bytes from page 0 to a row of a page that begins a row of the side's memory. */
static int64_t row_offset(const fovea_known_pages *known, int values, int64_t page, int64_t row) {
  const fovea_strides *strides = values ? &known->pages.v_strides : &known->pages.k_strides;
  return (page > 0 ? page * strides->batch : 0) + row / known->row_keys[values] * strides->row;
}

/* The scales of a page's keys or values from `row` on. */
static fovea_code_scales scales_at(const fovea_known_pages *known, int values, int64_t page, int64_t row) {
  const fovea_pages *pages = &known->pages;
  fovea_code_scales scales = values ? pages->v_scales : pages->k_scales;
  const int64_t step = known->scale_keys[values];
  if (!scales.scales) return scales;
  const int64_t offset = (page > 0 ? page * (values ? pages->v_scale_page : pages->k_scale_page) : 0) +
                         (step > 0 ? row / step * scales.row : 0);
  scales.scales = address_of(scales.scales, offset);
  if (scales.zeros) scales.zeros = address_of(scales.zeros, offset);
  return scales;
}

/* A segment of the positions from `first` on, which begin at row `row` of the page: a multiple of
 * fovea_page_step(). */
static fovea_segment make_segment(const fovea_known_pages *known, int64_t page, int64_t row, int64_t first,
                                  int64_t rows) {
  const fovea_pages *pages = &known->pages;
  const int64_t k = row_offset(known, 0, page, row), v = row_offset(known, 1, page, row);
  fovea_segment segment = {
      .first = first,
      .rows = rows,
      .k = address_of(pages->k, pages->k_format ? k : fovea_bytes(pages->k_type, k)),
      .v = address_of(pages->v, pages->v_format ? v : fovea_bytes(pages->v_type, v)),
      .k_head = pages->k_strides.head,
      .k_row = pages->k_strides.row,
      .v_head = pages->v_strides.head,
      .v_row = pages->v_strides.row,
      .k_type = pages->k_type,
      .v_type = pages->v_type,
      .k_layout = pages->k_layout,
      .layers = pages->layers,
      .k_layer = pages->k_layer,
      .v_layer = pages->v_layer,
      .k_format = pages->k_format,
      .v_format = pages->v_format,
      .kv_heads = pages->kv_heads,
      .qk_dim = pages->qk_dim,
      .v_dim = pages->v_dim,
  };
  if (pages->k_format) segment.k_scales = scales_at(known, 0, page, row);
  if (pages->v_format) segment.v_scales = scales_at(known, 1, page, row);
  return segment;
}

static fovea_sequence make_sequence(const fovea_known_pages *known, const fovea_segment *segments, int64_t count) {
  return (fovea_sequence){segments, count, known->pages.segment_size};
}

static fovea_status check_page(const fovea_known_pages *known, int64_t page, fovea_error *error) {
  const int64_t count = known->pages.count;
  if (page >= 0 && page < count) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "page is %jd; it must be from 0 to %jd", page, count - 1);
}

/* The name of element `index` of the list `list`, for texts; if `list` is NULL, of the argument `one` of a call for
 * one sequence. The name may be written into `room`. */
static const char *name_of(const char *one, const char *list, int64_t index, fovea_error *room) {
  if (!list) return one;
  fovea_fail(room, FOVEA_OK, "%s[%jd]", list, index);
  return room->text;
}

/* Positions begin to end - 1. `batched`: they are elements b of begins and ends. */
static fovea_status check_positions(int64_t begin, int64_t end, int batched, int64_t b, fovea_error *error) {
  fovea_error room;
  if (begin < 0 || begin > FOVEA_LENGTH_LIMIT)
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is %jd; it must be from 0 to %jd",
                      name_of("begin", batched ? "begins" : NULL, b, &room), begin, FOVEA_LENGTH_LIMIT);
  if (end >= begin && end <= FOVEA_LENGTH_LIMIT) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                    "%s is %jd; it must be from %jd, where its positions begin, to %jd",
                    name_of("end", batched ? "ends" : NULL, b, &room), end, begin, FOVEA_LENGTH_LIMIT);
}

fovea_status fovea_cache_contiguous(const fovea_pages *given, int64_t page, fovea_segment *segment,
                                    fovea_error *error) {
  fovea_known_pages known;
  fovea_status status = fovea_know_pages(given, &known, error);
  if (!status) status = check_page(&known, page, error);
  if (status) return status;
  if (!segment) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "segment is NULL");
  *segment = make_segment(&known, page, 0, 0, known.pages.page_rows);
  return FOVEA_OK;
}

/* Whether a side of page `next` lies in memory where the side of `page` ends, and so do its scales. */
static int side_follows(const fovea_known_pages *known, int values, int64_t page, int64_t next) {
  const fovea_pages *pages = &known->pages;
  const fovea_strides *strides = values ? &pages->v_strides : &pages->k_strides;
  const fovea_code_scales *scales = values ? &pages->v_scales : &pages->k_scales;
  if ((next - page) * strides->batch != pages->page_rows / known->row_keys[values] * strides->row) return 0;
  if (!scales->scales) return 1;
  const int64_t rows = known->scale_keys[values] > 0 ? pages->page_rows / known->scale_keys[values] : 0;
  return (next - page) * (values ? pages->v_scale_page : pages->k_scale_page) == rows * scales->row;
}

static int follows(const fovea_known_pages *known, int64_t page, int64_t next) {
  return page != next && side_follows(known, 0, page, next) && side_follows(known, 1, page, next);
}

static fovea_status check_table(const fovea_known_pages *known, const int32_t *table, int64_t table_length,
                                int64_t begin, int64_t end, int batched, int64_t b, fovea_error *error) {
  const fovea_pages *pages = &known->pages;
  fovea_error room;
  fovea_status status = check_positions(begin, end, batched, b, error);
  if (status || begin == end) return status;
  if (!table) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is NULL", batched ? "tables" : "table");
  if (table_length < 0 || (end - 1) / pages->page_rows >= table_length) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "table_length is %jd pages of %jd rows; position %jd is in page %jd, counted from 0",
                      table_length, pages->page_rows, end - 1, (end - 1) / pages->page_rows);
  }
  for (int64_t i = begin / pages->page_rows; i <= (end - 1) / pages->page_rows; i++) {
    if (table[i] < 0 || table[i] >= pages->count) {
      fovea_fail(&room, FOVEA_OK, "%s[%jd]", batched ? "tables" : "table", batched ? b * table_length + i : i);
      return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is %jd; it must be from 0 to %jd", room.text,
                        (int64_t)table[i], pages->count - 1);
    }
  }
  return FOVEA_OK;
}

/* Pages of a table that hold some positions: first to last. If last is less than first, there are none. */
typedef struct table_range {
  const int32_t *table;
  int64_t first, last;
} table_range;

static table_range range_of(const fovea_known_pages *known, const int32_t *table, int64_t begin, int64_t end) {
  const int64_t page_rows = known->pages.page_rows, first = begin / page_rows;
  return (table_range){table, first, begin < end ? (end - 1) / page_rows : first - 1};
}

/* Whether page i of the table lies in memory where the page before it ends. */
static int continues(const fovea_known_pages *known, const table_range *range, int64_t i) {
  return i > range->first && follows(known, range->table[i - 1], range->table[i]);
}

static int64_t count_segments(const fovea_known_pages *known, const table_range *range) {
  int64_t count = 0;
  for (int64_t i = range->first; i <= range->last; i++) count += !continues(known, range, i);
  return count;
}

/* Returns the number of segments made. */
static int64_t make_segments(const fovea_known_pages *known, const table_range *range, fovea_segment *segments) {
  const int64_t page_rows = known->pages.page_rows;
  int64_t made = 0;
  for (int64_t i = range->first; i <= range->last; i++) {
    if (continues(known, range, i)) {
      segments[made - 1].rows += page_rows;
    } else {
      segments[made++] = make_segment(known, range->table[i], 0, i * page_rows, page_rows);
    }
  }
  return made;
}

/* Checks every table, and counts the segments of all tables. */
static fovea_status check_tables(const fovea_known_pages *known, int64_t batch, const int32_t *tables,
                                 int64_t table_length, const int64_t *begins, const int64_t *ends, int batched,
                                 int64_t *count, fovea_error *error) {
  *count = 0;
  for (int64_t b = 0; b < batch; b++) {
    const int32_t *table = tables ? tables + b * table_length : NULL;
    int64_t begin = begins ? begins[b] : 0;
    fovea_status status = check_table(known, table, table_length, begin, ends[b], batched, b, error);
    if (status) return status;
    table_range range = range_of(known, table, begin, ends[b]);
    *count += count_segments(known, &range);
  }
  return FOVEA_OK;
}

static fovea_status make_batch(const fovea_pages *given, int64_t batch, const int32_t *tables, int64_t table_length,
                               const int64_t *begins, const int64_t *ends, int batched, fovea_segment *segments,
                               int64_t segment_limit, fovea_sequence *sequences, fovea_error *error) {
  const fovea_bounded count_of_entries = {"batch", batch, 1, FOVEA_LENGTH_LIMIT};
  fovea_known_pages known;
  int64_t count;
  fovea_status status = fovea_know_pages(given, &known, error);
  if (!status) status = fovea_validate_bounds(NULL, &count_of_entries, 1, error);
  if (status) return status;
  if (!ends || !sequences)
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is NULL",
                      !ends     ? "ends"
                      : batched ? "sequences"
                                : "sequence");
  status = check_tables(&known, batch, tables, table_length, begins, ends, batched, &count, error);
  if (status) return status;
  if (count > 0 && !segments) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "segments is NULL");
  if (count > segment_limit) {
    return fovea_fail(error, FOVEA_ERROR_SPACE, "segment_limit is %jd; %jd segments are needed", segment_limit,
                      count);
  }
  for (int64_t b = 0; b < batch; b++) {
    table_range range =
        range_of(&known, tables ? tables + b * table_length : NULL, begins ? begins[b] : 0, ends[b]);
    int64_t made = make_segments(&known, &range, segments);
    sequences[b] = make_sequence(&known, segments, made);
    if (made > 0) segments += made;
  }
  return FOVEA_OK;
}

fovea_status fovea_cache_paged_batch(const fovea_pages *given, int64_t batch, const int32_t *tables,
                                     int64_t table_length, const int64_t *begins, const int64_t *ends,
                                     fovea_segment *segments, int64_t segment_limit, fovea_sequence *sequences,
                                     fovea_error *error) {
  return make_batch(given, batch, tables, table_length, begins, ends, 1, segments, segment_limit, sequences, error);
}

fovea_status fovea_cache_paged(const fovea_pages *given, const int32_t *table, int64_t table_length, int64_t begin,
                               int64_t end, fovea_segment *segments, int64_t segment_limit,
                               fovea_sequence *sequence, fovea_error *error) {
  return make_batch(given, 1, table, table_length, &begin, &end, 0, segments, segment_limit, sequence, error);
}

/* Refuses a ring in which a group of keys that share scales would hold keys of two rounds. */
static fovea_status check_ring_groups(const fovea_known_pages *known, int64_t begin, int64_t end,
                                      fovea_error *error) {
  for (int values = 0; values < 2; values++) {
    const int64_t keys = known->scale_keys[values];
    if (keys <= 1 || begin >= end) continue;
    const int64_t groups = (end - 1) / keys - begin / keys + 1;
    if (groups > known->pages.page_rows / keys)
      return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                        "begin is %jd and the last position %jd: they are in %jd groups of keys that share scales "
                        "of %s; the ring holds %jd",
                        begin, end - 1, groups, values ? "v" : "k", known->pages.page_rows / keys);
  }
  return FOVEA_OK;
}

fovea_status fovea_cache_ring(const fovea_pages *given, int64_t page, int64_t begin, int64_t end,
                              fovea_segment segments[FOVEA_RING_SEGMENTS], fovea_sequence *sequence,
                              fovea_error *error) {
  fovea_known_pages known;
  fovea_status status = fovea_know_pages(given, &known, error);
  if (!status) status = check_page(&known, page, error);
  if (!status) status = check_positions(begin, end, 0, 0, error);
  if (status) return status;
  if (!segments || !sequence)
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is NULL", segments ? "sequence" : "segments");
  const int64_t page_rows = known.pages.page_rows;
  if (end - begin > page_rows) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "begin is %jd and the last position %jd; the ring holds %jd",
                      begin, end - 1, page_rows);
  }
  status = check_ring_groups(&known, begin, end, error);
  if (status) return status;
  int64_t first = begin - begin % fovea_page_step(&known), count = 0;
  while (first < end && begin < end) {
    int64_t row = first % page_rows, rows = page_rows - row;
    if (rows > end - first) rows = end - first;
    segments[count++] = make_segment(&known, page, row, first, rows);
    first += rows;
  }
  *sequence = make_sequence(&known, segments, count);
  return FOVEA_OK;
}

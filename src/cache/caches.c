/* Makes segments for caches of every kind, from memory in pages. */
#include "../base/caller.h"
#include "../base/error.h"
#include "../base/types.h"
#include "../base/validate.h"
#include "sequences.h"

#include <string.h>

static fovea_status check_sizes(const fovea_pages *pages, fovea_error *error) {
  const fovea_bounded sizes[] = {
      {"count", pages->count, 1, FOVEA_LENGTH_LIMIT},       {"page_rows", pages->page_rows, 1, FOVEA_LENGTH_LIMIT},
      {"kv_heads", pages->kv_heads, 1, FOVEA_LENGTH_LIMIT}, {"qk_dim", pages->qk_dim, 1, FOVEA_DIM_LIMIT},
      {"v_dim", pages->v_dim, 1, FOVEA_DIM_LIMIT},          {"layers", pages->layers, 1, FOVEA_LENGTH_LIMIT}};
  fovea_status status =
      fovea_validate_bounds("pages", sizes, sizeof sizes / sizeof sizes[0], FOVEA_ERROR_SIZE, error);
  if (status) return status;
  const fovea_bounded types[] = {fovea_bounded_type("k_type", pages->k_type),
                                 fovea_bounded_type("v_type", pages->v_type),
                                 {"k_layout", (int)pages->k_layout, 0, FOVEA_KEYS_IN_PANELS}};
  status = fovea_validate_bounds("pages", types, sizeof types / sizeof types[0], FOVEA_ERROR_TYPE, error);
  if (status) return status;
  if (pages->k_layout == FOVEA_KEYS_IN_PANELS && pages->page_rows % FOVEA_PANEL_ROWS != 0) {
    return fovea_fail(error, FOVEA_ERROR_SIZE, "pages.page_rows is %d; with panels it must be a multiple of %d",
                      pages->page_rows, (int64_t)FOVEA_PANEL_ROWS);
  }
  return FOVEA_OK;
}

/* Rows of k in a page. In panels, a row of k is a panel. */
static int64_t key_rows(const fovea_pages *pages) {
  return pages->k_layout == FOVEA_KEYS_IN_PANELS ? pages->page_rows / FOVEA_PANEL_ROWS : pages->page_rows;
}

/* Checks that the last layer is no further from the first than elements of a tensor may be. */
static fovea_status check_layers(const char *name, int64_t layers, int64_t step, fovea_error *error) {
  const int64_t limit = INT64_C(1) << 57;
  int64_t last;
  if (!__builtin_mul_overflow(layers - 1, step, &last) && last <= limit && last >= -limit) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_STRIDE, "pages.%s is %d; %d layers reach further than 2^57 elements", name,
                    step, layers);
}

/* Reads the caller's struct and checks it: k and v are set and aligned, and reach no further than addresses do. */
static fovea_status read_pages(const fovea_pages *given, fovea_pages *pages, fovea_error *error) {
  fovea_status status = fovea_read_pages(given, pages, error);
  if (!status) status = check_sizes(pages, error);
  if (status) return status;
  int64_t k_dim =
      pages->k_layout == FOVEA_KEYS_IN_PANELS ? fovea_panel_elements(pages->qk_dim, pages->k_type) : pages->qk_dim;
  const fovea_shape k = fovea_make_shape("pages.k", pages->count, pages->kv_heads, key_rows(pages), k_dim,
                                         pages->k_strides, fovea_type_bits(pages->k_type));
  const fovea_shape v = fovea_make_shape("pages.v", pages->count, pages->kv_heads, pages->page_rows, pages->v_dim,
                                         pages->v_strides, fovea_type_bits(pages->v_type));
  fovea_reach k_reach, v_reach;
  status = fovea_validate_strides(&k, 0, &k_reach, error);
  if (!status) status = fovea_validate_strides(&v, 0, &v_reach, error);
  if (!status && pages->layers > 1 && pages->segment_size < FOVEA_SEGMENT_WITH_LAYERS) {
    status = fovea_fail(error, FOVEA_ERROR_UNUSED, "pages.layers is %d; segments of segment_size %u have one",
                        pages->layers, (uint64_t)pages->segment_size);
  }
  if (!status) status = check_layers("k_layer", pages->layers, pages->k_layer, error);
  if (!status) status = check_layers("v_layer", pages->layers, pages->v_layer, error);
  if (!status) status = fovea_validate_pointer(&k_reach, pages->k, error);
  if (!status) status = fovea_validate_pointer(&v_reach, pages->v, error);
  return status;
}

/* The address of an element, computed as a number: strides may lead a page out of the caller's memory, where C
 * allows no pointer. Nothing is read there yet. */
static void *address_of(void *tensor, fovea_type type, int64_t offset) {
  return (void *)((uintptr_t)tensor + (uintptr_t)fovea_bytes(type, offset));
}

/* A segment of the positions from `first` on, which begin at row `row` of the page (in panels, the first row of a
 * panel). */
static fovea_segment make_segment(const fovea_pages *pages, int64_t page, int64_t row, int64_t first,
                                  int64_t rows) {
  int64_t k_page = page > 0 ? page * pages->k_strides.batch : 0,
          v_page = page > 0 ? page * pages->v_strides.batch : 0;
  int64_t k_row = pages->k_layout == FOVEA_KEYS_IN_PANELS ? row / FOVEA_PANEL_ROWS : row;
  return (fovea_segment){
      .first = first,
      .rows = rows,
      .k = address_of(pages->k, pages->k_type, k_page + k_row * pages->k_strides.row),
      .v = address_of(pages->v, pages->v_type, v_page + row * pages->v_strides.row),
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
  };
}

/* Segment i of the caller's array: each is as large as the program that has the array says. */
static fovea_segment *segment_at(const fovea_pages *pages, fovea_segment *segments, int64_t i) {
  return (fovea_segment *)(void *)((char *)segments + (size_t)i * pages->segment_size);
}

/* What make_segment() makes, as far as there is room for it. */
static void put_segment(const fovea_pages *pages, fovea_segment *to, int64_t page, int64_t row, int64_t first,
                        int64_t rows) {
  if (pages->segment_size == sizeof *to) {
    *to = make_segment(pages, page, row, first, rows);
  } else {
    const fovea_segment segment = make_segment(pages, page, row, first, rows);
    memcpy(to, &segment, pages->segment_size);
  }
}

static fovea_sequence make_sequence(const fovea_pages *pages, const fovea_segment *segments, int64_t count) {
  return (fovea_sequence){segments, count, pages->segment_size};
}

static fovea_status check_page(const fovea_pages *pages, int64_t page, fovea_error *error) {
  if (page >= 0 && page < pages->count) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_SEGMENTS, "page is %d; it must be from 0 to %d", page, pages->count - 1);
}

static fovea_status check_positions(int64_t begin, int64_t end, fovea_error *error) {
  if (begin < 0 || begin > end || end > FOVEA_LENGTH_LIMIT) {
    return fovea_fail(error, FOVEA_ERROR_POSITION,
                      "positions %d to %d (not included) are wanted; they must ascend "
                      "from 0 or more to %d at most",
                      begin, end, FOVEA_LENGTH_LIMIT);
  }
  return FOVEA_OK;
}

fovea_status fovea_cache_contiguous(const fovea_pages *given, int64_t page, fovea_segment *segment,
                                    fovea_error *error) {
  fovea_pages pages;
  fovea_status status = read_pages(given, &pages, error);
  if (!status) status = check_page(&pages, page, error);
  if (status) return status;
  if (!segment) return fovea_fail(error, FOVEA_ERROR_NULL, "segment is NULL");
  put_segment(&pages, segment, page, 0, 0, pages.page_rows);
  return FOVEA_OK;
}

/* Whether page `next` lies in memory where `page` ends. */
static int follows(const fovea_pages *pages, int64_t page, int64_t next) {
  if (page == next) return 0;
  return (next - page) * pages->k_strides.batch == key_rows(pages) * pages->k_strides.row &&
         (next - page) * pages->v_strides.batch == pages->page_rows * pages->v_strides.row;
}

static fovea_status check_table(const fovea_pages *pages, const int32_t *table, int64_t table_length, int64_t begin,
                                int64_t end, fovea_error *error) {
  fovea_status status = check_positions(begin, end, error);
  if (status || begin == end) return status;
  if (!table) return fovea_fail(error, FOVEA_ERROR_NULL, "table is NULL");
  if (table_length < 0 || (end - 1) / pages->page_rows >= table_length) {
    return fovea_fail(error, FOVEA_ERROR_SEGMENTS,
                      "the table has %d pages of %d rows; position %d is in page %d, counted from 0", table_length,
                      pages->page_rows, end - 1, (end - 1) / pages->page_rows);
  }
  for (int64_t i = begin / pages->page_rows; i <= (end - 1) / pages->page_rows; i++) {
    if (table[i] < 0 || table[i] >= pages->count) {
      return fovea_fail(error, FOVEA_ERROR_SEGMENTS, "table[%d] is %d; it must be from 0 to %d", i,
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

static table_range range_of(const fovea_pages *pages, const int32_t *table, int64_t begin, int64_t end) {
  int64_t first = begin / pages->page_rows;
  return (table_range){table, first, begin < end ? (end - 1) / pages->page_rows : first - 1};
}

/* Whether page i of the table lies in memory where the page before it ends. */
static int continues(const fovea_pages *pages, const table_range *range, int64_t i) {
  return i > range->first && follows(pages, range->table[i - 1], range->table[i]);
}

static int64_t count_segments(const fovea_pages *pages, const table_range *range) {
  int64_t count = 0;
  for (int64_t i = range->first; i <= range->last; i++) count += !continues(pages, range, i);
  return count;
}

/* Returns the number of segments made. */
static int64_t make_segments(const fovea_pages *pages, const table_range *range, fovea_segment *segments) {
  int64_t made = 0;
  for (int64_t i = range->first; i <= range->last; i++) {
    if (continues(pages, range, i)) {
      segment_at(pages, segments, made - 1)->rows += pages->page_rows;
    } else {
      put_segment(pages, segment_at(pages, segments, made++), range->table[i], 0, i * pages->page_rows,
                  pages->page_rows);
    }
  }
  return made;
}

fovea_status fovea_cache_paged(const fovea_pages *given, const int32_t *table, int64_t table_length, int64_t begin,
                               int64_t end, fovea_segment *segments, int64_t segment_limit,
                               fovea_sequence *sequence, fovea_error *error) {
  return fovea_cache_paged_batch(given, 1, table, table_length, &begin, &end, segments, segment_limit, sequence,
                                 error);
}

/* Checks every table, and counts the segments of all tables. */
static fovea_status check_tables(const fovea_pages *pages, int64_t batch, const int32_t *tables,
                                 int64_t table_length, const int64_t *begins, const int64_t *ends, int64_t *count,
                                 fovea_error *error) {
  *count = 0;
  for (int64_t b = 0; b < batch; b++) {
    const int32_t *table = tables ? tables + b * table_length : NULL;
    int64_t begin = begins ? begins[b] : 0;
    fovea_status status = check_table(pages, table, table_length, begin, ends[b], error);
    if (status) return status;
    table_range range = range_of(pages, table, begin, ends[b]);
    *count += count_segments(pages, &range);
  }
  return FOVEA_OK;
}

fovea_status fovea_cache_paged_batch(const fovea_pages *given, int64_t batch, const int32_t *tables,
                                     int64_t table_length, const int64_t *begins, const int64_t *ends,
                                     fovea_segment *segments, int64_t segment_limit, fovea_sequence *sequences,
                                     fovea_error *error) {
  const fovea_bounded count_of_entries = {"batch", batch, 1, FOVEA_LENGTH_LIMIT};
  fovea_pages pages;
  int64_t count;
  fovea_status status = read_pages(given, &pages, error);
  if (!status) status = fovea_validate_bounds(NULL, &count_of_entries, 1, FOVEA_ERROR_SIZE, error);
  if (status) return status;
  if (!ends || !sequences) return fovea_fail(error, FOVEA_ERROR_NULL, "%s is NULL", ends ? "sequences" : "ends");
  status = check_tables(&pages, batch, tables, table_length, begins, ends, &count, error);
  if (status) return status;
  if (count > 0 && !segments) return fovea_fail(error, FOVEA_ERROR_NULL, "segments is NULL");
  if (count > segment_limit) {
    return fovea_fail(error, FOVEA_ERROR_SEGMENTS, "segment_limit is %d; %d segments are needed", segment_limit,
                      count);
  }
  for (int64_t b = 0; b < batch; b++) {
    table_range range =
        range_of(&pages, tables ? tables + b * table_length : NULL, begins ? begins[b] : 0, ends[b]);
    int64_t made = make_segments(&pages, &range, segments);
    sequences[b] = make_sequence(&pages, segments, made);
    if (made > 0) segments = segment_at(&pages, segments, made);
  }
  return FOVEA_OK;
}

fovea_status fovea_cache_ring(const fovea_pages *given, int64_t page, int64_t begin, int64_t end,
                              fovea_segment segments[FOVEA_RING_SEGMENTS], fovea_sequence *sequence,
                              fovea_error *error) {
  fovea_pages pages;
  fovea_status status = read_pages(given, &pages, error);
  if (!status) status = check_page(&pages, page, error);
  if (!status) status = check_positions(begin, end, error);
  if (status) return status;
  if (!segments || !sequence)
    return fovea_fail(error, FOVEA_ERROR_NULL, "%s is NULL", segments ? "sequence" : "segments");
  if (end - begin > pages.page_rows) {
    return fovea_fail(error, FOVEA_ERROR_SEGMENTS, "positions %d to %d are wanted of a ring that holds %d", begin,
                      end - 1, pages.page_rows);
  }
  int64_t first = pages.k_layout == FOVEA_KEYS_IN_PANELS ? begin - begin % FOVEA_PANEL_ROWS : begin, count = 0;
  while (first < end && begin < end) {
    int64_t row = first % pages.page_rows, rows = pages.page_rows - row;
    if (rows > end - first) rows = end - first;
    put_segment(&pages, segment_at(&pages, segments, count++), page, row, first, rows);
    first += rows;
  }
  *sequence = make_sequence(&pages, segments, count);
  return FOVEA_OK;
}

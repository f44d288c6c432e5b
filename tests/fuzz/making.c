#include "making.h"

#include "expect.h"
#include "verdicts.h"
#include "wild.h"

enum { TABLE = 8 };

/* Arrays in which segments are made, and what they hold if untouched. */
struct made {
  fovea_segment segments[TABLE], untouched[TABLE];
  fovea_sequence sequence, untouched_sequence;
};

static void prepare(struct made *made) {
  memset(made, 0x5a, sizeof *made);
}

static void expect_untouched_segments(const struct made *made, int64_t from) {
  const size_t size = (size_t)(TABLE - from) * sizeof(fovea_segment);
  EXPECT(memcmp(made->segments + from, made->untouched + from, size) == 0);
}

static void expect_not_made(const struct made *made, fovea_status status, const fovea_error *error) {
  expect_failure(status, error);
  expect_untouched_segments(made, 0);
  EXPECT(memcmp(&made->sequence, &made->untouched_sequence, sizeof made->sequence) == 0);
}

/* Position p of the sequence must lie where the pages place row `row` of `page`. */
static void expect_position(const fovea_pages *pages, const fovea_sequence *sequence, int64_t p, int64_t page,
                            int64_t row) {
  const fovea_segment *segment = segment_of(sequence, p);
  EXPECT(segment->k_type == pages->k_type && segment->v_type == pages->v_type);
  EXPECT(segment->k_layout == pages->k_layout);
  for (int64_t head = 0; head < pages->kv_heads && head < HEADS_JUDGED; head++)
    for (int values = 0; values < 2; values++) {
      const struct row made = segment_row(segment, values, head, p);
      const struct row paged = page_row(pages, values, page, head, row);
      EXPECT((uintptr_t)made.first == (uintptr_t)paged.first); /* as far as addresses reach */
    }
}

static void use(struct scene *scene, const struct made *made) {
  scene_set(scene, bytes_below(scene->bytes, SCENE_ENTRIES), made->sequence.segments, made->sequence.count);
}

void make_contiguous(struct scene *scene) {
  const fovea_pages *pages = &scene->pages;
  const int64_t page = scene->wild && bytes_one_in(scene->bytes, 8) ? wild_number(scene->bytes)
                                                                    : bytes_below(scene->bytes, pages->count);
  struct made made;
  fovea_error error;
  prepare(&made);
  const fovea_status status = fovea_cache_contiguous(pages, page, made.segments, &error);
  EXPECT(status != FOVEA_OK || (are_pages(pages) && page >= 0 && page < pages->count));
  EXPECT(status == FOVEA_OK || scene->wild);
  if (status != FOVEA_OK) {
    expect_not_made(&made, status, &error);
    return;
  }
  expect_untouched_segments(&made, 1);
  made.sequence = fovea_sequence_of(made.segments, 1);
  EXPECT(made.segments[0].first == 0 && made.segments[0].rows == pages->page_rows);
  for (int64_t p = 0; p < pages->page_rows && p < ROWS_JUDGED; p++)
    expect_position(pages, &made.sequence, p, page, p);
  use(scene, &made);
}

struct table {
  int32_t pages[TABLE];
  int64_t length, begin, end, limit;
};

static struct table any_table(struct scene *scene) {
  struct bytes *bytes = scene->bytes;
  struct table table = {.length = 1 + bytes_below(bytes, TABLE), .limit = TABLE};
  const int64_t page_rows = scene->pages.page_rows > 0 && scene->pages.page_rows < 64 ? scene->pages.page_rows : 1;
  for (int64_t i = 0; i < table.length; i++) {
    table.pages[i] = (int32_t)bytes_below(bytes, scene->pages.count > 255 ? 255 : scene->pages.count);
    if (scene->wild && bytes_one_in(bytes, 32)) table.pages[i] = (int32_t)wild_number(bytes);
  }
  table.end = bytes_below(bytes, table.length * page_rows + 1);
  table.begin = bytes_below(bytes, table.end + 1);
  if (!scene->wild || bytes_one_in(bytes, 2)) return table;
  const int64_t choice = bytes_below(bytes, 4);
  if (choice == 0) table.begin = wild_number(bytes);
  if (choice == 1) table.end = wild_number(bytes);
  if (choice == 2) table.limit = bytes_below(bytes, TABLE + 1);
  if (choice == 3) table.length = bytes_below(bytes, table.length + 1) - 1;
  return table;
}

/* The segments are an allocation of exactly the size that the call is told. */
static fovea_status call_paged(struct scene *scene, const struct table *table, struct made *made,
                               fovea_error *error) {
  const size_t size = table->length > 0 ? (size_t)table->length * sizeof(int32_t) : 0;
  int32_t *pages = size > 0 ? malloc(size) : NULL;
  if (pages != NULL) memcpy(pages, table->pages, size);
  const fovea_status status = fovea_cache_paged(&scene->pages, pages, table->length, table->begin, table->end,
                                                made->segments, table->limit, &made->sequence, error);
  free(pages);
  return status;
}

static int is_table(const fovea_pages *pages, const struct table *table) {
  if (table->begin < 0 || table->begin > table->end) return 0;
  if (table->begin == table->end) return 1;
  if ((table->end - 1) / pages->page_rows >= table->length) return 0;
  for (int64_t i = table->begin / pages->page_rows; i <= (table->end - 1) / pages->page_rows; i++)
    if (table->pages[i] < 0 || table->pages[i] >= pages->count) return 0;
  return 1;
}

void make_paged(struct scene *scene) {
  const fovea_pages *pages = &scene->pages;
  const struct table table = any_table(scene);
  struct made made;
  fovea_error error;
  prepare(&made);
  const fovea_status status = call_paged(scene, &table, &made, &error);
  EXPECT(status == FOVEA_OK || scene->wild);
  if (status != FOVEA_OK) {
    expect_not_made(&made, status, &error);
    return;
  }
  EXPECT(are_pages(pages) && is_table(pages, &table));
  EXPECT(made.sequence.count >= 0 && made.sequence.count <= table.limit);
  expect_untouched_segments(&made, made.sequence.count);
  if (table.begin < table.end) {
    const int64_t first = table.begin / pages->page_rows, last = (table.end - 1) / pages->page_rows;
    EXPECT(made.sequence.segments[0].first == first * pages->page_rows);
    EXPECT(sequence_holds(&made.sequence, first * pages->page_rows, (last + 1) * pages->page_rows));
    EXPECT(!sequence_holds(&made.sequence, first * pages->page_rows, (last + 1) * pages->page_rows + 1));
    for (int64_t p = table.begin; p < table.end && p - table.begin < ROWS_JUDGED; p++)
      expect_position(pages, &made.sequence, p, table.pages[p / pages->page_rows], p % pages->page_rows);
  }
  use(scene, &made);
}

void make_ring(struct scene *scene) {
  struct bytes *bytes = scene->bytes;
  const fovea_pages *pages = &scene->pages;
  const int64_t page =
      scene->wild && bytes_one_in(bytes, 8) ? wild_number(bytes) : bytes_below(bytes, pages->count);
  int64_t begin = bytes_below(bytes, 100);
  int64_t rows = bytes_below(bytes, pages->page_rows < 64 ? pages->page_rows + 1 : 64);
  if (scene->wild && bytes_one_in(bytes, 8)) begin = wild_number(bytes);
  if (scene->wild && bytes_one_in(bytes, 8)) rows = wild_number(bytes);
  const int64_t end = (int64_t)((uint64_t)begin + (uint64_t)rows);
  struct made made;
  fovea_error error;
  prepare(&made);
  const fovea_status status = fovea_cache_ring(pages, page, begin, end, made.segments, &made.sequence, &error);
  EXPECT(status == FOVEA_OK || scene->wild);
  if (status != FOVEA_OK) {
    expect_not_made(&made, status, &error);
    return;
  }
  EXPECT(are_pages(pages) && page >= 0 && page < pages->count);
  EXPECT(begin >= 0 && rows >= 0 && rows <= pages->page_rows);
  EXPECT(made.sequence.count >= (rows > 0) && made.sequence.count <= FOVEA_RING_SEGMENTS);
  expect_untouched_segments(&made, made.sequence.count);
  EXPECT(sequence_holds(&made.sequence, begin, end));
  for (int64_t p = begin; p < end && p - begin < ROWS_JUDGED; p++)
    expect_position(pages, &made.sequence, p, page, p % pages->page_rows);
  use(scene, &made);
}

/* Tables of pages: a batch of sequences gets room for new rows, or gives pages back; all of them, or none. */
#include "../base/error.h"
#include "../base/validate.h"
#include "page_pool.h"

/* The tables of one call. The table of sequence b is the numbers from b * length on. */
typedef struct page_tables {
  fovea_page_pool *pool;
  int64_t batch;
  const int32_t *numbers;
  int64_t length;
  const int64_t *counts; /* pages of each sequence */
  int64_t page_rows;     /* positions of a page */
} page_tables;

static int64_t pages_of(const page_tables *t, int64_t rows) {
  return rows / t->page_rows + (rows % t->page_rows > 0);
}

static fovea_status check_tables(const page_tables *t, fovea_error *error) {
  const fovea_bounded sizes[] = {{"batch", t->batch, 1, FOVEA_LENGTH_LIMIT},
                                 {"table_length", t->length, 0, FOVEA_LENGTH_LIMIT},
                                 {"page_rows", t->page_rows, 1, FOVEA_LENGTH_LIMIT}};
  fovea_status status = fovea_validate_bounds(NULL, sizes, 3, error);
  if (status) return status;
  if (!t->pool || !t->numbers || !t->counts) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is NULL",
                      !t->pool      ? "pool"
                      : !t->numbers ? "tables"
                                    : "page_counts");
  }
  for (int64_t b = 0; b < t->batch; b++) {
    if (t->counts[b] >= 0 && t->counts[b] <= t->length) continue;
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "page_counts[%jd] is %jd; it must be from 0 to table_length, which is %jd", b, t->counts[b],
                      t->length);
  }
  return FOVEA_OK;
}

static fovea_status check_page(const page_tables *t, int64_t b, int64_t i, fovea_error *error) {
  const int32_t page = t->numbers[b * t->length + i];
  if (fovea_page_is_used(t->pool, page)) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "tables[%jd] is %jd; page_counts[%jd] is %jd, but that page is %s",
                    b * t->length + i, (int64_t)page, b, t->counts[b],
                    page >= 0 && page < t->pool->count ? "not in use" : "none of the pool's");
}

/* ---- More rows ----------------------------------------------------------------------------------------------- */

/* The pages that sequence b writes to: from the page of its next row to the page of its last. */
typedef struct written_pages {
  int64_t first, end, filled; /* rows that page `first` has */
} written_pages;

static written_pages written_by(const page_tables *t, const int64_t *lens, const int64_t *ends, int64_t b) {
  if (lens[b] == ends[b]) return (written_pages){0, 0, 0};
  return (written_pages){lens[b] / t->page_rows, pages_of(t, ends[b]), lens[b] % t->page_rows};
}

static fovea_status check_lengths(const page_tables *t, const int64_t *lens, const int64_t *ends, int64_t b,
                                  fovea_error *error) {
  if (lens[b] < 0)
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "lens[%jd] is %jd; it must be 0 or more", b, lens[b]);
  if (ends[b] < lens[b] || ends[b] > FOVEA_LENGTH_LIMIT) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "ends[%jd] is %jd; it must be from lens[%jd] to %jd, and lens[%jd] is %jd", b, ends[b], b,
                      FOVEA_LENGTH_LIMIT, b, lens[b]);
  }
  if (pages_of(t, ends[b]) > t->length) {
    return fovea_fail(error, FOVEA_ERROR_SPACE, "table_length is %jd; ends[%jd] is %jd, which needs %jd pages",
                      t->length, b, ends[b], pages_of(t, ends[b]));
  }
  if (pages_of(t, lens[b]) > t->counts[b]) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "page_counts[%jd] is %jd; lens[%jd] is %jd, which needs %jd pages", b, t->counts[b], b,
                      lens[b], pages_of(t, lens[b]));
  }
  return FOVEA_OK;
}

/* Whether sequence b has to copy page i of its table. Of the sequences of the call that write to one page, the last
 * may keep it, if there are no other users. */
static int needs_copy(const page_tables *t, const int64_t *lens, const int64_t *ends, int64_t b, int64_t i) {
  const int32_t page = t->numbers[b * t->length + i];
  int64_t users = t->pool->references[page];
  for (int64_t before = 0; users > 1 && before < b; before++) {
    const written_pages w = written_by(t, lens, ends, before);
    if (i >= w.first && i < w.end && i < t->counts[before] && t->numbers[before * t->length + i] == page) users--;
  }
  return users > 1;
}

/* Checks every sequence, and counts the pages that must be free. */
static fovea_status check_extension(const page_tables *t, const int64_t *lens, const int64_t *ends,
                                    fovea_error *error) {
  int64_t needed = 0;
  for (int64_t b = 0; b < t->batch; b++) {
    fovea_status status = check_lengths(t, lens, ends, b, error);
    const written_pages w = status ? (written_pages){0, 0, 0} : written_by(t, lens, ends, b);
    for (int64_t i = w.first; i < w.end && i < t->counts[b] && !status; i++) {
      status = check_page(t, b, i, error);
      if (!status) needed += needs_copy(t, lens, ends, b, i);
    }
    if (status) return status;
    if (w.end > t->counts[b]) needed += w.end - t->counts[b];
  }
  if (needed <= t->pool->free_count) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_MEMORY, "pool has %jd free pages of %jd; %jd are needed",
                    (int64_t)t->pool->free_count, (int64_t)t->pool->count, needed);
}

fovea_status fovea_page_extend(const fovea_pages *pages, int64_t pages_count, fovea_page_pool *pool, int64_t batch,
                               int32_t *tables, int64_t table_length, int64_t *page_counts, const int64_t *lens,
                               const int64_t *ends, fovea_error *error) {
  if (!pool) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "pool is NULL");
  fovea_status status = fovea_check_page_array(pages, pages_count, pool, error);
  if (status) return status;
  const page_tables t = {pool, batch, tables, table_length, page_counts, pages->page_rows};
  status = check_tables(&t, error);
  if (status) return status;
  if (!lens || !ends) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is NULL", lens ? "ends" : "lens");
  status = check_extension(&t, lens, ends, error);
  for (int64_t b = 0; b < batch && !status; b++) {
    const written_pages w = written_by(&t, lens, ends, b);
    int32_t *table = tables + b * table_length;
    for (int64_t i = w.first; i < w.end && i < page_counts[b] && !status; i++)
      status = fovea_page_own(pages, pages_count, pool, &table[i], i == w.first ? w.filled : 0, error);
    for (; page_counts[b] < w.end && !status; page_counts[b]++)
      status = fovea_page_take(pool, &table[page_counts[b]], error);
  }
  return status;
}

/* ---- Fewer rows ---------------------------------------------------------------------------------------------- */

/* Undoes fovea_page_release() of the page that was released last. */
static void take_back(fovea_page_pool *pool, int32_t page) {
  if (pool->references[page] >= 1) {
    pool->references[page]++;
    return;
  }
  pool->first_free = -1 - pool->references[page];
  pool->references[page] = 1;
  pool->free_count--;
}

/* Releases pages of sequence b from page `kept` on, or none. Numbers below 0 are pages that were given back
 * before. */
static fovea_status release_pages(const page_tables *t, int64_t b, int64_t kept, fovea_error *error) {
  const int32_t *table = t->numbers + b * t->length;
  fovea_status status = FOVEA_OK;
  int64_t i = kept;
  for (; i < t->counts[b]; i++) {
    if (table[i] < 0) continue;
    status = check_page(t, b, i, error);
    if (status) break;
    fovea_page_release(t->pool, table[i], NULL);
  }
  while (status && i-- > kept)
    if (table[i] >= 0) take_back(t->pool, table[i]);
  return status;
}

static int64_t kept_pages(const page_tables *t, const int64_t *lens, int64_t b) {
  const int64_t kept = pages_of(t, lens[b]);
  return kept < t->counts[b] ? kept : t->counts[b];
}

/* Undoes release_pages() of the sequences before `b`, the last one first. */
static void take_all_back(const page_tables *t, const int64_t *lens, int64_t b) {
  while (b-- > 0) {
    const int32_t *table = t->numbers + b * t->length;
    for (int64_t i = t->counts[b]; i-- > kept_pages(t, lens, b);)
      if (table[i] >= 0) take_back(t->pool, table[i]);
  }
}

fovea_status fovea_page_truncate(fovea_page_pool *pool, int64_t page_rows, int64_t batch, const int32_t *tables,
                                 int64_t table_length, int64_t *page_counts, const int64_t *lens,
                                 fovea_error *error) {
  const page_tables t = {pool, batch, tables, table_length, page_counts, page_rows};
  fovea_status status = check_tables(&t, error);
  if (status) return status;
  if (!lens) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "lens is NULL");
  for (int64_t b = 0; b < batch; b++) {
    if (lens[b] >= 0 && lens[b] <= FOVEA_LENGTH_LIMIT) continue;
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "lens[%jd] is %jd; it must be from 0 to %jd", b, lens[b],
                      FOVEA_LENGTH_LIMIT);
  }
  for (int64_t b = 0; b < batch; b++) {
    status = release_pages(&t, b, kept_pages(&t, lens, b), error);
    if (!status) continue;
    take_all_back(&t, lens, b);
    return status;
  }
  for (int64_t b = 0; b < batch; b++) page_counts[b] = kept_pages(&t, lens, b);
  return FOVEA_OK;
}

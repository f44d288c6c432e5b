/* A cache of every kind: rows are appended step by step, then one new row attends to all of them. Each cache gives
 * the bits of contiguous tensors, since the numbers here fit every type. docs/caches.md says when to use which
 * kind. */
#include <fovea/cache.h>
#include <fovea/fovea.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 8, KV_HEADS = 2, DIM = 64, LENGTH = 300, PAGE_ROWS = 16, PAGES = 64, WINDOW = 100, STEP = 7 };

/* A sequence's keys and values, and the query of its last row. */
static float q[HEADS][DIM], k[KV_HEADS][LENGTH][DIM], v[KV_HEADS][LENGTH][DIM];

static void check(fovea_status status, const fovea_error *error) {
  if (status == FOVEA_OK) return;
  fprintf(stderr, "%s\n", error->text);
  exit(EXIT_FAILURE);
}

static void *allocate(int64_t elements, fovea_type type) {
  void *memory = calloc((size_t)elements, type == FOVEA_F32 ? sizeof(float) : sizeof(uint16_t));
  if (!memory) exit(EXIT_FAILURE);
  return memory;
}

static fovea_pages allocate_pages(int64_t count, int64_t page_rows, fovea_type type, fovea_key_layout layout) {
  fovea_pages pages;
  fovea_pages_init(&pages, count, page_rows, KV_HEADS, DIM, DIM, type, layout);
  pages.k = allocate(pages.count * pages.k_strides.batch, type);
  pages.v = allocate(pages.count * pages.v_strides.batch, type);
  return pages;
}

static void free_pages(fovea_pages *pages) {
  free(pages->k);
  free(pages->v);
}

/* Rows first to end - 1. */
static void append(const fovea_sequence *sequence, int64_t first, int64_t end) {
  fovea_new_rows rows;
  fovea_error error;
  fovea_new_rows_init(&rows, 1, KV_HEADS, end - first, DIM, DIM, k[0][first], v[0][first], sequence);
  rows.k_strides.head = rows.v_strides.head = LENGTH * DIM; /* other rows lie between */
  rows.first_position = first;
  check(fovea_append(&rows, NULL, NULL, &error), &error);
}

/* Attends with the last row, over a cache that still holds positions from begin on. The row's window goes back
 * `window` keys (-1: all). */
static void attend(const fovea_sequence *sequence, int64_t begin, int64_t window, float o[HEADS][DIM]) {
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_error error;
  fovea_problem_init(&problem, 1, HEADS, KV_HEADS, 1, LENGTH, DIM, DIM);
  problem.causal = 1;
  problem.window_left = window;
  fovea_tensors_init(&tensors, q, sequence ? NULL : k, sequence ? NULL : v, o, NULL);
  if (sequence) {
    problem.cache.segmented = 1;
    problem.kv_begins = &begin;
    tensors.cache.sequences = sequence;
  }
  check(fovea_attend(&problem, &tensors, NULL, &error), &error);
}

/* Prints the result of a cache. Returns 1 if its bits differ from the result of contiguous tensors. */
static int compare(const char *name, const fovea_sequence *sequence, int64_t begin, int64_t window) {
  static float o[HEADS][DIM], expected[HEADS][DIM];
  attend(sequence, begin, window, o);
  attend(NULL, 0, window, expected);
  int same = memcmp(o, expected, sizeof o) == 0;
  printf("%-26s %3d segments  %s\n", name, (int)sequence->count, same ? "same bits" : "OTHER BITS");
  return !same;
}

static int64_t next_step(int64_t length) {
  return length + STEP < LENGTH ? length + STEP : LENGTH;
}

/* One segment, with room for the longest sequence. */
static int contiguous(void) {
  fovea_pages pages = allocate_pages(1, LENGTH, FOVEA_F32, FOVEA_KEYS_IN_ROWS);
  fovea_segment segment;
  fovea_error error;
  check(fovea_cache_contiguous(&pages, 0, &segment, &error), &error);
  fovea_sequence sequence = fovea_sequence_of(&segment, 1);
  for (int64_t length = 0; length < LENGTH; length = next_step(length))
    append(&sequence, length, next_step(length));
  int failed = compare("contiguous", &sequence, 0, FOVEA_UNLIMITED);
  free_pages(&pages);
  return failed;
}

/* Pages, taken one by one as the sequence grows. */
static void grow(const fovea_pages *pages, fovea_page_pool *pool, int32_t *table, int64_t *page_count,
                 int64_t length, int64_t end, fovea_segment *segments, fovea_sequence *sequence) {
  fovea_error error;
  while (length < end) {
    int64_t next = next_step(length) < end ? next_step(length) : end;
    check(fovea_page_extend(pages, 1, pool, 1, table, PAGES, page_count, &length, &next, &error), &error);
    check(fovea_cache_paged(pages, table, PAGES, 0, next, segments, PAGES, sequence, &error), &error);
    append(sequence, length, next);
    length = next;
  }
}

static int paged(void) {
  fovea_pages pages = allocate_pages(PAGES, PAGE_ROWS, FOVEA_BF16, FOVEA_KEYS_IN_PANELS);
  fovea_page_pool pool;
  fovea_segment segments[PAGES];
  fovea_sequence sequence;
  fovea_error error;
  int32_t users[PAGES], table[PAGES];
  int64_t page_count = 0;
  check(fovea_page_pool_init(&pool, users, PAGES, &error), &error);
  grow(&pages, &pool, table, &page_count, 0, LENGTH, segments, &sequence);
  int failed = compare("paged, bf16 in panels", &sequence, 0, FOVEA_UNLIMITED);
  free_pages(&pages);
  return failed;
}

/* Two sequences with the same first 200 positions, kept once; the page that both would write to is copied. */
static int shared_prefix(void) {
  enum { PREFIX = 200 };
  fovea_pages pages = allocate_pages(PAGES, PAGE_ROWS, FOVEA_F16, FOVEA_KEYS_IN_ROWS);
  fovea_page_pool pool;
  fovea_segment segments[2][PAGES];
  fovea_sequence sequences[2];
  fovea_error error;
  int32_t users[PAGES], tables[2][PAGES];
  int64_t page_counts[2] = {0};
  check(fovea_page_pool_init(&pool, users, PAGES, &error), &error);
  grow(&pages, &pool, tables[0], &page_counts[0], 0, PREFIX, segments[0], &sequences[0]);
  page_counts[1] = page_counts[0];
  for (int64_t page = 0; page < page_counts[1]; page++) {
    tables[1][page] = tables[0][page];
    check(fovea_page_share(&pool, tables[1][page], &error), &error);
  }
  grow(&pages, &pool, tables[1], &page_counts[1], PREFIX, LENGTH, segments[1], &sequences[1]);
  grow(&pages, &pool, tables[0], &page_counts[0], PREFIX, LENGTH, segments[0], &sequences[0]);
  int failed = compare("shared prefix, first", &sequences[0], 0, FOVEA_UNLIMITED) +
               compare("shared prefix, second", &sequences[1], 0, FOVEA_UNLIMITED);
  printf("  %d of %d pages in use\n", (int)(pool.count - pool.free_count), (int)pool.count);
  free_pages(&pages);
  return failed;
}

/* Memory for the positions that the window and one step need, however long the sequence gets. */
static int ring(void) {
  fovea_pages pages = allocate_pages(1, WINDOW + STEP, FOVEA_F32, FOVEA_KEYS_IN_ROWS);
  fovea_segment segments[FOVEA_RING_SEGMENTS];
  fovea_sequence sequence;
  fovea_error error;
  int64_t begin = 0;
  for (int64_t length = 0; length < LENGTH; length = next_step(length)) {
    int64_t end = next_step(length);
    begin = end > pages.page_rows ? end - pages.page_rows : 0;
    check(fovea_cache_ring(&pages, 0, begin, end, segments, &sequence, &error), &error);
    append(&sequence, length, end);
  }
  int failed = compare("ring of a window", &sequence, begin, WINDOW);
  free_pages(&pages);
  return failed;
}

/* The last rows in f32, older ones in bf16 and in panels. */
static int by_age(void) {
  enum { OLD = 256 };
  fovea_pages recent = allocate_pages(1, LENGTH, FOVEA_F32, FOVEA_KEYS_IN_ROWS);
  fovea_pages old = allocate_pages(1, OLD, FOVEA_BF16, FOVEA_KEYS_IN_PANELS);
  fovea_segment whole, segments[2];
  fovea_error error;
  check(fovea_cache_contiguous(&recent, 0, &whole, &error), &error);
  check(fovea_cache_contiguous(&old, 0, &segments[0], &error), &error);
  const fovea_sequence from = fovea_sequence_of(&whole, 1), to = fovea_sequence_of(&segments[0], 1),
                       both = fovea_sequence_of(segments, 2);
  append(&from, 0, LENGTH);
  check(fovea_sequence_copy(&from, &to, 1, KV_HEADS, DIM, DIM, 0, OLD, NULL, &error), &error);
  segments[1] = whole; /* the rest of it */
  segments[1].first = OLD;
  segments[1].rows = LENGTH - OLD;
  segments[1].k = (float *)whole.k + OLD * whole.k_row;
  segments[1].v = (float *)whole.v + OLD * whole.v_row;
  int failed = compare("bf16, the latest in f32", &both, 0, FOVEA_UNLIMITED);
  free_pages(&recent);
  free_pages(&old);
  return failed;
}

/* Multiples of 1/16 that bf16 and f16 hold. */
static float number(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return ((float)(*state >> 26) - 32.0f) / 16.0f;
}

int main(void) {
  uint32_t state = 1;
  for (int i = 0; i < HEADS * DIM; i++) q[i / DIM][i % DIM] = number(&state);
  for (int i = 0; i < KV_HEADS * LENGTH; i++) {
    for (int d = 0; d < DIM; d++) {
      k[i / LENGTH][i % LENGTH][d] = number(&state);
      v[i / LENGTH][i % LENGTH][d] = number(&state);
    }
  }
  return contiguous() + paged() + shared_prefix() + ring() + by_age() ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Segments of pages, and pools of pages, that are refused. One call would succeed; each case spoils one thing in
 * it, and nothing is written. */
#include "support/check.h"
#include "support/error_says.h"
#include "support/refusals.h"

#include <fovea/cache.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 2, QK_DIM = 6, V_DIM = 5, CACHE = 4096 };

static float cache[2][CACHE];

static int is_untouched(const void *memory, size_t size) {
  for (size_t i = 0; i < size; i++)
    if (((const unsigned char *)memory)[i] != 0x3a) return 0;
  return 1;
}

static fovea_pages good_pages(fovea_key_layout layout) {
  fovea_pages pages;
  fovea_pages_init(&pages, 8, 16, HEADS, QK_DIM, V_DIM, FOVEA_F32, layout);
  pages.k = cache[0];
  pages.v = cache[1];
  return pages;
}

struct made {
  fovea_segment segments[8];
  fovea_sequence sequence;
};

static fovea_status make(int kind, const fovea_pages *pages, const int32_t *table, int64_t length, int64_t begin,
                         int64_t end, int64_t limit, struct made *made, fovea_error *error) {
  if (kind == 0)
    return fovea_cache_paged(pages, table, length, begin, end, made->segments, limit, &made->sequence, error);
  if (kind == 1) return fovea_cache_ring(pages, length, begin, end, made->segments, &made->sequence, error);
  return fovea_cache_contiguous(pages, length, made->segments, error);
}

static void assert_not_made(int kind, const fovea_pages *pages, const int32_t *table, int64_t length, int64_t begin,
                            int64_t end, int64_t limit, fovea_status status, const char *const *words) {
  struct made made;
  fovea_error error;
  memset(&made, 0x3a, sizeof made);
  memset(&error, 'x', sizeof error);
  const fovea_status actual = make(kind, pages, table, length, begin, end, limit, &made, &error);
  if (actual != status) fail_msg("status %d, not %d: %.250s", (int)actual, (int)status, error.text);
  assert_says(&error, status, words);
  assert_int_equal(make(kind, pages, table, length, begin, end, limit, &made, NULL), status);
  assert_true(is_untouched(&made, sizeof made));
}

#define NOT_MADE(kind, change, length, begin, end, limit, status, ...)                                             \
  do {                                                                                                             \
    int32_t table[] = {3, 0, 7, 2};                                                                                \
    fovea_pages pages = good_pages(FOVEA_KEYS_IN_ROWS);                                                            \
    (void)table;                                                                                                   \
    change;                                                                                                        \
    const char *const words[] = {__VA_ARGS__, NULL};                                                               \
    assert_not_made(kind, &pages, table, length, begin, end, limit, status, words);                                \
  } while (0)
#define PAGED 0
#define RING  1

/* Segments of pages know their heads and dims: no call with others reads them or writes to them. */
static void test_made_sizes(void **state) {
  (void)state;
  static const int64_t others[][3] = {
      {4, QK_DIM, V_DIM}, {1, QK_DIM, V_DIM}, {HEADS, 8, V_DIM}, {HEADS, QK_DIM, 1}};
  static const char *const words[] = {"kv_heads is 4; sequences[0].segments[0].kv_heads is 2",
                                      "kv_heads is 1; sequences[0].segments[0].kv_heads is 2",
                                      "qk_dim is 8; sequences[0].segments[0].qk_dim is 6",
                                      "v_dim is 1; sequences[0].segments[0].v_dim is 5"};
  static float numbers[4 * 8], o[4 * 8];
  const int32_t table[] = {3};
  for (int i = 0; i < 12; i++) {
    const fovea_pages pages = good_pages(i < 4 ? FOVEA_KEYS_IN_PANELS : FOVEA_KEYS_IN_ROWS);
    struct made to, from;
    const int64_t *sizes = others[i % 4];
    fovea_error error;
    fovea_new_rows rows;
    fovea_problem problem;
    fovea_tensors tensors;
    assert_int_equal(make(i / 4, &pages, table, i < 4 ? 1 : 3, 0, 8, 8, &to, NULL), FOVEA_OK);
    if (i >= 8) to.sequence = fovea_sequence_of(to.segments, 1);
    assert_int_equal(make(PAGED, &pages, (const int32_t[]){5}, 1, 0, 8, 8, &from, NULL), FOVEA_OK);
    memset(cache, 0x3a, sizeof cache);
    fovea_new_rows_init(&rows, 1, sizes[0], 1, sizes[1], sizes[2], numbers, numbers, &to.sequence);
    assert_int_equal(fovea_append(&rows, NULL, NULL, &error), FOVEA_ERROR_ARGUMENT);
    assert_string_equal(error.text, words[i % 4]);
    assert_int_equal(
        fovea_sequence_copy(&from.sequence, &to.sequence, 1, sizes[0], sizes[1], sizes[2], 0, 8, NULL, &error),
        FOVEA_ERROR_ARGUMENT);
    assert_string_equal(error.text, words[i % 4]);
    fovea_problem_init(&problem, 1, sizes[0], sizes[0], 1, 1, sizes[1], sizes[2]);
    problem.cache.segmented = 1;
    fovea_tensors_init(&tensors, numbers, NULL, NULL, o, NULL);
    tensors.cache.sequences = &to.sequence;
    assert_int_equal(fovea_attend(&problem, &tensors, NULL, &error), FOVEA_ERROR_ARGUMENT);
    assert_string_equal(error.text, words[i % 4]);
    assert_true(is_untouched(cache, sizeof cache));
  }
}

static void test_tables(void **state) {
  (void)state;
  NOT_MADE(PAGED, table[2] = 8, 4, 0, 40, 8, FOVEA_ERROR_ARGUMENT, "table[2] is 8", "0 to 7");
  NOT_MADE(PAGED, table[0] = -1, 4, 15, 40, 8, FOVEA_ERROR_ARGUMENT, "table[0] is -1");
  NOT_MADE(PAGED, (void)0, 4, 0, 65, 8, FOVEA_ERROR_ARGUMENT, "table_length: 4 pages of 16 rows", "64");
  NOT_MADE(PAGED, (void)0, -1, 0, 1, 8, FOVEA_ERROR_ARGUMENT, "table_length: -1 pages");
  NOT_MADE(PAGED, (void)0, 4, 0, 64, 3, FOVEA_ERROR_SPACE, "segment_limit is 3", "4 segments");
  NOT_MADE(PAGED, (void)0, 4, -1, 40, 8, FOVEA_ERROR_ARGUMENT, "begin: -1");
  NOT_MADE(PAGED, (void)0, 4, 41, 40, 8, FOVEA_ERROR_ARGUMENT, "end is 40", "from 41");
  NOT_MADE(PAGED, pages.struct_size = offsetof(fovea_pages, k_format) - 1, 4, 0, 40, 8, FOVEA_ERROR_ARGUMENT,
           "pages.struct_size: fovea_pages_init");
  NOT_MADE(PAGED, pages.struct_size++, 4, 0, 40, 8, FOVEA_ERROR_ARGUMENT, "pages.struct_size: another version");
  NOT_MADE(PAGED, pages.count = 0, 4, 0, 40, 8, FOVEA_ERROR_ARGUMENT, "pages.count");
  /* Sizes that were changed after the initialiser, whose strides would let rows share memory. */
  NOT_MADE(PAGED, pages.page_rows *= 2, 4, 0, 40, 8, FOVEA_ERROR_ARGUMENT, "pages.k has rows that share memory",
           "fovea_pages_init()");
  NOT_MADE(PAGED, pages.kv_heads++, 4, 0, 40, 8, FOVEA_ERROR_ARGUMENT, "pages.k has rows that share memory");
  NOT_MADE(PAGED, pages.qk_dim++, 4, 0, 40, 8, FOVEA_ERROR_ARGUMENT, "pages.k has rows that share memory");
  NOT_MADE(PAGED, pages.v_dim++, 4, 0, 40, 8, FOVEA_ERROR_ARGUMENT, "pages.v has rows that share memory");
  NOT_MADE(RING, (pages.layers = 2, pages.v_layer--), 1, 0, 8, 8, FOVEA_ERROR_ARGUMENT,
           "pages.v has rows that share memory");
  NOT_MADE(PAGED, pages.page_rows = 0, 4, 0, 40, 8, FOVEA_ERROR_ARGUMENT, "page_rows");
  NOT_MADE(PAGED, pages.k = NULL, 4, 0, 40, 8, FOVEA_ERROR_ARGUMENT, "pages.k");
  NOT_MADE(PAGED, pages.v = (char *)pages.v + 2, 4, 0, 40, 8, FOVEA_ERROR_ARGUMENT, "pages.v");
  NOT_MADE(PAGED, pages.k_strides.batch = INT64_MAX / 3, 4, 0, 40, 8, FOVEA_ERROR_ARGUMENT, "pages.k_strides");
  NOT_MADE(PAGED, pages.v_type = (fovea_type)5, 4, 0, 40, 8, FOVEA_ERROR_ARGUMENT, "v_type is 5");
  NOT_MADE(PAGED, pages.k_layout = (fovea_key_layout)2, 4, 0, 40, 8, FOVEA_ERROR_ARGUMENT, "k_layout");
  NOT_MADE(PAGED, pages.k_layout = FOVEA_KEYS_IN_PANELS;
           pages.page_rows = 24, 4, 0, 40, 8, FOVEA_ERROR_ARGUMENT, "pages.page_rows is 24", "multiple of 16");
  struct made made;
  const int32_t table[] = {1};
  const fovea_pages pages = good_pages(FOVEA_KEYS_IN_ROWS);
  assert_int_equal(fovea_cache_paged(NULL, table, 1, 0, 1, made.segments, 1, &made.sequence, NULL),
                   FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_cache_paged(&pages, NULL, 1, 0, 1, made.segments, 1, &made.sequence, NULL),
                   FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_cache_paged(&pages, table, 1, 0, 1, NULL, 1, &made.sequence, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_cache_paged(&pages, table, 1, 0, 1, made.segments, 1, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_cache_paged(&pages, NULL, 0, 5, 5, NULL, 0, &made.sequence, NULL), FOVEA_OK);
  assert_int_equal(made.sequence.count, 0);
}

/* The tables of a batch: the element of the list that is wrong is named. */
static void test_batched_tables(void **state) {
  (void)state;
  const fovea_pages pages = good_pages(FOVEA_KEYS_IN_ROWS);
  const int32_t good[] = {0, 1, 2, 3}, wrong[] = {0, 1, 2, 8};
  const int64_t early[] = {0, -1}, late[] = {0, 9}, ends[] = {32, 32}, short_ends[] = {32, 8};
  fovea_segment segments[4];
  fovea_sequence sequences[2];
  fovea_error error;
#define BATCHED(tables, begins, ends, sequences, says)                                                             \
  do {                                                                                                             \
    assert_int_equal(fovea_cache_paged_batch(&pages, 2, tables, 2, begins, ends, segments, 4, sequences, &error),  \
                     FOVEA_ERROR_ARGUMENT);                                                                        \
    assert_error_says(&error, says);                                                                               \
  } while (0)
  BATCHED(wrong, NULL, ends, sequences, "tables[3] is 8");
  BATCHED(good, early, ends, sequences, "begins[1] is -1");
  BATCHED(good, late, short_ends, sequences, "ends[1] is 8; it must be from 9");
  BATCHED(NULL, NULL, ends, sequences, "tables is NULL");
  BATCHED(good, NULL, NULL, sequences, "ends is NULL");
  BATCHED(good, NULL, ends, NULL, "sequences is NULL");
#undef BATCHED
}

static void test_rings(void **state) {
  (void)state;
  NOT_MADE(RING, (void)0, 8, 0, 5, 0, FOVEA_ERROR_ARGUMENT, "page is 8", "0 to 7");
  NOT_MADE(RING, (void)0, -1, 0, 5, 0, FOVEA_ERROR_ARGUMENT, "page is -1");
  NOT_MADE(RING, (void)0, 0, 10, 27, 0, FOVEA_ERROR_ARGUMENT, "begin is 10", "26", "holds 16");
  NOT_MADE(RING, (void)0, 0, -3, 5, 0, FOVEA_ERROR_ARGUMENT, "begin: -3");
  NOT_MADE(2, (void)0, 8, 0, 0, 0, FOVEA_ERROR_ARGUMENT, "page is 8");
  fovea_segment ring[FOVEA_RING_SEGMENTS];
  const fovea_pages pages = good_pages(FOVEA_KEYS_IN_ROWS);
  fovea_sequence sequence;
  assert_int_equal(fovea_cache_ring(&pages, 0, 0, 1, NULL, &sequence, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_cache_ring(&pages, 0, 0, 1, ring, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_cache_contiguous(&pages, 0, NULL, NULL), FOVEA_ERROR_ARGUMENT);
}

static void test_page_pool(void **state) {
  (void)state;
  int32_t references[3], page = -5;
  fovea_page_pool pool;
  fovea_error error;
  assert_int_equal(fovea_page_pool_init(NULL, references, 3, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_page_pool_init(&pool, NULL, 3, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_page_pool_init(&pool, references, 0, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_page_pool_init(&pool, references, 3, NULL), FOVEA_OK);
  int taken[3] = {0};
  for (int i = 0; i < 3; i++) {
    assert_int_equal(pool.free_count, 3 - i);
    assert_int_equal(fovea_page_take(&pool, &page, NULL), FOVEA_OK);
    assert_in_range(page, 0, 2);
    assert_false(taken[page]++);
  }
  page = -5;
  assert_int_equal(fovea_page_take(&pool, &page, &error), FOVEA_ERROR_MEMORY);
  assert_error_says(&error, "pool: all 3 are in use");
  assert_int_equal(page, -5);
  assert_int_equal(fovea_page_share(&pool, 1, NULL), FOVEA_OK);
  assert_true(fovea_page_is_shared(&pool, 1));
  assert_int_equal(fovea_page_release(&pool, 1, NULL), FOVEA_OK);
  assert_false(fovea_page_is_shared(&pool, 1));
  assert_int_equal(pool.free_count, 0);
  assert_int_equal(fovea_page_release(&pool, 1, NULL), FOVEA_OK);
  assert_int_equal(fovea_page_release(&pool, 1, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "page is 1, which is not in use");
  assert_int_equal(fovea_page_share(&pool, 1, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_page_share(&pool, 3, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_page_release(&pool, -1, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_page_take(&pool, &page, NULL), FOVEA_OK);
  assert_int_equal(page, 1);
  references[1] = INT32_MAX; /* the most users that a page may have */
  assert_int_equal(fovea_page_share(&pool, 1, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "page is 1, which has 2147483647 users");
  assert_int_equal(references[1], INT32_MAX);
}

/* If no page is free, or if the rows are more than it can hold, a shared page stays as it is. */
static void test_page_own(void **state) {
  (void)state;
  int32_t references[8], page;
  fovea_page_pool pool;
  fovea_error error;
  const fovea_pages pages = good_pages(FOVEA_KEYS_IN_PANELS);
  memset(cache, 0x3a, sizeof cache);
  assert_int_equal(fovea_page_pool_init(&pool, references, 2, NULL), FOVEA_OK);
  assert_int_equal(fovea_page_take(&pool, &page, NULL), FOVEA_OK);
  const int32_t taken = page;
  assert_int_equal(fovea_page_own(&pages, 1, &pool, &page, 99, NULL), FOVEA_OK); /* it has no other user */
  assert_int_equal(page, taken);
  assert_int_equal(fovea_page_share(&pool, page, NULL), FOVEA_OK);
  assert_int_equal(fovea_page_own(&pages, 1, &pool, &page, 17, &error), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_page_own(&pages, 1, &pool, &page, -1, &error), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_page_own(&pages, 1, &pool, NULL, 1, &error), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(page, taken);
  assert_int_equal(pool.free_count, 1);
  assert_true(fovea_page_is_shared(&pool, page));
  assert_true(is_untouched(cache, sizeof cache));
  int32_t other;
  assert_int_equal(fovea_page_take(&pool, &other, NULL), FOVEA_OK);
  assert_int_equal(fovea_page_own(&pages, 1, &pool, &page, 1, &error), FOVEA_ERROR_MEMORY);
  assert_int_equal(page, taken);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_made_sizes),     cmocka_unit_test(test_tables),    cmocka_unit_test(test_rings),
      cmocka_unit_test(test_batched_tables), cmocka_unit_test(test_page_pool), cmocka_unit_test(test_page_own),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

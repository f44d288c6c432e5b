/* Tables of pages: histories in which batches grow, fork, give steps up, try them again, and take rows back,
 * compared with rows that are kept apart; what is refused changes nothing. */
#include "support/check.h"
#include "support/generator.h"

#include <fovea/cache.h>
#include <fovea/fovea.h>

#include <string.h>

enum { SEQUENCES = 5, PAGES = 14, PAGE_ROWS = 4, TABLE = 6, MOST_ROWS = TABLE * PAGE_ROWS, LAYERS = 2 };

/* One kv head of one dim, so that row r of page p is number p * PAGE_ROWS + r of a layer. */
struct cache {
  float k[LAYERS][PAGES][PAGE_ROWS], v[LAYERS][PAGES][PAGE_ROWS];
  fovea_pages pages;
  fovea_page_pool pool;
  int32_t users[PAGES], tables[SEQUENCES][TABLE];
  int64_t counts[SEQUENCES], lengths[SEQUENCES];
  float rows[SEQUENCES][MOST_ROWS]; /* what each sequence has written */
  float next;
};

static void cache_create(struct cache *cache) {
  memset(cache, 0x3a, sizeof *cache); /* tables hold anything at first */
  fovea_pages_init(&cache->pages, PAGES, PAGE_ROWS, 1, 1, 1, FOVEA_F32, FOVEA_KEYS_IN_ROWS);
  cache->pages.layers = LAYERS;
  cache->pages.k = cache->k;
  cache->pages.v = cache->v;
  memset(cache->counts, 0, sizeof cache->counts);
  memset(cache->lengths, 0, sizeof cache->lengths);
  cache->next = 1;
  assert_int_equal(fovea_page_pool_init(&cache->pool, cache->users, PAGES, NULL), FOVEA_OK);
}

static fovea_status extend(struct cache *cache, const int64_t *ends, fovea_error *error) {
  return fovea_page_extend(&cache->pages, 1, &cache->pool, SEQUENCES, cache->tables[0], TABLE, cache->counts,
                           cache->lengths, ends, error);
}

static fovea_status truncate(struct cache *cache, const int64_t *lengths, fovea_error *error) {
  return fovea_page_truncate(&cache->pool, PAGE_ROWS, SEQUENCES, cache->tables[0], TABLE, cache->counts, lengths,
                             error);
}

/* A page has as many users as tables name it, and every other page is free. */
static void assert_users(const struct cache *cache) {
  int free_pages = 0;
  for (int page = 0; page < PAGES; page++) {
    int users = 0;
    for (int b = 0; b < SEQUENCES; b++)
      for (int64_t i = 0; i < cache->counts[b]; i++) users += cache->tables[b][i] == page;
    if (users > 0) assert_int_equal(cache->users[page], users);
    if (users == 0) assert_true(cache->users[page] < 0);
    free_pages += users == 0;
  }
  assert_int_equal(cache->pool.free_count, free_pages);
}

static void assert_rows(const struct cache *cache) {
  for (int b = 0; b < SEQUENCES; b++) {
    for (int64_t row = 0; row < cache->lengths[b]; row++) {
      const int32_t page = cache->tables[b][row / PAGE_ROWS];
      for (int layer = 0; layer < LAYERS; layer++) {
        assert_true(cache->k[layer][page][row % PAGE_ROWS] == cache->rows[b][row] + (float)layer / 4);
        assert_true(cache->v[layer][page][row % PAGE_ROWS] == -cache->rows[b][row] - (float)layer / 4);
      }
    }
  }
}

/* Writes the rows that a step has made room for. */
static void write_rows(struct cache *cache, const int64_t *ends) {
  for (int b = 0; b < SEQUENCES; b++) {
    for (; cache->lengths[b] < ends[b]; cache->lengths[b]++, cache->next++) {
      const int64_t row = cache->lengths[b];
      const int32_t page = cache->tables[b][row / PAGE_ROWS];
      assert_int_equal(cache->users[page], 1); /* nobody else's row changes */
      for (int layer = 0; layer < LAYERS; layer++) {
        cache->k[layer][page][row % PAGE_ROWS] = cache->next + (float)layer / 4;
        cache->v[layer][page][row % PAGE_ROWS] = -cache->next - (float)layer / 4;
      }
      cache->rows[b][row] = cache->next;
    }
  }
}

/* The pages that a step needs, found by doing it, sequence by sequence, on copies of the tables and of the
 * users. */
static int pages_needed(const struct cache *cache, const int64_t *ends) {
  int32_t users[PAGES];
  int needed = 0;
  memcpy(users, cache->users, sizeof users);
  for (int b = 0; b < SEQUENCES; b++) {
    for (int64_t i = cache->lengths[b] / PAGE_ROWS; cache->lengths[b] < ends[b] && i * PAGE_ROWS < ends[b]; i++) {
      if (i >= cache->counts[b]) {
        needed++;
      } else if (users[cache->tables[b][i]] > 1) {
        needed++;
        users[cache->tables[b][i]]--;
      }
    }
  }
  return needed;
}

/* A step: all sequences grow, or nothing changes. A step that is tried again changes nothing more. */
static void grow(struct cache *cache, struct generator *generator) {
  static struct cache before;
  int64_t ends[SEQUENCES];
  fovea_error error;
  for (int b = 0; b < SEQUENCES; b++) {
    ends[b] = cache->lengths[b] + generator_below(generator, 3) * generator_below(generator, 4);
    if (ends[b] > MOST_ROWS) ends[b] = MOST_ROWS;
  }
  before = *cache;
  const int needed = pages_needed(cache, ends);
  const fovea_status status = extend(cache, ends, &error);
  assert_int_equal(status, needed > before.pool.free_count ? FOVEA_ERROR_MEMORY : FOVEA_OK);
  if (status != FOVEA_OK) {
    assert_memory_equal(cache, &before, sizeof before);
    return;
  }
  assert_int_equal(cache->pool.free_count, before.pool.free_count - needed);
  before = *cache;
  assert_int_equal(extend(cache, ends, &error), FOVEA_OK);
  assert_memory_equal(cache, &before, sizeof before);
  if (generator_below(generator, 3) > 0) write_rows(cache, ends); /* else the step is given up */
}

/* One sequence ends, and begins anew as a fork of another. */
static void fork_table(struct cache *cache, int from, int to) {
  const int64_t ended = 0;
  if (from == to) return;
  assert_int_equal(
      fovea_page_truncate(&cache->pool, PAGE_ROWS, 1, cache->tables[to], TABLE, &cache->counts[to], &ended, NULL),
      FOVEA_OK);
  assert_int_equal(cache->counts[to], 0);
  for (int64_t i = 0; i < cache->counts[from]; i++)
    assert_int_equal(fovea_page_share(&cache->pool, cache->tables[from][i], NULL), FOVEA_OK);
  memcpy(cache->tables[to], cache->tables[from], sizeof cache->tables[to]);
  memcpy(cache->rows[to], cache->rows[from], sizeof cache->rows[to]);
  cache->counts[to] = cache->counts[from];
  cache->lengths[to] = cache->lengths[from];
}

/* The last rows of some sequences are taken back. */
static void reject(struct cache *cache, struct generator *generator) {
  for (int b = 0; b < SEQUENCES; b++) cache->lengths[b] -= generator_below(generator, cache->lengths[b] / 2 + 1);
  assert_int_equal(truncate(cache, cache->lengths, NULL), FOVEA_OK);
  for (int b = 0; b < SEQUENCES; b++)
    assert_int_equal(cache->counts[b], (cache->lengths[b] + PAGE_ROWS - 1) / PAGE_ROWS);
}

static void test_histories(void **state) {
  (void)state;
  static struct cache cache;
  struct generator generator = {7};
  for (int history = 0; history < USUAL_OR_LONG(60, 1000); history++) {
    cache_create(&cache);
    for (int step = 0; step < 60; step++) {
      const int64_t kind = generator_below(&generator, 8);
      if (kind < 5) grow(&cache, &generator);
      if (kind == 5) reject(&cache, &generator);
      if (kind > 5)
        fork_table(&cache, (int)generator_below(&generator, SEQUENCES),
                   (int)generator_below(&generator, SEQUENCES));
      assert_users(&cache);
      assert_rows(&cache);
    }
    memset(cache.lengths, 0, sizeof cache.lengths);
    assert_int_equal(truncate(&cache, cache.lengths, NULL), FOVEA_OK);
    assert_int_equal(cache.pool.free_count, PAGES);
  }
}

/* Pages of a window that were given back are below 0 in the table, and stay so. */
static void test_windows(void **state) {
  (void)state;
  static struct cache cache;
  const int64_t ends[SEQUENCES] = {MOST_ROWS};
  cache_create(&cache);
  assert_int_equal(extend(&cache, ends, NULL), FOVEA_OK);
  write_rows(&cache, ends);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(fovea_page_release(&cache.pool, cache.tables[0][i], NULL), FOVEA_OK);
    cache.tables[0][i] = -1;
  }
  const int64_t kept[SEQUENCES] = {4 * PAGE_ROWS};
  assert_int_equal(truncate(&cache, kept, NULL), FOVEA_OK);
  assert_int_equal(cache.pool.free_count, PAGES - 1);
  const int64_t none[SEQUENCES] = {0};
  assert_int_equal(truncate(&cache, none, NULL), FOVEA_OK);
  assert_int_equal(cache.pool.free_count, PAGES);
  assert_int_equal(cache.tables[0][0], -1);
}

/* A call with one thing spoilt is refused with this text, and nothing has changed. */
#define REFUSED(call, wanted, words)                                                                               \
  do {                                                                                                             \
    fovea_error error;                                                                                             \
    before = cache;                                                                                                \
    assert_int_equal(call, wanted);                                                                                \
    assert_string_equal(error.text, words);                                                                        \
    assert_memory_equal(&cache, &before, sizeof cache);                                                            \
  } while (0)

static struct cache cache, before;

static void set_up(void) {
  cache_create(&cache);
  const int64_t ends[SEQUENCES] = {6, 0, 3, 0, 1};
  assert_int_equal(extend(&cache, ends, NULL), FOVEA_OK);
  write_rows(&cache, ends);
}

static void test_refused_extensions(void **state) {
  (void)state;
  set_up();
#define EXTEND(...) extend(&cache, (const int64_t[SEQUENCES]){__VA_ARGS__}, &error)
#define EXTEND_WITH(pages, count, pool, batch, tables, length, counts, lengths, ends)                              \
  fovea_page_extend(pages, count, pool, batch, tables, length, counts, lengths, ends, &error)
  int32_t *const tables = cache.tables[0];
  const int64_t longer[SEQUENCES] = {9, 0, 3, 0, 1};
  REFUSED(EXTEND_WITH(NULL, 1, &cache.pool, 1, tables, TABLE, cache.counts, cache.lengths, longer),
          FOVEA_ERROR_ARGUMENT, "pages is NULL");
  REFUSED(EXTEND_WITH(&cache.pages, 0, &cache.pool, 1, tables, TABLE, cache.counts, cache.lengths, longer),
          FOVEA_ERROR_ARGUMENT, "pages_count is 0; it must be from 1 to 281474976710656");
  REFUSED(EXTEND_WITH(&cache.pages, 1, NULL, 1, tables, TABLE, cache.counts, cache.lengths, longer),
          FOVEA_ERROR_ARGUMENT, "pool is NULL");
  REFUSED(EXTEND_WITH(&cache.pages, 1, &cache.pool, 0, tables, TABLE, cache.counts, cache.lengths, longer),
          FOVEA_ERROR_ARGUMENT, "batch is 0; it must be from 1 to 281474976710656");
  REFUSED(EXTEND_WITH(&cache.pages, 1, &cache.pool, 1, NULL, TABLE, cache.counts, cache.lengths, longer),
          FOVEA_ERROR_ARGUMENT, "tables is NULL");
  REFUSED(EXTEND_WITH(&cache.pages, 1, &cache.pool, 1, tables, TABLE, NULL, cache.lengths, longer),
          FOVEA_ERROR_ARGUMENT, "page_counts is NULL");
  REFUSED(EXTEND_WITH(&cache.pages, 1, &cache.pool, 1, tables, TABLE, cache.counts, NULL, longer),
          FOVEA_ERROR_ARGUMENT, "lens is NULL");
  REFUSED(EXTEND_WITH(&cache.pages, 1, &cache.pool, 1, tables, TABLE, cache.counts, cache.lengths, NULL),
          FOVEA_ERROR_ARGUMENT, "ends is NULL");
  REFUSED(EXTEND_WITH(&cache.pages, 1, &cache.pool, 1, tables, 2, cache.counts, cache.lengths, longer),
          FOVEA_ERROR_SPACE, "table_length is 2; ends[0] is 9, which needs 3 pages");
  REFUSED(EXTEND_WITH(&cache.pages, 1, &cache.pool, 1, tables, 1, cache.counts, cache.lengths, longer),
          FOVEA_ERROR_ARGUMENT, "page_counts[0] is 2; it must be from 0 to table_length, which is 1");
  REFUSED(EXTEND_WITH(&cache.pages, 1, &cache.pool, 1, tables, TABLE, cache.counts, (&(const int64_t){-1}), longer),
          FOVEA_ERROR_ARGUMENT, "lens[0] is -1; it must be 0 or more");
  REFUSED(EXTEND(6, 1, 2, 0, 1), FOVEA_ERROR_ARGUMENT,
          "ends[2] is 2; it must be from lens[2] to 281474976710656, and lens[2] is 3");
  REFUSED(EXTEND(9, 1, 25, 0, 1), FOVEA_ERROR_SPACE, "table_length is 6; ends[2] is 25, which needs 7 pages");
  REFUSED(EXTEND(24, 24, 24, 0, 1), FOVEA_ERROR_MEMORY, "pool has 10 free pages of 14; 15 are needed");
  cache.counts[0] = 1;
  REFUSED(EXTEND(9, 1, 3, 0, 1), FOVEA_ERROR_ARGUMENT, "page_counts[0] is 1; lens[0] is 6, which needs 2 pages");
  cache.counts[0] = 2;
  cache.tables[2][0] = 13;
  REFUSED(EXTEND(9, 1, 4, 0, 1), FOVEA_ERROR_ARGUMENT,
          "tables[12] is 13; page_counts[2] is 1, but that page is not in use");
  cache.tables[2][0] = PAGES;
  REFUSED(EXTEND(9, 1, 4, 0, 1), FOVEA_ERROR_ARGUMENT,
          "tables[12] is 14; page_counts[2] is 1, but that page is none of the pool's");
  set_up();
  cache.pages.count = PAGES - 1;
  REFUSED(EXTEND(9, 0, 3, 0, 1), FOVEA_ERROR_ARGUMENT, "pages[0].count is 13; the pool has 14 pages");
  cache.pages.count = PAGES;
  fovea_pages differing[2] = {cache.pages, cache.pages};
  differing[1].page_rows = 2;
  REFUSED(EXTEND_WITH(differing, 2, &cache.pool, 1, tables, TABLE, cache.counts, cache.lengths, longer),
          FOVEA_ERROR_ARGUMENT, "pages[1].page_rows is 2; pages[0].page_rows is 4");
}

static void test_refused_truncations(void **state) {
  (void)state;
  set_up();
  const int64_t none[SEQUENCES] = {0};
#define TRUNCATE(pool, rows, batch, tables, counts, lengths)                                                       \
  fovea_page_truncate(pool, rows, batch, tables, TABLE, counts, lengths, &error)
  const int32_t *const tables = cache.tables[0];
  REFUSED(TRUNCATE(NULL, PAGE_ROWS, 1, tables, cache.counts, none), FOVEA_ERROR_ARGUMENT, "pool is NULL");
  REFUSED(TRUNCATE(&cache.pool, PAGE_ROWS, 1, NULL, cache.counts, none), FOVEA_ERROR_ARGUMENT, "tables is NULL");
  REFUSED(TRUNCATE(&cache.pool, PAGE_ROWS, 1, tables, NULL, none), FOVEA_ERROR_ARGUMENT, "page_counts is NULL");
  REFUSED(TRUNCATE(&cache.pool, PAGE_ROWS, 1, tables, cache.counts, NULL), FOVEA_ERROR_ARGUMENT, "lens is NULL");
  REFUSED(TRUNCATE(&cache.pool, 0, 1, tables, cache.counts, none), FOVEA_ERROR_ARGUMENT,
          "page_rows is 0; it must be from 1 to 281474976710656");
  REFUSED(TRUNCATE(&cache.pool, PAGE_ROWS, 1, tables, cache.counts, (&(const int64_t){-1})), FOVEA_ERROR_ARGUMENT,
          "lens[0] is -1; it must be from 0 to 281474976710656");
  /* The second table names a page twice that has one user: by then pages of both tables were released. */
  cache.tables[2][1] = cache.tables[2][0];
  cache.counts[2] = 2;
  assert_int_equal(fovea_page_share(&cache.pool, cache.tables[0][0], NULL), FOVEA_OK); /* it keeps its users, too */
  REFUSED(truncate(&cache, none, &error), FOVEA_ERROR_ARGUMENT,
          "tables[13] is 2; page_counts[2] is 2, but that page is not in use");
  assert_true(fovea_page_is_shared(&cache.pool, cache.tables[0][0]));
  assert_int_equal(fovea_page_release(&cache.pool, cache.tables[0][0], NULL), FOVEA_OK);
  cache.counts[2] = 1;
  assert_users(&cache);
  assert_int_equal(truncate(&cache, none, NULL), FOVEA_OK);
  assert_int_equal(cache.pool.free_count, PAGES);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_histories),
      cmocka_unit_test(test_windows),
      cmocka_unit_test(test_refused_extensions),
      cmocka_unit_test(test_refused_truncations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

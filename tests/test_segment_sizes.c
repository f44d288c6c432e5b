/* Segments have one size so far: every call that takes sequences or pages refuses another one, and writes nothing.
 * Segments that the library makes have that size, and no byte after them is written. */
#include "support/caches.h"
#include "support/check.h"
#include "support/refusals.h"

#include <stdlib.h>
#include <string.h>

enum { HEADS = 2, DIM = 5, PAGE = 16, PAGES = 8, TABLE = 5, NUMBERS = PAGES * HEADS * PAGE * 8, UNTOUCHED = 0x3a };

/* Memory of a cache, with the numbers 0, 1, 2, ... */
struct store {
  float k[NUMBERS], v[NUMBERS];
};

static struct store store, before;
static const int32_t table[TABLE] = {3, 4, 1, 7, 0};

static int set_up(void **state) {
  (void)state;
  for (int i = 0; i < NUMBERS; i++) {
    store.k[i] = (float)i;
    store.v[i] = (float)-i;
  }
  before = store;
  return 0;
}

static fovea_pages pages_of(size_t segment_size) {
  fovea_pages pages;
  fovea_pages_init_sized(&pages, sizeof pages, segment_size, PAGES, PAGE, HEADS, DIM, DIM, FOVEA_F32,
                         FOVEA_KEYS_IN_ROWS);
  pages.k = store.k;
  pages.v = store.v;
  return pages;
}

static void assert_untouched(const void *memory, size_t size) {
  for (size_t i = 0; i < size; i++) assert_int_equal(((const unsigned char *)memory)[i], UNTOUCHED);
}

static const char *const words[] = {"segment_size is ", "this library's is", "call fovea_", NULL};

/* A call that failed, with its text. */
static void assert_refused_with(fovea_status status, const fovea_error *error) {
  assert_int_equal(status, FOVEA_ERROR_ARGUMENT);
  assert_says(error, FOVEA_ERROR_ARGUMENT, words);
  assert_memory_equal(&store, &before, sizeof store);
}

static void assert_attention_refused(const fovea_sequence *sequence) {
  static float q[HEADS * DIM], o[HEADS * DIM];
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_plan *plan;
  fovea_run *run;
  fovea_error error;
  memset(o, UNTOUCHED, sizeof o);
  fovea_problem_init(&problem, 1, HEADS, HEADS, 1, 3 * PAGE, DIM, DIM);
  problem.cache.segmented = 1;
  fovea_tensors_init(&tensors, q, NULL, NULL, o, NULL);
  tensors.cache.sequences = sequence;
  assert_refused_with(fovea_attend(&problem, &tensors, NULL, &error), &error);
  assert_int_equal(fovea_plan_create(&problem, NULL, &plan, NULL), FOVEA_OK);
  assert_refused_with(fovea_plan_run(plan, &tensors, NULL, &error), &error);
  const size_t size = fovea_run_size(plan), scratch_size = fovea_plan_scratch_size(plan, 1);
  struct guarded memory = guarded_create(size, GUARD_AT_START),
                 scratch = guarded_create(scratch_size, GUARD_AT_START);
  assert_refused_with(
      fovea_run_bind(plan, &tensors, 1, scratch.data, scratch_size, memory.data, size, &run, &error), &error);
  assert_null(run);
  fovea_plan_destroy(plan);
  guarded_destroy(&scratch);
  guarded_destroy(&memory);
  assert_untouched(o, sizeof o);
}

static void assert_rows_refused(const fovea_sequence *good, const fovea_sequence *sequence) {
  static const float numbers[HEADS * DIM];
  fovea_new_rows rows;
  fovea_move move;
  fovea_error error;
  fovea_new_rows_init(&rows, 1, HEADS, 1, DIM, DIM, numbers, numbers, sequence);
  assert_refused_with(fovea_append(&rows, NULL, NULL, &error), &error);
  assert_refused_with(fovea_sequence_copy(good, sequence, 1, HEADS, DIM, DIM, 0, 1, NULL, &error), &error);
  assert_refused_with(fovea_sequence_copy(sequence, good, 1, HEADS, DIM, DIM, 0, 1, NULL, &error), &error);
  fovea_move_init(&move, sequence, HEADS, DIM, DIM, 1, 3, 0);
  assert_refused_with(fovea_sequence_move(&move, NULL, &error), &error);
}

static void assert_pages_refused(size_t size) {
  const fovea_pages pages = pages_of(size);
  const int64_t begin = 0, end = 9;
  fovea_segment made[TABLE];
  fovea_sequence sequence;
  fovea_pages with_formats = pages;
  fovea_error error;
  memset(made, UNTOUCHED, sizeof made);
  memset(&sequence, UNTOUCHED, sizeof sequence);
  assert_refused_with(fovea_cache_contiguous(&pages, 0, made, &error), &error);
  assert_refused_with(fovea_cache_ring(&pages, 0, begin, end, made, &sequence, &error), &error);
  assert_refused_with(fovea_cache_paged(&pages, table, TABLE, begin, end, made, TABLE, &sequence, &error), &error);
  assert_refused_with(
      fovea_cache_paged_batch(&pages, 1, table, TABLE, &begin, &end, made, TABLE, &sequence, &error), &error);
  assert_refused_with(fovea_pages_set_formats(&with_formats, NULL, NULL, &error), &error);
  assert_memory_equal(&with_formats, &pages, sizeof pages);
  assert_untouched(made, sizeof made);
  assert_untouched(&sequence, sizeof sequence);
}

/* Pages of a pool: no page is taken, and no table or count changes. */
static void assert_pool_refused(size_t size) {
  const fovea_pages pages = pages_of(size);
  int32_t references[PAGES], known[PAGES], page, tables[TABLE], none[TABLE];
  int64_t count = 0;
  const int64_t length = 0, end = 9;
  fovea_page_pool pool;
  fovea_error error;
  memset(tables, UNTOUCHED, sizeof tables);
  memcpy(none, tables, sizeof none);
  assert_int_equal(fovea_page_pool_init(&pool, references, PAGES, NULL), FOVEA_OK);
  assert_int_equal(fovea_page_take(&pool, &page, NULL), FOVEA_OK);
  assert_int_equal(fovea_page_share(&pool, page, NULL), FOVEA_OK);
  memcpy(known, references, sizeof known);
  const fovea_page_pool known_pool = pool;
  const int32_t known_page = page;
  assert_refused_with(fovea_page_own(&pages, 1, &pool, &page, PAGE, &error), &error);
  assert_refused_with(fovea_page_extend(&pages, 1, &pool, 1, tables, TABLE, &count, &length, &end, &error), &error);
  assert_memory_equal(references, known, sizeof known);
  assert_memory_equal(&pool, &known_pool, sizeof pool);
  assert_memory_equal(tables, none, sizeof none);
  assert_int_equal(page, known_page);
  assert_int_equal(count, 0);
}

static void assert_size_refused(size_t size) {
  const fovea_pages pages = pages_of(sizeof(fovea_segment));
  fovea_segment segments[TABLE];
  fovea_sequence good;
  assert_int_equal(fovea_cache_paged(&pages, table, TABLE, 0, TABLE * PAGE, segments, TABLE, &good, NULL),
                   FOVEA_OK);
  fovea_sequence sequence = good;
  sequence.segment_size = size;
  assert_attention_refused(&sequence);
  assert_rows_refused(&good, &sequence);
  assert_pages_refused(size);
  assert_pool_refused(size);
}

/* Not prepared, smaller, and larger, as a program has that was compiled with a later header: what it may have set
 * there would be left out. */
static void test_other_sizes(void **state) {
  (void)state;
  for (size_t size = 0; size <= sizeof(fovea_segment) + 64; size++)
    if (size != sizeof(fovea_segment)) assert_size_refused(size);
  assert_size_refused(2 * sizeof(fovea_segment));
  assert_size_refused(SIZE_MAX);
  assert_size_refused(SIZE_MAX - 7);
  assert_size_refused((size_t)1 << (sizeof(size_t) * 8 - 1));
}

/* As many segments as there are, right before a guard page. */
static void test_made_segments(void **state) {
  (void)state;
  const fovea_pages pages = pages_of(sizeof(fovea_segment));
  const int64_t begins[2] = {0, 17}, ends[2] = {40, 80};
  const int32_t tables[2 * TABLE] = {3, 4, 1, 7, 0, 6, 5, 2, 2, 1};
  const int64_t counts[2] = {3, 4};
  fovea_sequence sequences[2];
  struct guarded memory = guarded_create(7 * sizeof(fovea_segment), GUARD_AT_END);
  fovea_segment *made = (fovea_segment *)(void *)memory.data;
  assert_int_equal(fovea_cache_paged_batch(&pages, 2, tables, TABLE, begins, ends, made, 7, sequences, NULL),
                   FOVEA_OK);
  for (int b = 0; b < 2; b++) {
    assert_int_equal(sequences[b].count, counts[b]);
    assert_int_equal(sequences[b].segment_size, sizeof(fovea_segment));
    assert_ptr_equal(sequences[b].segments, made + (b ? counts[0] : 0));
  }
  assert_true(guarded_slack_intact(&memory));
  guarded_destroy(&memory);
  memory = guarded_create(sizeof(fovea_segment), GUARD_AT_END);
  assert_int_equal(fovea_cache_contiguous(&pages, 3, (fovea_segment *)(void *)memory.data, NULL), FOVEA_OK);
  assert_true(guarded_slack_intact(&memory));
  guarded_destroy(&memory);
}

/* An initialiser that is told another size writes no byte beyond it, nor beyond what it knows. */
static void test_initialiser(void **state) {
  (void)state;
  unsigned char memory[2 * sizeof(fovea_segment)];
  for (size_t size = 0; size <= sizeof memory; size += 8) {
    const size_t written = size < sizeof(fovea_segment) ? size : sizeof(fovea_segment);
    memset(memory, UNTOUCHED, sizeof memory);
    fovea_segment_init_sized((fovea_segment *)(void *)memory, size, 0, 4, DIM, DIM, FOVEA_F32, store.k, store.v);
    assert_untouched(memory + written, sizeof memory - written);
  }
}

/* Later versions add no field. */
static void test_sequence(void **state) {
  (void)state;
  if (sizeof(void *) != 8) skip();
  assert_int_equal(sizeof(fovea_sequence), 24);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_other_sizes),
      cmocka_unit_test(test_made_segments),
      cmocka_unit_test(test_initialiser),
      cmocka_unit_test(test_sequence),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}

/* Segments of programs that were compiled with fewer fields: the library steps through them by the size that they
 * have, reads and writes nothing after it, and takes the defaults for the rest. Sizes of no version are refused.
 */
#include "support/caches.h"
#include "support/check.h"
#include "support/error_says.h"
#include "support/refusals.h"

#include <stdlib.h>
#include <string.h>

/* What the first version had: no layers. */
enum { EARLIER = offsetof(fovea_segment, layers), NOW = sizeof(fovea_segment) };
/* Bytes of its fields, without what may be between the last and its end. */
enum { FIELDS = offsetof(fovea_segment, k_layout) + sizeof(fovea_key_layout) };

/* Segments as that program has them, the last before a guard page. */
static fovea_sequence make_earlier(const fovea_sequence *sequence, struct guarded *memory) {
  const int64_t count = sequence->count;
  *memory = guarded_create((size_t)count * EARLIER, GUARD_AT_END);
  for (int64_t i = 0; i < count; i++) memcpy(memory->data + i * EARLIER, &sequence->segments[i], EARLIER);
  guarded_make_read_only(memory);
  return (fovea_sequence){(const fovea_segment *)(const void *)memory->data, count, EARLIER};
}

static void check_attention(struct trial *trial, const struct trial *expected, enum cache_kind kind,
                            struct generator *generator) {
  struct cache cache = cache_create(trial, kind, 0, NULL, generator);
  struct guarded memory[LISTED_ENTRIES];
  fovea_sequence earlier[LISTED_ENTRIES];
  for (int64_t b = 0; b < trial->problem.batch; b++) earlier[b] = make_earlier(&cache.sequences[b], &memory[b]);
  for (const char *const *isa = usable_isas_for(&trial->problem); *isa != NULL; isa++) {
    trial_run_cached(trial, *isa, earlier, NULL);
    assert_same_outputs(trial, expected);
  }
  for (int64_t b = 0; b < trial->problem.batch; b++) guarded_destroy(&memory[b]);
  cache_destroy(&cache);
}

static void test_attention(void **state) {
  (void)state;
  struct generator generator = {1};
  for (int few = 0; few < 2; few++) {
    fovea_problem problem;
    fovea_problem_init(&problem, 2, 4, 2, few ? 2 : 50, 700, 24, 20);
    problem.causal = 1;
    struct trial expected = trial_create(&problem, 1);
    trial_run(&expected, "scalar", NULL);
    struct trial trial = trial_sharing_inputs(&expected);
    for (int kind = 0; kind < CACHE_KINDS; kind++)
      check_attention(&trial, &expected, (enum cache_kind)kind, &generator);
    trial_destroy(&trial);
    trial_destroy(&expected);
  }
}

enum { HEADS = 2, DIM = 5, PAGE = 16, PAGES = 8, TABLE = 5, NUMBERS = PAGES * HEADS * PAGE * 8 };

/* Memory of a cache, with the numbers 0, 1, 2, ... from `first` on. */
struct store {
  float k[NUMBERS], v[NUMBERS];
};

static void store_fill(struct store *store, float first) {
  for (int i = 0; i < NUMBERS; i++) {
    store->k[i] = first + (float)i;
    store->v[i] = -first - (float)i;
  }
}

static fovea_pages pages_of(struct store *store, size_t segment_size, fovea_key_layout layout) {
  fovea_pages pages;
  fovea_pages_init_sized(&pages, sizeof pages, segment_size, PAGES, PAGE, HEADS, DIM, DIM, FOVEA_F32, layout);
  if (layout == FOVEA_KEYS_IN_ROWS)
    pages.k_strides = pages.v_strides = fovea_strides_rows_before_heads(PAGE, HEADS, DIM);
  pages.k = store->k;
  pages.v = store->v;
  return pages;
}

static const int32_t table[TABLE] = {3, 4, 1, 7, 0};

/* The sequence of that table, its segments right before a guard page. In rows pages 3 and 4 are one segment. */
static fovea_sequence make_paged(struct store *store, size_t segment_size, fovea_key_layout layout,
                                 struct guarded *memory) {
  const fovea_pages pages = pages_of(store, segment_size, layout);
  const int64_t count = layout == FOVEA_KEYS_IN_ROWS ? TABLE - 1 : TABLE;
  fovea_sequence sequence;
  fovea_error error;
  *memory = guarded_create((size_t)count * segment_size, GUARD_AT_END);
  if (fovea_cache_paged(&pages, table, TABLE, 0, TABLE * PAGE, (fovea_segment *)(void *)memory->data, count,
                        &sequence, &error) != FOVEA_OK)
    fail_msg("%s", error.text);
  assert_int_equal(sequence.count, count);
  assert_int_equal(sequence.segment_size, segment_size);
  assert_true(guarded_slack_intact(memory));
  return sequence;
}

/* New rows over the border of segments, into earlier segments and into those of today. */
static void test_new_rows(void **state) {
  (void)state;
  enum { ROWS = 3 * PAGE };
  const size_t sizes[3] = {EARLIER, offsetof(fovea_segment, kv_heads), NOW};
  static struct store stores[3];
  static float k[HEADS * ROWS * DIM], v[HEADS * ROWS * DIM];
  for (int i = 0; i < HEADS * ROWS * DIM; i++) {
    k[i] = 0.5f + (float)i;
    v[i] = 0.25f + (float)i;
  }
  for (int layout = 0; layout < 2; layout++) {
    for (int side = 0; side < 3; side++) {
      struct guarded memory;
      store_fill(&stores[side], 1e6f);
      const fovea_sequence sequence = make_paged(&stores[side], sizes[side], (fovea_key_layout)layout, &memory);
      fovea_new_rows rows;
      fovea_error error;
      fovea_new_rows_init(&rows, 1, HEADS, ROWS, DIM, DIM, k, v, &sequence);
      rows.first_position = PAGE + 7;
      if (fovea_append(&rows, NULL, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
      guarded_destroy(&memory);
    }
    assert_memory_equal(&stores[0], &stores[1], sizeof stores[0]);
    assert_memory_equal(&stores[0], &stores[2], sizeof stores[0]);
  }
}

/* Of copies each side has a size of its own. */
static void test_copies(void **state) {
  (void)state;
  static struct store from_stores[2], to_stores[2];
  for (int side = 0; side < 2; side++) {
    struct guarded from_memory, to_memory;
    store_fill(&from_stores[side], 1);
    store_fill(&to_stores[side], 1e6f);
    const fovea_sequence from =
        make_paged(&from_stores[side], side ? NOW : EARLIER, FOVEA_KEYS_IN_ROWS, &from_memory);
    const fovea_sequence to = make_paged(&to_stores[side], NOW, FOVEA_KEYS_IN_PANELS, &to_memory);
    fovea_error error;
    if (fovea_sequence_copy(&from, &to, 1, HEADS, DIM, DIM, 5, TABLE * PAGE - 3, NULL, &error) != FOVEA_OK)
      fail_msg("%s", error.text);
    guarded_destroy(&from_memory);
    guarded_destroy(&to_memory);
  }
  assert_memory_equal(&to_stores[0], &to_stores[1], sizeof to_stores[0]);
}

static const fovea_segment *segment_at(const fovea_sequence *sequence, int64_t i) {
  return (const fovea_segment *)(const void *)((const char *)sequence->segments +
                                               (size_t)i * sequence->segment_size);
}

static void assert_same_segments(const fovea_sequence *a, const fovea_sequence *b) {
  assert_int_equal(a->count, b->count);
  for (int64_t i = 0; i < a->count; i++) assert_memory_equal(segment_at(a, i), segment_at(b, i), FIELDS);
}

/* Segments that the library makes have the fields that fit, and no byte after them is written. */
static void test_made_segments(void **state) {
  (void)state;
  static struct store store;
  const int64_t begins[2] = {0, 17}, ends[2] = {40, 80};
  const int32_t tables[2 * TABLE] = {3, 4, 1, 7, 0, 6, 5, 2, 2, 1};
  fovea_segment full[4 * TABLE];
  for (int layout = 0; layout < 2; layout++) {
    const fovea_pages now = pages_of(&store, NOW, (fovea_key_layout)layout);
    const fovea_pages earlier = pages_of(&store, EARLIER, (fovea_key_layout)layout);
    const int64_t count = layout == FOVEA_KEYS_IN_ROWS ? 6 : 7; /* that the batch needs */
    struct guarded memory = guarded_create((size_t)count * EARLIER, GUARD_AT_END);
    fovea_segment *made = (fovea_segment *)(void *)memory.data;
    fovea_sequence sequences[2], expected[2];
    assert_int_equal(fovea_cache_paged_batch(&now, 2, tables, TABLE, begins, ends, full, count, expected, NULL),
                     FOVEA_OK);
    assert_int_equal(
        fovea_cache_paged_batch(&earlier, 2, tables, TABLE, begins, ends, made, count, sequences, NULL), FOVEA_OK);
    assert_int_equal(expected[0].count + expected[1].count, count);
    for (int b = 0; b < 2; b++) assert_same_segments(&sequences[b], &expected[b]);
    guarded_destroy(&memory);

    memory = guarded_create(FOVEA_RING_SEGMENTS * EARLIER, GUARD_AT_END);
    made = (fovea_segment *)(void *)memory.data;
    assert_int_equal(fovea_cache_ring(&now, 2, 16, 30, full, expected, NULL), FOVEA_OK);
    assert_int_equal(fovea_cache_ring(&earlier, 2, 16, 30, made, sequences, NULL), FOVEA_OK);
    assert_same_segments(sequences, expected);
    guarded_destroy(&memory);

    memory = guarded_create(EARLIER, GUARD_AT_END);
    made = (fovea_segment *)(void *)memory.data;
    assert_int_equal(fovea_cache_contiguous(&now, 3, full, NULL), FOVEA_OK);
    assert_int_equal(fovea_cache_contiguous(&earlier, 3, made, NULL), FOVEA_OK);
    assert_memory_equal(made, full, FIELDS);
    guarded_destroy(&memory);
  }
}

/* Layers need segments that know of them: to leave the others out in silence would be another cache. */
static void test_layers(void **state) {
  (void)state;
  static struct store store;
  fovea_segment segment[1];
  fovea_error error;
  fovea_pages pages = pages_of(&store, EARLIER, FOVEA_KEYS_IN_ROWS);
  pages.layers = 2;
  assert_int_equal(fovea_cache_contiguous(&pages, 0, segment, &error), FOVEA_ERROR_UNUSED);
  assert_error_says(&error, "layers is 2");
  struct guarded memory;
  const fovea_sequence sequence = make_paged(&store, EARLIER, FOVEA_KEYS_IN_ROWS, &memory);
  fovea_new_rows rows;
  fovea_new_rows_init(&rows, 1, HEADS, 1, DIM, DIM, store.k, store.v, &sequence);
  rows.layer = 1;
  assert_int_equal(fovea_append(&rows, NULL, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "layer: layers is 0");
  guarded_destroy(&memory);
}

/* A shared page of a program with earlier segments is copied as any other. */
static void test_owned_page(void **state) {
  (void)state;
  static struct store store;
  store_fill(&store, 1);
  const fovea_pages pages = pages_of(&store, EARLIER, FOVEA_KEYS_IN_ROWS);
  int32_t references[PAGES], page;
  fovea_page_pool pool;
  assert_int_equal(fovea_page_pool_init(&pool, references, PAGES, NULL), FOVEA_OK);
  assert_int_equal(fovea_page_take(&pool, &page, NULL), FOVEA_OK);
  assert_int_equal(fovea_page_share(&pool, page, NULL), FOVEA_OK);
  const int32_t before = page;
  assert_int_equal(fovea_page_own(&pages, 1, &pool, &page, PAGE, NULL), FOVEA_OK);
  assert_int_not_equal(page, before);
  const size_t numbers = HEADS * PAGE * DIM;
  assert_memory_equal(store.k + (size_t)page * numbers, store.k + (size_t)before * numbers,
                      numbers * sizeof(float));
  assert_memory_equal(store.v + (size_t)page * numbers, store.v + (size_t)before * numbers,
                      numbers * sizeof(float));
}

static void assert_size_refused(size_t size) {
  static struct store store, before;
  static float q[HEADS * DIM], o[HEADS * DIM];
  struct guarded memory;
  fovea_error error;
  const char *const words[] = {"segment_size is ", NULL};
  fovea_segment made[TABLE];
  store_fill(&store, 1);
  before = store;
  memset(made, 0x3a, sizeof made);
  memset(o, 0x3a, sizeof o);
  fovea_sequence sequence = make_paged(&store, NOW, FOVEA_KEYS_IN_ROWS, &memory), good = sequence;
  sequence.segment_size = size;

  fovea_problem problem;
  fovea_problem_init(&problem, 1, HEADS, HEADS, 1, 3 * PAGE, DIM, DIM);
  problem.cache.segmented = 1;
  fovea_tensors tensors;
  fovea_tensors_init(&tensors, q, NULL, NULL, o, NULL);
  tensors.cache.sequences = &sequence;
  assert_int_equal(fovea_attend(&problem, &tensors, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_says(&error, FOVEA_ERROR_ARGUMENT, words);
  for (int i = 0; i < HEADS * DIM; i++) assert_memory_equal(&o[i], "\x3a\x3a\x3a\x3a", 4);

  fovea_new_rows rows;
  fovea_new_rows_init(&rows, 1, HEADS, 1, DIM, DIM, q, q, &sequence);
  assert_int_equal(fovea_append(&rows, NULL, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_says(&error, FOVEA_ERROR_ARGUMENT, words);
  assert_int_equal(fovea_sequence_copy(&good, &sequence, 1, HEADS, DIM, DIM, 0, 1, NULL, &error),
                   FOVEA_ERROR_ARGUMENT);
  assert_says(&error, FOVEA_ERROR_ARGUMENT, words);
  assert_int_equal(fovea_sequence_copy(&sequence, &good, 1, HEADS, DIM, DIM, 0, 1, NULL, NULL),
                   FOVEA_ERROR_ARGUMENT);

  const fovea_pages pages = pages_of(&store, size, FOVEA_KEYS_IN_ROWS);
  assert_int_equal(fovea_cache_contiguous(&pages, 0, made, &error), FOVEA_ERROR_ARGUMENT);
  assert_says(&error, FOVEA_ERROR_ARGUMENT, words);
  assert_int_equal(fovea_cache_ring(&pages, 0, 0, 9, made, &sequence, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_cache_paged(&pages, table, TABLE, 0, 9, made, TABLE, &sequence, NULL),
                   FOVEA_ERROR_ARGUMENT);
  for (size_t i = 0; i < sizeof made; i++) assert_int_equal(((const unsigned char *)made)[i], 0x3a);
  assert_memory_equal(&store, &before, sizeof store);
  guarded_destroy(&memory);
}

/* Not prepared, less than the first version, no multiple of the alignment; and more than this version has, as a
 * program has that was compiled with a later header: what it may have set there would be left out. */
static void test_other_sizes(void **state) {
  (void)state;
  const size_t alignment = _Alignof(fovea_segment), now = NOW;
  for (size_t size = 0; size < EARLIER; size += 4) assert_size_refused(size);
  for (size_t size = EARLIER; size < now; size++)
    if (size % alignment != 0) assert_size_refused(size);
  for (size_t more = 1; more <= 64; more++) assert_size_refused(now + more);
  assert_size_refused(SIZE_MAX);
  assert_size_refused(SIZE_MAX - 7);
  assert_size_refused((size_t)1 << (sizeof(size_t) * 8 - 1));
}

/* Programs that exist have these. */
static void test_first_size(void **state) {
  (void)state;
  if (sizeof(void *) != 8) skip();
  assert_int_equal(EARLIER, 80);
  assert_int_equal(sizeof(fovea_sequence), 24);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_attention),     cmocka_unit_test(test_new_rows),   cmocka_unit_test(test_copies),
      cmocka_unit_test(test_made_segments), cmocka_unit_test(test_layers),     cmocka_unit_test(test_owned_page),
      cmocka_unit_test(test_other_sizes),   cmocka_unit_test(test_first_size),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

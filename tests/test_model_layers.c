/* Layers that share tables: one list of segments for all layers, pages owned with every layer's rows, new rows of
 * packed batches. Each gives what layers with their own lists, and one call for each batch element, give. */
#include "support/check.h"
#include "support/generator.h"

#include <fovea/cache.h>
#include <fovea/fovea.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 3, PAGES = 24, PAGE_ROWS = 16, KV_HEADS = 2, HEADS = 4, QK_DIM = 13, V_DIM = 20, LONGEST = 100 };
enum { ENTRIES = 3 };

/* Keys and values of every layer, batch element and position. */
static float keys[LAYERS][ENTRIES][KV_HEADS][LONGEST][QK_DIM], values[LAYERS][ENTRIES][KV_HEADS][LONGEST][V_DIM];
static float queries[HEADS][QK_DIM];

static void fill(float *numbers, size_t count, struct generator *generator) {
  for (size_t i = 0; i < count; i++) numbers[i] = generator_uniform(generator);
}

static void *allocate(int64_t elements) {
  float *memory = malloc((size_t)elements * sizeof(float));
  assert_non_null(memory);
  for (int64_t i = 0; i < elements; i++) memory[i] = NAN; /* so that a number shows that was not written */
  return memory;
}

/* Pages with all layers, or with one, in f32, so that nothing is rounded. */
static fovea_pages allocate_pages(int64_t layers, fovea_key_layout layout, int rows_first) {
  fovea_pages pages;
  fovea_pages_init(&pages, PAGES, PAGE_ROWS, KV_HEADS, QK_DIM, V_DIM, FOVEA_F32, layout);
  if (rows_first) pages.v_strides = fovea_strides_rows_before_heads(PAGE_ROWS, KV_HEADS, V_DIM);
  pages.layers = layers;
  pages.k = allocate(layers * pages.k_layer);
  pages.v = allocate(layers * pages.v_layer);
  return pages;
}

static void free_pages(fovea_pages *pages) {
  free(pages->k);
  free(pages->v);
}

#define ASSERT_OK(call)                                                                                            \
  do {                                                                                                             \
    fovea_error error;                                                                                             \
    if ((call) != FOVEA_OK) fail_msg("%s", error.text);                                                            \
  } while (0)

/* Appends rows first to end - 1 of one batch element, in one layer. */
static void append(const fovea_sequence *sequence, int64_t segment_layer, int layer, int entry, int64_t first,
                   int64_t end) {
  fovea_new_rows rows;
  fovea_new_rows_init(&rows, 1, KV_HEADS, end - first, QK_DIM, V_DIM, keys[layer][entry][0][first],
                      values[layer][entry][0][first], sequence);
  rows.k_strides.head = LONGEST * QK_DIM;
  rows.v_strides.head = LONGEST * V_DIM;
  rows.first_position = first;
  rows.layer = segment_layer;
  ASSERT_OK(fovea_append(&rows, NULL, NULL, &error));
}

/* Attends from the last of `length` rows, over a cache or (sequence NULL) over the tensors. */
static void attend(const fovea_sequence *sequence, int64_t segment_layer, int layer, int entry, int64_t length,
                   float o[HEADS][V_DIM]) {
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_problem_init(&problem, 1, HEADS, KV_HEADS, 1, length, QK_DIM, V_DIM);
  fovea_tensors_init(&tensors, queries, NULL, NULL, o, NULL);
  if (sequence) {
    problem.cache.segmented = 1;
    tensors.cache.sequences = sequence;
    tensors.cache.layer = segment_layer;
  } else {
    problem.k_strides.head = LONGEST * QK_DIM;
    problem.v_strides.head = LONGEST * V_DIM;
    tensors.k = keys[layer][entry];
    tensors.v = values[layer][entry];
  }
  ASSERT_OK(fovea_attend(&problem, &tensors, NULL, &error));
}

static void assert_layer(const fovea_sequence *sequence, int64_t segment_layer, int layer, int entry,
                         int64_t length) {
  float o[HEADS][V_DIM], expected[HEADS][V_DIM];
  attend(sequence, segment_layer, layer, entry, length, o);
  attend(NULL, 0, layer, entry, length, expected);
  assert_memory_equal(o, expected, sizeof o);
}

/* A cache whose layers lie in one piece of memory (count 1), or in one piece each. */
struct model {
  fovea_pages pages[LAYERS];
  int64_t count;
  fovea_page_pool pool;
  int32_t users[PAGES], tables[ENTRIES][PAGES];
  int64_t page_counts[ENTRIES];
  fovea_segment segments[ENTRIES * PAGES];
  fovea_sequence sequences[ENTRIES];
};

static void model_create(struct model *model, int64_t count, fovea_key_layout layout, int rows_first) {
  model->count = count;
  memset(model->page_counts, 0, sizeof model->page_counts);
  for (int64_t i = 0; i < count; i++) model->pages[i] = allocate_pages(LAYERS / count, layout, rows_first);
  ASSERT_OK(fovea_page_pool_init(&model->pool, model->users, PAGES, &error));
}

static void model_destroy(struct model *model) {
  for (int64_t i = 0; i < model->count; i++) free_pages(&model->pages[i]);
}

/* Appends rows to every layer of a batch element. */
static void model_grow(struct model *model, int entry, int64_t length, int64_t end) {
  int32_t *table = model->tables[entry];
  fovea_segment segments[PAGES];
  fovea_sequence sequence;
  ASSERT_OK(fovea_page_extend(model->pages, model->count, &model->pool, 1, table, PAGES, &model->page_counts[entry],
                              &length, &end, &error));
  for (int layer = 0; layer < LAYERS; layer++) {
    const fovea_pages *pages = &model->pages[model->count == 1 ? 0 : layer];
    if (layer == 0 || model->count > 1) {
      ASSERT_OK(fovea_cache_paged(pages, table, PAGES, 0, end, segments, PAGES, &sequence, &error));
    }
    append(&sequence, model->count == 1 ? layer : 0, layer, entry, length, end);
  }
}

static void model_check(struct model *model, int entry, int64_t length) {
  for (int layer = 0; layer < LAYERS; layer++) {
    const fovea_pages *pages = &model->pages[model->count == 1 ? 0 : layer];
    ASSERT_OK(fovea_cache_paged(pages, model->tables[entry], PAGES, 0, length, model->segments, PAGES,
                                model->sequences, &error));
    assert_layer(model->sequences, model->count == 1 ? layer : 0, layer, entry, length);
  }
}

/* Sequence `to` begins as a copy of sequence `from`: with the same pages, and the same numbers. */
static void model_fork(struct model *model, int from, int to, int64_t length) {
  memcpy(model->tables[to], model->tables[from], sizeof model->tables[to]);
  model->page_counts[to] = model->page_counts[from];
  for (int64_t page = 0; page < model->page_counts[to]; page++)
    ASSERT_OK(fovea_page_share(&model->pool, model->tables[to][page], &error));
  for (int layer = 0; layer < LAYERS; layer++)
    for (int head = 0; head < KV_HEADS; head++) {
      memcpy(keys[layer][to][head], keys[layer][from][head], (size_t)length * sizeof keys[0][0][0][0]);
      memcpy(values[layer][to][head], values[layer][from][head], (size_t)length * sizeof values[0][0][0][0]);
    }
}

/* A prefix is forked, and both sequences go on by themselves, in every layer. */
static void test_fork(void **state) {
  (void)state;
  struct generator generator = {1};
  for (int variant = 0; variant < 8; variant++) {
    static struct model model;
    fill(&keys[0][0][0][0][0], sizeof keys / sizeof(float), &generator);
    fill(&values[0][0][0][0][0], sizeof values / sizeof(float), &generator);
    model_create(&model, variant & 1 ? LAYERS : 1, variant & 2 ? FOVEA_KEYS_IN_PANELS : FOVEA_KEYS_IN_ROWS,
                 variant & 4);
    model_grow(&model, 0, 0, 40);
    model_fork(&model, 0, 1, 40);
    model_grow(&model, 1, 40, 43);
    model_grow(&model, 0, 40, 70);
    model_grow(&model, 1, 43, 55);
    model_check(&model, 0, 70);
    model_check(&model, 1, 55);
    assert_int_equal(model.pool.count - model.pool.free_count, 2 + 3 + 2); /* two pages are shared */
    model_destroy(&model);
  }
}

/* One list for all layers. A segment without layers has one. */
static void test_layer_is_there(void **state) {
  (void)state;
  fovea_pages pages = allocate_pages(LAYERS, FOVEA_KEYS_IN_ROWS, 0);
  fovea_segment segment;
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_error error;
  float o[HEADS][V_DIM];
  ASSERT_OK(fovea_cache_contiguous(&pages, 0, &segment, &error));
  assert_int_equal(segment.layers, LAYERS);
  assert_int_equal(segment.k_layer, PAGES * PAGE_ROWS * KV_HEADS * QK_DIM);
  const fovea_sequence sequence = fovea_sequence_of(&segment, 1);
  fovea_problem_init(&problem, 1, HEADS, KV_HEADS, 1, PAGE_ROWS, QK_DIM, V_DIM);
  problem.cache.segmented = 1;
  fovea_tensors_init(&tensors, queries, NULL, NULL, o, NULL);
  tensors.cache.sequences = &sequence;
  tensors.cache.layer = LAYERS;
  assert_int_equal(fovea_attend(&problem, &tensors, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_string_equal(error.text, "cache.layer is 3; sequences[0].segments[0].layers is 3");
  tensors.cache.layer = -1;
  assert_int_equal(fovea_attend(&problem, &tensors, NULL, &error), FOVEA_ERROR_ARGUMENT);
  tensors.cache.layer = 1;
  segment.layers = 0;
  assert_int_equal(fovea_attend(&problem, &tensors, NULL, &error), FOVEA_ERROR_ARGUMENT);
  segment.layers = -1;
  tensors.cache.layer = 0;
  assert_int_equal(fovea_attend(&problem, &tensors, NULL, &error), FOVEA_ERROR_ARGUMENT);
  segment.layers = LAYERS;
  segment.k_layer = INT64_C(1) << 57;
  assert_int_equal(fovea_attend(&problem, &tensors, NULL, &error), FOVEA_ERROR_ARGUMENT);
  problem.cache.segmented = 0;
  fovea_tensors_init(&tensors, queries, keys, values, o, NULL);
  tensors.cache.layer = 1;
  assert_int_equal(fovea_attend(&problem, &tensors, NULL, &error), FOVEA_ERROR_UNUSED);
  pages.layers = 0;
  assert_int_equal(fovea_cache_contiguous(&pages, 0, &segment, &error), FOVEA_ERROR_ARGUMENT);
  pages.layers = LAYERS;
  pages.v_layer = INT64_C(1) << 57;
  assert_int_equal(fovea_cache_contiguous(&pages, 0, &segment, &error), FOVEA_ERROR_ARGUMENT);
  free_pages(&pages);
}

/* An output that lies among one layer's rows is refused if that layer is read, and only then. */
static void test_overlap_is_the_layers(void **state) {
  (void)state;
  fovea_pages pages = allocate_pages(LAYERS, FOVEA_KEYS_IN_ROWS, 0);
  fovea_segment segment;
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_error error;
  ASSERT_OK(fovea_cache_contiguous(&pages, 0, &segment, &error));
  const fovea_sequence sequence = fovea_sequence_of(&segment, 1);
  fovea_problem_init(&problem, 1, HEADS, KV_HEADS, 1, PAGE_ROWS, QK_DIM, V_DIM);
  problem.cache.segmented = 1;
  fovea_tensors_init(&tensors, queries, NULL, NULL, (float *)pages.v + 2 * pages.v_layer, NULL);
  tensors.cache.sequences = &sequence;
  for (tensors.cache.layer = 0; tensors.cache.layer < LAYERS; tensors.cache.layer++) {
    assert_int_equal(fovea_attend(&problem, &tensors, NULL, &error),
                     tensors.cache.layer == 2 ? FOVEA_ERROR_ARGUMENT : FOVEA_OK);
  }
  free_pages(&pages);
}

/* Rows of a copy must share no byte with the rows of any layer. */
static void test_copies_of_layers(void **state) {
  (void)state;
  fovea_pages pages = allocate_pages(LAYERS, FOVEA_KEYS_IN_PANELS, 0);
  fovea_segment segments[2];
  fovea_error error;
  ASSERT_OK(fovea_cache_contiguous(&pages, 1, &segments[0], &error));
  ASSERT_OK(fovea_cache_contiguous(&pages, 2, &segments[1], &error));
  const fovea_sequence from = fovea_sequence_of(&segments[0], 1), to = fovea_sequence_of(&segments[1], 1);
#define COPY(layers) fovea_sequence_copy(&from, &to, layers, KV_HEADS, QK_DIM, V_DIM, 0, 10, NULL, &error)
  for (int layer = 0; layer < LAYERS; layer++) append(&from, layer, layer, 0, 0, 10);
  ASSERT_OK(COPY(LAYERS));
  for (int layer = 0; layer < LAYERS; layer++) assert_layer(&to, layer, layer, 0, 10);
  assert_int_equal(COPY(LAYERS + 1), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(COPY(0), FOVEA_ERROR_ARGUMENT);
  segments[1].v_layer = 0;
  assert_int_equal(COPY(LAYERS), FOVEA_ERROR_ARGUMENT); /* copied to itself */
  segments[1] = segments[0];
  segments[1].k = (float *)segments[0].k + pages.k_layer; /* layer i over layer i + 1 */
  segments[1].v = (float *)segments[0].v + pages.v_layer;
  assert_int_equal(COPY(2), FOVEA_ERROR_ARGUMENT);
  ASSERT_OK(COPY(1));
#undef COPY
  free_pages(&pages);
}

static void assert_same_segment(const fovea_segment *a, const fovea_segment *b) {
  assert_true(a->first == b->first && a->rows == b->rows && a->k == b->k && a->v == b->v);
  assert_true(a->k_head == b->k_head && a->k_row == b->k_row && a->v_head == b->v_head && a->v_row == b->v_row);
  assert_true(a->k_type == b->k_type && a->v_type == b->v_type && a->k_layout == b->k_layout);
  assert_true(a->layers == b->layers && a->k_layer == b->k_layer && a->v_layer == b->v_layer);
}

/* All batch elements in one call give the segments that single calls give. */
static void test_paged_batch(void **state) {
  (void)state;
  struct generator generator = {2};
  fovea_pages pages = allocate_pages(LAYERS, FOVEA_KEYS_IN_ROWS, 0);
  pages.k_strides = fovea_strides_rows_before_heads(PAGE_ROWS, KV_HEADS, QK_DIM);
  pages.v_strides = fovea_strides_rows_before_heads(PAGE_ROWS, KV_HEADS, V_DIM);
  for (int round = 0; round < 200; round++) {
    int32_t tables[ENTRIES][6];
    int64_t begins[ENTRIES], ends[ENTRIES], total = 0;
    fovea_segment segments[ENTRIES * 6], expected[6];
    fovea_sequence sequences[ENTRIES], sequence;
    fovea_error error;
    for (int b = 0; b < ENTRIES; b++) {
      for (int i = 0; i < 6; i++)
        tables[b][i] = i > 0 && generator_below(&generator, 2) && tables[b][i - 1] + 1 < PAGES
                           ? tables[b][i - 1] + 1
                           : (int32_t)generator_below(&generator, PAGES);
      ends[b] = generator_below(&generator, 6 * PAGE_ROWS + 1);
      begins[b] = generator_below(&generator, ends[b] + 1);
    }
    const int64_t *given = round % 3 ? begins : NULL;
    ASSERT_OK(fovea_cache_paged_batch(&pages, ENTRIES, tables[0], 6, given, ends, segments, ENTRIES * 6, sequences,
                                      &error));
    for (int b = 0; b < ENTRIES; b++) {
      ASSERT_OK(
          fovea_cache_paged(&pages, tables[b], 6, given ? begins[b] : 0, ends[b], expected, 6, &sequence, &error));
      assert_int_equal(sequences[b].count, sequence.count);
      assert_ptr_equal(sequences[b].segments, segments + total);
      for (int64_t i = 0; i < sequence.count; i++) assert_same_segment(&sequences[b].segments[i], &expected[i]);
      total += sequence.count;
    }
    if (total == 0) continue;
    sequences[0].count = -7;
    assert_int_equal(
        fovea_cache_paged_batch(&pages, ENTRIES, tables[0], 6, given, ends, segments, total - 1, sequences, &error),
        FOVEA_ERROR_SPACE);
    assert_int_equal(sequences[0].count, -7); /* nothing is written */
  }
  fovea_error error;
  const int64_t end = 1;
  const int32_t table = 0;
  fovea_segment segment;
  fovea_sequence sequence;
#define BATCH(count, length, end, sequence)                                                                        \
  fovea_cache_paged_batch(&pages, count, &table, length, NULL, end, &segment, 1, sequence, &error)
  assert_int_equal(BATCH(0, 1, &end, &sequence), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(BATCH(1, -1, &end, &sequence), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(BATCH(1, 1, NULL, &sequence), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(BATCH(1, 1, &end, NULL), FOVEA_ERROR_ARGUMENT);
#undef BATCH
  free_pages(&pages);
}

int main(void) {
  struct generator generator = {7};
  fill(&queries[0][0], sizeof queries / sizeof(float), &generator);
  fill(&keys[0][0][0][0][0], sizeof keys / sizeof(float), &generator);
  fill(&values[0][0][0][0][0], sizeof values / sizeof(float), &generator);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_fork),
      cmocka_unit_test(test_layer_is_there),
      cmocka_unit_test(test_overlap_is_the_layers),
      cmocka_unit_test(test_copies_of_layers),
      cmocka_unit_test(test_paged_batch),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Caches of every kind over pages with formats: attention has the bits of attention over f32 tensors that hold the
 * numbers of the codes. Pages copied on write have the bits of the old ones. */
#include "narrow_pages.h"

#include "arch/codes.h"

#include "support/caches.h"
#include "support/check.h"
#include "support/execution.h"

#include <stdlib.h>
#include <string.h>

enum { PAGES = 7, TABLE = 4, KV_HEADS = 2, LAYERS = 2, ENTRIES = 2 };

/* Positions of each batch element: in these pages, in row position % page_rows. */
struct places {
  int32_t table[ENTRIES][3 * TABLE];
  int64_t begins[ENTRIES], ends[ENTRIES];
};

/* As trial_run_cached(), for any layer. */
static void run_layer(struct trial *trial, const char *isa, const fovea_sequence *sequences, const int64_t *begins,
                      int64_t layer) {
  fovea_problem problem = trial->problem;
  fovea_tensors tensors = trial_tensors(trial);
  fovea_error error;
  problem.cache.segmented = 1;
  problem.kv_begins = begins;
  tensors.k = tensors.v = NULL;
  tensors.cache.sequences = sequences;
  tensors.cache.layer = layer;
  trial_clear(trial);
  const fovea_status status = fovea_attend(&problem, &tensors, on_isa(isa), &error);
  trial_load(trial);
  if (status != FOVEA_OK) fail_msg("status %d: %s", (int)status, error.text);
}

/* Compares a layer of the caches with tensors of their numbers. No row sees a position before begins. */
static void check_layer(const struct narrow_pages *made, const fovea_sequence *sequences, int64_t batch,
                        const struct places *places, int64_t rows, int64_t layer) {
  fovea_problem problem;
  int64_t length = 0, visible = INT64_MAX;
  for (int64_t b = 0; b < batch; b++) {
    const int64_t keys = places->ends[b] - places->begins[b];
    if (places->ends[b] > length) length = places->ends[b];
    if (places->begins[b] > 0 && keys < visible) visible = keys;
  }
  if (rows > visible) rows = visible;
  fovea_problem_init(&problem, batch, 2 * KV_HEADS, KV_HEADS, rows, length, made->pages.qk_dim, made->pages.v_dim);
  problem.causal = 1;
  problem.kv_lens = places->ends;
  if (visible < INT64_MAX) problem.window_left = visible - rows;
  struct trial expected = trial_create(&problem, (uint64_t)layer);
  for (int values = 0; values < 2; values++)
    for (int64_t b = 0; b < batch; b++)
      for (int64_t i = places->begins[b]; i < places->ends[b]; i++)
        for (int64_t head = 0; head < KV_HEADS; head++) {
          float *row = tensor_row(values ? &expected.v : &expected.k, b, head, i);
          for (int64_t d = 0; d < made->sides[values].dim; d++)
            row[d] = narrow_pages_element(made, values, layer, places->table[b][i / made->pages.page_rows], head,
                                          i % made->pages.page_rows, d);
        }
  trial_run(&expected, "scalar", NULL);
  struct trial trial = trial_sharing_inputs(&expected);
  for (const char *const *isa = usable_isas_for(&expected.problem); *isa != NULL; isa++) {
    run_layer(&trial, *isa, sequences, places->begins, layer);
    assert_same_outputs(&trial, &expected);
    assert_true(trial_gaps_untouched(&trial));
  }
  trial_destroy(&trial);
  trial_destroy(&expected);
}

static void check_layers(const struct narrow_pages *made, const fovea_sequence *sequences, int64_t batch,
                         const struct places *places, int64_t rows) {
  for (int64_t layer = 0; layer < made->pages.layers; layer++)
    check_layer(made, sequences, batch, places, rows, layer);
}

static void check_contiguous(const struct narrow_pages *made, int64_t rows, struct generator *generator) {
  const int64_t page = generator_below(generator, PAGES), page_rows = made->pages.page_rows;
  struct places places = {.table = {{(int32_t)page}},
                          .ends = {page_rows - generator_below(generator, page_rows / 2)}};
  fovea_segment segment;
  fovea_error error;
  if (fovea_cache_contiguous(&made->pages, page, &segment, &error) != FOVEA_OK) fail_msg("%s", error.text);
  const fovea_sequence sequence = fovea_sequence_of(&segment, 1);
  check_layers(made, &sequence, 1, &places, rows < places.ends[0] ? rows : 1);
}

static void check_paged(const struct narrow_pages *made, int64_t rows, struct generator *generator) {
  const int64_t page_rows = made->pages.page_rows;
  fovea_segment segments[ENTRIES * TABLE];
  fovea_sequence sequences[ENTRIES];
  int32_t tables[ENTRIES * TABLE];
  struct places places;
  fovea_error error;
  for (int b = 0; b < ENTRIES; b++) {
    const int32_t first = (int32_t)generator_below(generator, PAGES);
    for (int i = 0; i < TABLE; i++) {
      /* Pages that follow each other in memory, or any: shared ones, too. */
      const int32_t page = b ? (int32_t)generator_below(generator, PAGES) : (first + i) % PAGES;
      tables[b * TABLE + i] = places.table[b][i] = page;
    }
    places.ends[b] = TABLE * page_rows - generator_below(generator, page_rows);
    places.begins[b] = generator_below(generator, 3 * page_rows);
  }
  if (fovea_cache_paged_batch(&made->pages, ENTRIES, tables, TABLE, places.begins, places.ends, segments,
                              ENTRIES * TABLE, sequences, &error) != FOVEA_OK)
    fail_msg("%s", error.text);
  check_layers(made, sequences, ENTRIES, &places, rows);
}

static int64_t round_up(int64_t number, int64_t step) {
  return (number + step - 1) / step * step;
}

static void check_ring(const struct narrow_pages *made, int64_t rows, struct generator *generator) {
  const int64_t page_rows = made->pages.page_rows, page = generator_below(generator, PAGES);
  struct places places = {.ends = {1 + generator_below(generator, 3 * page_rows)}};
  int64_t begin = 0;
  for (int i = 0; i < 3 * TABLE; i++) places.table[0][i] = (int32_t)page;
  for (int values = 0; values < 2; values++) {
    const int64_t group = made->sides[values].format.key_group > 1 ? made->sides[values].format.key_group : 1;
    const int64_t least = round_up(places.ends[0], group) - page_rows;
    if (least > begin) begin = least;
  }
  if (begin >= places.ends[0]) begin = places.ends[0] - 1;
  places.begins[0] = begin;
  fovea_segment segments[FOVEA_RING_SEGMENTS];
  fovea_sequence sequence;
  fovea_error error;
  if (fovea_cache_ring(&made->pages, page, begin, places.ends[0], segments, &sequence, &error) != FOVEA_OK)
    fail_msg("%s", error.text);
  check_layers(made, &sequence, 1, &places, rows < places.ends[0] ? rows : 1);
}

/* The least page of at least 16 rows that holds whole groups. */
static int64_t page_rows_for(const fovea_format *k, const fovea_format *v, int64_t wanted) {
  const struct narrow sides[2] = {{.format = *k, .dim = 32}, {.format = *v, .dim = 32}};
  int64_t rows = wanted;
  while (rows % narrow_keys_together(&sides[0]) != 0 || rows % narrow_keys_together(&sides[1]) != 0) rows++;
  return rows;
}

/* Every preset in every layout; if there is little time, in every second one. */
static void test_kinds(void **state) {
  (void)state;
  static const int64_t rows[] = {1, 5, 40}, wanted[] = {16, 16, 7, 40};
  struct generator generator = {1};
  int number = 0;
  for (int name = 0; name < NARROW_FORMATS; name++)
    for (int layout = USUAL_OR_LONG(name % 2, 0); layout < PAGE_LAYOUTS; layout += USUAL_OR_LONG(2, 1), number++) {
      const fovea_format k = narrow_format((fovea_format_name)name);
      const fovea_format v =
          number % 2 ? narrow_format((fovea_format_name)generator_below(&generator, NARROW_FORMATS)) : k;
      struct narrow_pages made;
      narrow_pages_make(&made, &k, &v, PAGES, page_rows_for(&k, &v, wanted[number % 4]), KV_HEADS,
                        32 * (1 + number % 3), 32 * (1 + number % 2), 1 + number % LAYERS, (enum page_layout)layout,
                        &generator);
      check_contiguous(&made, rows[number % 3], &generator);
      check_paged(&made, rows[(number + 1) % 3], &generator);
      check_ring(&made, rows[number % 2], &generator);
      narrow_pages_destroy(&made);
    }
}

/* One side with a format, the other in f32: rows of values, or panels of keys. */
static void test_one_side(void **state) {
  (void)state;
  struct generator generator = {2};
  for (int name = 0; name < NARROW_FORMATS; name++)
    for (int values = 0; values < 2; values++) {
      const fovea_format format = narrow_format((fovea_format_name)name);
      struct narrow_pages made;
      narrow_pages_make(&made, values ? NULL : &format, values ? &format : NULL, PAGES,
                        page_rows_for(&format, &format, 16), KV_HEADS, 32, 64, 1,
                        (enum page_layout)(name % PAGE_LAYOUTS), &generator);
      check_paged(&made, 3, &generator);
      check_ring(&made, 3, &generator);
      narrow_pages_destroy(&made);
    }
}

/* Descriptors that no preset has. */
static void test_descriptors(void **state) {
  (void)state;
  static const int64_t groups[] = {0, 1, 8, 24}, key_groups[] = {0, 1, 3, 8, 16};
  struct generator generator = {3};
  int tried = 0;
  for (int i = 0; i < USUAL_OR_LONG(200, 1500); i++) {
    fovea_format format = {.struct_size = sizeof format};
    const int64_t dim = i % 2 ? 48 : 24;
    format.code = (fovea_code)generator_below(&generator, FOVEA_CODE_COUNT);
    format.formula = (fovea_formula)generator_below(&generator, 3);
    format.place = (fovea_scale_place)generator_below(&generator, 3);
    format.scale_type = (fovea_type)generator_below(&generator, 3);
    format.group = groups[generator_below(&generator, 4)];
    format.key_group = key_groups[generator_below(&generator, 5)];
    if (i % 4 == 3) narrow_any_order(&format, &generator);
    if (fovea_format_bytes(&format, dim, NULL) == 0) continue;
    struct narrow_pages made;
    narrow_pages_make(&made, &format, &format, PAGES, page_rows_for(&format, &format, 12), KV_HEADS, dim, dim, 1,
                      (enum page_layout)(i % PAGE_LAYOUTS), &generator);
    check_paged(&made, 2, &generator);
    check_ring(&made, 2, &generator);
    narrow_pages_destroy(&made);
    tried++;
  }
  assert_true(tried > USUAL_OR_LONG(20, 150));
}

/* Pages that follow each other are one segment only if their scales do, too. */
static void test_joined_pages(void **state) {
  (void)state;
  static const int32_t table[TABLE] = {2, 3, 4, 5};
  static const int names[] = {FOVEA_FORMAT_I8_ROWS, FOVEA_FORMAT_Q8_0, FOVEA_FORMAT_ORT_S8, FOVEA_FORMAT_KIVI_K4};
  struct generator generator = {4};
  for (int i = 0; i < 4; i++) {
    const fovea_format format = narrow_format((fovea_format_name)names[i]);
    const int apart = format.place == FOVEA_SCALES_APART;
    for (int kind = 0; kind < 3; kind++) { /* default strides; scales of pages with a gap; codes with a gap */
      struct narrow_pages made;
      fovea_segment segments[TABLE];
      fovea_sequence sequence;
      narrow_pages_make(&made, &format, &format, PAGES, 32, 1, 32, 32, 1, PAGES_DEFAULT, &generator);
      if (kind == 1 && format.key_group == 0) made.pages.v_scale_page = 4;
      if (kind == 1 && apart) made.pages.v_scale_page += 4;
      if (kind == 2) made.pages.k_strides.batch += 4;
      assert_int_equal(
          fovea_cache_paged(&made.pages, table, TABLE, 0, TABLE * 32, segments, TABLE, &sequence, NULL), FOVEA_OK);
      assert_int_equal(sequence.count, kind == 2 || (kind == 1 && apart) ? TABLE : 1);
      narrow_pages_destroy(&made);
    }
  }
}

/* All elements of all pages. */
static float *read_all(const struct narrow_pages *made, int64_t *count) {
  const fovea_pages *p = &made->pages;
  *count = p->layers * p->count * p->kv_heads * p->page_rows * (p->qk_dim + p->v_dim);
  float *all = malloc((size_t)*count * sizeof *all), *at = all;
  for (int64_t page = 0; page < p->count; page++)
    for (int64_t row = 0; row < p->page_rows; row++)
      for (int64_t layer = 0; layer < p->layers; layer++)
        for (int64_t head = 0; head < p->kv_heads; head++)
          for (int values = 0; values < 2; values++)
            for (int64_t d = 0; d < made->sides[values].dim; d++)
              *at++ = narrow_pages_element(made, values, layer, page, head, row, d);
  return all;
}

/* Owns a shared page, or makes room after rows that end in one: its rows are in the new page, and no other page
 * has changed. */
static void check_own(struct narrow_pages *made, int extend, struct generator *generator) {
  const int64_t page_rows = made->pages.page_rows, rows = 1 + generator_below(generator, page_rows - 1);
  int32_t references[PAGES], table[2], old = 0;
  int64_t count, page_count = 1;
  const int64_t end = rows + 1;
  fovea_page_pool pool;
  fovea_error error;
  float *before = read_all(made, &count);
  const int64_t row = count / PAGES / page_rows;
  assert_int_equal(fovea_page_pool_init(&pool, references, PAGES, NULL), FOVEA_OK);
  for (int64_t i = generator_below(generator, PAGES - 2); i >= 0; i--)
    assert_int_equal(fovea_page_take(&pool, &old, NULL), FOVEA_OK);
  assert_int_equal(fovea_page_share(&pool, old, NULL), FOVEA_OK);
  table[0] = old;
  const fovea_status status =
      extend ? fovea_page_extend(&made->pages, 1, &pool, 1, table, 2, &page_count, &rows, &end, &error)
             : fovea_page_own(&made->pages, 1, &pool, &table[0], rows, &error);
  if (status != FOVEA_OK) fail_msg("%s", error.text);
  assert_int_not_equal(table[0], old);
  float *after = read_all(made, &count);
  for (int64_t page = 0; page < PAGES; page++) {
    const int64_t kept = page == table[0] ? rows : page_rows, from = page == table[0] ? old : page;
    assert_memory_equal(after + page * page_rows * row, before + from * page_rows * row,
                        (size_t)(kept * row) * sizeof *after);
  }
  free(before);
  free(after);
}

static void test_own(void **state) {
  (void)state;
  struct generator generator = {5};
  for (int i = 0; i < PAGE_LAYOUTS * NARROW_FORMATS; i += USUAL_OR_LONG(3, 1)) {
    const fovea_format k = narrow_format((fovea_format_name)(i / PAGE_LAYOUTS));
    const fovea_format v =
        i / 3 % 3 ? k : narrow_format((fovea_format_name)generator_below(&generator, NARROW_FORMATS));
    struct narrow_pages made;
    narrow_pages_make(&made, i % 7 == 5 ? NULL : &k, i % 7 == 6 ? NULL : &v, PAGES, page_rows_for(&k, &v, 16),
                      KV_HEADS, 32, 32, 1 + i % LAYERS, (enum page_layout)(i % PAGE_LAYOUTS), &generator);
    check_own(&made, i % 2, &generator);
    narrow_pages_destroy(&made);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_kinds),        cmocka_unit_test(test_one_side), cmocka_unit_test(test_descriptors),
      cmocka_unit_test(test_joined_pages), cmocka_unit_test(test_own),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

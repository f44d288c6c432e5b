/* Attention over quantised caches has the bits of attention over f32 tensors that hold their numbers: for every
 * format, cut anywhere, mixed with other formats, for every rule, on every instruction set. */
#include "narrow.h"

#include "arch/codes.h"

#include "support/caches.h"
#include "support/check.h"
#include "support/modes.h"

#include <math.h>
#include <string.h>

enum { SEGMENTS = 8, FORMAT_DIM = 32 };

/* A sequence of segments, each with formats of its own. */
struct narrow_cache {
  fovea_segment segments[SEGMENTS];
  struct narrow keys[SEGMENTS], values[SEGMENTS];
  int count;
};

/* The same format in another order, as far as there is one. */
static fovea_format reordered(const fovea_format *format, int64_t dim, struct generator *generator) {
  fovea_format other = *format;
  other.order = (fovea_code_order)(FOVEA_ORDER_DIM_PAIRS + generator_below(generator, 2));
  other.order_keys = 16;
  return format->order == FOVEA_ORDER_ROWS && fovea_format_bytes(&other, dim, NULL) > 0 ? other : *format;
}

enum { ONE_FORMAT, OTHER_FORMATS, OTHER_ORDERS };

/* Formats of neighbouring segments differ if `mixed`, or only their orders. The numbers go to batch element b of
 * the trial. */
static void cache_fill(struct narrow_cache *cache, struct trial *trial, int64_t b, const fovea_format *k,
                       const fovea_format *v, int mixed, struct generator *generator) {
  const fovea_problem *p = &trial->problem;
  memset(cache, 0, sizeof *cache);
  for (int64_t first = 0; first < p->kv_len; cache->count++) {
    const int i = cache->count;
    const int64_t left = p->kv_len - first, most = i == SEGMENTS - 1 ? left : left / 2 + 1;
    fovea_format other_k = narrow_format((fovea_format_name)generator_below(generator, NARROW_FORMATS));
    fovea_format other_v = narrow_format((fovea_format_name)generator_below(generator, NARROW_FORMATS));
    if (mixed == OTHER_ORDERS) {
      other_k = reordered(k, p->qk_dim, generator);
      other_v = reordered(v, p->v_dim, generator);
    }
    fovea_segment *segment = &cache->segments[i];
    segment->first = first;
    if (first % 16 == 0 && i % 2 == 0 && fovea_format_panel_bytes(k, p->qk_dim, NULL) > 0)
      segment->k_layout = FOVEA_KEYS_IN_PANELS;
    segment->rows =
        i == SEGMENTS - 1 || generator_below(generator, 3) == 0 ? left : 1 + generator_below(generator, most);
    narrow_make(&cache->keys[i], mixed && i % 2 ? &other_k : k, p->kv_heads, p->qk_dim, i % 3 == 1, segment, 0,
                generator);
    narrow_make(&cache->values[i], mixed && i % 2 ? &other_v : v, p->kv_heads, p->v_dim, i % 3 == 2, segment, 1,
                generator);
    for (int64_t h = 0; h < p->kv_heads; h++)
      for (int64_t row = 0; row < segment->rows; row++) {
        float *key = tensor_row(&trial->k, b, h, first + row), *value = tensor_row(&trial->v, b, h, first + row);
        for (int64_t d = 0; d < p->qk_dim; d++) key[d] = narrow_element(&cache->keys[i], segment, 0, h, row, d);
        for (int64_t d = 0; d < p->v_dim; d++) value[d] = narrow_element(&cache->values[i], segment, 1, h, row, d);
      }
    first += segment->rows;
  }
}

static void cache_end(struct narrow_cache *cache) {
  for (int i = 0; i < cache->count; i++) {
    narrow_destroy(&cache->keys[i]);
    narrow_destroy(&cache->values[i]);
  }
}

static void check_formats(const fovea_problem *problem, const fovea_format *k, const fovea_format *v, int mixed,
                          uint64_t seed, struct generator *generator) {
  static struct narrow_cache caches[LISTED_ENTRIES];
  fovea_sequence sequences[LISTED_ENTRIES];
  struct trial expected = trial_create(problem, seed);
  for (int64_t b = 0; b < problem->batch; b++) {
    cache_fill(&caches[b], &expected, b, k, v, mixed, generator);
    sequences[b] = fovea_sequence_of(caches[b].segments, caches[b].count);
  }
  trial_run(&expected, "scalar", NULL);
  struct trial trial = trial_sharing_inputs(&expected);
  for (const char *const *isa = usable_isas_for(&expected.problem); *isa != NULL; isa++) {
    trial_run_cached(&trial, *isa, sequences, NULL);
    assert_same_outputs(&trial, &expected);
    assert_true(trial_gaps_untouched(&trial));
  }
  trial_destroy(&trial);
  trial_destroy(&expected);
  for (int64_t b = 0; b < problem->batch; b++) cache_end(&caches[b]);
}

/* Every preset, for a row that is decoded, a few rows, and rows that fill tiles. */
static void test_presets(void **state) {
  (void)state;
  static const int64_t rows[] = {1, 6, 70};
  struct generator generator = {1};
  for (int name = 0; name < NARROW_FORMATS; name++)
    for (int i = 0; i < 3; i++) {
      const fovea_format format = narrow_format((fovea_format_name)name);
      const int64_t kv_heads = i == 2 ? USUAL_OR_LONG(1, 2) : 2;
      fovea_problem problem;
      fovea_problem_init(&problem, 1 + i % 2, 2 * kv_heads, kv_heads, rows[i], 150 + 40 * i, 32 * (1 + name % 4),
                         32 * (1 + i));
      problem.causal = i != 1;
      if (i == 2) problem.window_left = 90;
      check_formats(&problem, &format, &format, 0, (uint64_t)name, &generator);
    }
}

/* Any problem, with other formats from segment to segment. */
static void test_mixed(void **state) {
  (void)state;
  struct generator generator = {2};
  for (int i = 0; i < USUAL_OR_LONG(10, 60); i++) {
    struct listed_problem listed;
    problem_random(&listed, &generator, USUAL_OR_LONG(INT64_C(100000), INT64_C(1000000)));
    fovea_problem *problem = &listed.problem;
    const fovea_format k = narrow_format((fovea_format_name)generator_below(&generator, NARROW_FORMATS));
    const fovea_format v = narrow_format((fovea_format_name)generator_below(&generator, NARROW_FORMATS));
    fovea_problem_init(problem, problem->batch, problem->heads, problem->kv_heads,
                       i % 2 ? problem->q_len : 1 + i % 5, problem->kv_len % 700, FORMAT_DIM * (1 + i % 5),
                       FORMAT_DIM * (1 + generator_below(&generator, 4)));
    problem->causal = 1;
    problem_say_offset(problem);
    problem_random_features(problem, &generator);
    problem->q_type = problem->k_type = problem->v_type = FOVEA_F32;
    problem_random_normaliser(problem, &generator);
    problem_random_modes(problem, &generator, 4);
    /* int8 takes some rows as they lie, not as their numbers: test_int8_rows.c */
    if (problem->modes.score == FOVEA_MODE_INT8) problem->modes.score = FOVEA_MODE_BF16;
    if (problem->modes.value == FOVEA_MODE_INT8) problem->modes.value = FOVEA_MODE_BF16;
    problem_remove_vectors(problem);
    check_formats(problem, &k, &v, 1, (uint64_t)i, &generator);
  }
}

/* Descriptors that no preset has: every code with every formula, place and group that go together. */
static void test_descriptors(void **state) {
  (void)state;
  static const int64_t groups[] = {0, 1, 2, 8, 24, 48}, key_groups[] = {0, 1, 3, 16, 32};
  struct generator generator = {3};
  int tried = 0;
  for (int i = 0; i < USUAL_OR_LONG(300, 2000); i++) {
    fovea_format format = {.struct_size = sizeof format};
    const int64_t dim = i % 3 == 0 ? 48 : i % 3 == 1 ? 96 : 7;
    format.code = (fovea_code)generator_below(&generator, FOVEA_CODE_COUNT);
    format.formula = (fovea_formula)generator_below(&generator, 3);
    format.place = (fovea_scale_place)generator_below(&generator, 3);
    format.scale_type = (fovea_type)generator_below(&generator, 3);
    format.group = groups[generator_below(&generator, 6)];
    format.key_group = key_groups[generator_below(&generator, 5)];
    if (generator_below(&generator, 3) == 0) format.bias = (int)generator_below(&generator, 129);
    if (i % 4 == 3) narrow_any_order(&format, &generator);
    if (fovea_format_bytes(&format, dim, NULL) == 0) continue;
    fovea_problem problem;
    fovea_problem_init(&problem, 1, 2, 1, i % 2 ? 1 : 5, 75, dim, dim);
    check_formats(&problem, &format, &format, 0, (uint64_t)i, &generator);
    tried++;
  }
  assert_true(tried > USUAL_OR_LONG(20, 150));
}

/* Segments of one format in several orders, which meet in a block: decoding reads only the rows in registers. */
static void test_orders_meet(void **state) {
  (void)state;
  static const fovea_format_name names[] = {FOVEA_FORMAT_E4M3, FOVEA_FORMAT_E5M2, FOVEA_FORMAT_I8_ROWS,
                                            FOVEA_FORMAT_ORT_S8};
  struct generator generator = {4};
  for (int i = 0; i < USUAL_OR_LONG(16, 80); i++) {
    const fovea_format format = narrow_format(names[i % 4]);
    fovea_problem problem;
    fovea_problem_init(&problem, 1, 4, 2, 1 + i % 3, 90 + 7 * (i % 9), 32, 64);
    problem.causal = 1;
    check_formats(&problem, &format, &format, OTHER_ORDERS, (uint64_t)i, &generator);
  }
}

/* A list of some of the segments, some of them without their last rows. The last segment stays as it is. */
static int64_t drop_rows(const struct narrow_cache *cache, fovea_segment left[SEGMENTS], unsigned char *held,
                         struct generator *generator) {
  int64_t count = 0;
  for (int i = 0; i < cache->count; i++) {
    fovea_segment segment = cache->segments[i];
    const int64_t choice = i + 1 < cache->count ? generator_below(generator, 3) : 0;
    if (choice == 2) segment.rows = generator_below(generator, segment.rows + 1);
    if (choice == 1) segment.rows = 0;
    memset(held + cache->segments[i].first, 0, (size_t)cache->segments[i].rows);
    memset(held + segment.first, 1, (size_t)segment.rows);
    if (segment.rows > 0) left[count++] = segment;
  }
  return count;
}

/* Holes have the bits of a mask over all segments, in every mode. */
static void check_holes(const fovea_problem *problem, const fovea_format *k, const fovea_format *v, int mixed,
                        uint64_t seed, struct generator *generator) {
  static struct narrow_cache cache;
  unsigned char held[700];
  fovea_segment left[SEGMENTS];
  fovea_problem masked = *problem;
  masked.mask.type = FOVEA_MASK_BOOL;
  struct trial expected = trial_create(&masked, seed), trial = trial_create(problem, seed);
  cache_fill(&cache, &expected, 0, k, v, mixed, generator);
  const fovea_sequence all = fovea_sequence_of(cache.segments, cache.count);
  const fovea_sequence some = fovea_sequence_of(left, drop_rows(&cache, left, held, generator));
  for (int64_t h = 0; h < problem->heads; h++)
    for (int64_t i = 0; i < problem->q_len; i++)
      for (int64_t key = 0; key < problem->kv_len; key++)
        mask_set(&expected.mask, 0, h, i, key, held[key] ? 0.0f : -INFINITY);
  trial_run_cached(&expected, "scalar", &all, NULL);
  trial.problem.cache.holes = 1;
  for (const char *const *isa = usable_isas_for(problem); *isa != NULL; isa++) {
    trial_run_cached(&trial, *isa, &some, NULL);
    assert_same_outputs(&trial, &expected);
  }
  trial_destroy(&trial);
  trial_destroy(&expected);
  cache_end(&cache);
}

static void test_holes(void **state) {
  (void)state;
  static const int64_t rows[] = {1, 3, 20, 70};
  struct generator generator = {5};
  for (int i = 0; i < USUAL_OR_LONG(2, 10) * NARROW_FORMATS; i++) {
    const fovea_format format = narrow_format((fovea_format_name)(i % NARROW_FORMATS));
    const int64_t kv_heads = i % 4 > 1 ? USUAL_OR_LONG(1, 2) : 2;
    fovea_problem problem;
    fovea_problem_init(&problem, 1, 2 * kv_heads, kv_heads, rows[i % 4],
                       100 + generator_below(&generator, USUAL_OR_LONG(300, 500)), 32 * (1 + i % 3),
                       32 * (1 + i % 5 % 2));
    fovea_problem_resolve(&problem, NULL);
    problem.causal = i % 3 != 0;
    if (i % 2) problem_set_modes(&problem, (int)generator_below(&generator, MODE_PAIRS));
    if (i % 2) problem_random_vectors(&problem, &generator);
    check_holes(&problem, &format, &format, i % 3, (uint64_t)i, &generator);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_presets),     cmocka_unit_test(test_orders_meet), cmocka_unit_test(test_mixed),
      cmocka_unit_test(test_descriptors), cmocka_unit_test(test_holes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

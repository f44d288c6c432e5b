/* Attention over caches of every kind gives the bits that contiguous tensors give, on every instruction set. */
#include "support/caches.h"
#include "support/check.h"
#include "support/modes.h"

#include <stdlib.h>
#include <string.h>

/* Runs the trial on the cache and compares. `expected` has the outputs for contiguous tensors. */
static void check_cache(struct trial *trial, const struct trial *expected, enum cache_kind kind, int mixed,
                        const int64_t *begins, struct generator *generator) {
  struct cache cache = cache_create(trial, kind, mixed, begins, generator);
  for (const char *const *isa = usable_isas_for(&trial->problem); *isa != NULL; isa++) {
    trial_run_cached(trial, *isa, cache.sequences, begins);
    assert_same_outputs(trial, expected);
    assert_true(trial_gaps_untouched(trial));
  }
  cache_destroy(&cache);
}

/* Numbers that every type can hold. */
static void fill_coarse(struct tensor *tensor, struct generator *generator) {
  for (int64_t b = 0; b < tensor->batch; b++)
    for (int64_t h = 0; h < tensor->heads; h++)
      for (int64_t i = 0; i < tensor->rows; i++)
        for (int64_t d = 0; d < tensor->dim; d++)
          tensor_row(tensor, b, h, i)[d] = (float)(generator_below(generator, 255) - 127) / 64.0f;
}

static void check_problem(const fovea_problem *problem, uint64_t seed, struct generator *generator) {
  struct trial expected = trial_create(problem, seed);
  const int mixed = generator_below(generator, 3) == 0;
  if (mixed) {
    fill_coarse(&expected.k, generator);
    fill_coarse(&expected.v, generator);
  }
  trial_run(&expected, "scalar", NULL);
  struct trial trial = trial_sharing_inputs(&expected);
  for (int kind = 0; kind < CACHE_KINDS; kind++)
    check_cache(&trial, &expected, (enum cache_kind)kind, mixed, NULL, generator);
  trial_destroy(&trial);
  trial_destroy(&expected);
}

/* Few rows, which are decoded, or all rows. */
static void test_random_problems(void **state) {
  (void)state;
  struct generator generator = {2};
  for (int i = 0; i < USUAL_OR_LONG(6, 20); i++) {
    struct listed_problem listed;
    problem_random(&listed, &generator, USUAL_OR_LONG(INT64_C(200000), INT64_C(6000000)));
    fovea_problem *problem = &listed.problem;
    problem->cu_seqlens_kv = NULL;
    problem_say_offsets(problem, listed.offsets);
    if (i % 2 == 0 && problem->q_len > 16) {
      fovea_problem_init(problem, problem->batch, problem->heads, problem->kv_heads, 1 + i % 5, problem->kv_len,
                         problem->qk_dim, problem->v_dim);
      fovea_problem_resolve(problem, NULL);
      problem->causal = 1;
      problem_say_offset(problem);
    }
    problem_random_features(problem, &generator);
    problem_random_normaliser(problem, &generator);
    problem_random_modes(problem, &generator, 4);
    check_problem(problem, (uint64_t)i, &generator);
  }
}

/* Every number of rows that decoding takes, with dims around the sizes of its vectors and pieces. */
static void test_few_rows(void **state) {
  (void)state;
  static const int64_t dims[] = {1, 7, 16, 63, 128, 129, 200};
  struct generator generator = {3};
  for (int64_t rows = 1; rows <= 17; rows += USUAL_OR_LONG(5, 1)) {
    for (int type = 0; type < 3; type++) {
      fovea_problem problem;
      const int64_t dim = dims[generator_below(&generator, 7)];
      fovea_problem_init(&problem, 1, rows % 3 == 0 ? 3 : 2, 1, rows, 300 + rows, dim,
                         dims[generator_below(&generator, 7)]);
      fovea_problem_resolve(&problem, NULL);
      problem.causal = 1;
      problem.k_type = problem.v_type = (fovea_type)type;
      if (rows % 2 == 0) problem.window_left = 170;
      check_problem(&problem, (uint64_t)rows, &generator);
    }
  }
}

/* Positions that no window reaches are not held, and their rows are gone. */
static void test_begins(void **state) {
  (void)state;
  struct generator generator = {4};
  for (int i = 0; i < USUAL_OR_LONG(6, 20); i++) {
    const int64_t rows = 1 + generator_below(&generator, i % 2 ? 5 : 60), window = generator_below(&generator, 300);
    const int64_t length = rows + generator_below(&generator, 1000);
    int64_t begins[2], lengths[2];
    fovea_problem problem;
    fovea_problem_init(&problem, 2, 4, 2, rows, length, 40, 24);
    fovea_problem_resolve(&problem, NULL);
    problem.causal = 1;
    problem.window_left = window;
    problem.kv_lens = lengths;
    problem.k_type = problem.v_type = (fovea_type)(i % 3);
    for (int b = 0; b < 2; b++) {
      lengths[b] = length - generator_below(&generator, (length - rows) / 2 + 1);
      begins[b] = lengths[b] - rows - window > 0 ? lengths[b] - rows - window : 0;
    }
    struct trial expected = trial_create(&problem, (uint64_t)i);
    trial_run(&expected, "scalar", NULL);
    struct trial trial = trial_sharing_inputs(&expected);
    for (int kind = 0; kind < CACHE_KINDS; kind++)
      check_cache(&trial, &expected, (enum cache_kind)kind, 0, begins, &generator);
    trial_destroy(&trial);
    trial_destroy(&expected);
  }
}

/* Without a window, positions that are not held are not visible, as if a mask hid them. */
static void test_begins_alone(void **state) {
  (void)state;
  struct generator generator = {5};
  for (int i = 0; i < USUAL_OR_LONG(4, 20); i++) {
    const int64_t rows = i % 2 ? 1 + generator_below(&generator, 4) : 40, length = 500;
    const int64_t begins[1] = {i == 0 ? length : generator_below(&generator, length)};
    fovea_problem problem;
    fovea_problem_init(&problem, 1, 2, 1, rows, length, 33, 20);
    fovea_problem_resolve(&problem, NULL);
    problem.causal = i % 3 == 0;
    problem.k_type = (fovea_type)(i % 3);
    fovea_problem masked = problem;
    masked.mask.type = FOVEA_MASK_BOOL;
    struct trial expected = trial_create(&masked, (uint64_t)i);
    unsigned char *mask = expected.mask.data;
    for (int64_t element = 0; element < 2 * rows * length; element++) mask[element] = element % length >= begins[0];
    trial_run(&expected, "scalar", NULL);
    struct trial trial = trial_create(&problem, (uint64_t)i);
    for (int kind = 0; kind < CACHE_KINDS; kind++)
      check_cache(&trial, &expected, (enum cache_kind)kind, 0, begins, &generator);
    trial_destroy(&trial);
    trial_destroy(&expected);
  }
}

/* Pages that continue in memory where the page before ends make one segment, in any order. */
static void test_pages_that_follow(void **state) {
  (void)state;
  static float k[6 * 3 * 4 * 16], v[6 * 3 * 7 * 16];
  const int32_t ascending[] = {1, 2, 3, 5, 0}, descending[] = {5, 4, 3, 2, 0};
  fovea_segment segments[5];
  fovea_sequence sequence;
  fovea_pages pages;
  fovea_pages_init(&pages, 6, 3, 2, 4, 7, FOVEA_F32, FOVEA_KEYS_IN_ROWS);
  pages.k = k;
  pages.v = v;
#define MADE(table, begin, end, limit)                                                                             \
  fovea_cache_paged(&pages, table, 5, begin, end, segments, limit, &sequence, NULL), sequence.count
  assert_int_equal((MADE(ascending, 0, 15, 5)), 5); /* the other head lies between */
  pages.k_strides = fovea_strides_rows_before_heads(3, 2, 4);
  assert_int_equal((MADE(ascending, 0, 15, 5)), 5); /* of v still */
  pages.v_strides = fovea_strides_rows_before_heads(3, 2, 7);
  assert_int_equal((MADE(ascending, 0, 15, 3)), 3);
  assert_int_equal(segments[0].rows, 9);
  assert_ptr_equal(segments[1].k, k + 5 * pages.k_strides.batch);
  assert_int_equal(segments[2].first, 12);
  assert_int_equal((MADE(ascending, 4, 7, 1)), 1);
  assert_int_equal(segments[0].first, 3);
  assert_int_equal((MADE(descending, 0, 15, 5)), 5);
  pages.k = k + 5 * pages.k_strides.batch;
  pages.v = v + 5 * pages.v_strides.batch;
  pages.k_strides.batch = -pages.k_strides.batch;
  pages.v_strides.batch = -pages.v_strides.batch;
  assert_int_equal((MADE(descending, 0, 15, 5)), 2);
#undef MADE
  fovea_pages_init(&pages, 6, 48, 1, 4, 7, FOVEA_F32, FOVEA_KEYS_IN_PANELS);
  pages.k = k;
  pages.v = v;
  assert_int_equal(pages.k_strides.batch, 3 * 4 * 16);
  assert_int_equal(fovea_cache_paged(&pages, ascending, 5, 0, 240, segments, 5, &sequence, NULL), FOVEA_OK);
  assert_int_equal(sequence.count, 3);
}

enum { STREAM = 150, STREAM_DIM = 8, STREAM_HEADS = 2 };

/* Attends from rows first to end - 1 of the stream, over what the ring holds of its first `keys` keys. Returns
 * whether they have the bits that they have in `whole`. */
static int attend_to_ring(const struct trial *whole, const fovea_sequence *sequence, int64_t begin, int64_t keys,
                          int64_t first, int64_t end) {
  fovea_problem problem = whole->problem;
  fovea_tensors tensors = trial_tensors(whole);
  float o[STREAM_HEADS][STREAM][STREAM_DIM], lse[STREAM_HEADS][STREAM];
  int same = 1;
  problem.q_len = end - first;
  problem.kv_len = keys;
  problem.offset = first;
  problem.cache.segmented = 1;
  problem.kv_begins = &begin;
  problem.o_strides = (fovea_strides){0, STREAM * STREAM_DIM, STREAM_DIM};
  problem.lse_strides = (fovea_strides){0, STREAM, 1};
  tensors.q = (const float *)tensors.q + first * problem.q_strides.row;
  tensors.k = tensors.v = NULL;
  tensors.o = o;
  tensors.lse = lse[0];
  tensors.cache.sequences = sequence;
  if (fovea_attend(&problem, &tensors, NULL, NULL) != FOVEA_OK) return 0;
  for (int64_t head = 0; head < STREAM_HEADS; head++)
    for (int64_t row = first; row < end; row++) {
      same = same && memcmp(o[head][row - first], tensor_row(&whole->o, 0, head, row), sizeof o[0][0]) == 0;
      same = same && memcmp(&lse[head][row - first], tensor_row(&whole->lse, 0, head, row), sizeof(float)) == 0;
    }
  return same;
}

/* Streams chunks through a ring, `push` new keys in each step. Rows attend as soon as all keys that they see are
 * there. Returns whether every step has the bits of one call. */
static int stream_through_ring(const struct trial *whole, int64_t capacity, int64_t push) {
  const fovea_problem *problem = &whole->problem;
  const fovea_tensors tensors = trial_tensors(whole);
  float k[STREAM * STREAM_DIM], v[STREAM * STREAM_DIM];
  fovea_pages pages;
  fovea_pages_init(&pages, 1, capacity, 1, STREAM_DIM, STREAM_DIM, FOVEA_F32, FOVEA_KEYS_IN_ROWS);
  pages.k = k;
  pages.v = v;
  int64_t ready = 0;
  int right = 1;
  for (int64_t end = push; end <= STREAM && right; end += push) {
    fovea_segment segments[FOVEA_RING_SEGMENTS];
    fovea_sequence sequence;
    fovea_new_rows rows;
    const int64_t begin = end > capacity ? end - capacity : 0, first = ready;
    assert_int_equal(fovea_cache_ring(&pages, 0, begin, end, segments, &sequence, NULL), FOVEA_OK);
    fovea_new_rows_init(&rows, 1, 1, push, STREAM_DIM, STREAM_DIM,
                        (const float *)tensors.k + (end - push) * problem->k_strides.row,
                        (const float *)tensors.v + (end - push) * problem->v_strides.row, &sequence);
    rows.first_position = end - push;
    assert_int_equal(fovea_append(&rows, NULL, NULL, NULL), FOVEA_OK);
    while ((ready / problem->chunks.size + 1) * problem->chunks.size + problem->chunks.right <= end) ready++;
    if (ready > first) right = attend_to_ring(whole, &sequence, begin, end, first, ready);
  }
  return right;
}

/* The capacity that the header states is enough, and one row less is not. */
static void test_chunks_in_rings(void **state) {
  (void)state;
  static const int64_t cases[][4] = {/* left, chunk, right, push */
                                     {0, 4, 0, 3},  {9, 4, 0, 3},  {0, 5, 2, 3},  {16, 8, 4, 5},
                                     {7, 3, 11, 4}, {10, 6, 1, 1}, {3, 4, 2, 15}, {20, 16, 8, 7}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const int64_t left = cases[i][0], chunk = cases[i][1], right = cases[i][2], push = cases[i][3];
    fovea_problem problem;
    fovea_problem_init(&problem, 1, STREAM_HEADS, 1, STREAM, STREAM, STREAM_DIM, STREAM_DIM);
    fovea_problem_resolve(&problem, NULL);
    problem.chunks.size = chunk;
    problem.chunks.left = left;
    problem.chunks.right = right;
    problem.offset = 0;
    struct trial whole = trial_create(&problem, i);
    trial_run(&whole, NULL, NULL);
    assert_contract(&whole, USUAL_OR_LONG(100000, 1000000));
    const int64_t capacity = left + chunk + right + push - 1;
    if (!stream_through_ring(&whole, capacity, push)) fail_msg("case %d: too few rows", (int)i);
    if (stream_through_ring(&whole, capacity - 1, push)) fail_msg("case %d: a row too many", (int)i);
    trial_destroy(&whole);
  }
}

/* Strides may place a page beyond the address space. Its segment lies there too, and no C pointer is computed. */
static void test_pages_far_away(void **state) {
  (void)state;
  static float memory[64];
  const int64_t far = -(INT64_C(1) << 55);
  fovea_pages pages;
  fovea_pages_init(&pages, 3, 4, 1, 4, 4, FOVEA_F32, FOVEA_KEYS_IN_ROWS);
  pages.k = pages.v = memory;
  pages.k_strides.batch = far;
  fovea_segment segment;
  assert_int_equal(fovea_cache_contiguous(&pages, 2, &segment, NULL), FOVEA_OK);
  assert_true((uintptr_t)segment.k == (uintptr_t)memory + (uintptr_t)(2 * far * (int64_t)sizeof(float)));
  assert_true((uintptr_t)segment.v == (uintptr_t)(memory + 32));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_problems),
      cmocka_unit_test(test_few_rows),
      cmocka_unit_test(test_begins),
      cmocka_unit_test(test_begins_alone),
      cmocka_unit_test(test_pages_that_follow),
      cmocka_unit_test(test_chunks_in_rings),
      cmocka_unit_test(test_pages_far_away),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

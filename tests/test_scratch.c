/* Scratch depends on the keys that a row can see, not on how many keys there are, and is enough wherever the rows
 * lie. Counts the states of the tree of spans for every choice of spans, compares sizes, and runs with exactly that
 * much scratch between guard pages. */
#include "../src/base/nodes.h"
#include "../src/run/spans.h"
#include "support/check.h"
#include "support/execution.h"
#include "support/problems.h"
#include "support/trial.h"

#include <string.h>

enum { KEYS = 5 * FOVEA_SPAN_KEYS, DIM = 8 };

static void merge_nothing(const fovea_merge_args *args) {
  (void)args;
}

static const fovea_kernels no_kernels = {.merge = merge_nothing};

/* How many states a tree takes for the spans whose bits are set; bit 0 is the first span. */
static int states_taken(int64_t first, uint64_t spans) {
  fovea_span_tree tree;
  memset(&tree, 0, sizeof tree);
  fovea_span_tree_reset(&tree);
  for (int64_t i = 0; spans >> i != 0; i++) {
    if ((spans >> i & 1) == 0) continue;
    fovea_span_current(&tree);
    fovea_span_push(&tree, first + i, &no_kernels, 1, 1);
  }
  assert_non_null(fovea_span_root(&tree, &no_kernels, 1, 1));
  return tree.next_state;
}

/* All small starts, and starts next to boundaries of every size. */
static int64_t start_number(int i) {
  return i < 64 ? i : (INT64_C(1) << (6 + (i - 64) / 40 % 31)) - 1 - (i - 64) % 40;
}

static void test_states_of_spans(void **state) {
  (void)state;
  struct generator generator = {5};
  for (int64_t count = 1; count <= 40; count++) {
    const uint64_t all = (UINT64_C(1) << count) - 1;
    const int64_t keys = count == 1 ? 1 : (count - 2) * FOVEA_SPAN_KEYS + 2; /* the fewest in `count` spans */
    const int enough = fovea_span_states(keys);
    int most = 0;
    for (int i = 0; i < 64 + 40 * 31; i++) {
      const int64_t first = start_number(i);
      if (first < 0) continue;
      const int taken = states_taken(first, all);
      if (taken > enough)
        fail_msg("%lld spans from %lld take %d states", (long long)count, (long long)first, taken);
      if (taken > most) most = taken;
      for (int holes = 0; holes < USUAL_OR_LONG(1, 3); holes++) {
        const uint64_t some = (uint64_t)generator_below(&generator, INT64_C(1) << 62) & all;
        if (some != 0) assert_true(states_taken(first, some) <= enough);
      }
    }
    assert_int_equal(most, enough); /* and no more states than are needed */
  }
  /* Every choice of a few spans. */
  for (int64_t first = 0; first < 40; first++)
    for (uint64_t some = 1; some < 512; some += 2) {
      int64_t count = 1;
      while (some >> count != 0) count++;
      assert_true(states_taken(first, some) <=
                  fovea_span_states(count == 1 ? 1 : (count - 2) * FOVEA_SPAN_KEYS + 2));
    }
}

static size_t size_of(const fovea_problem *problem, const char *isa, int workers) {
  fovea_problem named = *problem;
  fovea_plan *plan;
  assert_int_equal(fovea_plan_create(&named, on_isa(isa), &plan, NULL), FOVEA_OK);
  const size_t size = fovea_plan_scratch_size(plan, workers);
  fovea_plan_destroy(plan);
  return size;
}

enum limit { WINDOW, CAUSAL_WINDOW, CHUNKS, CAUSAL_CHUNKS, CACHED, KEYS_OF_RANGE, LIMITS };

/* About 100 keys for each row. */
static fovea_problem limited(enum limit limit, int64_t rows, int64_t keys, int64_t *begin) {
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 4, 2, rows, keys, 64, 64);
  fovea_problem_resolve(&problem, NULL);
  problem.k_strides.row = problem.v_strides.row = 0; /* so that the last keys are within the reach of tensors */
  if (limit == WINDOW || limit == CAUSAL_WINDOW) problem.window_left = 60;
  if (limit == WINDOW) problem.window_right = 40;
  if (limit == CAUSAL_WINDOW || limit == CAUSAL_CHUNKS) problem.causal = 1;
  if (limit == CHUNKS || limit == CAUSAL_CHUNKS) problem.chunks.size = 16, problem.chunks.left = 48;
  if (limit == CHUNKS) problem.chunks.right = 32;
  if (limit == CACHED) {
    *begin = keys - 112;
    problem.cache.segmented = 1;
    problem.kv_begins = begin;
  }
  if (limit == KEYS_OF_RANGE) problem.keys.begin = keys - 112;
  return problem;
}

static void test_size_follows_the_rules(void **state) {
  (void)state;
  const char *const *isas = usable_isas();
  for (int isa = 0; isas[isa] != NULL; isa++)
    for (enum limit limit = WINDOW; limit < LIMITS; limit++)
      for (int64_t rows = 1; rows <= 300; rows += 299) {
        int64_t begin;
        fovea_problem problem = limited(limit, rows, INT64_C(1) << 10, &begin);
        const size_t size = size_of(&problem, isas[isa], 1), for_five = size_of(&problem, isas[isa], 5);
        for (int bits = 11; bits <= 40; bits++) {
          problem = limited(limit, rows, INT64_C(1) << bits, &begin);
          if (size_of(&problem, isas[isa], 1) != size || size_of(&problem, isas[isa], 5) != for_five)
            fail_msg("%s, rule %d, %lld rows, 2^%d keys: %llu bytes, not %llu", isas[isa], (int)limit,
                     (long long)rows, bits, (unsigned long long)size_of(&problem, isas[isa], 1),
                     (unsigned long long)size);
        }
      }
}

/* With the same rules, scratch for the largest lengths is enough for smaller ones. */
static void test_size_covers_smaller_lengths(void **state) {
  (void)state;
  struct generator generator = {77};
  for (int i = 0; i < USUAL_OR_LONG(500, 5000); i++) {
    fovea_problem problem;
    int64_t begins[2], lengths[2];
    const int64_t keys = generator_below(&generator, INT64_C(1) << (1 + generator_below(&generator, 24)));
    fovea_problem_init(&problem, 2, 4, 2, 1 + generator_below(&generator, 200), keys, 64, 64);
    problem.offset = 0; /* the size does not depend on it */
    fovea_problem_resolve(&problem, NULL);
    if (i % 2) problem.window_left = generator_below(&generator, 9000);
    if (i % 3) problem.causal = 1;
    if (i % 5 == 0) problem.chunks.size = 1 + generator_below(&generator, 5000);
    if (i % 7 == 0) problem.cache.segmented = 1;
    for (int b = 0; b < 2; b++) begins[b] = generator_below(&generator, keys + 1), lengths[b] = keys;
    if (problem.cache.segmented) problem.kv_begins = begins;
    const size_t most = size_of(&problem, NULL, 3);
    for (int smaller = 0; smaller < 10; smaller++) {
      problem.q_len -= generator_below(&generator, problem.q_len);
      problem.kv_len -= problem.cache.segmented ? 0 : generator_below(&generator, problem.kv_len + 1);
      for (int b = 0; b < 2; b++) {
        lengths[b] = generator_below(&generator, problem.kv_len + 1);
        if (problem.cache.segmented && begins[b] > lengths[b]) lengths[b] = begins[b];
      }
      problem.kv_lens = smaller % 2 ? lengths : NULL;
      assert_true(size_of(&problem, NULL, 3) <= most);
    }
  }
}

/* Runs the trial's problem with its first key at position `shift`, a distance after which spans have the same
 * places in the tree. The keys before are one row of zeros that no row sees, or are not held. */
static void run_shifted(struct trial *trial, const char *isa, int threads, int64_t shift, int64_t begin) {
  const fovea_problem *given = &trial->problem;
  fovea_problem problem = *given;
  float zeros[200] = {0};
  const fovea_segment segments[2] = {{.rows = shift, .k = zeros, .v = zeros},
                                     {.first = shift,
                                      .rows = KEYS,
                                      .k = tensor_pointer(&trial->k),
                                      .v = tensor_pointer(&trial->v),
                                      .k_head = given->k_strides.head,
                                      .k_row = given->k_strides.row,
                                      .v_head = given->v_strides.head,
                                      .v_row = given->v_strides.row}};
  const fovea_sequence sequence = begin >= 0 ? fovea_sequence_of(segments + 1, 1) : fovea_sequence_of(segments, 2);
  const int64_t kv_begin = shift + begin;
  fovea_tensors tensors = trial_tensors(trial);
  fovea_execution execution;
  fovea_error error;
  fovea_plan *plan;
  problem.cache.segmented = 1;
  problem.kv_len += shift;
  problem.offset += shift;
  if (begin >= 0) problem.kv_begins = &kv_begin;
  tensors.k = tensors.v = NULL;
  tensors.cache.sequences = &sequence;
  assert_int_equal(fovea_plan_create(&problem, on_isa(isa), &plan, &error), FOVEA_OK);
  fovea_execution_init(&execution);
  execution.isa = isa;
  execution.threads = threads;
  execution.scratch_size = fovea_plan_scratch_size(plan, threads);
  for (int edge = 0; edge < 2; edge++) {
    struct guarded scratch = guarded_create(execution.scratch_size, (enum guarded_edge)edge);
    execution.scratch = scratch.data;
    trial_clear(trial);
    if (fovea_plan_run(plan, &tensors, &execution, &error) != FOVEA_OK) fail_msg("%s", error.text);
    trial_load(trial);
    assert_true(guarded_slack_intact(&scratch));
    guarded_destroy(&scratch);
  }
  fovea_plan_destroy(plan);
}

/* Rows whose keys lie in as many spans as possible, around ends of spans that are high up in the tree: span `at` of
 * the trial is the first after a boundary of 2^30 spans, and of every smaller power of two. */
static void check_places(int64_t rows, int64_t window, int chunks, int64_t dim, int threads) {
  for (int64_t at = 1; at <= 3; at++) {
    fovea_problem problem;
    fovea_problem_init(&problem, 1, 2, 1, rows, KEYS, DIM, dim);
    fovea_problem_resolve(&problem, NULL);
    problem.causal = 1;
    problem.window_left = window;
    if (chunks) problem.chunks.size = 64, problem.chunks.left = window / 64 * 64, problem.window_left = -1;
    problem.offset = FOVEA_SPAN_KEYS - 1 + window; /* the first row's keys begin with the last key of a span */
    struct trial trial = trial_create(&problem, (uint64_t)at);
    /* The same tree, as far as rows reach: `at` spans before the boundary, the rest after it. */
    const int64_t shift = ((INT64_C(1) << 30) - at) * FOVEA_SPAN_KEYS;
    fovea_problem small = problem;
    const int64_t small_shift = (4 - at) * FOVEA_SPAN_KEYS;
    small.kv_len += small_shift;
    small.offset += small_shift;
    struct trial expected = trial_create(&small, 9);
    for (int64_t key = 0; key < KEYS; key++) {
      memcpy(tensor_row(&trial.k, 0, 0, key), tensor_row(&expected.k, 0, 0, key + small_shift),
             DIM * sizeof(float));
      memcpy(tensor_row(&trial.v, 0, 0, key), tensor_row(&expected.v, 0, 0, key + small_shift),
             (size_t)dim * sizeof(float));
    }
    for (int64_t head = 0; head < 2; head++)
      for (int64_t row = 0; row < rows; row++)
        memcpy(tensor_row(&trial.q, 0, head, row), tensor_row(&expected.q, 0, head, row), DIM * sizeof(float));
    trial_run(&expected, "scalar", NULL);
    assert_contract(&expected, USUAL_OR_LONG(50000, 300000));
    const int64_t begin = FOVEA_SPAN_KEYS - (chunks ? 128 : 1);
    const char *const *isas = usable_isas_for(&problem);
    for (int isa = 0; isas[isa] != NULL; isa++) {
      run_shifted(&trial, isas[isa], threads, shift, -1);
      assert_same_outputs(&trial, &expected);
      run_shifted(&trial, isas[isa], threads, shift, begin);
      assert_same_outputs(&trial, &expected);
    }
    trial_destroy(&expected);
    trial_destroy(&trial);
  }
}

static void test_exact_scratch(void **state) {
  (void)state;
  check_places(1, 700, 0, DIM, 1);
  check_places(70, 2100, 0, DIM, 1);
  check_places(40, 2100, 1, DIM, 1);
  check_places(33, 4100, 0, DIM, 1);
  check_places(70, 6200, 0, DIM, 2);
  check_places(2, 6400, 0, 200, 3); /* keys in parts */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_states_of_spans),
      cmocka_unit_test(test_size_follows_the_rules),
      cmocka_unit_test(test_size_covers_smaller_lengths),
      cmocka_unit_test(test_exact_scratch),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

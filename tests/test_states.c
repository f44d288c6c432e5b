/* Attention over some of the keys. If states are cut at ends of spans, they have the bits of one run, however they
 * are made, merged and finished. Other states are as close to the formula as one run. */
#include "support/check.h"
#include "support/made_states.h"
#include "support/modes.h"
#include "support/problems.h"
#include "support/reference.h"

#include <math.h>
#include <string.h>

static void assert_same_state(const struct made *actual, const struct made *expected) {
  assert_int_equal(actual->memory.size, expected->memory.size);
  if (memcmp(actual->memory.data, expected->memory.data, expected->memory.size) == 0) return;
  fail_msg("states of keys %lld to %lld differ", (long long)expected->state.keys.begin,
           (long long)expected->state.keys.end);
}

/* There is one NaN and one zero, whatever the CPU makes. Returns the number of NaNs. */
static int assert_canonical(const struct made *made) {
  int nans = 0;
  for (size_t i = 0; i < made->memory.size; i += sizeof(uint32_t)) {
    uint32_t bits;
    memcpy(&bits, made->memory.data + i, sizeof bits);
    const int is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
    nans += is_nan;
    if (bits == 0x80000000u || (is_nan && bits != 0x7fc00000u))
      fail_msg("number %lld is %08x", (long long)(i / sizeof bits), (unsigned)bits);
  }
  return nans;
}

/* A few rows that see many keys, with any rules. */
static fovea_problem long_problem(struct generator *generator, int64_t keys, int64_t *kv_lens) {
  fovea_problem problem;
  const int64_t batch = 1 + generator_below(generator, 2), kv_heads = 1 + generator_below(generator, 2);
  const int64_t rows = 1 + generator_below(generator, USUAL_OR_LONG(4, 30));
  fovea_problem_init(&problem, batch, 2 * kv_heads, kv_heads, rows, keys, 20, 1 + generator_below(generator, 40));
  fovea_problem_resolve(&problem, NULL);
  problem_apply(&problem, &rule_list[generator_below(generator, rule_count)]);
  if (generator_below(generator, 3) == 0) {
    for (int64_t b = 0; b < batch; b++) kv_lens[b] = generator_below(generator, keys + 1);
    problem.kv_lens = kv_lens;
  }
  problem_random_features(&problem, generator);
  problem.scores.kind = FOVEA_SCORES_NONE; /* a state keeps none */
  problem_random_normaliser(&problem, generator);
  if (problem.normaliser.divisor == FOVEA_DIVISOR_KEYS)
    problem.normaliser.divisor = FOVEA_DIVISOR_SUM; /* nor does it count keys */
  problem_random_modes(&problem, generator, 4);
  return problem;
}

static const int64_t lengths[] = {1, 300, 2048, 2049, 5000, 8192, 12289, 17000, 30001};
static const int length_count = (int)(sizeof lengths / sizeof lengths[0]);

/* If ranges are cut at ends of spans, their merged state is the state of one run, and finishes to the same results.
 */
static void check_cuts(int64_t keys, uint64_t seed) {
  struct generator generator = {seed};
  int64_t kv_lens[2], cuts[MOST_RANGES + 1];
  const fovea_problem problem = long_problem(&generator, keys, kv_lens);
  struct trial whole = trial_create(&problem, seed);
  if (seed % 5 == 0) tensor_row(&whole.q, 0, 0, 0)[0] = NAN;
  if (seed % 5 == 1) tensor_row(&whole.v, 0, 0, keys / 2)[0] = INFINITY;
  trial_run(&whole, NULL, NULL);
  struct trial finished = trial_sharing_inputs(&whole);
  const int count = random_cuts(&generator, 0, keys, FOVEA_SPAN_KEYS, cuts);
  struct made once = run_range(&whole, NULL, 1, 0, keys), merged = merge_ranges(&whole, &generator, cuts, count);
  assert_same_state(&merged, &once);
  const char *const *isas = whole_isas();
  for (int isa = 0; isas[isa] != NULL; isa++) {
    finish_state(&finished, isas[isa], &merged);
    assert_same_outputs(&finished, &whole);
  }
  made_destroy(&merged);
  made_destroy(&once);
  trial_destroy(&finished);
  trial_destroy(&whole);
}

/* Sums and maxima that are NaN. */
static void test_nan(void **state) {
  (void)state;
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 2, 2, 3, 3000, 8, 4);
  fovea_problem_resolve(&problem, NULL);
  struct trial trial = trial_create(&problem, 6);
  tensor_row(&trial.q, 0, 0, 1)[2] = NAN;
  const char *const *isas = whole_isas();
  for (int isa = 0; isas[isa] != NULL; isa++) {
    struct made left = run_range(&trial, isas[isa], 1, 0, 2048),
                right = run_range(&trial, isas[isa], 1, 2048, 3000);
    struct made merged = merge_states(&trial, isas[isa], &left, &right);
    assert_int_equal(assert_canonical(&left), 5); /* one row of four dims, and its sum; a maximum ignores NaN */
    assert_int_equal(assert_canonical(&merged), 5);
    made_destroy(&merged);
    made_destroy(&right);
    made_destroy(&left);
  }
  trial_destroy(&trial);
}

static void test_cuts(void **state) {
  (void)state;
  for (int i = 0; i < length_count; i++) {
    for (uint64_t seed = 0; seed < USUAL_OR_LONG(3, 12); seed++) check_cuts(lengths[i], 100 * (uint64_t)i + seed);
  }
}

/* Every range of whole spans, merged of its single spans one by one, and as a run over its keys only. */
static void test_ranges(void **state) {
  (void)state;
  enum { SPANS = 17 };
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 2, 1, 1, SPANS * FOVEA_SPAN_KEYS - 5, 4, 3);
  fovea_problem_resolve(&problem, NULL);
  struct trial trial = trial_create(&problem, 1);
  for (int64_t first = 0; first < SPANS; first += USUAL_OR_LONG(3, 1)) {
    const int64_t begin = first * FOVEA_SPAN_KEYS;
    struct made sum = run_range(&trial, NULL, 1, begin, begin);
    for (int64_t span = first; span < SPANS; span++) {
      const int64_t from = span * FOVEA_SPAN_KEYS, most = from + FOVEA_SPAN_KEYS;
      const int64_t end = most < problem.kv_len ? most : problem.kv_len;
      struct made next = run_range(&trial, NULL, 1, from, end), both = merge_states(&trial, NULL, &sum, &next);
      struct made once = run_range(&trial, NULL, 1, begin, end);
      assert_same_state(&both, &once);
      made_destroy(&once);
      made_destroy(&next);
      made_destroy(&sum);
      sum = both;
      trial.problem.keys.begin = begin;
      trial.problem.keys.end = end;
      struct trial plain = trial_sharing_inputs(&trial);
      trial_run(&plain, NULL, NULL);
      finish_state(&trial, NULL, &sum);
      assert_same_outputs(&trial, &plain);
      trial_destroy(&plain);
    }
    made_destroy(&sum);
  }
  trial_destroy(&trial);
}

/* States that are cut anywhere and merged are as close to the formula as one run. */
static void test_cuts_anywhere(void **state) {
  (void)state;
  for (int i = 1; i < length_count; i++) {
    struct generator generator = {(uint64_t)i};
    fovea_problem problem;
    int64_t cuts[MOST_RANGES + 1];
    fovea_problem_init(&problem, 1, 2, 1, 3, lengths[i], 32, 16);
    fovea_problem_resolve(&problem, NULL);
    struct trial trial = trial_create(&problem, (uint64_t)i);
    const int64_t step = 1 + generator_below(&generator, lengths[i] / 4);
    const int count = random_cuts(&generator, 0, lengths[i], step, cuts);
    struct made merged = merge_ranges(&trial, &generator, cuts, count);
    finish_state(&trial, NULL, &merged);
    assert_accuracy(&trial, BOUND_RANDOM, 3000000);
    made_destroy(&merged);
    trial_destroy(&trial);
  }
}

/* One state of a shared prefix, which every entry reads through strides of 0, and rows with axes in any order. */
static void test_strides(void **state) {
  (void)state;
  enum { BATCH = 3, HEADS = 4, KEYS = 2 * FOVEA_SPAN_KEYS + 100, SHARED = FOVEA_SPAN_KEYS };
  fovea_problem problem;
  fovea_problem_init(&problem, BATCH, HEADS, 2, 1, KEYS, 8, 5);
  fovea_problem_resolve(&problem, NULL);
  problem.q_strides.batch = 0; /* the same query for all, so that the prefix gives one state */
  problem.k_strides.batch = problem.v_strides.batch = 0;
  struct trial whole = trial_create(&problem, 4);
  trial_run(&whole, NULL, NULL);
  struct trial finished = trial_sharing_inputs(&whole);
  struct made prefix = run_range(&whole, NULL, 1, 0, SHARED), rest = made_create(&problem, SHARED, KEYS);
  struct made merged = made_create(&problem, 0, KEYS);
  const int64_t row = fovea_state_numbers(5, SHARED, KEYS);
  rest.state.strides = (fovea_strides){.batch = row, .head = BATCH * row}; /* entries innermost */
  fovea_problem part = problem;
  fovea_tensors tensors = trial_tensors(&whole);
  part.keys.begin = SHARED;
  part.state = 1;
  tensors.o = tensors.lse = NULL;
  tensors.state = &rest.state;
  assert_int_equal(fovea_attend(&part, &tensors, NULL, NULL), FOVEA_OK);
  prefix.state.strides.batch = 0;
  assert_int_equal(fovea_state_merge(&prefix.state, &rest.state, &merged.state, NULL, NULL), FOVEA_OK);
  finish_state(&finished, NULL, &merged);
  assert_same_outputs(&finished, &whole);
  made_destroy(&merged);
  made_destroy(&rest);
  made_destroy(&prefix);
  trial_destroy(&finished);
  trial_destroy(&whole);
}

/* Packed entries: rows are counted over all entries, positions within each. */
static void test_packed(void **state) {
  (void)state;
  static const int32_t q_cumulative[] = {0, 3, 10, 12}, kv_cumulative[] = {0, 2500, 2600, 9000};
  fovea_problem problem;
  int64_t cuts[MOST_RANGES + 1];
  fovea_problem_init(&problem, 3, 2, 2, 12, 9000, 16, 16);
  fovea_problem_resolve(&problem, NULL);
  problem.cu_seqlens_q = q_cumulative;
  problem.cu_seqlens_kv = kv_cumulative;
  problem.causal = 1;
  struct trial whole = trial_create(&problem, 5);
  trial_run(&whole, NULL, NULL);
  struct trial finished = trial_sharing_inputs(&whole);
  for (uint64_t seed = 0; seed < 4; seed++) {
    struct generator generator = {seed};
    const int count = random_cuts(&generator, 0, 9000, FOVEA_SPAN_KEYS, cuts);
    struct made merged = merge_ranges(&whole, &generator, cuts, count);
    finish_state(&finished, NULL, &merged);
    assert_same_outputs(&finished, &whole);
    made_destroy(&merged);
  }
  trial_destroy(&finished);
  trial_destroy(&whole);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_nan),           cmocka_unit_test(test_cuts),    cmocka_unit_test(test_ranges),
      cmocka_unit_test(test_cuts_anywhere), cmocka_unit_test(test_strides), cmocka_unit_test(test_packed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

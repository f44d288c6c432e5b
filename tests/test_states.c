/* Attention over some of the keys. If states are cut at ends of spans, they have the bits of one run, however they
 * are made, merged and finished. Other states are as close to the formula as one run. */
#include "support/check.h"
#include "support/execution.h"
#include "support/modes.h"
#include "support/problems.h"
#include "support/reference.h"
#include "support/trial.h"

#include <fovea/state.h>
#include <math.h>
#include <string.h>

enum { MOST_RANGES = 12 };

/* A state in memory of exactly its size. */
struct made {
  fovea_state state;
  struct guarded memory;
};

static struct made made_create(const fovea_problem *problem, int64_t begin, int64_t end) {
  struct made made;
  const int64_t batch = problem_q_batches(problem);
  const int64_t rows = batch * problem->heads * problem->q_len;
  made.memory = guarded_create((size_t)(rows * fovea_state_numbers(problem->v_dim, begin, end)) * sizeof(float),
                               GUARD_AT_END);
  fovea_state_init(&made.state, batch, problem->heads, problem->q_len, problem->v_dim, begin, end,
                   (float *)(void *)made.memory.data);
  return made;
}

static void made_destroy(struct made *made) {
  assert_true(guarded_slack_intact(&made->memory));
  guarded_destroy(&made->memory);
}

static void expect_ok(fovea_status status, const fovea_error *error, const fovea_problem *problem) {
  char text[DESCRIPTION_SIZE];
  if (status == FOVEA_OK) return;
  problem_describe(problem, text, sizeof text);
  fail_msg("status %d (%s) for %s", (int)status, error->text, text);
}

/* The state of the trial's rows over some of its keys. */
static struct made run_range(const struct trial *trial, const char *isa, int threads, int64_t begin, int64_t end) {
  struct made made = made_create(&trial->problem, begin, end);
  fovea_problem problem = trial->problem;
  fovea_tensors tensors = trial_tensors(trial);
  fovea_execution execution;
  fovea_error error;
  fovea_execution_init(&execution);
  execution.threads = threads;
  execution.isa = isa;
  problem.keys.begin = begin;
  problem.keys.end = end;
  problem.state = 1;
  problem.o_strides = problem.lse_strides = (fovea_strides){INT64_MAX, INT64_MAX, INT64_MAX}; /* not used */
  tensors.o = tensors.lse = NULL;
  tensors.sink = NULL;
  tensors.state = &made.state;
  expect_ok(fovea_attend(&problem, &tensors, &execution, &error), &error, &problem);
  return made;
}

static struct made merge_states(const struct trial *trial, const char *isa, const struct made *left,
                                const struct made *right) {
  struct made made = made_create(&trial->problem, left->state.keys.begin, right->state.keys.end);
  fovea_error error;
  expect_ok(fovea_state_merge(&left->state, &right->state, &made.state, on_isa(isa), &error), &error,
            &trial->problem);
  return made;
}

static void finish_state(struct trial *trial, const char *isa, const struct made *made) {
  fovea_problem problem = trial->problem;
  fovea_tensors tensors = trial_tensors(trial);
  fovea_error error;
  tensors.state = &made->state;
  trial_clear(trial);
  expect_ok(fovea_state_finish(&problem, &tensors, on_isa(isa), &error), &error, &problem);
  trial_load(trial);
}

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

/* Sets cuts in ascending order, begin and end included. Returns how many ranges lie between them. */
static int random_cuts(struct generator *generator, int64_t begin, int64_t end, int64_t step, int64_t *cuts) {
  int count = 0;
  cuts[count++] = begin;
  for (int64_t at = (begin / step + 1) * step; at < end && count < MOST_RANGES; at += step) {
    if (generator_below(generator, 2) == 0) cuts[count++] = at;
  }
  cuts[count] = end;
  return count;
}

/* The state of all keys from cuts[0] on, merged of ranges in any order. */
static struct made merge_ranges(const struct trial *trial, struct generator *generator, const int64_t *cuts,
                                int count) {
  struct made ranges[MOST_RANGES] = {0};
  const char *const *isas = usable_isas(), *const *merging = whole_isas();
  int isa_count = 1, merging_count = 1; /* at least portable C */
  while (isas[isa_count] != NULL) isa_count++;
  while (merging[merging_count] != NULL) merging_count++;
  for (int i = 0; i < count; i++) {
    ranges[i] = run_range(trial, isas[generator_below(generator, isa_count)],
                          1 + (int)generator_below(generator, 3), cuts[i], cuts[i + 1]);
  }
  while (count > 1) {
    const int64_t at = generator_below(generator, count - 1);
    struct made merged =
        merge_states(trial, merging[generator_below(generator, merging_count)], &ranges[at], &ranges[at + 1]);
    made_destroy(&ranges[at]);
    made_destroy(&ranges[at + 1]);
    ranges[at] = merged;
    count--;
    memmove(ranges + at + 1, ranges + at + 2, (size_t)(count - at - 1) * sizeof ranges[0]);
  }
  return ranges[0];
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

/* The range of keys as a rule: compared with the contract, and with a mask that hides the other keys. */
static void test_keys_as_rule(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < USUAL_OR_LONG(40, 200); seed++) {
    struct generator generator = {seed};
    struct listed_problem listed;
    problem_random(&listed, &generator, 3000000);
    problem_random_features(&listed.problem, &generator);
    listed.problem.scores.kind = FOVEA_SCORES_NONE;
    problem_random_modes(&listed.problem, &generator, 4);
    listed.problem.keys.begin = generator_below(&generator, listed.problem.kv_len + 1);
    listed.problem.keys.end = listed.problem.keys.begin +
                              generator_below(&generator, listed.problem.kv_len + 1 - listed.problem.keys.begin);
    if (seed % 4 == 0) listed.problem.keys.end = FOVEA_UNLIMITED;
    struct trial trial = trial_create(&listed.problem, seed);
    const char *const *isas = whole_isas();
    for (int isa = 0; isas[isa] != NULL; isa++) {
      trial_run(&trial, isas[isa], NULL);
      assert_contract(&trial, USUAL_OR_LONG(60000, 500000));
    }
    trial_destroy(&trial);
  }
}

/* Keys outside the range may be missing. */
static void test_keys_alone(void **state) {
  (void)state;
  enum { KEYS = 700, DIM = 24 };
  static const int64_t ranges[][2] = {{1, 700}, {130, 131}, {127, 300}, {256, 512}, {500, 699}};
  for (int i = 0; i < 5; i++) {
    for (int64_t rows = 1; rows <= 40; rows += 39) {
      const int64_t begin = ranges[i][0], end = ranges[i][1];
      fovea_problem problem;
      fovea_problem_init(&problem, 1, 1, 1, rows, KEYS, DIM, DIM);
      fovea_problem_resolve(&problem, NULL);
      problem.offset = 0;
      struct trial whole = trial_create(&problem, 2);
      whole.problem.keys.begin = begin;
      whole.problem.keys.end = end;
      trial_run(&whole, NULL, NULL);
      struct trial part = trial_sharing_inputs(&whole);
      const size_t size = (size_t)((end - begin) * DIM) * sizeof(float);
      for (int edge = 0; edge < 2; edge++) {
        struct guarded k = guarded_create(size, (enum guarded_edge)edge);
        struct guarded v = guarded_create(size, (enum guarded_edge)edge);
        memcpy(k.data, tensor_row(&whole.k, 0, 0, begin), size);
        memcpy(v.data, tensor_row(&whole.v, 0, 0, begin), size);
        fovea_tensors tensors = trial_tensors(&part);
        tensors.k = (const float *)(const void *)k.data - begin * DIM;
        tensors.v = (const float *)(const void *)v.data - begin * DIM;
        const char *const *isas = whole_isas();
        for (int isa = 0; isas[isa] != NULL; isa++) {
          problem = part.problem;
          trial_clear(&part);
          assert_int_equal(fovea_attend(&problem, &tensors, on_isa(isas[isa]), NULL), FOVEA_OK);
          trial_load(&part);
          assert_same_outputs(&part, &whole);
        }
        guarded_destroy(&k);
        guarded_destroy(&v);
      }
      trial_destroy(&part);
      trial_destroy(&whole);
    }
  }
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

/* Makes a state of O and LSE over a range of keys, as another library gives them. */
static struct made from_output(struct trial *trial, int64_t begin, int64_t end) {
  struct made made = made_create(&trial->problem, begin, end);
  fovea_error error;
  trial->problem.keys.begin = begin;
  trial->problem.keys.end = end;
  trial_run(trial, NULL, NULL);
  fovea_tensors tensors = trial_tensors(trial);
  tensors.state = &made.state;
  expect_ok(fovea_state_from_output(&trial->problem, &tensors, NULL, &error), &error, &trial->problem);
  trial->problem.keys.begin = 0;
  trial->problem.keys.end = FOVEA_UNLIMITED;
  return made;
}

static void test_pairs(void **state) {
  (void)state;
  static const int64_t cuts[] = {0, 5000, 7000, 9000};
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 4, 2, 20, 9000, 32, 16);
  fovea_problem_resolve(&problem, NULL);
  problem.causal = 1; /* the first rows see nothing of the last range */
  problem.offset = 6990;
  struct trial trial = trial_create(&problem, 3);
  struct made sum = run_range(&trial, NULL, 1, 0, 5000); /* merges with states of runs */
  for (int i = 1; i < 3; i++) {
    struct made next = from_output(&trial, cuts[i], cuts[i + 1]), both = merge_states(&trial, NULL, &sum, &next);
    made_destroy(&sum);
    made_destroy(&next);
    sum = both;
  }
  finish_state(&trial, NULL, &sum);
  assert_accuracy(&trial, BOUND_RANDOM, 3000000);
  made_destroy(&sum);
  trial_destroy(&trial);
}

/* O and LSE of one row over a range, by the formula in float64: what any other library gives, except for rounding.
 */
static void formula_row(const struct trial *trial, int64_t head, int64_t row, int64_t begin, int64_t end) {
  const fovea_problem *problem = &trial->problem;
  const int64_t kv_head = head / (problem->heads / problem->kv_heads), dim = problem->v_dim;
  const float *q = tensor_row(&trial->q, 0, head, row);
  double sum = 0.0, out[16] = {0.0};
  for (int64_t key = begin; key < end; key++) {
    const float *k = tensor_row(&trial->k, 0, kv_head, key), *v = tensor_row(&trial->v, 0, kv_head, key);
    double score = 0.0;
    for (int64_t d = 0; d < problem->qk_dim; d++) score += (double)q[d] * (double)k[d];
    const double weight = exp(score * problem->scale);
    sum += weight;
    for (int64_t d = 0; d < dim; d++) out[d] += weight * (double)v[d];
  }
  for (int64_t d = 0; d < dim; d++) tensor_row(&trial->o, 0, head, row)[d] = (float)(out[d] / sum);
  tensor_row(&trial->lse, 0, head, row)[0] = (float)log(sum);
}

static void test_pairs_of_others(void **state) {
  (void)state;
  enum { KEYS = 3000, RANGE = 700 };
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 4, 2, 5, KEYS, 24, 16);
  fovea_problem_resolve(&problem, NULL);
  struct trial trial = trial_create(&problem, 7);
  struct made sum = made_create(&problem, 0, 0);
  for (int64_t begin = 0; begin < KEYS; begin += RANGE) {
    const int64_t end = begin + RANGE < KEYS ? begin + RANGE : KEYS;
    for (int64_t head = 0; head < problem.heads; head++) {
      for (int64_t row = 0; row < problem.q_len; row++) formula_row(&trial, head, row, begin, end);
    }
    struct made next = made_create(&problem, begin, end);
    fovea_tensors tensors = trial_tensors(&trial);
    tensors.state = &next.state;
    assert_int_equal(fovea_state_from_output(&problem, &tensors, NULL, NULL), FOVEA_OK);
    struct made both = merge_states(&trial, NULL, &sum, &next);
    made_destroy(&next);
    made_destroy(&sum);
    sum = both;
  }
  finish_state(&trial, NULL, &sum);
  assert_accuracy(&trial, BOUND_RANDOM, 3000000);
  made_destroy(&sum);
  trial_destroy(&trial);
}

/* One pair, computed by hand: weights 3 and 1 of values 2 and 10, then a sink of weight 4. */
static void test_pairs_by_hand(void **state) {
  (void)state;
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_state left, right, merged;
  float numbers[3][3], o[2] = {2.0f, 10.0f}, lse[2] = {logf(3.0f), 0.0f}, result[1], sum[1], sink = logf(4.0f);
  fovea_problem_init(&problem, 1, 1, 1, 1, 200, 8, 1);
  fovea_problem_resolve(&problem, NULL);
  fovea_tensors_init(&tensors, NULL, NULL, NULL, o, lse);
  fovea_state_init(&left, 1, 1, 1, 1, 0, 100, numbers[0]);
  fovea_state_init(&right, 1, 1, 1, 1, 100, 200, numbers[1]);
  fovea_state_init(&merged, 1, 1, 1, 1, 0, 200, numbers[2]);
  tensors.state = &left;
  assert_int_equal(fovea_state_from_output(&problem, &tensors, NULL, NULL), FOVEA_OK);
  fovea_tensors_init(&tensors, NULL, NULL, NULL, o + 1, lse + 1);
  tensors.state = &right;
  assert_int_equal(fovea_state_from_output(&problem, &tensors, NULL, NULL), FOVEA_OK);
  assert_int_equal(fovea_state_merge(&left, &right, &merged, NULL, NULL), FOVEA_OK);
  fovea_tensors_init(&tensors, NULL, NULL, NULL, result, sum);
  tensors.state = &merged;
  assert_int_equal(fovea_state_finish(&problem, &tensors, NULL, NULL), FOVEA_OK);
  assert_true(fabsf(result[0] - 4.0f) < 1e-6f && fabsf(sum[0] - logf(4.0f)) < 1e-6f);
  problem.sink = FOVEA_SINK_PER_HEAD;
  tensors.sink = &sink;
  assert_int_equal(fovea_state_finish(&problem, &tensors, NULL, NULL), FOVEA_OK);
  assert_true(fabsf(result[0] - 2.0f) < 1e-6f && fabsf(sum[0] - logf(8.0f)) < 1e-6f);
}

/* A row that saw nothing, whatever the other library wrote for it: with every LSE that means so, the state has the
 * bytes of an empty one. */
static void check_empty_pair(float empty_o, float empty_lse) {
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_state made;
  float o[2] = {empty_o, 7.0f}, lse[2] = {empty_lse, 1.0f}, numbers[2 * 2 * 3], result[2], sum[2];
  fovea_problem_init(&problem, 1, 1, 1, 2, 3 * FOVEA_SPAN_KEYS, 8, 1);
  fovea_problem_resolve(&problem, NULL);
  assert_int_equal(fovea_state_numbers(1, 0, 3 * FOVEA_SPAN_KEYS), 6); /* two nodes */
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) numbers[i] = NAN;
  fovea_state_init(&made, 1, 1, 2, 1, 0, 3 * FOVEA_SPAN_KEYS, numbers);
  fovea_tensors_init(&tensors, NULL, NULL, NULL, o, lse);
  tensors.state = &made;
  assert_int_equal(fovea_state_from_output(&problem, &tensors, NULL, NULL), FOVEA_OK);
  const float empty[6] = {0, -INFINITY, 0, 0, -INFINITY, 0};
  assert_memory_equal(numbers, empty, sizeof empty);
  fovea_tensors_init(&tensors, NULL, NULL, NULL, result, sum);
  tensors.state = &made;
  assert_int_equal(fovea_state_finish(&problem, &tensors, NULL, NULL), FOVEA_OK);
  assert_true(result[0] == 0.0f && sum[0] == -INFINITY && result[1] == 7.0f && fabsf(sum[1] - 1.0f) < 1e-6f);
}

/* FlashAttention-2 writes zeros and +Inf, others -Inf, and anything as O. */
static void test_empty_pairs(void **state) {
  (void)state;
  static const float any[] = {0.0f, 3.0f, NAN, INFINITY, -INFINITY};
  for (int i = 0; i < 5; i++) {
    check_empty_pair(any[i], -INFINITY);
    check_empty_pair(any[i], INFINITY);
  }
}

/* An empty row of FlashAttention-2 leaves the other state as it is, on either side; a NaN does not. */
static void test_empty_pairs_merge(void **state) {
  (void)state;
  static const float lses[3] = {INFINITY, -INFINITY, NAN};
  for (int i = 0; i < 6; i++) {
    const int side = i / 3, cut = FOVEA_SPAN_KEYS;
    float o[2] = {0}, lse[2], numbers[3][2 * 3], result, sum;
    fovea_problem problem;
    fovea_tensors tensors;
    fovea_state states[3];
    o[!side] = 7.0f;
    lse[!side] = 1.0f;
    lse[side] = lses[i % 3];
    fovea_problem_init(&problem, 1, 1, 1, 1, 2 * cut, 8, 1);
    for (int range = 0; range < 2; range++) {
      problem.keys.begin = range * cut;
      problem.keys.end = (range + 1) * cut;
      fovea_state_init(&states[range], 1, 1, 1, 1, range * cut, (range + 1) * cut, numbers[range]);
      fovea_tensors_init(&tensors, NULL, NULL, NULL, &o[range], &lse[range]);
      tensors.state = &states[range];
      assert_int_equal(fovea_state_from_output(&problem, &tensors, NULL, NULL), FOVEA_OK);
    }
    fovea_state_init(&states[2], 1, 1, 1, 1, 0, 2 * cut, numbers[2]);
    assert_int_equal(fovea_state_merge(&states[0], &states[1], &states[2], NULL, NULL), FOVEA_OK);
    problem.keys.begin = 0;
    fovea_tensors_init(&tensors, NULL, NULL, NULL, &result, &sum);
    tensors.state = &states[2];
    assert_int_equal(fovea_state_finish(&problem, &tensors, NULL, NULL), FOVEA_OK);
    if (i % 3 == 2)
      assert_true(isnan(result) && isnan(sum));
    else
      assert_true(result == 7.0f && fabsf(sum - 1.0f) < 1e-6f);
  }
}

/* A state of no keys has no numbers. None are written, whatever O and LSE are. */
static void test_no_keys(void **state) {
  (void)state;
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 2, 1, 3, 100, 8, 4);
  fovea_problem_resolve(&problem, NULL);
  struct trial trial = trial_create(&problem, 8);
  trial_run(&trial, NULL, NULL); /* LSE of rows that did see keys */
  fovea_tensors tensors = trial_tensors(&trial);
  struct made none = made_create(&problem, 50, 50);
  none.state.numbers = NULL;
  tensors.state = &none.state;
  assert_int_equal(fovea_state_from_output(&problem, &tensors, NULL, NULL), FOVEA_OK);
  finish_state(&trial, NULL, &none);
  for (int64_t row = 0; row < 3; row++) {
    assert_true(tensor_row(&trial.o, 0, 1, row)[3] == 0.0f && tensor_row(&trial.lse, 0, 1, row)[0] == -INFINITY);
  }
  made_destroy(&none);
  trial_destroy(&trial);
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
      cmocka_unit_test(test_nan),
      cmocka_unit_test(test_cuts),
      cmocka_unit_test(test_ranges),
      cmocka_unit_test(test_keys_as_rule),
      cmocka_unit_test(test_keys_alone),
      cmocka_unit_test(test_cuts_anywhere),
      cmocka_unit_test(test_pairs),
      cmocka_unit_test(test_pairs_of_others),
      cmocka_unit_test(test_pairs_by_hand),
      cmocka_unit_test(test_empty_pairs),
      cmocka_unit_test(test_empty_pairs_merge),
      cmocka_unit_test(test_no_keys),
      cmocka_unit_test(test_strides),
      cmocka_unit_test(test_packed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

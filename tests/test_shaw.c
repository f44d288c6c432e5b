/* Shaw's relative position representations: the bits of the contract. */
#include "support/caches.h"
#include "support/check.h"
#include "support/other_ways.h"
#include "support/patterns.h"
#include "support/problems.h"
#include "support/reference.h"
#include "support/refusals.h"

#include <math.h>
#include <stdlib.h>

static fovea_problem problem_of(int64_t heads, int64_t kv_heads, int64_t q_len, int64_t kv_len) {
  fovea_problem problem;
  fovea_problem_init(&problem, 2, heads, kv_heads, q_len, kv_len, 20, 12);
  fovea_problem_resolve(&problem, NULL);
  return problem;
}

static void set_shaw(fovea_problem *problem, int kind, int64_t distance, int per_head) {
  problem->shaw.kind = (fovea_shaw)(1 + kind % 3);
  problem->shaw.distance = distance;
  problem->shaw.heads = per_head ? problem->heads : 1;
  if (!(problem->shaw.kind & FOVEA_SHAW_KEYS)) return;
  problem->activation.kind = FOVEA_SCORE_ACTIVATION_NONE; /* no activation with keys */
  problem->activation.leaky_slope = 0;
}

/* Every instruction set against the contract. */
static void check_made(struct trial *made) {
  const char *const *isas = usable_isas_for(&made->problem);
  for (int isa = 0; isas[isa] != NULL; isa++) {
    trial_run(made, isas[isa], NULL);
    assert_contract(made, USUAL_OR_LONG(3000, 120000));
    assert_true(trial_gaps_untouched(made));
  }
}

static void check(const fovea_problem *problem, uint64_t seed) {
  struct trial made = trial_create(problem, seed);
  check_made(&made);
  trial_destroy(&made);
}

static const int64_t distances[] = {1, 4, 16, 130, 700, 4096};

/* Tiles, decoding, parts of keys, rows that see nothing, groups of heads; every rule. */
static void test_lengths_and_rules(void **state) {
  (void)state;
  static const int64_t lengths[][2] = {{1, 1},  {9, 40},   {50, 300}, {3, 4500},  {1, 9000},
                                       {40, 0}, {40, 129}, {0, 5},    {130, 130}, {149, 49}};
  static const int64_t heads[][2] = {{3, 3}, {4, 2}, {2, 2}, {7, 1}};
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
    for (int rule = (int)i % USUAL_OR_LONG(7, 3); rule < rule_count; rule += USUAL_OR_LONG(7, 3)) {
      const int64_t *shape = heads[(rule + (int)i) % 4];
      fovea_problem problem = problem_of(shape[0], shape[1], lengths[i][0], lengths[i][1]);
      problem_apply(&problem, &rule_list[rule]);
      set_shaw(&problem, rule + (int)i, distances[(rule + 2 * (int)i) % 6], rule % 3 == 1);
      problem.scores.kind = (fovea_score_output)((rule + (int)i) % 5);
      check(&problem, (uint64_t)rule);
    }
}

/* Distances at the edges of blocks and tiles, for every number of rows about a tile's. */
static void test_distances(void **state) {
  (void)state;
  static const int64_t rows[] = {1, 2, 5, 15, 16, 17, 47, 48, 64, 65};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i += USUAL_OR_LONG(3, 1))
    for (int kind = 0; kind < 3; kind++)
      for (size_t k = i % 2; k < sizeof distances / sizeof distances[0]; k += 2) {
        fovea_problem problem = problem_of(2, 1 + kind % 2, rows[i], 260 + (int64_t)i);
        set_shaw(&problem, kind, distances[k], (int)k % 2);
        problem.causal = (int)(i + k) % 2;
        problem.offset = i % 3 == 0 ? 128 + (int64_t)k : i % 3 == 1 ? -(int64_t)k : FOVEA_OFFSET_BOTTOM_RIGHT;
        check(&problem, (uint64_t)i);
      }
}

/* With all else that acts on scores, in every type. */
static void test_together(void **state) {
  (void)state;
  for (int i = 0; i < USUAL_OR_LONG(8, 45); i++) {
    fovea_problem problem = problem_of(4, i % 3 ? 2 : 4, i % 4 ? 30 + i : 1 + i % 3, 200 + 30 * i);
    const fovea_position_term term = i % 2 ? fovea_term_alibi(0) : fovea_term_relative(20, 3);
    if (i % 5 > 1) fovea_problem_set_terms(&problem, &term, 1);
    set_shaw(&problem, i, distances[i % 5], i % 4 == 3);
    problem.causal = i % 2;
    problem.softcap = i % 3 ? 0.0 : 15.0;
    problem.sink = (fovea_sink)(i % 3);
    problem.mask.type = (fovea_mask_type)(i % 6);
    problem.mask.strides =
        fovea_mask_layout(problem.mask.type, 2, 4, problem_mask_rows(&problem), problem_mask_keys(&problem));
    problem.scores.kind = (fovea_score_output)(i % 5);
    problem.scales = (fovea_scales)(i / 2 % 4);
    problem.q_type = problem.k_type = (fovea_type)(i / 2 % 3);
    problem.v_type = problem.o_type = (fovea_type)(i / 3 % 3);
    problem.entropy = i % 2;
    problem.top.k = i % 4 ? 0 : 5;
    problem.column_sums.wanted = i % 3 == 1;
    problem.max_logits = i % 2;
    check(&problem, (uint64_t)i);
  }
}

static void test_normalisers(void **state) {
  (void)state;
  for (int i = 0; i < 36; i++) {
    fovea_problem problem = problem_of(2, 1 + i % 2, i % 3 ? 40 + i : 1 + i % 5, 300);
    set_shaw(&problem, i, distances[i % 4], i % 4 == 1);
    problem.normaliser.kind = (fovea_normaliser)(1 + i % 3);
    problem.normaliser.divisor = i % 5 == 1   ? FOVEA_DIVISOR_KEYS
                                 : i % 5 == 2 ? FOVEA_DIVISOR_SUM
                                              : FOVEA_DIVISOR_NONE;
    problem.normaliser.sigmoid_bias = i % 3 == 2 ? -3.0 : 0.0;
    problem.causal = i % 2;
    check(&problem, (uint64_t)i);
  }
}

/* What a row does not see does not reach it, whatever tables and values hold; what it sees does. */
static void test_special_values(void **state) {
  (void)state;
  static const float specials[] = {-INFINITY, NAN, INFINITY, -0.0f, 0x1p-140f, 3e38f, -3e38f};
  for (int i = 0; i < 7 * 3 * USUAL_OR_LONG(2, 6); i++) {
    static const int64_t lengths[] = {1, 60, 3, 17, 200, 1};
    const float special = specials[i % 7];
    fovea_problem problem = problem_of(2, 1 + i % 2, lengths[i / 21], 300);
    const fovea_position_term term = fovea_term_relative(30, 30);
    set_shaw(&problem, i / 7, distances[i % 4], i % 3 == 0);
    problem.causal = i % 5 < 2;
    problem.window_left = i % 4 == 1 ? 20 : FOVEA_UNLIMITED;
    if (i % 5 == 3) fovea_problem_set_terms(&problem, &term, 1);
    if (i % 5 == 4) {
      problem.mask.type = FOVEA_MASK_BOOL;
      problem.mask.strides = fovea_mask_layout(FOVEA_MASK_BOOL, 2, 2, problem.q_len, 300);
    }
    struct trial made = trial_create(&problem, (uint64_t)i);
    if (i % 5 == 3)
      for (int64_t place = 0; place < 61; place += 3) *tensor_row(&made.terms[0], 0, place % 2, place) = -INFINITY;
    struct tensor *const tables[] = {&made.shaw_keys, &made.shaw_values};
    for (int table = 0; table < 2; table++)
      for (int64_t x = 0; tables[table]->batch > 0 && x < tables[table]->rows; x += 1 + (i + table) % 3)
        tensor_row(tables[table], 0, x % tables[table]->heads, x)[(x + i) % 12] = special;
    tensor_row(&made.v, 0, 0, 70)[5] = NAN;
    tensor_row(&made.v, 1, 0, 71)[2] = INFINITY;
    if (i % 2) tensor_row(&made.k, 1, 0, 30)[1] = NAN;
    check_made(&made);
    trial_destroy(&made);
  }
}

/* Vectors of Inf at distances that only keys of score -Inf, or of weight 0, have. Where all keys of a block have a
 * score of -Inf, the block has no state, and the vectors do not show. */
static void test_weightless_keys(void **state) {
  (void)state;
  for (int i = 0; i < 12; i++) {
    fovea_problem problem = problem_of(2, 2, i % 2 ? 70 : 2, 270);
    set_shaw(&problem, 2, 3 + i, 0);
    struct trial made = trial_create(&problem, (uint64_t)i);
    for (int64_t j = 0; j < 270; j++)
      for (int64_t d = 0; d < 20 && j % 3 == 0; d++) tensor_row(&made.k, 0, 0, j)[d] *= i % 3 ? 1e3f : 3e37f;
    for (int64_t h = 0; h < 2 && i % 4 > 1; h++)
      for (int64_t i1 = 0; i1 < problem.q_len; i1++)
        for (int64_t d = 0; d < 20; d++) tensor_row(&made.q, 1, h, i1)[d] = 1.0f;
    for (int64_t j = 128; j < 256 && i % 4 > 1; j++)
      for (int64_t d = 0; d < 20; d++)
        tensor_row(&made.k, 1, j % 2, j)[d] = tensor_row(&made.k, 1, 0, j)[d] = -3e38f;
    for (int64_t x = 0; x < made.shaw_values.rows; x += 2)
      tensor_row(&made.shaw_values, 0, 0, x)[x % 12] = INFINITY;
    check_made(&made);
    trial_destroy(&made);
  }
}

/* Patterns have the bits of masks of the same meaning, which have the bits of the contract. NaN and Inf in the
 * tables show where a key of the distance is visible. */
static void test_patterns(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < USUAL_OR_LONG(10, 40); seed++) {
    struct generator generator = {seed};
    struct made_rules made = {0};
    const int64_t rows = 1 + generator_below(&generator, seed % 3 ? 90 : 4), keys = rows + 300;
    fovea_problem problem = problem_of(4, 2, rows, keys);
    const fovea_rule *rule = seed % 4 == 0 ? rule_sparse(&made, &generator, rows, keys)
                                           : rule_random_joined(&made, &generator, 2, 0, rows, keys);
    fovea_pattern *pattern = pattern_of(rule, 0, rows, keys, 0);
    const struct rule_table rules = same_rules(rule, 0);
    set_shaw(&problem, (int)seed, distances[seed % 4], seed % 5 == 0);
    problem.offset = 0;
    problem.pattern = pattern;
    struct trial patterned = trial_create(&problem, seed), masked = masked_trial(&patterned, seed, &rules);
    for (int i = 0; i < 2 && seed % 2; i++) {
      const struct trial *to = i ? &masked : &patterned;
      for (int64_t x = 0; to->shaw_values.batch > 0 && x < to->shaw_values.rows; x += 3)
        tensor_row(&to->shaw_values, 0, 0, x)[x % 12] = x % 2 ? NAN : INFINITY;
    }
    trial_run(&masked, "scalar", NULL);
    assert_contract(&masked, USUAL_OR_LONG(6000, 200000));
    for (const char *const *isa = usable_isas_for(&problem); *isa != NULL; isa++) {
      trial_run(&patterned, *isa, NULL);
      assert_same_outputs(&patterned, &masked);
    }
    trial_destroy(&masked);
    trial_destroy(&patterned);
    fovea_pattern_destroy(pattern);
    rules_free(&made);
  }
}

/* Lengths of batch elements, packed batches, masks that begin later. */
static void test_entries(void **state) {
  (void)state;
  struct generator generator = {5};
  for (int i = 0; i < USUAL_OR_LONG(8, 120); i++) {
    struct listed_problem listed;
    problem_random(&listed, &generator, 600000);
    if (i % 2) problem_random_features(&listed.problem, &generator);
    problem_random_layout(&listed.problem, &generator);
    set_shaw(&listed.problem, i, 1 + generator_below(&generator, i % 3 ? 20 : 300), i % 4 == 0);
    check(&listed.problem, (uint64_t)i);
  }
}

static void test_caches(void **state) {
  (void)state;
  struct generator generator = {6};
  for (int kind = 0; kind < 6; kind++)
    for (int64_t rows = 1; rows <= 33; rows += 16) {
      fovea_problem problem = problem_of(4, 2, rows, 290);
      problem.causal = 1;
      set_shaw(&problem, kind, distances[kind % 4], kind % 2);
      struct trial expected = trial_create(&problem, (uint64_t)kind), made = trial_sharing_inputs(&expected);
      trial_run(&expected, "scalar", NULL);
      assert_contract(&expected, USUAL_OR_LONG(8000, 300000));
      for (int cached = kind % 2; cached < CACHE_KINDS; cached += 2) {
        struct cache cache = cache_create(&made, (enum cache_kind)cached, 0, NULL, &generator);
        for (const char *const *isa = usable_isas_for(&problem); *isa != NULL; isa++) {
          trial_run_cached(&made, *isa, cache.sequences, NULL);
          assert_same_outputs(&made, &expected);
        }
        cache_destroy(&cache);
      }
      trial_destroy(&made);
      trial_destroy(&expected);
    }
}

/* A row has the same bits in a prefill and alone. */
static void test_decode(void **state) {
  (void)state;
  for (int kind = 0; kind < 6; kind++) {
    fovea_problem problem = problem_of(2, 1, 90, 90), single = problem_of(2, 1, 1, 90);
    set_shaw(&problem, kind, 5 + 9 * kind, kind % 2);
    set_shaw(&single, kind, 5 + 9 * kind, kind % 2);
    problem.causal = single.causal = 1;
    struct trial whole = trial_create(&problem, 3);
    trial_run(&whole, NULL, NULL);
    for (int64_t i = 0; i < 90; i += 13) {
      const struct part q = {0, 0, i}, kv = {0, 0, 0};
      single.offset = i;
      struct trial row = trial_of_part(&single, &whole, q, kv);
      if (row.shaw_keys.batch > 0) tensor_copy_part(&row.shaw_keys, &whole.shaw_keys, 0, 0, 0);
      if (row.shaw_values.batch > 0) tensor_copy_part(&row.shaw_values, &whole.shaw_values, 0, 0, 0);
      trial_run(&row, NULL, NULL);
      assert_same_part(&row, kv, &whole, q, 2, 2, 1);
      trial_destroy(&row);
    }
    trial_destroy(&whole);
  }
}

/* States of ranges of keys that are cut at spans merge to the bits of one run. */
static void test_states(void **state) {
  (void)state;
  for (int kind = 0; kind < 6; kind++) {
    fovea_problem problem = problem_of(2, 2, kind % 2 ? 2 : 30, 5000);
    set_shaw(&problem, kind, distances[kind % 5], kind % 2);
    assert_same_by_states(&problem, 2048, 2);
  }
}

static void test_threads(void **state) {
  (void)state;
  fovea_problem problem = problem_of(4, 2, 300, 700);
  set_shaw(&problem, 2, 16, 1);
  assert_same_by_threads(&problem, 1);
}

/* The formula of the paper in double, of one row: scores with key + vector, outputs with value + vector. */
static void assert_formula(const struct trial *made, int64_t h, int64_t i) {
  const fovea_problem *problem = &made->problem;
  const int64_t k = problem->shaw.distance, head = problem->shaw.heads == 1 ? 0 : h;
  double sum = 0.0, o[12] = {0.0};
  for (int64_t j = 0; j < problem->kv_len; j++) {
    const int64_t x = (j - i < -k ? -k : j - i > k ? k : j - i) + k;
    double s = 0.0;
    for (int64_t d = 0; d < 20; d++) {
      const double q = (double)tensor_row(&made->q, 0, h, i)[d];
      s += q * (double)tensor_row(&made->k, 0, h, j)[d];
      if (problem->shaw.kind & FOVEA_SHAW_KEYS) s += q * (double)tensor_row(&made->shaw_keys, 0, head, x)[d];
    }
    const double p = exp(s * problem->scale);
    sum += p;
    for (int64_t d = 0; d < 12; d++) {
      o[d] += p * (double)tensor_row(&made->v, 0, h, j)[d];
      if (problem->shaw.kind & FOVEA_SHAW_VALUES) o[d] += p * (double)tensor_row(&made->shaw_values, 0, head, x)[d];
    }
  }
  for (int64_t d = 0; d < 12; d++)
    if (!(fabs((double)tensor_row(&made->o, 0, h, i)[d] - o[d] / sum) < 1e-5))
      fail_msg("head %d, row %d, dim %d: not the formula", (int)h, (int)i, (int)d);
  if (!(fabs((double)*tensor_row(&made->lse, 0, h, i) - log(sum)) < 1e-5))
    fail_msg("LSE of head %d, row %d: not the formula", (int)h, (int)i);
}

static void test_formula(void **state) {
  (void)state;
  for (int kind = 0; kind < 6; kind++) {
    fovea_problem problem = problem_of(2, 2, 160, 160);
    set_shaw(&problem, kind, kind % 2 ? 3 : 16, kind / 3);
    struct trial made = trial_create(&problem, 4);
    trial_run(&made, NULL, NULL);
    for (int64_t h = 0; h < 2; h++)
      for (int64_t i = 0; i < 160; i++) assert_formula(&made, h, i);
    assert_accuracy(&made, 16.0, 10000000);
    trial_destroy(&made);
  }
}

/* Long rows, with inputs of random sign and with constant ones: nearly all keys have one vector. */
static void test_accuracy(void **state) {
  (void)state;
  for (int i = 0; i < 6; i++) {
    fovea_problem problem = problem_of(2, 2, i % 3 ? 40 : 1, 9000);
    set_shaw(&problem, i, 16, i % 2);
    struct trial made = trial_create(&problem, (uint64_t)i);
    struct tensor *const tensors[] = {&made.q, &made.k, &made.v, &made.shaw_keys, &made.shaw_values};
    for (int t = 0; t < 5 && i > 2; t++)
      if (tensors[t]->batch > 0) tensor_fill_constant(tensors[t], 0.3f + 0.1f * (float)t);
    trial_run(&made, NULL, NULL);
    assert_accuracy(&made, i > 2 ? 48.0 : 16.0, 20000000);
    trial_destroy(&made);
  }
}

static void test_refusals(void **state) {
  (void)state;
  fovea_problem problem = problem_of(2, 2, 5, 7);
  set_shaw(&problem, 2, 3, 0);
  trial = trial_create(&problem, 1);
  REFUSED(call.problem.shaw.kind = (fovea_shaw)4, FOVEA_ERROR_ARGUMENT, "shaw.kind is 4");
  REFUSED(call.problem.shaw.distance = 0, FOVEA_ERROR_ARGUMENT, "shaw.distance is 0", "1 to 4096");
  REFUSED(call.problem.shaw.distance = 4097, FOVEA_ERROR_ARGUMENT, "shaw.distance is 4097");
  REFUSED(call.problem.shaw.heads = 3, FOVEA_ERROR_ARGUMENT, "shaw.heads is 3", "heads, which is 2");
  REFUSED(call.problem.shaw.heads = 0, FOVEA_ERROR_ARGUMENT, "shaw.heads is 0");
  REFUSED(call.problem.shaw.kind = FOVEA_SHAW_NONE, FOVEA_ERROR_UNUSED, "shaw.distance is 3", "FOVEA_SHAW_NONE");
  REFUSED(call.problem.activation.kind = FOVEA_SCORE_ACTIVATION_LEAKY_RELU, FOVEA_ERROR_ARGUMENT,
          "activation.kind is LEAKY_RELU", "shaw has keys");
  REFUSED((call.problem.shaw.kind = FOVEA_SHAW_NONE, call.problem.shaw.distance = 0, call.problem.shaw.heads = 2),
          FOVEA_ERROR_UNUSED, "shaw.heads is 2");
  REFUSED((call.problem.shaw.kind = FOVEA_SHAW_NONE, call.problem.shaw.distance = 0), FOVEA_ERROR_UNUSED,
          "shaw.keys is not NULL", "has no keys");
  REFUSED(call.problem.shaw.kind = FOVEA_SHAW_KEYS, FOVEA_ERROR_UNUSED, "shaw.values is not NULL", "has no values");
  REFUSED(call.problem.shaw.kind = FOVEA_SHAW_VALUES, FOVEA_ERROR_UNUSED, "shaw.keys is not NULL");
  REFUSED(call.tensors.shaw.keys = NULL, FOVEA_ERROR_ARGUMENT, "shaw.keys is NULL");
  REFUSED(call.tensors.shaw.values = NULL, FOVEA_ERROR_ARGUMENT, "shaw.values is NULL");
  REFUSED(call.tensors.shaw.keys = (const float *)(const void *)((const char *)trial.shaw_keys.data + 1),
          FOVEA_ERROR_ARGUMENT, "shaw.keys");
  REFUSED(call.tensors.shaw.values = trial.o.data, FOVEA_ERROR_ARGUMENT, "o shares memory with shaw.values");
  REFUSED(call.tensors.shaw.keys = trial.lse.data, FOVEA_ERROR_ARGUMENT, "lse shares memory with shaw.keys");
  trial_destroy(&trial);
  /* Tables of more than 2^57 bytes: 8 heads of 8193 vectors of 2^40 dims. */
  fovea_plan *plan;
  fovea_error error;
  static const char *const words[] = {"shaw.keys", "2^55", NULL};
  fovea_problem_init(&problem, 1, 8, 8, 1, 1, INT64_C(1) << 40, 1);
  problem.shaw.kind = FOVEA_SHAW_KEYS;
  problem.shaw.distance = FOVEA_SHAW_DISTANCE_LIMIT;
  problem.shaw.heads = 8;
  assert_int_equal(fovea_plan_create(&problem, NULL, &plan, &error), FOVEA_ERROR_ARGUMENT);
  assert_says(&error, FOVEA_ERROR_ARGUMENT, words);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lengths_and_rules),
      cmocka_unit_test(test_distances),
      cmocka_unit_test(test_together),
      cmocka_unit_test(test_normalisers),
      cmocka_unit_test(test_special_values),
      cmocka_unit_test(test_weightless_keys),
      cmocka_unit_test(test_patterns),
      cmocka_unit_test(test_entries),
      cmocka_unit_test(test_caches),
      cmocka_unit_test(test_decode),
      cmocka_unit_test(test_states),
      cmocka_unit_test(test_threads),
      cmocka_unit_test(test_formula),
      cmocka_unit_test(test_accuracy),
      cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

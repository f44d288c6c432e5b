/* One answer in each mode, whatever the way: rows alone or together, keys in caches, rules as masks, threads, parts
 * of the keys, states, types. Each way on an instruction set of its own, AMX among them. */
#include "support/caches.h"
#include "support/check.h"
#include "support/cpus.h"
#include "support/execution.h"
#include "support/executors.h"
#include "support/modes.h"
#include "support/other_ways.h"
#include "support/patterns.h"
#include "support/problems.h"
#include "support/trial.h"

#include <math.h>
#include <string.h>

static const char *any_set(struct generator *generator) {
  const char *sets[MODE_SETS];
  const int count = mode_sets(sets);
  return sets[generator_below(generator, count)];
}

/* Any rules, lengths, masks, terms of scores and types, in a mode. */
static void draw(struct listed_problem *listed, struct generator *generator, int64_t budget) {
  problem_random(listed, generator, budget);
  problem_random_features(&listed->problem, generator);
  problem_random_modes(&listed->problem, generator, 1);
}

/* ---- Rows ---------------------------------------------------------------------------------------------------- */

/* Rows of a causal problem over the keys so far, `count` at a time, into their places. */
static void run_rows(const struct trial *trial, const char *isa, int64_t first, int64_t count) {
  fovea_problem problem = trial->problem;
  fovea_tensors tensors = trial_tensors(trial);
  fovea_error error;
  problem.q_len = count;
  problem.kv_len = trial->problem.kv_len - trial->problem.q_len + first + count;
  tensors.q = (const char *)tensors.q + first * problem.q_strides.row * (int64_t)type_size(problem.q_type);
  tensors.o = (char *)tensors.o + first * problem.o_strides.row * (int64_t)type_size(problem.o_type);
  tensors.lse += first * problem.lse_strides.row;
  if (fovea_attend(&problem, &tensors, on_isa(isa), &error) != FOVEA_OK) fail_msg("%s", error.text);
}

/* Prefill, chunks of any size, and single steps. */
static void test_rows(void **state) {
  (void)state;
  static const int64_t lengths[][2] = {{90, 90}, {40, 400}, {24, 2060}, {20, 4100}};
  struct generator generator = {1};
  for (int i = 0; i < USUAL_OR_LONG(6, 24); i++) {
    fovea_problem problem;
    fovea_problem_init(&problem, 1 + i % 2, 4, 1 + i % 2, lengths[i % 4][0], lengths[i % 4][1], 1 + 13 * (i % 11),
                       1 + 7 * (i % 9));
    fovea_problem_resolve(&problem, NULL);
    problem_set_modes(&problem, 1 + (i + i / 8) % (MODE_PAIRS - 1));
    problem.causal = 1;
    if (i % 3 == 0) problem.window_left = 200;
    if (i % 5 == 0) problem.softcap = 10;
    if (i % 4 == 0) problem.sink = FOVEA_SINK_PER_HEAD;
    problem.k_type = problem.v_type = problem.q_type = (fovea_type)(i / 2 % 3);
    struct trial prefill = trial_create(&problem, (uint64_t)i), steps = trial_sharing_inputs(&prefill);
    trial_run(&prefill, any_set(&generator), NULL);
    assert_contract(&prefill, USUAL_OR_LONG(20000, 50000));
    for (int64_t most = 1; most <= 33; most += 16) {
      const char *isa = any_set(&generator);
      trial_clear(&steps);
      for (int64_t row = 0; row < problem.q_len;) {
        int64_t count = 1 + generator_below(&generator, most);
        if (count > problem.q_len - row) count = problem.q_len - row;
        run_rows(&steps, isa, row, count);
        row += count;
      }
      trial_load(&steps);
      assert_same_outputs(&steps, &prefill);
    }
    trial_destroy(&steps);
    trial_destroy(&prefill);
  }
}

/* ---- Caches -------------------------------------------------------------------------------------------------- */

static void test_caches(void **state) {
  (void)state;
  struct generator generator = {2};
  for (int i = 0; i < USUAL_OR_LONG(10, 40); i++) {
    struct listed_problem listed;
    draw(&listed, &generator, USUAL_OR_LONG(100000, 500000));
    listed.problem.cu_seqlens_kv = NULL;
    problem_say_offsets(&listed.problem, listed.offsets);
    struct trial expected = trial_create(&listed.problem, (uint64_t)i), trial = trial_sharing_inputs(&expected);
    trial_run(&expected, any_set(&generator), NULL);
    for (int kind = 0; kind < CACHE_KINDS; kind++) {
      struct cache cache = cache_create(&trial, (enum cache_kind)kind, 0, NULL, &generator);
      trial_run_cached(&trial, any_set(&generator), cache.sequences, NULL);
      assert_same_outputs(&trial, &expected);
      assert_true(trial_gaps_untouched(&trial));
      cache_destroy(&cache);
    }
    trial_destroy(&trial);
    trial_destroy(&expected);
  }
}

/* ---- Masks --------------------------------------------------------------------------------------------------- */

static void add_mask(fovea_problem *problem, int type) {
  problem->mask.type = (fovea_mask_type)type;
  problem->mask.strides = fovea_mask_layout(problem->mask.type, problem->batch, problem->heads,
                                            problem_mask_rows(problem), problem_mask_keys(problem));
}

/* A mask of what another problem's rules hide, 0 elsewhere. */
static void mask_by_rules(struct mask *mask, const fovea_problem *rules) {
  const struct entry entry = problem_entry(rules, 0);
  for (int64_t h = 0; h < mask->heads; h++)
    for (int64_t i = 0; i < mask->rows; i++)
      for (int64_t j = 0; j < mask->keys; j++)
        mask_set(mask, 0, h, i, j, row_sees(rules, &entry, i, j) ? 0.0f : -INFINITY);
}

/* A rule, a mask of its meaning, and both; the mask's zeros are zeros added to scores. Rule 0 hides nothing. */
static void test_masks(void **state) {
  (void)state;
  static const int64_t lengths[][2] = {{60, 170}, {150, 150}, {1, 300}};
  struct generator generator = {3};
  for (int rule = 0; rule < rule_count; rule++)
    for (int type = FOVEA_MASK_BOOL + rule % 2; type <= FOVEA_MASK_BF16; type += 2) {
      const int i = (rule + type) % 3;
      fovea_problem problem, plain;
      fovea_problem_init(&problem, 1, 2, 1, lengths[i][0], lengths[i][1], 24, 16);
      fovea_problem_resolve(&problem, NULL);
      problem_set_modes(&problem, 1 + (rule + type / 2) % (MODE_PAIRS - 1));
      problem.sink = (fovea_sink)(rule % 3);
      if (rule % 5 == 0) problem.softcap = 2;
      plain = problem;
      problem_apply(&problem, &rule_list[rule]);
      struct trial expected = trial_create(&problem, (uint64_t)rule);
      trial_run(&expected, any_set(&generator), NULL);
      for (int both = 0; both <= 1; both++) {
        fovea_problem masked = both ? problem : plain;
        add_mask(&masked, type);
        struct trial actual = trial_create(&masked, (uint64_t)rule);
        mask_by_rules(&actual.mask, &problem);
        trial_run(&actual, any_set(&generator), NULL);
        assert_same_outputs(&actual, &expected);
        trial_destroy(&actual);
      }
      trial_destroy(&expected);
    }
}

/* Patterns of which rows see few keys, which exact mode computes from lists. */
static void test_patterns(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < USUAL_OR_LONG(8, 40); seed++) {
    struct generator generator = {seed};
    struct made_rules made = {0};
    fovea_problem problem;
    const int64_t rows = 1 + generator_below(&generator, 150), keys = 1 + generator_below(&generator, 1500);
    fovea_problem_init(&problem, 1, 4, 2, rows, keys, 33, 20);
    fovea_problem_resolve(&problem, NULL);
    const fovea_rule *rule = rule_sparse(&made, &generator, rows, keys);
    fovea_pattern *pattern = pattern_of(rule, 0, rows, keys, 0);
    const struct rule_table rules = same_rules(rule, 0);
    problem.offset = 0;
    problem.pattern = pattern;
    problem_set_modes(&problem, 1 + (int)(seed % (MODE_PAIRS - 1)));
    struct trial patterned = trial_create(&problem, seed), masked = masked_trial(&patterned, seed, &rules);
    trial_run(&patterned, any_set(&generator), NULL);
    trial_run(&masked, any_set(&generator), NULL);
    assert_same_outputs(&patterned, &masked);
    assert_contract(&masked, USUAL_OR_LONG(10000, 30000));
    trial_destroy(&masked);
    trial_destroy(&patterned);
    fovea_pattern_destroy(pattern);
    rules_free(&made);
  }
}

/* ---- Work ---------------------------------------------------------------------------------------------------- */

static void test_threads(void **state) {
  (void)state;
  struct generator generator = {4};
  cpus_use_all();
  for (int i = 0; i < USUAL_OR_LONG(10, 60); i++) {
    struct listed_problem listed;
    draw(&listed, &generator, USUAL_OR_LONG(100000, 500000));
    assert_same_by_threads(&listed.problem, (uint64_t)i);
    struct trial expected = trial_create(&listed.problem, (uint64_t)i), trial = trial_sharing_inputs(&expected);
    trial_run(&expected, any_set(&generator), NULL);
    struct executor executor = {.order = (enum task_order)(i % TASK_ORDERS)};
    fovea_execution execution;
    fovea_execution_init(&execution);
    execution.threads = 1 + i % 5;
    execution.parallel_for = i % 2 ? threads_for : serial_for;
    execution.parallel_context = &executor;
    trial_run(&trial, any_set(&generator), &execution);
    assert_same_outputs(&trial, &expected);
    trial_destroy(&trial);
    trial_destroy(&expected);
  }
}

/* Few rows and many keys: spans, and blocks of them, are tasks. */
static void test_split_keys(void **state) {
  (void)state;
  const int64_t keys[] = {900, 5000, USUAL_OR_LONG(6000, 30000)};
  for (int i = 0; i < 24; i++) {
    fovea_problem problem;
    fovea_problem_init(&problem, 1, 4, 1, 1 + i % 4, keys[i % 3], 64, 48);
    fovea_problem_resolve(&problem, NULL);
    problem_set_modes(&problem, 1 + i / 3);
    problem.k_type = problem.v_type = (fovea_type)(i % 2 ? FOVEA_BF16 : FOVEA_F32);
    assert_same_by_threads(&problem, (uint64_t)i);
    assert_same_by_states(&problem, i % 3 == 0 ? 0 : 2048, (uint64_t)i);
    assert_same_by_states(&problem, keys[i % 3] / 4096 * 4096, (uint64_t)i);
  }
}

/* Batch elements, heads and rows of a batch are as they are alone. */
static void test_parts_of_batches(void **state) {
  (void)state;
  enum { BATCH = 2, HEADS = 4, ROWS = 50, PIECE = 17 };
  struct generator generator = {5};
  for (int i = 0; i < USUAL_OR_LONG(4, 12); i++) {
    fovea_problem problem;
    fovea_problem_init(&problem, BATCH, HEADS, 2, ROWS, 300, 40, 24);
    fovea_problem_resolve(&problem, NULL);
    problem_random_features(&problem, &generator);
    problem_random_modes(&problem, &generator, 1);
    struct trial whole = trial_create(&problem, (uint64_t)i);
    trial_run(&whole, any_set(&generator), NULL);
    for (int64_t b = 0; b < BATCH; b++)
      for (int64_t h = 0; h < HEADS; h++)
        for (int64_t first = 0; first < ROWS; first += PIECE) {
          fovea_problem single = problem;
          single.batch = single.heads = single.kv_heads = 1;
          single.q_len = first + PIECE < ROWS ? PIECE : ROWS - first;
          const struct part q = {b, h, first}, kv = {b, h / 2, 0}, start = {0, 0, 0};
          struct trial alone = trial_of_part(&single, &whole, q, kv);
          trial_run(&alone, any_set(&generator), NULL);
          assert_same_part(&alone, start, &whole, q, 1, 1, single.q_len);
          trial_destroy(&alone);
        }
    trial_destroy(&whole);
  }
}

/* ---- Types --------------------------------------------------------------------------------------------------- */

/* The same numbers in f32; outputs of 16 bits are the f32 ones, rounded once. */
static void test_types(void **state) {
  (void)state;
  struct generator generator = {6};
  for (int types = 0; types < 81; types += USUAL_OR_LONG(7, 1)) {
    fovea_problem problem, wide;
    fovea_problem_init(&problem, 1, 2, 1, types % 4 ? 20 : 3, 140, 33, 40);
    fovea_problem_resolve(&problem, NULL);
    problem_set_modes(&problem, 1 + types / 3 % (MODE_PAIRS - 1));
    wide = problem;
    problem.q_type = (fovea_type)(types % 3);
    problem.k_type = (fovea_type)(types / 3 % 3);
    problem.v_type = (fovea_type)(types / 9 % 3);
    problem.o_type = (fovea_type)(types / 27);
    struct trial narrow = trial_create(&problem, (uint64_t)types);
    const struct part start = {0, 0, 0};
    struct trial expected = trial_of_part(&wide, &narrow, start, start);
    trial_run(&narrow, any_set(&generator), NULL);
    trial_run(&expected, any_set(&generator), NULL);
    assert_same_outputs(&narrow, &expected);
    trial_destroy(&expected);
    trial_destroy(&narrow);
  }
}

/* bf16: numbers that are rounded to it beforehand are left as they are. */
static void round_all(const struct tensor *tensor) {
  for (int64_t h = 0; h < tensor->heads; h++)
    for (int64_t i = 0; i < tensor->rows; i++)
      for (int64_t d = 0; d < tensor->dim; d++) {
        float *number = tensor_row(tensor, 0, h, i) + d;
        *number = rounded_number(FOVEA_BF16, *number);
      }
}

static void test_rounded_before(void **state) {
  (void)state;
  struct generator generator = {7};
  static const int modes[] = {BF16_SCORES, BF16_VALUES, BF16_BOTH};
  for (int i = 0; i < 3; i++) {
    fovea_problem problem;
    fovea_problem_init(&problem, 1, 2, 1, 70, 260, 64, 40);
    fovea_problem_resolve(&problem, NULL);
    problem_set_modes(&problem, modes[i]);
    struct trial plain = trial_create(&problem, 1), rounded = trial_create(&problem, 1);
    if (problem.modes.score == FOVEA_MODE_BF16) round_all(&rounded.q), round_all(&rounded.k);
    if (problem.modes.value == FOVEA_MODE_BF16) round_all(&rounded.v);
    trial_run(&plain, any_set(&generator), NULL);
    trial_run(&rounded, any_set(&generator), NULL);
    assert_same_outputs(&rounded, &plain);
    trial_destroy(&rounded);
    trial_destroy(&plain);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rows),
      cmocka_unit_test(test_caches),
      cmocka_unit_test(test_masks),
      cmocka_unit_test(test_patterns),
      cmocka_unit_test(test_threads),
      cmocka_unit_test(test_split_keys),
      cmocka_unit_test(test_parts_of_batches),
      cmocka_unit_test(test_types),
      cmocka_unit_test(test_rounded_before),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Patterns: each has the bits of a mask tensor of the same meaning. */
#include "src/pattern/pattern.h"
#include "support/caches.h"
#include "support/check.h"
#include "support/patterns.h"
#include "support/trial.h"

/* Every row and key of the range, and some around it. */
static void assert_sees(const fovea_pattern *pattern, const fovea_rule *rule, int64_t first_row, int64_t rows,
                        int64_t keys) {
  for (int64_t row = first_row; row < first_row + rows; row++)
    for (int64_t key = 0; key < keys; key++) {
      if (fovea_pattern_sees(pattern, 0, row, key) == rule_sees(rule, row, key)) continue;
      fail_msg("kind %d: row %lld %s key %lld", (int)rule->kind, (long long)row,
               rule_sees(rule, row, key) ? "does not see" : "sees", (long long)key);
    }
  assert_int_equal(fovea_pattern_sees(pattern, 0, first_row + rows, 0), 0);
  assert_int_equal(fovea_pattern_sees(pattern, 0, first_row - 1, 0), 0);
  assert_int_equal(fovea_pattern_sees(pattern, 0, first_row, keys), 0);
  assert_int_equal(fovea_pattern_sees(pattern, 1, first_row, 0), 0);
}

static void test_parts_see(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < USUAL_OR_LONG(15, 60); seed++)
    for (int kind = FOVEA_RULE_CAUSAL; kind <= FOVEA_RULE_NEIGHBOURHOOD; kind++) {
      struct generator generator = {seed * 100 + (uint64_t)kind};
      struct made_rules made = {0};
      const int64_t first = generator_below(&generator, 2) * generator_below(&generator, 90);
      const int64_t rows = 1 + generator_below(&generator, 150), keys = 1 + generator_below(&generator, 330);
      const fovea_rule *rule = rule_random(&made, &generator, (fovea_rule_kind)kind, first, rows, keys);
      fovea_pattern *pattern = pattern_of(rule, first, rows, keys, 0);
      assert_sees(pattern, rule, first, rows, keys);
      fovea_pattern_destroy(pattern);
      rules_free(&made);
    }
}

/* The words of some rows of each band, as a run reads them, and the keys that the band's blocks are found by. */
static void assert_words(const fovea_pattern *pattern, const fovea_rule *rule) {
  for (int64_t band = 0; band < pattern->bands; band++) {
    const int64_t first = pattern->first_row + band * FOVEA_BAND_ROWS,
                  left = pattern->rows - band * FOVEA_BAND_ROWS;
    const int count = (int)(left < FOVEA_BAND_ROWS ? left : FOVEA_BAND_ROWS);
    const fovea_pattern_bands bands = {pattern, 0, 1, band, 1};
    int64_t rows[FOVEA_BAND_ROWS];
    uint64_t words[FOVEA_BAND_ROWS];
    for (int i = 0; i < count; i++) rows[i] = first + i;
    for (int64_t key = 0; key < pattern->keys; key++) {
      const int place = (int)(key % FOVEA_WORD_KEYS), may = fovea_pattern_next_key(&bands, key) == key;
      if (place == 0) fovea_pattern_words(pattern, 0, rows, count, key, words);
      for (int i = 0; i < count; i++) {
        const int sees = rule_sees(rule, rows[i], key);
        if ((int)(words[i] >> place & 1) == sees && may >= sees) continue;
        fail_msg("kind %d: row %lld and key %lld", (int)rule->kind, (long long)rows[i], (long long)key);
      }
    }
  }
}

static void test_words(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < USUAL_OR_LONG(60, 400); seed++) {
    struct generator generator = {seed};
    struct made_rules made = {0};
    const int64_t first = generator_below(&generator, 2) * generator_below(&generator, 90);
    const int64_t rows = 1 + generator_below(&generator, 150), keys = 1 + generator_below(&generator, 600);
    const fovea_rule_kind kind = (fovea_rule_kind)(1 + seed % FOVEA_RULE_NEIGHBOURHOOD);
    const fovea_rule *rule = seed % 2 ? rule_random_joined(&made, &generator, 2, first, rows, keys)
                                      : rule_random(&made, &generator, kind, first, rows, keys);
    fovea_pattern *pattern = pattern_of(rule, first, rows, keys, 0);
    assert_words(pattern, rule);
    fovea_pattern_destroy(pattern);
    rules_free(&made);
  }
}

static int64_t pairs_of_mask(const struct trial *masked) {
  int64_t pairs = 0;
  for (int64_t b = 0; b < masked->problem.batch; b++) {
    const struct entry entry = problem_entry(&masked->problem, b);
    for (int64_t h = 0; h < masked->problem.heads; h++)
      for (int64_t i = 0; i < entry.q_len; i++)
        for (int64_t j = 0; j < entry.kv_len; j++) pairs += trial_sees(masked, b, h, i, j) != 0;
  }
  return pairs;
}

/* The library's own count of pairs. */
static fovea_counts counts_of(const struct trial *trial) {
  fovea_plan *plan;
  fovea_run *run;
  fovea_counts counts;
  const fovea_tensors tensors = trial_tensors(trial);
  assert_int_equal(fovea_plan_create(&trial->problem, NULL, &plan, NULL), FOVEA_OK);
  const size_t size = fovea_plan_scratch_size(plan, 1);
  struct guarded scratch = guarded_create(size, GUARD_AT_START);
  struct guarded memory = guarded_create(fovea_run_size(plan), GUARD_AT_START);
  assert_int_equal(
      fovea_run_bind(plan, &tensors, 1, scratch.data, size, memory.data, fovea_run_size(plan), &run, NULL),
      FOVEA_OK);
  assert_int_equal(fovea_run_counts(run, &counts), FOVEA_OK);
  guarded_destroy(&memory);
  guarded_destroy(&scratch);
  fovea_plan_destroy(plan);
  return counts;
}

/* On every instruction set: O, LSE and scores of the pattern have the bits of the mask. One thread, so that no time
 * goes by in waiting; tests/test_pattern_places.c has several. */
static void check(const fovea_problem *problem, uint64_t seed, const struct rule_table *rules) {
  struct trial patterned = trial_create(problem, seed);
  struct trial masked = masked_trial(&patterned, seed, rules);
  const char *const *isas = usable_isas_for(problem);
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.threads = 1;
  for (int isa = 0; isas[isa] != NULL; isa++) {
    trial_run(&patterned, isas[isa], &execution);
    trial_run(&masked, isas[isa], &execution);
    assert_same_outputs(&patterned, &masked);
    assert_true(trial_gaps_untouched(&patterned));
  }
  const fovea_counts counts = counts_of(&patterned);
  assert_int_equal(counts.pairs_visible, pairs_of_mask(&masked));
  trial_destroy(&masked);
  trial_destroy(&patterned);
}

/* Sizes that make tiles, decoding, parts of keys, groups of heads; sometimes other rules, scores or a mask, too. */
static fovea_problem random_problem(struct generator *generator) {
  fovea_problem problem;
  const int64_t group = 1 + generator_below(generator, 4), kv_heads = 1 + generator_below(generator, 2);
  const int64_t kinds[][2] = {{1, 700}, {4, 300}, {70, 130}, {130, 400}, {33, 700}, {2, 4500}};
  const int64_t *lengths = kinds[generator_below(generator, USUAL_OR_LONG(4, 6))];
  fovea_problem_init(&problem, 1 + generator_below(generator, 2), kv_heads * group, kv_heads,
                     1 + generator_below(generator, lengths[0]), 1 + generator_below(generator, lengths[1]),
                     1 + generator_below(generator, 20), 1 + generator_below(generator, 20));
  fovea_problem_resolve(&problem, NULL);
  problem.offset = generator_below(generator, problem.kv_len);
  if (generator_below(generator, 3) == 0) problem.causal = 1;
  if (generator_below(generator, 3) == 0) problem.window_left = generator_below(generator, 200);
  if (generator_below(generator, 3) == 0) problem.scores.kind = (fovea_score_output)generator_below(generator, 5);
  if (generator_below(generator, 3) == 0) {
    problem.mask.type = (fovea_mask_type)(1 + generator_below(generator, FOVEA_MASK_BF16));
    problem.mask.strides =
        fovea_mask_layout(problem.mask.type, problem.batch, problem.heads, problem.q_len, problem.kv_len);
    if (generator_below(generator, 2)) problem.mask.strides.head = problem.mask.strides.row = 0;
  }
  if (generator_below(generator, 4) == 0) problem.k_type = problem.q_type = FOVEA_BF16;
  return problem;
}

static void test_random(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < USUAL_OR_LONG(20, 90); seed++) {
    struct generator generator = {seed};
    struct made_rules made = {0};
    fovea_problem problem = random_problem(&generator);
    const int64_t first = generator_below(&generator, problem.offset + 1);
    const int64_t rows = problem.offset - first + problem.q_len + generator_below(&generator, 70);
    const int64_t keys = problem.kv_len + generator_below(&generator, 2) * generator_below(&generator, 200);
    const fovea_rule *rule = rule_random_joined(&made, &generator, (int)(seed % 4), first, rows, keys);
    fovea_pattern *pattern = pattern_of(rule, first, rows, keys, 0);
    const struct rule_table rules = same_rules(rule, 0);
    problem.pattern = pattern;
    check(&problem, seed, &rules);
    fovea_pattern_destroy(pattern);
    rules_free(&made);
  }
}

/* Every part alone and every pair of parts, over a few tiles and blocks. */
static void test_pairs_of_parts(void **state) {
  (void)state;
  enum { FIRST = FOVEA_RULE_CAUSAL, LAST = FOVEA_RULE_NEIGHBOURHOOD };
  const int64_t rows = USUAL_OR_LONG(70, 100), keys = USUAL_OR_LONG(200, 300);
  for (int left = FIRST; left <= LAST; left++)
    for (int right = FIRST; right <= LAST; right++) {
      struct generator generator = {(uint64_t)(left * 16 + right)};
      struct made_rules made = {0};
      const fovea_rule *a = rule_random(&made, &generator, (fovea_rule_kind)left, 0, rows, keys);
      const fovea_rule *b = rule_random(&made, &generator, (fovea_rule_kind)right, 0, rows, keys);
      const fovea_rule *other = rule_keep(&made, fovea_rule_not(b));
      const fovea_rule *joined[] = {rule_keep(&made, fovea_rule_and(a, b)), rule_keep(&made, fovea_rule_or(a, b)),
                                    rule_keep(&made, fovea_rule_and(a, other))};
      for (int i = (left + right) % USUAL_OR_LONG(3, 1); i < 3; i += USUAL_OR_LONG(3, 1)) {
        fovea_problem problem;
        fovea_pattern *pattern = pattern_of(joined[i], 0, rows, keys, 0);
        const struct rule_table rules = same_rules(joined[i], 0);
        fovea_problem_init(&problem, 1, 4, 2, rows, keys, 8, 8);
        fovea_problem_resolve(&problem, NULL);
        problem.offset = 0;
        problem.pattern = pattern;
        check(&problem, 5, &rules);
        fovea_pattern_destroy(pattern);
      }
      rules_free(&made);
    }
}

/* Rows of lists are computed one by one, if lists are short: graphs, chosen keys. Lists of every length, some over
 * many spans of keys, alone and with another rule, for all heads or each. */
static void test_lists(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < USUAL_OR_LONG(24, 150); seed++) {
    struct generator generator = {seed};
    struct made_rules made = {0};
    fovea_problem problem = random_problem(&generator);
    if (seed % 5) problem.mask.type = FOVEA_MASK_NONE;
    if (seed % 7) problem.scores.kind = FOVEA_SCORES_NONE;
    if (seed % 4 == 0) problem.kv_len += generator_below(&generator, USUAL_OR_LONG(3000, 20000));
    const int64_t rows = problem.q_len + problem.offset, keys = problem.kv_len;
    fovea_problem_init(&problem, 1, problem.heads, problem.kv_heads, problem.q_len, keys, 1 + (int64_t)(seed % 140),
                       1 + (int64_t)(seed * 7 % 70));
    fovea_problem_resolve(&problem, NULL);
    problem.offset = rows - problem.q_len;
    problem.causal = seed % 3 == 0;
    problem.v_type = (fovea_type)(seed % 3);
    const int64_t heads = seed % 3 == 1 ? problem.heads : seed % 3 == 2 ? problem.kv_heads : 1;
    const fovea_rule *of_heads[8] = {NULL};
    struct rule_table rules = {.by_row = 0};
    for (int64_t h = 0; h < heads; h++) {
      const fovea_rule *lists = rule_sparse(&made, &generator, rows, keys);
      const fovea_rule *other = rule_random_joined(&made, &generator, 1, 0, rows, keys);
      of_heads[h] =
          seed % 2 ? lists : rule_keep(&made, h % 2 ? fovea_rule_and(lists, other) : fovea_rule_and(other, lists));
    }
    for (int64_t h = 0; h < problem.heads; h++)
      rules.of[0][h] = rules.of[1][h] = of_heads[heads == problem.heads ? h : h / (problem.heads / heads)];
    fovea_pattern_options options;
    fovea_pattern *pattern;
    fovea_pattern_options_init(&options, NULL, rows, keys);
    options.rules = of_heads;
    options.heads = heads;
    assert_int_equal(fovea_pattern_create(&options, &pattern, NULL), FOVEA_OK);
    problem.pattern = pattern;
    check(&problem, seed, &rules);
    fovea_pattern_destroy(pattern);
    rules_free(&made);
  }
}

/* A rule for each query head, and for each kv head. */
static void test_heads(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < USUAL_OR_LONG(6, 24); seed++) {
    struct generator generator = {seed};
    struct made_rules made = {0};
    fovea_problem problem = random_problem(&generator);
    const int64_t group = problem.heads / problem.kv_heads, rows = problem.q_len + problem.offset;
    const int64_t heads = seed % 2 ? problem.heads : problem.kv_heads;
    const fovea_rule *of_heads[8] = {NULL};
    struct rule_table rules = {.by_row = 0};
    for (int64_t h = 0; h < heads; h++)
      of_heads[h] = rule_random_joined(&made, &generator, 2, 0, rows, problem.kv_len);
    for (int64_t h = 0; h < problem.heads; h++)
      rules.of[0][h] = rules.of[1][h] = of_heads[heads == problem.heads ? h : h / group];
    fovea_pattern *pattern;
    fovea_pattern_options options;
    fovea_pattern_options_init(&options, NULL, rows, problem.kv_len);
    options.rules = of_heads;
    options.heads = heads;
    assert_int_equal(fovea_pattern_create(&options, &pattern, NULL), FOVEA_OK);
    problem.pattern = pattern;
    check(&problem, seed, &rules);
    fovea_pattern_destroy(pattern);
    rules_free(&made);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_parts_see), cmocka_unit_test(test_words), cmocka_unit_test(test_pairs_of_parts),
      cmocka_unit_test(test_random),    cmocka_unit_test(test_lists), cmocka_unit_test(test_heads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

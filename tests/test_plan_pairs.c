/* Pairs and blocks that plans explain. Which keys a row sees must be what the rules say in words, pair by pair; blocks
 * and pairs must be what one counts pair by pair; computed pairs what a run counts. */
#include "src/plan/tiles.h"
#include "support/check.h"
#include "support/execution.h"
#include "support/explanation.h"
#include "support/guarded.h"
#include "support/patterns.h"

#include <stdlib.h>
#include <string.h>

/* The first key after the keys of a batch element that the mask has, or may have. */
static int64_t keys_end(const fovea_problem *p, int64_t b, const struct entry *entry) {
  int64_t end = entry->kv_len;
  if (p->keys.end != FOVEA_UNLIMITED && p->keys.end < end) end = p->keys.end;
  if (p->mask.type != FOVEA_MASK_NONE && p->mask.keys != FOVEA_UNLIMITED &&
      problem_mask_begin(p, b) + p->mask.keys < end)
    end = problem_mask_begin(p, b) + p->mask.keys;
  return end;
}

/* seen[key] for the keys of one row. */
static void see(const fovea_problem *p, const struct rule_table *rules, int64_t b, int64_t head, int64_t row,
                char *seen) {
  const struct entry entry = problem_entry(p, b);
  const fovea_rule *rule = rules ? rules->of[b][head] : NULL;
  const int64_t end = keys_end(p, b, &entry);
  for (int64_t key = 0; key < p->kv_len; key++) {
    seen[key] = key < end && row_sees(p, &entry, row, key);
    if (seen[key] && rule) seen[key] = rule_sees(rule, rules->by_row ? row : row + entry.offset, key) != 0;
  }
}

static void check_row_keys(const fovea_plan *plan, const fovea_problem *p, int64_t b, int64_t head, int64_t row,
                           const char *seen) {
  uint64_t words[200];
  const int64_t count = p->kv_len / 64 + 1;
  assert_true(count <= 200);
  assert_int_equal(fovea_plan_row_keys(plan, b, head, row, 0, count, words, NULL), FOVEA_OK);
  for (int64_t key = 0; key < 64 * count; key++) {
    const int sees = key < p->kv_len && seen[key];
    if ((int)(words[key / 64] >> key % 64 & 1) == sees) continue;
    fail_msg("entry %d, head %d, row %d %s key %d", (int)b, (int)head, (int)row, sees ? "sees" : "does not see",
             (int)key);
  }
}

/* The block from `base` on, as the rows of a tile see it. */
static void count_block(const fovea_problem *p, const fovea_entry *entry, fovea_tile_rows rows, const char *seen,
                        int64_t base, fovea_explanation *to) {
  const int64_t end = base + 128 < entry->kv_len ? base + 128 : entry->kv_len;
  const int64_t begin = base > entry->kv_begin ? base : entry->kv_begin;
  int64_t pairs = 0, last = -1;
  int holes = 0;
  for (int i = 0; i < rows.count; i++) {
    int64_t first = -1;
    const char *row = seen + i * p->kv_len;
    int64_t of_row = 0, row_last = -1;
    for (int64_t key = begin; key < end; key++) {
      if (!row[key]) continue;
      if (first < 0) first = key;
      row_last = key;
      of_row++;
    }
    pairs += of_row;
    holes |= of_row > 0 && row_last - first + 1 != of_row;
  }
  /* A mask from which no row may see anything is not looked at. */
  for (int i = 0; i < rows.count; i++)
    for (int64_t key = begin; key < end; key++)
      if (seen[i * p->kv_len + key] && key > last) last = key;
  to->blocks++;
  to->pairs_visible += pairs;
  if (pairs == 0) {
    to->blocks_empty++;
  } else if (p->mask.type != FOVEA_MASK_NONE && entry->mask_begin <= last) {
    to->blocks_masked++;
  } else if (pairs == rows.count * (end - begin)) {
    to->blocks_full++;
  } else if (holes) {
    to->blocks_bits++;
  } else {
    to->blocks_limited++;
  }
}

static void count_tile(const fovea_plan *plan, const fovea_problem *p, const struct rule_table *rules,
                       const fovea_entry *entry, int64_t kv_head, fovea_tile_rows rows, fovea_explanation *to) {
  char *seen = calloc((size_t)(rows.count * p->kv_len), 1);
  assert_non_null(seen);
  for (int i = 0; i < rows.count; i++) {
    const int64_t number = rows.first + i, head = kv_head * plan->group + number % plan->group;
    see(p, rules, entry->batch, head, number / plan->group, seen + i * p->kv_len);
    check_row_keys(plan, p, entry->batch, head, number / plan->group, seen + i * p->kv_len);
  }
  if (entry->kv_begin < entry->kv_len) {
    to->pairs += rows.count * (entry->kv_len - entry->kv_begin);
    for (int64_t base = entry->kv_begin / 128 * 128; base < entry->kv_len; base += 128)
      count_block(p, entry, rows, seen, base, to);
  }
  free(seen);
}

static fovea_explanation count_pairs(const fovea_plan *plan, const fovea_problem *p,
                                     const struct rule_table *rules) {
  fovea_explanation to = {0};
  for (int64_t b = 0; b < p->batch; b++) {
    const fovea_entry *entry = &plan->entries[b];
    for (int64_t kv_head = 0; kv_head < p->kv_heads; kv_head++) {
      to.tiles += fovea_plan_tiles(plan, entry);
      for (int64_t tile = 0; tile < fovea_plan_tiles(plan, entry); tile++)
        count_tile(plan, p, rules, entry, kv_head, fovea_plan_tile_rows(plan, entry, tile), &to);
    }
  }
  return to;
}

#define ASSERT_SAME(field)                                                                                         \
  if (is.field != wanted.field)                                                                                    \
  fail_msg("%s: " #field " is %lld, not %lld; %s", plan->kernels->name, (long long)is.field,                       \
           (long long)wanted.field, text)

static void check_plan(const fovea_plan *plan, const fovea_problem *p, const struct rule_table *rules) {
  const fovea_explanation is = explain(plan), wanted = count_pairs(plan, p, rules);
  char text[DESCRIPTION_SIZE];
  problem_describe(p, text, sizeof text);
  ASSERT_SAME(tiles);
  ASSERT_SAME(pairs);
  ASSERT_SAME(pairs_visible);
  ASSERT_SAME(blocks);
  ASSERT_SAME(blocks_empty);
  ASSERT_SAME(blocks_masked);
  ASSERT_SAME(blocks_full);
  ASSERT_SAME(blocks_limited);
  ASSERT_SAME(blocks_bits);
  assert_true(is.flops == 2.0 * (double)(p->qk_dim + p->v_dim) * (double)is.pairs_visible);
  int64_t rows = 0;
  for (int64_t b = 0; b < p->batch; b++) rows += plan->entries[b].q_len * p->heads;
  assert_int_equal(is.rows_tiled + is.rows_decoded + is.rows_gathered, rows);
  assert_string_equal(is.isa, fovea_plan_isa(plan));
  assert_true(is.isa_reason && is.isa_reason[0] && is.rows_reason && is.rows_reason[0] && is.parts_reason &&
              is.parts_reason[0]);
  assert_int_equal(is.scratch_bytes, fovea_plan_scratch_size(plan, is.workers));
}

/* What a run counts, if no mask hides anything. */
static void check_computed(const fovea_plan *plan, const struct trial *trial) {
  const fovea_tensors tensors = trial_tensors(trial);
  const size_t size = fovea_plan_scratch_size(plan, 1);
  struct guarded scratch = guarded_create(size, GUARD_AT_START);
  struct guarded memory = guarded_create(fovea_run_size(plan), GUARD_AT_START);
  fovea_run *run;
  fovea_counts counts;
  assert_int_equal(
      fovea_run_bind(plan, &tensors, 1, scratch.data, size, memory.data, fovea_run_size(plan), &run, NULL),
      FOVEA_OK);
  assert_int_equal(fovea_run_counts(run, &counts), FOVEA_OK);
  const fovea_explanation is = explain(plan);
  assert_int_equal(is.pairs_visible, counts.pairs_visible);
  assert_int_equal(is.pairs_computed, counts.pairs_computed);
  guarded_destroy(&memory);
  guarded_destroy(&scratch);
}

static void check(const fovea_problem *problem, const struct rule_table *rules, uint64_t seed) {
  for (const char *const *isa = usable_isas_for(problem); *isa != NULL; isa++) {
    fovea_problem named = *problem;
    fovea_plan *plan;
    fovea_error error;
    if (fovea_plan_create(&named, on_isa(*isa), &plan, &error) != FOVEA_OK) fail_msg("%s", error.text);
    check_plan(plan, &named, rules);
    if (problem->mask.type == FOVEA_MASK_NONE && problem->scores.kind <= FOVEA_SCORES_WEIGHTS) {
      struct trial trial = trial_create(problem, seed);
      check_computed(plan, &trial);
      trial_destroy(&trial);
    }
    fovea_plan_destroy(plan);
  }
}

static void test_random_problems(void **state) {
  (void)state;
  struct generator generator = {41};
  for (int i = 0; i < USUAL_OR_LONG(6, 40); i++) {
    struct listed_problem listed;
    problem_random(&listed, &generator, USUAL_OR_LONG(INT64_C(100000), INT64_C(1000000)));
    if (i % 2) problem_random_features(&listed.problem, &generator);
    check(&listed.problem, NULL, (uint64_t)i);
  }
}

static fovea_problem random_problem(struct generator *generator) {
  fovea_problem problem;
  const int64_t group = 1 + generator_below(generator, 3), kv_heads = 1 + generator_below(generator, 2);
  fovea_problem_init(&problem, 1 + generator_below(generator, 2), kv_heads * group, kv_heads,
                     1 + generator_below(generator, generator_below(generator, 2) ? 5 : 150),
                     1 + generator_below(generator, 600), 8, 8);
  fovea_problem_resolve(&problem, NULL);
  problem.offset = generator_below(generator, problem.kv_len);
  if (generator_below(generator, 3) == 0) problem.causal = 1;
  if (generator_below(generator, 3) == 0) problem.window_left = generator_below(generator, 200);
  if (generator_below(generator, 4) == 0) problem.keys.begin = generator_below(generator, problem.kv_len);
  if (generator_below(generator, 4) == 0) {
    problem.mask.type = FOVEA_MASK_BITS;
    problem.mask.strides = fovea_mask_layout(FOVEA_MASK_BITS, 1, 1, problem.q_len, problem.kv_len);
    problem.mask.begin = generator_below(generator, problem.kv_len);
    problem.mask.keys = generator_below(generator, problem.kv_len - problem.mask.begin + 1);
  }
  return problem;
}

/* Any pattern, of all heads, each, or each kv head. */
static void test_random_patterns(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < USUAL_OR_LONG(10, 90); seed++) {
    struct generator generator = {seed};
    struct made_rules made = {0};
    fovea_problem problem = random_problem(&generator);
    const int64_t group = problem.heads / problem.kv_heads, rows = problem.q_len + problem.offset;
    const int64_t heads = seed % 3 == 0 ? 1 : seed % 3 == 1 ? problem.heads : problem.kv_heads;
    const fovea_rule *of_heads[8] = {NULL};
    struct rule_table rules = {.by_row = 0};
    for (int64_t h = 0; h < heads; h++)
      of_heads[h] = seed % 5 == 4 ? rule_sparse(&made, &generator, rows, problem.kv_len)
                                  : rule_random_joined(&made, &generator, (int)(seed % 4), 0, rows, problem.kv_len);
    for (int64_t h = 0; h < problem.heads; h++)
      rules.of[0][h] = rules.of[1][h] = of_heads[heads == 1 ? 0 : heads == problem.heads ? h : h / group];
    fovea_pattern *pattern;
    fovea_pattern_options options;
    fovea_pattern_options_init(&options, heads == 1 ? of_heads[0] : NULL, rows, problem.kv_len);
    if (heads > 1 || seed % 3) {
      options.rule = NULL;
      options.rules = of_heads;
      options.heads = heads;
    }
    assert_int_equal(fovea_pattern_create(&options, &pattern, NULL), FOVEA_OK);
    problem.pattern = pattern;
    check(&problem, &rules, seed);
    fovea_pattern_destroy(pattern);
    rules_free(&made);
  }
}

/* A pattern of rows, whose numbers do not depend on the offset. */
static void test_by_row(void **state) {
  (void)state;
  const int64_t starts[] = {0, 2, 2, 5}, keys[] = {1, 4, 0, 2, 300};
  const fovea_rule rule = fovea_rule_edges(0, 3, starts, keys);
  const struct rule_table rules = same_rules(&rule, 1);
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 2, 1, 3, 400, 8, 8);
  fovea_problem_resolve(&problem, NULL);
  fovea_pattern *pattern = pattern_of(&rule, 0, 3, 400, 1);
  problem.pattern = pattern;
  check(&problem, &rules, 1);
  fovea_pattern_destroy(pattern);
}

/* Many full blocks, counted together, of which a mask tensor changes the last. */
static void test_late_mask(void **state) {
  (void)state;
  fovea_problem problem;
  for (int64_t begin = 0; begin <= 1500; begin += begin < 600 ? 300 : 20) {
    fovea_problem_init(&problem, 1, 2, 1, 40, 1500, 8, 8);
    fovea_problem_resolve(&problem, NULL);
    problem.keys.begin = 100;
    problem.mask.type = FOVEA_MASK_BOOL;
    problem.mask.begin = begin;
    check(&problem, NULL, 1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_problems),
      cmocka_unit_test(test_random_patterns),
      cmocka_unit_test(test_by_row),
      cmocka_unit_test(test_late_mask),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

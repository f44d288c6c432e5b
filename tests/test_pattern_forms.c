/* One meaning in many forms: parameters of the problem, a mask, patterns of rules, of edges (CSR), of lists of one
 * length, and of blocks. All have the same bits, also of scores and other outputs. */
#include "support/check.h"
#include "support/patterns.h"
#include "support/problems.h"
#include "support/trial.h"

#include <stdlib.h>

enum form { FORM_MASK, FORM_RULES, FORM_EDGES, FORM_LISTS, FORM_BLOCKS, FORM_NEGATED, FORMS };

/* The parameters as rules, joined by and. */
static const fovea_rule *rules_of(struct made_rules *made, const struct rule *rule) {
  const fovea_rule *all = rule_keep(made, fovea_rule_window(rule->window_left, rule->window_right));
  if (rule->causal) all = rule_keep(made, fovea_rule_and(rule_keep(made, fovea_rule_causal()), all));
  if (rule->chunk_size == 0) return all;
  const int64_t size = rule->chunk_size < INT32_MAX ? rule->chunk_size : INT32_MAX; /* beyond any length */
  const fovea_rule chunks = fovea_rule_chunks(size, rule->chunk_left, rule->chunk_right);
  return rule_keep(made, fovea_rule_and(all, rule_keep(made, chunks)));
}

static int64_t *keep_list(struct made_rules *made, int64_t count) {
  assert_true(made->list_count < MADE_LISTS);
  int64_t *list = malloc((size_t)(count + 1) * sizeof *list);
  assert_non_null(list);
  return made->lists[made->list_count++] = list;
}

/* The keys of each row in descending order, the first of them twice. */
static const fovea_rule *edges_of(struct made_rules *made, const fovea_problem *problem) {
  const struct entry entry = problem_entry(problem, 0);
  int64_t *starts = keep_list(made, entry.rows), *keys = keep_list(made, entry.rows * (entry.kv_len + 1));
  starts[0] = 0;
  for (int64_t i = 0; i < entry.rows; i++) {
    starts[i + 1] = starts[i];
    for (int64_t j = entry.kv_len; j-- > 0;)
      if (row_sees(problem, &entry, i, j)) keys[starts[i + 1]++] = j;
    if (starts[i + 1] > starts[i]) {
      keys[starts[i + 1]] = keys[starts[i]];
      starts[i + 1]++;
    }
  }
  return rule_keep(made, fovea_rule_edges(0, entry.rows, starts, keys));
}

/* Lists of all keys, with -1 for keys that are not visible. */
static const fovea_rule *lists_of(struct made_rules *made, const fovea_problem *problem) {
  const struct entry entry = problem_entry(problem, 0);
  const int64_t length = entry.kv_len;
  int64_t *keys = keep_list(made, entry.rows * length);
  for (int64_t i = 0; i < entry.rows; i++)
    for (int64_t j = 0; j < length; j++) keys[i * length + j] = row_sees(problem, &entry, i, j) ? j : -1;
  return rule_keep(made, fovea_rule_lists(0, entry.rows, length, keys));
}

/* Blocks of one row and one key. */
static const fovea_rule *blocks_of(struct made_rules *made, const fovea_problem *problem) {
  const fovea_rule *edges = edges_of(made, problem);
  return rule_keep(made, fovea_rule_blocks(1, 1, edges->count, edges->starts, edges->numbers));
}

/* What a pattern of this form is made of; its rows are counted from the first, unless it is of rules. */
static const fovea_rule *rule_of(struct made_rules *made, enum form form, const struct rule *rule,
                                 const fovea_problem *problem) {
  switch (form) {
  case FORM_RULES:
    return rules_of(made, rule);
  case FORM_LISTS:
    return lists_of(made, problem);
  case FORM_BLOCKS:
    return blocks_of(made, problem);
  case FORM_NEGATED:
    return rule_keep(made, fovea_rule_not(rule_keep(made, fovea_rule_not(edges_of(made, problem)))));
  default:
    return edges_of(made, problem);
  }
}

static fovea_problem without_rules(const fovea_problem *problem) {
  fovea_problem plain = *problem;
  plain.causal = 0;
  plain.window_left = plain.window_right = FOVEA_UNLIMITED;
  plain.chunks.size = plain.chunks.left = plain.chunks.right = 0;
  return plain;
}

static struct trial mask_of(const struct trial *by_rules, uint64_t seed) {
  fovea_problem problem = without_rules(&by_rules->problem);
  problem.mask.type = FOVEA_MASK_BITS;
  problem.mask.strides = fovea_mask_layout(FOVEA_MASK_BITS, 1, 1, problem.q_len, problem.kv_len);
  struct trial masked = trial_create(&problem, seed);
  for (int64_t i = 0; i < problem.q_len; i++)
    for (int64_t j = 0; j < problem.kv_len; j++)
      mask_set(&masked.mask, 0, 0, i, j, trial_sees(by_rules, 0, 0, i, j) ? 0.0f : -__builtin_inff());
  return masked;
}

static void assert_form(struct trial *formed, const struct trial *expected) {
  const char *const *isas = usable_isas_for(&formed->problem);
  for (int isa = 0; isas[isa] != NULL; isa++) {
    trial_run(formed, isas[isa], NULL);
    assert_same_outputs(formed, expected);
  }
}

static void check_pattern(const struct trial *expected, enum form form, const struct rule *rule, uint64_t seed) {
  struct made_rules made = {0};
  fovea_problem problem = without_rules(&expected->problem);
  const struct entry entry = problem_entry(&expected->problem, 0);
  const int by_row = form != FORM_RULES;
  if (!by_row && entry.offset < 0) return; /* positions are not negative */
  const fovea_rule *meaning = rule_of(&made, form, rule, &expected->problem);
  fovea_pattern *pattern = pattern_of(meaning, by_row ? 0 : entry.offset, problem.q_len, problem.kv_len, by_row);
  problem.pattern = pattern;
  struct trial formed = trial_create(&problem, seed);
  assert_form(&formed, expected);
  trial_destroy(&formed);
  fovea_pattern_destroy(pattern);
  rules_free(&made);
}

static void check(const fovea_problem *problem, const struct rule *rule, uint64_t seed) {
  struct trial expected = trial_create(problem, seed);
  trial_run(&expected, NULL, NULL);
  struct trial masked = mask_of(&expected, seed);
  assert_form(&masked, &expected);
  for (enum form form = FORM_RULES; form < FORMS; form++) check_pattern(&expected, form, rule, seed);
  trial_destroy(&masked);
  trial_destroy(&expected);
}

/* Tiles, few rows, one row over many keys. */
static void test_forms(void **state) {
  (void)state;
  static const int64_t lengths[][2] = {{90, 200}, {3, 150}, {1, 600}, {40, 33}};
  for (int i = 0; i < rule_count; i++)
    for (int j = i % USUAL_OR_LONG(4, 1); j < 4; j += USUAL_OR_LONG(4, 1)) {
      fovea_problem problem;
      fovea_problem_init(&problem, 1, 4, 2, lengths[j][0], lengths[j][1], 20, 12);
      problem_apply(&problem, &rule_list[i]);
      problem.scores.kind = (fovea_score_output)((i + j) % 5);
      problem.max_logits = problem.entropy = problem.column_sums.wanted = 1;
      problem.top.k = 5;
      if (i % 3 == 0) problem.q_type = problem.k_type = FOVEA_BF16;
      check(&problem, &rule_list[i], (uint64_t)i);
    }
}

/* The same without the softmax, whose divisor counts the keys that a row sees. */
static void test_forms_of_normalisers(void **state) {
  (void)state;
  for (int i = 0; i < rule_count; i += USUAL_OR_LONG(5, 1)) {
    fovea_problem problem;
    fovea_problem_init(&problem, 1, 4, 2, i % 2 ? 2 : 70, 150, 20, 12);
    problem_apply(&problem, &rule_list[i]);
    problem_set_normaliser(&problem, 6 + i % 3); /* divided by the number of keys */
    check(&problem, &rule_list[i], (uint64_t)i);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_forms), cmocka_unit_test(test_forms_of_normalisers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

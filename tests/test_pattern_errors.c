/* Rules and options of patterns that are refused, each with its text. */
#include "support/check.h"
#include "support/patterns.h"
#include "support/refusals.h"

#include <stdio.h>
#include <string.h>

enum { FIRST = 5, ROWS = 90, KEYS = 200, END = FIRST + ROWS };

/* At most this, for distances, sizes, periods and counts. */
static const int64_t limit = INT64_C(1) << 31;

static fovea_pattern_options good_options(const fovea_rule *rule) {
  fovea_pattern_options options;
  fovea_pattern_options_init(&options, rule, ROWS, KEYS);
  options.first_row = FIRST;
  return options;
}

static void assert_options_refused(const fovea_pattern_options *options, fovea_status expected,
                                   const char *const *words) {
  fovea_error error;
  fovea_pattern *pattern = (fovea_pattern *)(void *)&error;
  memset(&error, 'x', sizeof error);
  const fovea_status status = fovea_pattern_create(options, &pattern, &error);
  if (status != expected) fail_msg("status %d, not %d, of \"%s\"", (int)status, (int)expected, words[0]);
  assert_null(pattern);
  assert_says(&error, expected, words);
  pattern = (fovea_pattern *)(void *)&error;
  assert_int_equal(fovea_pattern_create(options, &pattern, NULL), expected);
  assert_null(pattern);
}

/* The rule is named by the way to it. */
static void assert_rule_named(const fovea_pattern_options *options, const char *name, fovea_status status,
                              const char *const *words) {
  enum { MOST = 4 };
  char first[200];
  const char *named[MOST + 1] = {first};
  for (int i = 1; i < MOST && words[i - 1]; i++) named[i] = words[i];
  assert_true((size_t)snprintf(first, sizeof first, "%s.%s", name, words[0]) < sizeof first);
  assert_options_refused(options, status, named);
}

/* A rule is refused alone, and wherever it stands among others. */
static void assert_rule_refused(const fovea_rule *rule, fovea_status status, const char *const *words) {
  const fovea_rule causal = fovea_rule_causal(), no = fovea_rule_not(rule), right = fovea_rule_or(&causal, &no),
                   left = fovea_rule_and(&right, &causal);
  const fovea_rule *const rules[] = {&causal, &left};
  const struct {
    const fovea_rule *rule;
    const char *name;
  } alone[] = {{rule, "rule"}, {&no, "rule.left"}, {&right, "rule.right.left"}, {&left, "rule.left.right.left"}};
  for (int i = 0; i < 4; i++) {
    const fovea_pattern_options options = good_options(alone[i].rule);
    assert_rule_named(&options, alone[i].name, status, words);
  }
  fovea_pattern_options options = good_options(NULL);
  options.rules = rules;
  options.heads = 2;
  assert_rule_named(&options, "rules[1].left.right.left", status, words);
}

static void assert_rule_accepted(const fovea_rule *rule) {
  fovea_error error;
  fovea_pattern *pattern;
  const fovea_pattern_options options = good_options(rule);
  if (fovea_pattern_create(&options, &pattern, &error) != FOVEA_OK) fail_msg("%s", error.text);
  assert_true(fovea_pattern_bytes(pattern) > 0);
  fovea_pattern_destroy(pattern);
}

/* BAD(rule, words...), BAD_AS(status, rule, words...), GOOD(rule). */
#define BAD_AS(status, made, ...)                                                                                  \
  do {                                                                                                             \
    const fovea_rule tried = made;                                                                                 \
    const char *const words[] = {__VA_ARGS__, NULL};                                                               \
    assert_rule_refused(&tried, status, words);                                                                    \
  } while (0)
#define BAD(made, ...) BAD_AS(FOVEA_ERROR_ARGUMENT, made, __VA_ARGS__)
#define GOOD(made)                                                                                                 \
  do {                                                                                                             \
    const fovea_rule tried = made;                                                                                 \
    assert_rule_accepted(&tried);                                                                                  \
  } while (0)

static void test_positions(void **state) {
  (void)state;
  BAD(fovea_rule_window(-2, 0), "before is -2", "-1 for no limit");
  BAD(fovea_rule_window(0, INT64_MIN), "after is -9223372036854775808", "0 or more");
  BAD(fovea_rule_dilated(1, 1, 0), "step is 0", "from 1 to 2147483648");
  BAD(fovea_rule_dilated(1, 1, limit + 1), "step is 2147483649");
  GOOD(fovea_rule_dilated(INT64_MAX, INT64_MAX, limit));
  GOOD(fovea_rule_window(-1, 0));
  BAD(fovea_rule_chunks(0, 0, 0), "size is 0", "from 1 to 2147483648");
  BAD(fovea_rule_chunks(limit + 1, 0, 0), "size is 2147483649");
  BAD(fovea_rule_chunks(8, -2, 0), "before is -2");
  BAD(fovea_rule_chunks(8, 0, -2), "after is -2");
  GOOD(fovea_rule_chunks(limit, INT64_MAX, -1));
  BAD(fovea_rule_keys(-1, 4), "begin is -1", "from 0 to 2147483648");
  BAD(fovea_rule_keys(5, 4), "end is 4", "from 5 to 2147483648");
  BAD(fovea_rule_keys(0, limit + 1), "end is 2147483649");
  BAD(fovea_rule_keys(limit + 1, limit + 1), "begin is 2147483649");
  GOOD(fovea_rule_keys(limit, limit));
  BAD(fovea_rule_rows(-1, 4), "begin is -1");
  BAD(fovea_rule_rows(5, 4), "end is 4");
  BAD(fovea_rule_rows(0, limit + 1), "end is 2147483649");
  GOOD(fovea_rule_rows(0, limit));
  BAD(fovea_rule_every(0, 0, 0), "period is 0", "from 1 to 2147483648");
  BAD(fovea_rule_every(limit + 1, 0, 1), "period is 2147483649");
  BAD(fovea_rule_every(9, -1, 1), "begin is -1", "from 0 to 9");
  BAD(fovea_rule_every(9, 10, 10), "begin is 10");
  BAD(fovea_rule_every(9, 3, 10), "end is 10", "from 3 to 9");
  BAD(fovea_rule_every(9, 3, 2), "end is 2");
  GOOD(fovea_rule_every(9, 9, 9));
  GOOD(fovea_rule_every(limit, 0, limit));
}

static void test_lists(void **state) {
  (void)state;
  static const int64_t none[1] = {0}, some[] = {3, KEYS - 1, 0, -1}, rows[] = {1, 2, 3, 4};
  static const int64_t negative[] = {3, -2}, beyond[] = {0, KEYS}, starts[] = {0, 2, 2, 4};
  BAD(fovea_rule_documents(some, NULL, -1), "count is -1", "from 0 to");
  BAD(fovea_rule_documents(some, NULL, limit + 1), "count is 2147483649");
  BAD_AS(FOVEA_ERROR_ARGUMENT, fovea_rule_documents(NULL, rows, 3), "keys is NULL", "has 3");
  GOOD(fovea_rule_documents(NULL, NULL, 0));
  GOOD(fovea_rule_documents(negative, rows, 2));
  BAD(fovea_rule_global(some, -1), "count is -1");
  BAD(fovea_rule_global(some, limit + 1), "count is 2147483649");
  BAD(fovea_rule_global(negative, 2), "positions[1] is -2", "from 0 to 199");
  BAD(fovea_rule_global(beyond, 2), "positions[1] is 200");
  BAD_AS(FOVEA_ERROR_ARGUMENT, fovea_rule_global(NULL, 1), "positions is NULL");
  GOOD(fovea_rule_global(NULL, 0));
  GOOD(fovea_rule_global(some, 3));
  BAD(fovea_rule_edges(-1, 1, none, NULL), "first is -1", "from 0 to 95");
  BAD(fovea_rule_edges(END + 1, 0, none, NULL), "first is 96");
  BAD(fovea_rule_edges(END - 1, 2, starts, some), "rows is 2", "from 0 to 1");
  BAD(fovea_rule_edges(0, -1, starts, some), "rows is -1");
  BAD_AS(FOVEA_ERROR_ARGUMENT, fovea_rule_edges(0, 3, starts, NULL), "keys is NULL", "has 4");
  GOOD(fovea_rule_edges(END, 0, none, NULL));
  GOOD(fovea_rule_edges(END - 3, 3, starts, some));
  static const int64_t decreasing[] = {0, 2, 1, 4}, below[] = {-1, 0, 0, 0};
  BAD(fovea_rule_edges(0, 3, decreasing, some), "starts[2] is 1", "not below the one before");
  BAD(fovea_rule_edges(0, 3, below, some), "starts[0] is -1", "0 or more");
  BAD(fovea_rule_lists(0, 2, 1, beyond), "keys[1] is 200", "from -1 to 199");
  BAD(fovea_rule_lists(0, 1, 2, negative), "keys[1] is -2");
  BAD(fovea_rule_lists(0, 1, -1, some), "length is -1");
  BAD(fovea_rule_lists(0, 1, limit + 1, some), "length is 2147483649");
  BAD_AS(FOVEA_ERROR_ARGUMENT, fovea_rule_lists(0, 2, 2, NULL), "keys is NULL", "has 4");
  GOOD(fovea_rule_lists(0, 3, 0, NULL));
  /* Only what lists name is looked at. */
  static const int64_t later[] = {2, 2, 4}, outside[] = {-9, 9999, 1, 2};
  GOOD(fovea_rule_edges(0, 2, later, outside));
}

static void test_blocks(void **state) {
  (void)state;
  static const int64_t starts[] = {0, 2, 2, 4}, columns[] = {0, 12, -1, 3}, beyond[] = {0, 1, 2, 13};
  static const int64_t decreasing[] = {0, 4, 2, 4};
  BAD(fovea_rule_blocks(0, 16, 3, starts, columns), "block_rows is 0", "from 1 to 2147483648");
  BAD(fovea_rule_blocks(32, 0, 3, starts, columns), "block_keys is 0");
  BAD(fovea_rule_blocks(limit + 1, 16, 0, starts, columns), "block_rows is 2147483649");
  BAD(fovea_rule_blocks(32, limit + 1, 0, starts, columns), "block_keys is 2147483649");
  BAD(fovea_rule_blocks(32, 16, -1, starts, columns), "blocks is -1", "from 0 to 3");
  BAD(fovea_rule_blocks(32, 16, 4, starts, columns), "blocks is 4");
  BAD(fovea_rule_blocks(32, 16, 3, decreasing, columns), "starts[2] is 2");
  BAD(fovea_rule_blocks(32, 16, 3, starts, beyond), "columns[3] is 13", "from -1 to 12");
  BAD_AS(FOVEA_ERROR_ARGUMENT, fovea_rule_blocks(32, 16, 3, NULL, columns), "starts is NULL");
  BAD_AS(FOVEA_ERROR_ARGUMENT, fovea_rule_blocks(32, 16, 3, starts, NULL), "columns is NULL");
  GOOD(fovea_rule_blocks(32, 16, 3, starts, columns));
  static const int64_t zero[] = {0, 1};
  GOOD(fovea_rule_blocks(limit, limit, 1, zero, zero));
}

static void test_trees(void **state) {
  (void)state;
  static const int64_t own[] = {-1, 1}, circle[] = {1, 2, 0}, later[] = {2, 0, -1}, beyond[] = {-1, 2},
                       below[] = {-2};
  BAD(fovea_rule_tree(10, 2, own), "parents[1] begins a circle");
  BAD(fovea_rule_tree(10, 3, circle), "parents[0] begins a circle");
  BAD(fovea_rule_tree(10, 2, beyond), "parents[1] is 2", "from -1 to 1");
  BAD(fovea_rule_tree(10, 1, below), "parents[0] is -2");
  BAD(fovea_rule_tree(-1, 1, later), "first is -1", "from 0 to 95");
  BAD(fovea_rule_tree(END + 1, 0, later), "first is 96");
  BAD(fovea_rule_tree(END - 2, 3, later), "nodes is 3", "from 0 to 2");
  BAD(fovea_rule_tree(0, -1, later), "nodes is -1");
  BAD_AS(FOVEA_ERROR_ARGUMENT, fovea_rule_tree(0, 3, NULL), "parents is NULL", "has 3");
  GOOD(fovea_rule_tree(END - 3, 3, later));
  GOOD(fovea_rule_tree(END, 0, NULL));
}

/* A neighbourhood of one axis, after one of length 3. */
static fovea_rule neighbourhood(int64_t length, int64_t window, int64_t dilation, int causal) {
  const fovea_rule_axis axis[] = {{3, 1, 1, 0}, {length, window, dilation, causal}};
  return fovea_rule_neighbourhood(2, axis);
}

static void test_neighbourhoods(void **state) {
  (void)state;
  static const fovea_rule_axis axis[FOVEA_RULE_AXES] = {{2, 1, 1, 0}, {2, 1, 1, 0}, {2, 1, 1, 0}};
  BAD(fovea_rule_neighbourhood(0, axis), "axes is 0", "from 1 to 3");
  BAD(fovea_rule_neighbourhood(4, axis), "axes is 4");
  BAD(neighbourhood(0, 1, 1, 0), "axis[1].length is 0", "from 1 to 715827882");
  BAD(neighbourhood(715827883, 1, 1, 0), "axis[1].length is 715827883");
  BAD(neighbourhood(9, 0, 1, 0), "axis[1].window is 0", "from 1 to 9");
  BAD(neighbourhood(9, 10, 1, 0), "axis[1].window is 10");
  BAD(neighbourhood(9, 5, 2, 0), "axis[1].window is 5", "from 1 to 4");
  BAD(neighbourhood(9, 1, 0, 0), "axis[1].dilation is 0", "from 1 to 9");
  BAD(neighbourhood(9, 1, 10, 0), "axis[1].dilation is 10");
  BAD(neighbourhood(9, 1, 1, 2), "axis[1].causal is 2", "from 0 to 1");
  BAD(neighbourhood(9, 1, 1, -1), "axis[1].causal is -1");
  GOOD(neighbourhood(715827882, 3, 1, 1));
  GOOD(neighbourhood(9, 4, 2, 0));
  GOOD(fovea_rule_neighbourhood(3, axis));
}

static void test_joined(void **state) {
  (void)state;
  const fovea_rule causal = fovea_rule_causal();
  BAD_AS(FOVEA_ERROR_ARGUMENT, fovea_rule_and(NULL, &causal), "left is NULL");
  BAD_AS(FOVEA_ERROR_ARGUMENT, fovea_rule_or(&causal, NULL), "right is NULL");
  BAD_AS(FOVEA_ERROR_ARGUMENT, fovea_rule_not(NULL), "left is NULL");
  BAD(fovea_rule_of((fovea_rule_kind)0), "kind is 0");
  BAD(fovea_rule_of((fovea_rule_kind)16), "kind is 16");
  fovea_rule self = fovea_rule_of(FOVEA_RULE_OR);
  self.left = self.right = &self;
  const fovea_pattern_options options = good_options(&self);
  const char *const words[] = {"rule: more than 4096 rules", "more than 32 deep", NULL};
  assert_options_refused(&options, FOVEA_ERROR_ARGUMENT, words);

  /* A chain of 32 rules, and one more; a tree of 4,095 rules, and of 8,191, whose halves are the same rule. */
  fovea_rule chain[33] = {causal}, tree[13] = {causal};
  for (int i = 1; i < 33; i++) chain[i] = fovea_rule_not(&chain[i - 1]);
  for (int i = 1; i < 13; i++) tree[i] = fovea_rule_or(&tree[i - 1], &tree[i - 1]);
  const fovea_pattern_options deep = good_options(&chain[32]), many = good_options(&tree[12]);
  assert_rule_accepted(&chain[31]);
  assert_options_refused(&deep, FOVEA_ERROR_ARGUMENT, words);
  assert_rule_accepted(&tree[11]);
  assert_options_refused(&many, FOVEA_ERROR_ARGUMENT, words);
  const fovea_rule *const several[] = {&causal, &chain[32]};
  const char *const second[] = {"rules[1]: more than 32 deep", NULL};
  fovea_pattern_options options_of_heads = good_options(NULL);
  options_of_heads.rules = several;
  options_of_heads.heads = 2;
  assert_options_refused(&options_of_heads, FOVEA_ERROR_ARGUMENT, second);

  /* The field has as much of a long name as fits; the text has it all, and what is wrong. */
  chain[0] = fovea_rule_keys(5, 3);
  const fovea_pattern_options bottom = good_options(&chain[31]);
  char expected[256] = "rule";
  for (int i = 0; i < 31; i++) strcat(expected, ".left");
  strcat(expected, ".end is 3; it must be from 5 to 2147483648");
  fovea_error error;
  fovea_pattern *pattern;
  assert_int_equal(fovea_pattern_create(&bottom, &pattern, &error), FOVEA_ERROR_ARGUMENT);
  assert_string_equal(error.text, expected);
  expected[sizeof error.field - 1] = '\0';
  assert_string_equal(error.field, expected);
}

/* Fields that a kind does not name are 0: also pointers that nobody would check. */
static void test_unused_fields(void **state) {
  (void)state;
  static const int64_t numbers[] = {0, 0};
  fovea_rule causal = fovea_rule_causal(), rule;
  rule = causal, rule.left = &rule;
  BAD_AS(FOVEA_ERROR_UNUSED, rule, "left: by a rule of kind 1");
  rule = fovea_rule_not(&causal), rule.right = &causal;
  BAD_AS(FOVEA_ERROR_UNUSED, rule, "right: by a rule of kind 15");
  rule = fovea_rule_keys(0, 3), rule.step = 2;
  BAD_AS(FOVEA_ERROR_UNUSED, rule, "step: by a rule of kind 4");
  rule = fovea_rule_window(3, 0), rule.begin = 2;
  BAD_AS(FOVEA_ERROR_UNUSED, rule, "begin: by a rule of kind 2");
  rule = fovea_rule_global(numbers, 1), rule.row_numbers = numbers;
  BAD_AS(FOVEA_ERROR_UNUSED, rule, "row_numbers: by a rule of kind 8");
  rule = fovea_rule_edges(0, 1, numbers, numbers), rule.step = 2;
  BAD_AS(FOVEA_ERROR_UNUSED, rule, "step: by a rule of kind 10");
  rule = fovea_rule_tree(0, 0, NULL), rule.axes = 1;
  BAD_AS(FOVEA_ERROR_UNUSED, rule, "axes: by a rule of kind 11");
}

/* ---- Options */

#define OPTIONS_REFUSED(change, status, ...)                                                                       \
  do {                                                                                                             \
    const fovea_rule causal = fovea_rule_causal();                                                                 \
    const fovea_rule *const rules[] = {&causal, NULL};                                                             \
    fovea_pattern_options options = good_options(&causal);                                                         \
    const char *const words[] = {__VA_ARGS__, NULL};                                                               \
    (void)rules;                                                                                                   \
    change;                                                                                                        \
    assert_options_refused(&options, status, words);                                                               \
  } while (0)

static void test_options(void **state) {
  (void)state;
  fovea_pattern *pattern;
  const fovea_rule all = fovea_rule_causal();
  const fovea_pattern_options good = good_options(&all);
  assert_options_refused(NULL, FOVEA_ERROR_ARGUMENT, (const char *const[]){"options is NULL", NULL});
  assert_int_equal(fovea_pattern_create(&good, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  OPTIONS_REFUSED(options.rule = NULL, FOVEA_ERROR_ARGUMENT, "rule is NULL");
  OPTIONS_REFUSED(options.rows = -1, FOVEA_ERROR_ARGUMENT, "rows is -1", "from 0 to 2147483647");
  OPTIONS_REFUSED(options.rows = limit, FOVEA_ERROR_ARGUMENT, "rows is 2147483648");
  OPTIONS_REFUSED(options.keys = -1, FOVEA_ERROR_ARGUMENT, "keys is -1");
  OPTIONS_REFUSED(options.keys = limit, FOVEA_ERROR_ARGUMENT, "keys is 2147483648");
  OPTIONS_REFUSED(options.first_row = -1, FOVEA_ERROR_ARGUMENT, "first_row is -1");
  OPTIONS_REFUSED(options.first_row = INT64_MAX, FOVEA_ERROR_ARGUMENT, "first_row is 9223372036854775807");
  OPTIONS_REFUSED(options.first_row = limit - ROWS, FOVEA_ERROR_ARGUMENT, "first_row is 2147483558",
                  "to 2147483557");
  OPTIONS_REFUSED(options.by_row = 2, FOVEA_ERROR_ARGUMENT, "by_row is 2");
  OPTIONS_REFUSED(options.by_row = 1, FOVEA_ERROR_UNUSED, "first_row is 5", "by_row is 1");
  OPTIONS_REFUSED(options.rules = rules, FOVEA_ERROR_UNUSED, "rule is not NULL", "rules is not NULL");
  OPTIONS_REFUSED(options.heads = 2, FOVEA_ERROR_UNUSED, "heads is 2", "rules is NULL");
  OPTIONS_REFUSED((options.rule = NULL, options.rules = rules), FOVEA_ERROR_ARGUMENT, "heads is 0", "from 1 to");
  OPTIONS_REFUSED((options.rule = NULL, options.rules = rules, options.heads = 2), FOVEA_ERROR_ARGUMENT,
                  "rules[1] is NULL");
  OPTIONS_REFUSED(options.struct_size--, FOVEA_ERROR_ARGUMENT, "options.struct_size", "another version");
  OPTIONS_REFUSED(options.struct_size++, FOVEA_ERROR_ARGUMENT, "options.struct_size", "another version");
  OPTIONS_REFUSED(options.struct_size = 0, FOVEA_ERROR_ARGUMENT, "options.struct_size");
  OPTIONS_REFUSED(options.rule_size = 0, FOVEA_ERROR_ARGUMENT, "options.rule_size is 0", "this library's is");
  OPTIONS_REFUSED(options.rule_size += sizeof(void *), FOVEA_ERROR_ARGUMENT, "options.rule_size",
                  "fovea_pattern_options_init()");
  OPTIONS_REFUSED(options.allocator.context = &options, FOVEA_ERROR_UNUSED, "allocator.context");
  fovea_pattern_destroy(NULL);
  assert_int_equal(fovea_pattern_bytes(NULL), 0);
  assert_int_equal(fovea_pattern_sees(NULL, 0, 0, 0), 0);
  assert_int_equal(fovea_pattern_create(&good, &pattern, NULL), FOVEA_OK);
  assert_int_equal(fovea_pattern_sees(pattern, 0, FIRST, FIRST), 1);
  assert_int_equal(fovea_pattern_sees(pattern, -1, FIRST, FIRST), 0);
  assert_int_equal(fovea_pattern_sees(pattern, 0, INT64_MIN, FIRST), 0);
  assert_int_equal(fovea_pattern_sees(pattern, 0, INT64_MAX, FIRST), 0);
  assert_int_equal(fovea_pattern_sees(pattern, 0, FIRST, -1), 0);
  assert_int_equal(fovea_pattern_sees(pattern, 0, FIRST, INT64_MAX), 0);
  fovea_pattern_destroy(pattern);
}

/* ---- Problems that a pattern does not fit */

static fovea_pattern *of_range(int64_t first_row, int64_t rows, int64_t keys, int by_row, int64_t heads) {
  static const fovea_rule causal = {.kind = FOVEA_RULE_CAUSAL};
  const fovea_rule *const rules[] = {&causal, &causal, &causal, &causal};
  fovea_pattern *pattern;
  fovea_pattern_options options;
  fovea_pattern_options_init(&options, NULL, rows, keys);
  options.first_row = first_row;
  options.by_row = by_row;
  options.rules = rules;
  options.heads = heads;
  assert_int_equal(fovea_pattern_create(&options, &pattern, NULL), FOVEA_OK);
  return pattern;
}

static void test_problems(void **state) {
  (void)state;
  fovea_problem problem;
  fovea_problem_init(&problem, 2, 4, 2, 20, 50, 8, 8); /* rows are at positions 30 to 49 */
  trial = trial_create(&problem, 1);
  fovea_pattern *good = of_range(30, 20, 50, 0, 1), *late = of_range(31, 19, 50, 0, 1),
                *early = of_range(0, 49, 50, 0, 1), *narrow = of_range(0, 50, 49, 0, 1),
                *by_row = of_range(0, 20, 50, 1, 1), *few_rows = of_range(0, 19, 50, 1, 1),
                *three = of_range(30, 20, 50, 0, 3), *two = of_range(30, 20, 50, 0, 2),
                *four = of_range(30, 20, 50, 0, 4), *none = of_range(0, 0, 0, 0, 1);
  const fovea_pattern *second[] = {NULL, late}, *neither[] = {NULL, NULL}, *both[] = {good, by_row};
  static const int64_t no_rows[] = {20, 0}, no_keys[] = {50, 0}, offsets[] = {0, -1};
  ACCEPTED(call.problem.pattern = good);
  ACCEPTED(call.problem.pattern = by_row);
  ACCEPTED(call.problem.pattern = two);
  ACCEPTED(call.problem.pattern = four);
  ACCEPTED(call.problem.patterns = neither);
  ACCEPTED(call.problem.patterns = both);
  REFUSED(call.problem.pattern = late, FOVEA_ERROR_ARGUMENT, "pattern: rows of batch element 0",
          "positions 30 to 49", "rows 31 to 49");
  REFUSED(call.problem.pattern = early, FOVEA_ERROR_ARGUMENT, "pattern: rows of batch element 0",
          "positions 30 to 49", "rows 0 to 48");
  REFUSED(call.problem.pattern = few_rows, FOVEA_ERROR_ARGUMENT, "pattern: positions 0 to 19", "rows 0 to 18");
  REFUSED(call.problem.pattern = narrow, FOVEA_ERROR_ARGUMENT, "pattern: batch element 0 has 50", "for 49 keys");
  REFUSED(call.problem.pattern = three, FOVEA_ERROR_ARGUMENT, "pattern: 3 heads", "has 4, and 2 kv heads");
  REFUSED(call.problem.patterns = second, FOVEA_ERROR_ARGUMENT, "patterns[1]: rows of batch element 1",
          "positions 30 to 49");
  REFUSED((call.problem.patterns = both, call.problem.pattern = good), FOVEA_ERROR_UNUSED, "pattern is not NULL",
          "patterns is not NULL");
  REFUSED((call.problem.pattern = early, call.problem.offsets = offsets), FOVEA_ERROR_ARGUMENT,
          "pattern: batch element 1", "positions -1 to 18");
  /* What no row may see needs no pattern. */
  second[1] = none;
  ACCEPTED((call.problem.patterns = second, call.problem.q_lens = no_rows, call.problem.offset = 30));
  ACCEPTED((call.problem.patterns = second, call.problem.kv_lens = no_keys, call.problem.offset = 30));
  REFUSED(call.problem.patterns = second, FOVEA_ERROR_ARGUMENT, "patterns[1]: batch element 1");
  fovea_pattern *const all[] = {good, late, early, narrow, by_row, few_rows, three, two, four, none};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) fovea_pattern_destroy(all[i]);
  trial_destroy(&trial);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_positions),     cmocka_unit_test(test_lists),   cmocka_unit_test(test_blocks),
      cmocka_unit_test(test_trees),         cmocka_unit_test(test_joined),  cmocka_unit_test(test_neighbourhoods),
      cmocka_unit_test(test_unused_fields), cmocka_unit_test(test_options), cmocka_unit_test(test_problems),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "attend_pattern.h"

#include "pattern_text.h"

#include <stdlib.h>
#include <string.h>

/* The position of the own key of a batch element's first row, and its rows. The library checks the numbers later. */
static int64_t first_of(const fovea_problem *problem, int64_t entry, int64_t *rows) {
  const int64_t keys = problem->kv_lens ? problem->kv_lens[entry] : problem->kv_len;
  *rows = problem->q_lens ? problem->q_lens[entry] : problem->q_len;
  if (*rows < 0 || *rows > problem->q_len) *rows = 0;
  const int64_t offset = problem->offsets ? problem->offsets[entry] : problem->offset;
  return offset == FOVEA_OFFSET_BOTTOM_RIGHT ? keys - *rows : offset;
}

/* The positions of the rows of all batch elements. Rows before position 0 are left out; the library says so. */
static void set_rows(const attend_options *options, const fovea_problem *problem, fovea_pattern_options *pattern) {
  const int64_t limit = INT32_MAX;
  int64_t first = limit, end = 0, rows;
  pattern->by_row = options->by_row;
  if (options->by_row) {
    pattern->rows = problem->q_len;
    return;
  }
  for (int64_t entry = 0; entry < problem->batch; entry++) {
    const int64_t begin = first_of(problem, entry, &rows);
    if (rows == 0 || begin > limit - rows) continue;
    if (begin < first) first = begin;
    if (begin + rows > end) end = begin + rows;
  }
  if (first < 0) first = 0;
  pattern->first_row = first < end ? first : 0;
  pattern->rows = first < end ? end - first : 0;
}

/* All that the options say, joined by "and". */
static const fovea_rule *read_rules(const attend_options *options, pattern_rules *rules, failure *why) {
  const fovea_rule *all = NULL;
  for (int i = 0; i < 3; i++) {
    const char *const texts[] = {options->pattern, options->csr, options->global};
    if (!texts[i]) continue;
    const fovea_rule *rule = i == 0   ? pattern_text_read(rules, "--pattern", texts[i], why)
                             : i == 1 ? pattern_text_csr(rules, "--csr", texts[i], why)
                                      : pattern_text_global(rules, "--global", texts[i], why);
    if (rule && all) rule = pattern_rules_add(rules, fovea_rule_and(all, rule), why);
    if (!rule) return NULL;
    all = rule;
  }
  return all;
}

/* The library refused a rule: the first part that it refuses alone has a place in a text. */
static bool refuse_part(const pattern_rules *rules, const fovea_pattern_options *options, const char *text,
                        failure *why) {
  static const char option[] = "rule."; /* of the library, not of the command line */
  for (int i = 0; i < rules->count; i++) {
    const struct rule_place *place = &rules->places[i];
    fovea_pattern_options one = *options;
    fovea_pattern *pattern;
    fovea_error error;
    one.rule = &rules->rules[i];
    if (!place->at) continue;
    if (fovea_pattern_create(&one, &pattern, &error) != FOVEA_OK) {
      const size_t skipped = strncmp(error.text, option, strlen(option)) == 0 ? strlen(option) : 0;
      return fail(why, "%s: %s, of the rule at character %d, '%.20s'", place->name, error.text + skipped,
                  (int)(place->at - place->text) + 1, place->at);
    }
    fovea_pattern_destroy(pattern);
  }
  return fail(why, "the pattern: %s", text);
}

static bool make_pattern(const attend_options *options, pattern_rules *rules, fovea_pattern **pattern,
                         fovea_problem *problem, failure *why) {
  fovea_pattern_options made;
  fovea_error error;
  fovea_pattern_options_init(&made, NULL, 0, problem->kv_len);
  set_rows(options, problem, &made);
  rules->rows_end = made.first_row + made.rows;
  rules->keys = problem->kv_len;
  made.rule = read_rules(options, rules, why);
  if (!made.rule) return false;
  if (fovea_pattern_create(&made, pattern, &error) != FOVEA_OK) return refuse_part(rules, &made, error.text, why);
  problem->pattern = *pattern;
  return true;
}

bool load_pattern(const attend_options *options, fovea_pattern **pattern, fovea_problem *problem, failure *why) {
  if (!options->pattern && !options->csr && !options->global) return true;
  pattern_rules *rules = calloc(1, sizeof *rules);
  if (!rules) return fail(why, "out of memory for a pattern");
  const bool made = make_pattern(options, rules, pattern, problem, why);
  pattern_rules_free(rules);
  free(rules);
  return made;
}

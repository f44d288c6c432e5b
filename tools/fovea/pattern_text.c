/* The grammar, in which white space separates words and may stand anywhere else:
 *
 *   pattern  either { "|" either }        either  part { "&" part }
 *   part     "!" part | "(" pattern ")" | name arguments
 *
 * A word ends at white space and at & | ! ( ). A path with one of them stands in quotes. */
#include "pattern_text.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH = 24 }; /* the library joins rules 32 deep */

static bool read_causal(reader *from, fovea_rule *rule) {
  (void)from;
  *rule = fovea_rule_causal();
  return true;
}

static bool read_window(reader *from, fovea_rule *rule) {
  int64_t before = 0, after = 0;
  if (!reader_number(from, "a number of keys", &before) || !reader_optional(from, 0, &after)) return false;
  *rule = fovea_rule_window(before, after);
  return true;
}

static bool read_dilated(reader *from, fovea_rule *rule) {
  int64_t before = 0, after = 0, step = 0;
  if (!reader_number(from, "a number of keys before", &before) ||
      !reader_number(from, "a number of keys after", &after) || !reader_number(from, "a step", &step))
    return false;
  *rule = fovea_rule_dilated(before, after, step);
  return true;
}

static bool read_chunks(reader *from, fovea_rule *rule) {
  int64_t size = 0, before = 0, after = 0;
  if (!reader_number(from, "a size", &size) || !reader_optional(from, 0, &before) ||
      !reader_optional(from, 0, &after))
    return false;
  *rule = fovea_rule_chunks(size, before, after);
  return true;
}

static bool read_keys(reader *from, fovea_rule *rule) {
  int64_t begin = 0, end = 0;
  if (!reader_range(from, &begin, &end)) return false;
  *rule = fovea_rule_keys(begin, end);
  return true;
}

static bool read_rows(reader *from, fovea_rule *rule) {
  int64_t begin = 0, end = 0;
  if (!reader_range(from, &begin, &end)) return false;
  *rule = fovea_rule_rows(begin, end);
  return true;
}

static bool read_prefix(reader *from, fovea_rule *rule) {
  int64_t end = 0;
  if (!reader_number(from, "a number of keys", &end)) return false;
  *rule = fovea_rule_keys(0, end);
  return true;
}

static bool read_every(reader *from, fovea_rule *rule) {
  int64_t period = 0, begin = 0, end = 0;
  if (!reader_number(from, "a period", &period) || !reader_range(from, &begin, &end)) return false;
  *rule = fovea_rule_every(period, begin, end);
  return true;
}

static bool read_documents(reader *from, fovea_rule *rule) {
  int_array keys = {NULL, 0}, rows = {NULL, 0};
  if (!reader_file(from, "a file", &keys) || (reader_has_word(from) && !reader_file(from, "a file", &rows)))
    return false;
  if (rows.numbers && rows.count != keys.count)
    return reader_refuse(from, from->word_at, "as many documents of rows as of keys are needed");
  *rule = fovea_rule_documents(keys.numbers, rows.numbers, keys.count);
  return true;
}

static bool read_global(reader *from, fovea_rule *rule) {
  int_array positions = {NULL, 0};
  if (!reader_list(from, &positions)) return false;
  *rule = fovea_rule_global(positions.numbers, positions.count);
  return true;
}

static bool read_blocks(reader *from, fovea_rule *rule) {
  int64_t rows = 0, keys = 0;
  int_array starts = {NULL, 0}, columns = {NULL, 0};
  if (!reader_number(from, "the rows of a block", &rows) || !reader_number(from, "the keys of a block", &keys) ||
      !reader_lists(from, &starts, &columns))
    return false;
  *rule = fovea_rule_blocks(rows, keys, starts.count - 1, starts.numbers, columns.numbers);
  return true;
}

static bool read_random(reader *from, fovea_rule *rule) {
  int64_t rows = 0, keys = 0, chosen = 0, seed = 0;
  fovea_error error;
  if (!reader_number(from, "the rows of a block", &rows) || !reader_number(from, "the keys of a block", &keys) ||
      !reader_number(from, "a number of blocks", &chosen) || !reader_number(from, "a seed", &seed))
    return false;
  if (rows < 1 || keys < 1)
    return reader_refuse(from, from->word_at, "blocks of one row and key or more are needed");
  const int64_t rows_end = from->rules->rows_end, key_count = from->rules->keys;
  const int64_t blocks = rows_end > 0 ? (rows_end - 1) / rows + 1 : 0;
  const int64_t key_blocks = key_count > 0 ? (key_count - 1) / keys + 1 : 0;
  const int64_t most = chosen > 0 && chosen <= key_blocks ? chosen : 0;
  int64_t *starts = reader_keep_array(from, blocks + 1), *columns = reader_keep_array(from, blocks * most);
  if (!starts || !columns) return false;
  if (fovea_random_blocks((uint64_t)seed, blocks, key_blocks, chosen, starts, columns, &error) != FOVEA_OK)
    return fail(from->why, "%s: at character %d: %s", from->name, (int)(from->word_at - from->text) + 1,
                error.text);
  *rule = fovea_rule_blocks(rows, keys, blocks, starts, columns);
  return true;
}

static bool read_csr(reader *from, fovea_rule *rule) {
  int64_t first = 0;
  int_array starts = {NULL, 0}, keys = {NULL, 0};
  if (!reader_lists(from, &starts, &keys) || !reader_optional(from, 0, &first)) return false;
  *rule = fovea_rule_edges(first, starts.count - 1, starts.numbers, keys.numbers);
  return true;
}

/* The nodes are the last keys, unless a position follows. */
static bool read_tree(reader *from, fovea_rule *rule) {
  int64_t first = 0;
  int_array parents = {NULL, 0};
  if (!reader_file(from, "a file", &parents) || !reader_optional(from, from->rules->keys - parents.count, &first))
    return false;
  *rule = fovea_rule_tree(first, parents.count, parents.numbers);
  return true;
}

static bool read_grid(reader *from, fovea_rule *rule) {
  int64_t lengths[FOVEA_RULE_AXES], windows[FOVEA_RULE_AXES], dilations[FOVEA_RULE_AXES] = {1, 1, 1};
  fovea_rule_axis axes[FOVEA_RULE_AXES];
  const int count = reader_lengths(from, "a grid HxW", lengths);
  if (count == 0) return false;
  const int window_count = reader_lengths(from, "a window KxK", windows);
  if (window_count == 0) return false;
  if (window_count != count) return reader_refuse(from, from->word_at, "as many axes as the grid has are needed");
  if (reader_take_keyword(from, "dilation")) {
    const int dilation_count = reader_lengths(from, "a dilation DxD", dilations);
    if (dilation_count == 0) return false;
    if (dilation_count != count)
      return reader_refuse(from, from->word_at, "as many axes as the grid has are needed");
  }
  const int causal = reader_take_keyword(from, "causal");
  for (int i = 0; i < count; i++) axes[i] = (fovea_rule_axis){lengths[i], windows[i], dilations[i], causal};
  *rule = fovea_rule_neighbourhood(count, axes);
  return true;
}

static const struct known_rule {
  const char *name;
  bool (*read)(reader *from, fovea_rule *rule);
} known_rules[] = {
    {"causal", read_causal}, {"window", read_window},       {"dilated", read_dilated}, {"chunks", read_chunks},
    {"keys", read_keys},     {"prefix", read_prefix},       {"rows", read_rows},       {"every", read_every},
    {"global", read_global}, {"documents", read_documents}, {"blocks", read_blocks},   {"csr", read_csr},
    {"tree", read_tree},     {"grid", read_grid},           {"random", read_random},
};

static const struct known_rule *find_rule(const char *name) {
  for (size_t i = 0; i < sizeof known_rules / sizeof known_rules[0]; i++)
    if (strcmp(name, known_rules[i].name) == 0) return &known_rules[i];
  return NULL;
}

const fovea_rule *pattern_rules_add(pattern_rules *rules, fovea_rule rule, failure *why) {
  if (rules->count == TEXT_RULES) {
    fail(why, "the pattern has more than %d rules", TEXT_RULES);
    return NULL;
  }
  rules->rules[rules->count] = rule;
  return &rules->rules[rules->count++];
}

/* Adds a rule of one part, and keeps its place. */
static const fovea_rule *add_part(reader *from, fovea_rule rule, const char *at) {
  const fovea_rule *added = pattern_rules_add(from->rules, rule, from->why);
  if (added) from->rules->places[added - from->rules->rules] = (struct rule_place){from->name, from->text, at};
  return added;
}

static const fovea_rule *read_either(reader *from);

static const fovea_rule *read_named(reader *from) {
  fovea_rule rule;
  if (!reader_word(from, "a rule")) return NULL;
  const char *at = from->word_at;
  const struct known_rule *known = find_rule(from->word);
  if (!known) {
    reader_refuse(from, at, "no rule");
    return NULL;
  }
  return known->read(from, &rule) ? add_part(from, rule, at) : NULL;
}

static const fovea_rule *read_bracket(reader *from, const char *at) {
  const fovea_rule *inner = read_either(from);
  if (!inner || reader_take(from, ')')) return inner;
  reader_skip_space(from);
  if (*from->at == '\0') {
    reader_refuse(from, at, "a bracket that does not end");
  } else {
    reader_refuse(from, from->at, "& | or ) is needed");
  }
  return NULL;
}

static const fovea_rule *read_part(reader *from) {
  reader_skip_space(from);
  const char *at = from->at;
  if (*at != '!' && *at != '(') return read_named(from);
  if (from->depth == DEPTH) {
    reader_refuse(from, at, "too many brackets and ! within each other");
    return NULL;
  }
  from->depth++;
  from->at++;
  const fovea_rule *inner = *at == '!' ? read_part(from) : read_bracket(from, at);
  from->depth--;
  return inner && *at == '!' ? pattern_rules_add(from->rules, fovea_rule_not(inner), from->why) : inner;
}

/* Parts of one operator. A long chain is joined in halves, so that it is not deep. */
static const fovea_rule *join(reader *from, const fovea_rule *const *parts, int count, fovea_rule_kind kind) {
  if (count == 1) return parts[0];
  const fovea_rule *left = join(from, parts, count / 2, kind);
  const fovea_rule *right = left ? join(from, parts + count / 2, count - count / 2, kind) : NULL;
  if (!right) return NULL;
  return pattern_rules_add(
      from->rules, kind == FOVEA_RULE_AND ? fovea_rule_and(left, right) : fovea_rule_or(left, right), from->why);
}

enum { CHAIN = 128 };

static const fovea_rule *read_chain(reader *from, char operator, const fovea_rule * (*read)(reader *)) {
  const fovea_rule *parts[CHAIN];
  int count = 0;
  do {
    if (count == CHAIN) {
      reader_refuse(from, from->at, "too many rules in one row");
      return NULL;
    }
    parts[count] = read(from);
    if (!parts[count++]) return NULL;
  } while (reader_take(from, operator));
  return join(from, parts, count, operator== '&' ? FOVEA_RULE_AND : FOVEA_RULE_OR);
}

static const fovea_rule *read_both(reader *from) {
  return read_chain(from, '&', read_part);
}

static const fovea_rule *read_either(reader *from) {
  return read_chain(from, '|', read_both);
}

static reader reader_of(pattern_rules *rules, const char *name, const char *text, failure *why) {
  return (reader){.name = name,
                  .text = text,
                  .at = text,
                  .word_at = text,
                  .arrays = &rules->arrays,
                  .rules = rules,
                  .why = why};
}

const fovea_rule *pattern_text_read(pattern_rules *rules, const char *name, const char *text, failure *why) {
  reader from = reader_of(rules, name, text, why);
  const fovea_rule *rule = read_either(&from);
  reader_skip_space(&from);
  if (rule && *from.at != '\0') {
    reader_refuse(&from, from.at, "& or | is needed");
    return NULL;
  }
  return rule;
}

/* Arguments of one rule, and nothing after them. */
static const fovea_rule *read_alone(reader *from, bool (*read)(reader *, fovea_rule *)) {
  fovea_rule rule;
  if (!read(from, &rule)) return NULL;
  reader_skip_space(from);
  if (*from->at != '\0') {
    reader_refuse(from, from->at, "nothing more is needed");
    return NULL;
  }
  return add_part(from, rule, from->text);
}

const fovea_rule *pattern_text_csr(pattern_rules *rules, const char *name, const char *text, failure *why) {
  reader from = reader_of(rules, name, text, why);
  from.separator = ',';
  return read_alone(&from, read_csr);
}

const fovea_rule *pattern_text_global(pattern_rules *rules, const char *name, const char *text, failure *why) {
  reader from = reader_of(rules, name, text, why);
  from.separator = '\n'; /* the whole text is one word */
  return read_alone(&from, read_global);
}

void pattern_rules_free(pattern_rules *rules) {
  for (int i = 0; i < rules->arrays.count; i++) free(rules->arrays.of[i]);
  rules->arrays.count = rules->count = 0;
}

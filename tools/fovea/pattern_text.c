/* The grammar, in which white space separates words and may stand anywhere else:
 *
 *   pattern  either { "|" either }        either  part { "&" part }
 *   part     "!" part | "(" pattern ")" | name arguments
 *
 * A word ends at white space and at & | ! ( ). A path with one of them stands in quotes. */
#include "pattern_text.h"

#include "npy.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_SIZE = 512, DEPTH = 24 }; /* the library joins rules 32 deep */

typedef struct reader {
  pattern_rules *rules;
  const char *name, *text;
  const char *at;       /* the rest of the text */
  const char *word_at;  /* where the last word began */
  char word[WORD_SIZE]; /* the last word */
  char separator;       /* of words; '\0': those of the grammar */
  int depth;
  failure *why;
} reader;

/* Refuses what begins at `at`. */
static bool refuse(reader *from, const char *at, const char *what) {
  const int place = (int)(at - from->text) + 1;
  if (*at == '\0') return fail(from->why, "%s: %s at its end, character %d", from->name, what, place);
  return fail(from->why, "%s: %s at character %d, '%.20s'", from->name, what, place, at);
}

static void skip_space(reader *from) {
  while (from->separator ? *from->at == from->separator : isspace((unsigned char)*from->at)) from->at++;
}

static bool take(reader *from, char wanted) {
  skip_space(from);
  if (*from->at != wanted) return false;
  from->at++;
  return true;
}

static bool ends_word(const reader *from, char c) {
  if (from->separator) return c == '\0' || c == from->separator;
  return c == '\0' || isspace((unsigned char)c) || strchr("&|!()", c) != NULL;
}

static bool has_word(reader *from) {
  skip_space(from);
  return !ends_word(from, *from->at);
}

/* Reads the next word. Quotes around it are taken off. */
static bool take_word(reader *from, const char *needed) {
  char what[128];
  snprintf(what, sizeof what, "%s is needed", needed);
  if (!has_word(from)) return refuse(from, from->at, what);
  from->word_at = from->at;
  const char quote = *from->at == '\'' || *from->at == '"' ? *from->at : '\0';
  const char *first = from->at + (quote != '\0'), *end = first;
  while (quote != '\0' ? *end != '\0' && *end != quote : !ends_word(from, *end)) end++;
  if (quote != '\0' && *end != quote) return refuse(from, from->at, "a quote that does not end");
  if ((size_t)(end - first) >= sizeof from->word) return refuse(from, from->at, "a word that is too long");
  memcpy(from->word, first, (size_t)(end - first));
  from->word[end - first] = '\0';
  from->at = end + (quote != '\0');
  return true;
}

/* ---- Numbers */

/* Reads a decimal integer. Moves *at behind it. */
static bool parse_integer(const char **at, int64_t *number) {
  const char *digits = **at == '-' ? *at + 1 : *at;
  char *end;
  if (!isdigit((unsigned char)*digits)) return false;
  errno = 0;
  const long long parsed = strtoll(*at, &end, 10);
  *number = parsed;
  *at = end;
  return errno == 0;
}

static bool take_number(reader *from, const char *needed, int64_t *number) {
  if (!take_word(from, needed)) return false;
  const char *at = from->word;
  return (parse_integer(&at, number) && *at == '\0') || refuse(from, from->word_at, "no number");
}

/* Whether the next word is a number. */
static bool has_number(reader *from) {
  skip_space(from);
  return isdigit((unsigned char)*from->at) || (*from->at == '-' && isdigit((unsigned char)from->at[1]));
}

/* A number that may be left out. */
static bool take_optional(reader *from, int64_t otherwise, int64_t *number) {
  *number = otherwise;
  return !has_number(from) || take_number(from, "a number", number);
}

/* Two numbers A:B. */
static bool take_range(reader *from, int64_t *begin, int64_t *end) {
  if (!take_word(from, "a range A:B")) return false;
  const char *at = from->word;
  if (parse_integer(&at, begin) && *at++ == ':' && parse_integer(&at, end) && *at == '\0') return true;
  return refuse(from, from->word_at, "no range A:B");
}

/* Up to three numbers with an x between them. Returns how many, 0 on failure. */
static int take_lengths(reader *from, const char *needed, int64_t lengths[FOVEA_RULE_AXES]) {
  if (!take_word(from, needed)) return 0;
  const char *at = from->word;
  int count = 0;
  while (count < FOVEA_RULE_AXES && parse_integer(&at, &lengths[count])) {
    count++;
    if (*at == '\0') return count;
    if (*at++ != 'x') break;
  }
  refuse(from, from->word_at, "no lengths like 14x14, of one to three axes,");
  return 0;
}

/* ---- Arrays */

typedef struct int_array {
  const int64_t *numbers;
  int64_t count;
} int_array;

static int64_t *keep_array(reader *from, int64_t count) {
  if (from->rules->array_count == TEXT_ARRAYS) {
    refuse(from, from->word_at, "too many arrays");
    return NULL;
  }
  int64_t *numbers = malloc((size_t)(count > 0 ? count : 1) * sizeof *numbers);
  if (!numbers) {
    fail(from->why, "%s: out of memory", from->name);
    return NULL;
  }
  from->rules->arrays[from->rules->array_count++] = numbers;
  return numbers;
}

/* Reads the file that the last word names: one axis of integers. */
static bool load_array(reader *from, int_array *array) {
  npy_array file;
  failure why;
  const unsigned types = NPY_SET(NPY_I32) | NPY_SET(NPY_I64);
  if (!npy_load_any(from->word, types, &file, why.text, sizeof why.text))
    return fail(from->why, "%s: at character %d: %.900s", from->name, (int)(from->word_at - from->text) + 1,
                why.text);
  const int rank = file.rank;
  int64_t *numbers = rank == 1 ? keep_array(from, file.count) : NULL;
  for (int64_t i = 0; numbers && i < file.count; i++)
    numbers[i] = file.type == NPY_I32 ? ((const int32_t *)file.data)[i] : ((const int64_t *)file.data)[i];
  *array = (int_array){numbers, file.count};
  npy_free(&file);
  if (rank != 1) return refuse(from, from->word_at, "a file with one axis of integers is needed");
  return numbers != NULL;
}

static bool take_file(reader *from, const char *needed, int_array *array) {
  return take_word(from, needed) && load_array(from, array);
}

/* Numbers with commas between them, or a file. */
static bool take_list(reader *from, int_array *array) {
  if (!has_number(from)) return take_file(from, "a list of numbers or a file", array);
  if (!take_word(from, "a list")) return false;
  int64_t count = 1, used = 0;
  for (const char *at = from->word; *at; at++) count += *at == ',';
  int64_t *numbers = keep_array(from, count);
  if (!numbers) return false;
  for (const char *at = from->word; parse_integer(&at, &numbers[used]); at++) {
    used++;
    if (*at == ',') continue;
    if (*at != '\0') break;
    *array = (int_array){numbers, used};
    return true;
  }
  return refuse(from, from->word_at, "no list of numbers");
}

/* A CSR matrix. Its lists' ends are checked here: only the command knows how long the files are. */
static bool take_lists(reader *from, int_array *starts, int_array *items) {
  if (!take_file(from, "a file indptr.npy", starts) || !take_file(from, "a file indices.npy", items)) return false;
  if (starts->count == 0) return refuse(from, from->word_at, "indptr has no number; one more than rows is needed,");
  for (int64_t i = 0; i < starts->count; i++) {
    if (starts->numbers[i] >= 0 && starts->numbers[i] <= items->count) continue;
    return fail(from->why, "%s: at character %d: indptr[%lld] is %lld, but indices has %lld numbers", from->name,
                (int)(from->word_at - from->text) + 1, (long long)i, (long long)starts->numbers[i],
                (long long)items->count);
  }
  return true;
}

/* ---- Rules */

static bool read_causal(reader *from, fovea_rule *rule) {
  (void)from;
  *rule = fovea_rule_causal();
  return true;
}

static bool read_window(reader *from, fovea_rule *rule) {
  int64_t before = 0, after = 0;
  if (!take_number(from, "a number of keys", &before) || !take_optional(from, 0, &after)) return false;
  *rule = fovea_rule_window(before, after);
  return true;
}

static bool read_dilated(reader *from, fovea_rule *rule) {
  int64_t before = 0, after = 0, step = 0;
  if (!take_number(from, "a number of keys before", &before) ||
      !take_number(from, "a number of keys after", &after) || !take_number(from, "a step", &step))
    return false;
  *rule = fovea_rule_dilated(before, after, step);
  return true;
}

static bool read_chunks(reader *from, fovea_rule *rule) {
  int64_t size = 0, before = 0, after = 0;
  if (!take_number(from, "a size", &size) || !take_optional(from, 0, &before) || !take_optional(from, 0, &after))
    return false;
  *rule = fovea_rule_chunks(size, before, after);
  return true;
}

static bool read_keys(reader *from, fovea_rule *rule) {
  int64_t begin = 0, end = 0;
  if (!take_range(from, &begin, &end)) return false;
  *rule = fovea_rule_keys(begin, end);
  return true;
}

static bool read_rows(reader *from, fovea_rule *rule) {
  int64_t begin = 0, end = 0;
  if (!take_range(from, &begin, &end)) return false;
  *rule = fovea_rule_rows(begin, end);
  return true;
}

static bool read_prefix(reader *from, fovea_rule *rule) {
  int64_t end = 0;
  if (!take_number(from, "a number of keys", &end)) return false;
  *rule = fovea_rule_keys(0, end);
  return true;
}

static bool read_every(reader *from, fovea_rule *rule) {
  int64_t period = 0, begin = 0, end = 0;
  if (!take_number(from, "a period", &period) || !take_range(from, &begin, &end)) return false;
  *rule = fovea_rule_every(period, begin, end);
  return true;
}

static bool read_documents(reader *from, fovea_rule *rule) {
  int_array keys = {NULL, 0}, rows = {NULL, 0};
  if (!take_file(from, "a file", &keys) || (has_word(from) && !take_file(from, "a file", &rows))) return false;
  if (rows.numbers && rows.count != keys.count)
    return refuse(from, from->word_at, "as many documents of rows as of keys are needed");
  *rule = fovea_rule_documents(keys.numbers, rows.numbers, keys.count);
  return true;
}

static bool read_global(reader *from, fovea_rule *rule) {
  int_array positions = {NULL, 0};
  if (!take_list(from, &positions)) return false;
  *rule = fovea_rule_global(positions.numbers, positions.count);
  return true;
}

static bool read_blocks(reader *from, fovea_rule *rule) {
  int64_t rows = 0, keys = 0;
  int_array starts = {NULL, 0}, columns = {NULL, 0};
  if (!take_number(from, "the rows of a block", &rows) || !take_number(from, "the keys of a block", &keys) ||
      !take_lists(from, &starts, &columns))
    return false;
  *rule = fovea_rule_blocks(rows, keys, starts.count - 1, starts.numbers, columns.numbers);
  return true;
}

static bool read_csr(reader *from, fovea_rule *rule) {
  int64_t first = 0;
  int_array starts = {NULL, 0}, keys = {NULL, 0};
  if (!take_lists(from, &starts, &keys) || !take_optional(from, 0, &first)) return false;
  *rule = fovea_rule_edges(first, starts.count - 1, starts.numbers, keys.numbers);
  return true;
}

/* The nodes are the last keys, unless a position follows. */
static bool read_tree(reader *from, fovea_rule *rule) {
  int64_t first = 0;
  int_array parents = {NULL, 0};
  if (!take_file(from, "a file", &parents) || !take_optional(from, from->rules->keys - parents.count, &first))
    return false;
  *rule = fovea_rule_tree(first, parents.count, parents.numbers);
  return true;
}

/* Takes a word if it is the next. */
static bool take_keyword(reader *from, const char *word) {
  const size_t length = strlen(word);
  skip_space(from);
  if (strncmp(from->at, word, length) != 0 || !ends_word(from, from->at[length])) return false;
  from->at += length;
  return true;
}

static bool read_grid(reader *from, fovea_rule *rule) {
  int64_t lengths[FOVEA_RULE_AXES], windows[FOVEA_RULE_AXES], dilations[FOVEA_RULE_AXES] = {1, 1, 1};
  fovea_rule_axis axes[FOVEA_RULE_AXES];
  const int count = take_lengths(from, "a grid HxW", lengths);
  if (count == 0) return false;
  const int window_count = take_lengths(from, "a window KxK", windows);
  if (window_count == 0) return false;
  if (window_count != count) return refuse(from, from->word_at, "as many axes as the grid has are needed");
  if (take_keyword(from, "dilation")) {
    const int dilation_count = take_lengths(from, "a dilation DxD", dilations);
    if (dilation_count == 0) return false;
    if (dilation_count != count) return refuse(from, from->word_at, "as many axes as the grid has are needed");
  }
  const int causal = take_keyword(from, "causal");
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
    {"tree", read_tree},     {"grid", read_grid},
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
  if (!take_word(from, "a rule")) return NULL;
  const char *at = from->word_at;
  const struct known_rule *known = find_rule(from->word);
  if (!known) {
    refuse(from, at, "no rule");
    return NULL;
  }
  return known->read(from, &rule) ? add_part(from, rule, at) : NULL;
}

static const fovea_rule *read_bracket(reader *from, const char *at) {
  const fovea_rule *inner = read_either(from);
  if (!inner || take(from, ')')) return inner;
  skip_space(from);
  if (*from->at == '\0') {
    refuse(from, at, "a bracket that does not end");
  } else {
    refuse(from, from->at, "& | or ) is needed");
  }
  return NULL;
}

static const fovea_rule *read_part(reader *from) {
  skip_space(from);
  const char *at = from->at;
  if (*at != '!' && *at != '(') return read_named(from);
  if (from->depth == DEPTH) {
    refuse(from, at, "too many brackets and ! within each other");
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
      refuse(from, from->at, "too many rules in one row");
      return NULL;
    }
    parts[count] = read(from);
    if (!parts[count++]) return NULL;
  } while (take(from, operator));
  return join(from, parts, count, operator== '&' ? FOVEA_RULE_AND : FOVEA_RULE_OR);
}

static const fovea_rule *read_both(reader *from) {
  return read_chain(from, '&', read_part);
}

static const fovea_rule *read_either(reader *from) {
  return read_chain(from, '|', read_both);
}

const fovea_rule *pattern_text_read(pattern_rules *rules, const char *name, const char *text, failure *why) {
  reader from = {.rules = rules, .name = name, .text = text, .at = text, .word_at = text, .why = why};
  const fovea_rule *rule = read_either(&from);
  skip_space(&from);
  if (rule && *from.at != '\0') {
    refuse(&from, from.at, "& or | is needed");
    return NULL;
  }
  return rule;
}

const fovea_rule *pattern_text_short(pattern_rules *rules, const char *name, const char *kind, const char *text,
                                     char separator, failure *why) {
  reader from = {.rules = rules, .name = name, .text = text, .at = text, .word_at = text, .why = why};
  fovea_rule rule;
  from.separator = separator;
  if (!find_rule(kind)->read(&from, &rule)) return NULL;
  skip_space(&from);
  if (*from.at != '\0') {
    refuse(&from, from.at, "nothing more is needed");
    return NULL;
  }
  return add_part(&from, rule, text);
}

void pattern_rules_free(pattern_rules *rules) {
  for (int i = 0; i < rules->array_count; i++) free(rules->arrays[i]);
  rules->array_count = rules->count = 0;
}

#include "check.h"

#include "../base/caller.h"
#include "../base/error.h"
#include "node.h"

#if FOVEA_BUILDS_LISTS

/* What the rules are checked against. */
typedef struct limits {
  int64_t rows_end, keys; /* of the pattern's range */
} limits;

static fovea_status refuse(const char *name, int64_t value, int64_t least, int64_t most, fovea_error *error) {
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is %jd; it must be from %jd to %jd", name, value, least, most);
}

/* Refuses a number that is not within its limits. */
static fovea_status check_number(const char *name, int64_t value, int64_t least, int64_t most, fovea_error *error) {
  return value >= least && value <= most ? FOVEA_OK : refuse(name, value, least, most, error);
}

static fovea_status check_pointer(const char *name, const void *pointer, int64_t count, fovea_error *error) {
  if (pointer || count == 0) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is NULL, but the rule has %jd", name, count);
}

/* Numbers of a list; `least` is -1 where a list may name nothing. */
static fovea_status check_numbers(const char *name, const int64_t *numbers, int64_t begin, int64_t end,
                                  int64_t least, int64_t most, fovea_error *error) {
  for (int64_t i = begin; i < end; i++) {
    if (numbers[i] >= least && numbers[i] <= most) continue;
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s[%jd] is %jd; it must be from %jd to %jd", name, i,
                      numbers[i], least, most);
  }
  return FOVEA_OK;
}

static fovea_status check_distances(const fovea_rule *rule, const char *step, fovea_error *error) {
  const fovea_status status = check_number(step, rule->step, 1, FOVEA_NO_KEY, error);
  const int64_t distances[] = {rule->before, rule->after};
  for (int i = 0; i < 2 && !status; i++) {
    if (distances[i] >= FOVEA_UNLIMITED) continue;
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is %jd; it must be 0 or more, or -1 for no limit",
                      i == 0 ? "before" : "after", distances[i]);
  }
  return status;
}

static fovea_status check_range(const fovea_rule *rule, int64_t most, fovea_error *error) {
  const fovea_status status = check_number("begin", rule->begin, 0, most, error);
  return status ? status : check_number("end", rule->end, rule->begin, most, error);
}

static fovea_status check_every(const fovea_rule *rule, fovea_error *error) {
  const fovea_status status = check_number("period", rule->step, 1, FOVEA_NO_KEY, error);
  return status ? status : check_range(rule, rule->step, error);
}

static fovea_status check_documents(const fovea_rule *rule, fovea_error *error) {
  const fovea_status status = check_number("count", rule->count, 0, FOVEA_NO_KEY, error);
  return status ? status : check_pointer("keys", rule->numbers, rule->count, error);
}

static fovea_status check_global(const fovea_rule *rule, const limits *all, fovea_error *error) {
  fovea_status status = check_number("count", rule->count, 0, FOVEA_NO_KEY, error);
  if (!status) status = check_pointer("positions", rule->numbers, rule->count, error);
  const int64_t most = fovea_most(all->rows_end, all->keys) - 1;
  return status ? status : check_numbers("positions", rule->numbers, 0, rule->count, 0, most, error);
}

/* The lists of BLOCKS and EDGES: `most` is the last number that an item may be. */
static fovea_status check_lists(const fovea_rule *rule, const char *items, int64_t most, fovea_error *error) {
  if (!rule->starts) {
    const fovea_status status = check_number("length", rule->step, 0, FOVEA_NO_KEY, error);
    if (status) return status;
  }
  for (int64_t i = 0; rule->starts && i <= rule->count; i++) {
    if (rule->starts[i] >= (i ? rule->starts[i - 1] : 0)) continue;
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "starts[%jd] is %jd; it must be 0 or more, and not below the one before", i, rule->starts[i]);
  }
  const int64_t begin = fovea_list_begin(rule, 0), end = fovea_list_begin(rule, rule->count);
  const fovea_status status = check_pointer(items, rule->numbers, end - begin, error);
  return status ? status : check_numbers(items, rule->numbers, begin, end, -1, most, error);
}

static fovea_status check_blocks(const fovea_rule *rule, const limits *all, fovea_error *error) {
  fovea_status status = check_number("block_rows", rule->block_rows, 1, FOVEA_NO_KEY, error);
  if (!status) status = check_number("block_keys", rule->block_keys, 1, FOVEA_NO_KEY, error);
  if (status) return status;
  const int64_t blocks = (all->rows_end + rule->block_rows - 1) / rule->block_rows;
  status = check_number("blocks", rule->count, 0, blocks, error);
  if (!status && !rule->starts) status = fovea_fail(error, FOVEA_ERROR_ARGUMENT, "starts is NULL");
  return status ? status
                : check_lists(rule, "columns", (all->keys + rule->block_keys - 1) / rule->block_keys - 1, error);
}

static fovea_status check_edges(const fovea_rule *rule, const limits *all, fovea_error *error) {
  fovea_status status = check_number("first", rule->begin, 0, all->rows_end, error);
  if (!status) status = check_number("rows", rule->count, 0, all->rows_end - rule->begin, error);
  return status ? status : check_lists(rule, "keys", all->keys - 1, error);
}

/* Walks from a node to its root. A walk that is longer than the tree goes in a circle. */
static fovea_status check_walk(const fovea_rule *rule, int64_t node, fovea_error *error) {
  int64_t at = node;
  for (int64_t steps = 0; at >= 0; steps++, at = rule->numbers[at]) {
    if (steps < rule->count) continue;
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "parents[%jd] begins a circle", node);
  }
  return FOVEA_OK;
}

/* The most nodes of a tree: lists of all ancestors are kept. */
enum { TREE_LIMIT = 1 << 14 };

static fovea_status check_tree(const fovea_rule *rule, const limits *all, fovea_error *error) {
  const int64_t end = fovea_least(all->rows_end, all->keys);
  fovea_status status = check_number("first", rule->begin, 0, end, error);
  if (!status) status = check_number("nodes", rule->count, 0, fovea_least(end - rule->begin, TREE_LIMIT), error);
  if (!status) status = check_pointer("parents", rule->numbers, rule->count, error);
  if (!status) status = check_numbers("parents", rule->numbers, 0, rule->count, -1, rule->count - 1, error);
  for (int64_t i = 0; i < rule->count && !status; i++) {
    if (rule->numbers[i] >= i) status = check_walk(rule, i, error); /* parents that come first make no circle */
  }
  return status;
}

/* The caller's name of a field of an axis, written into `room`. */
static const char *name_of_axis(int64_t axis, const char *field, fovea_error *room) {
  fovea_fail(room, FOVEA_OK, "axis[%jd].%s", axis, field);
  return room->text;
}

static fovea_status check_grid(const fovea_rule *rule, fovea_error *error) {
  int64_t cells = 1;
  fovea_status status = check_number("axes", rule->axes, 1, FOVEA_RULE_AXES, error);
  for (int64_t i = 0; i < rule->axes && !status; i++) {
    const fovea_rule_axis *axis = &rule->axis[i];
    fovea_error room;
    status = check_number(name_of_axis(i, "length", &room), axis->length, 1, (FOVEA_NO_KEY - 1) / cells, error);
    if (status) return status;
    cells *= axis->length;
    status = check_number(name_of_axis(i, "dilation", &room), axis->dilation, 1, axis->length, error);
    if (!status)
      status =
          check_number(name_of_axis(i, "window", &room), axis->window, 1, axis->length / axis->dilation, error);
    if (!status) status = check_number(name_of_axis(i, "causal", &room), axis->causal, 0, 1, error);
  }
  return status;
}

/* Refuses fields that the kind does not name. Pointers among them would be followed by nobody's check. */
static fovea_status check_unused(const fovea_rule *rule, fovea_error *error) {
  enum { LEFT = 1, RIGHT = 2, BEFORE = 4, AFTER = 8, STEP = 16, BEGIN = 32, END = 64, COUNT = 128, NUMBERS = 256 };
  enum { ROW_NUMBERS = 512, STARTS = 1024, BLOCK_ROWS = 2048, BLOCK_KEYS = 4096, AXES = 8192 };
  static const unsigned used[] = {
      [FOVEA_RULE_WINDOW] = BEFORE | AFTER | STEP,
      [FOVEA_RULE_CHUNKS] = BEFORE | AFTER | STEP,
      [FOVEA_RULE_KEYS] = BEGIN | END,
      [FOVEA_RULE_ROWS] = BEGIN | END,
      [FOVEA_RULE_EVERY] = BEGIN | END | STEP,
      [FOVEA_RULE_DOCUMENTS] = COUNT | NUMBERS | ROW_NUMBERS,
      [FOVEA_RULE_GLOBAL] = COUNT | NUMBERS,
      [FOVEA_RULE_BLOCKS] = COUNT | NUMBERS | STARTS | BLOCK_ROWS | BLOCK_KEYS,
      [FOVEA_RULE_EDGES] = BEGIN | COUNT | NUMBERS | STARTS | STEP,
      [FOVEA_RULE_TREE] = BEGIN | COUNT | NUMBERS,
      [FOVEA_RULE_NEIGHBOURHOOD] = AXES,
      [FOVEA_RULE_AND] = LEFT | RIGHT,
      [FOVEA_RULE_OR] = LEFT | RIGHT,
      [FOVEA_RULE_NOT] = LEFT,
  };
  const struct {
    const char *name;
    int set;
  } fields[] = {
      {"left", rule->left != NULL},
      {"right", rule->right != NULL},
      {"before", rule->before != 0},
      {"after", rule->after != 0},
      {"step", rule->step != 0},
      {"begin", rule->begin != 0},
      {"end", rule->end != 0},
      {"count", rule->count != 0},
      {"numbers", rule->numbers != NULL},
      {"row_numbers", rule->row_numbers != NULL},
      {"starts", rule->starts != NULL},
      {"block_rows", rule->block_rows != 0},
      {"block_keys", rule->block_keys != 0},
      {"axes", rule->axes != 0},
  };
  const unsigned kind = (unsigned)rule->kind;
  if (kind >= sizeof used / sizeof used[0]) return FOVEA_OK; /* refused as no kind */
  const unsigned lists = kind == FOVEA_RULE_EDGES && rule->starts ? STEP : 0;
  for (unsigned i = 0; i < sizeof fields / sizeof fields[0]; i++) {
    if (!fields[i].set || (used[kind] & ~lists) >> i & 1) continue;
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s is set and would not be used by a rule of kind %jd",
                      fields[i].name, (int64_t)rule->kind);
  }
  return FOVEA_OK;
}

static fovea_status check_rule(const fovea_rule *rule, const limits *all, fovea_error *error);

static fovea_status check_joined(const fovea_rule *rule, const limits *all, fovea_error *error) {
  const int joins_two = rule->kind != FOVEA_RULE_NOT;
  if (!rule->left || (joins_two && !rule->right))
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is NULL", rule->left ? "right" : "left");
  const fovea_status status = fovea_fail_within("left", check_rule(rule->left, all, error), error);
  if (status || !joins_two) return status;
  return fovea_fail_within("right", check_rule(rule->right, all, error), error);
}

/* Checks the fields of a rule, and the rules that it joins. It is not too deep. */
static fovea_status check_rule(const fovea_rule *rule, const limits *all, fovea_error *error) {
  const fovea_status status = check_unused(rule, error);
  if (status) return status;
  switch (rule->kind) {
  case FOVEA_RULE_CAUSAL:
    return FOVEA_OK;
  case FOVEA_RULE_WINDOW:
    return check_distances(rule, "step", error);
  case FOVEA_RULE_CHUNKS:
    return check_distances(rule, "size", error);
  case FOVEA_RULE_KEYS:
  case FOVEA_RULE_ROWS:
    return check_range(rule, FOVEA_NO_KEY, error);
  case FOVEA_RULE_EVERY:
    return check_every(rule, error);
  case FOVEA_RULE_DOCUMENTS:
    return check_documents(rule, error);
  case FOVEA_RULE_GLOBAL:
    return check_global(rule, all, error);
  case FOVEA_RULE_BLOCKS:
    return check_blocks(rule, all, error);
  case FOVEA_RULE_EDGES:
    return check_edges(rule, all, error);
  case FOVEA_RULE_TREE:
    return check_tree(rule, all, error);
  case FOVEA_RULE_NEIGHBOURHOOD:
    return check_grid(rule, error);
  case FOVEA_RULE_AND:
  case FOVEA_RULE_OR:
  case FOVEA_RULE_NOT:
    return check_joined(rule, all, error);
  default:
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "kind is %jd, which no rule has", (int64_t)rule->kind);
  }
}

/* Whether a rule joins no more rules, and no deeper, than it may. `rules` counts them. */
static int is_small(const fovea_rule *rule, int depth, int64_t *rules) {
  const int joins = rule->kind == FOVEA_RULE_AND || rule->kind == FOVEA_RULE_OR || rule->kind == FOVEA_RULE_NOT;
  if (depth > FOVEA_RULE_DEPTH || ++*rules > FOVEA_RULE_LIMIT) return 0;
  if (joins && rule->left && !is_small(rule->left, depth + 1, rules)) return 0;
  return !joins || rule->kind == FOVEA_RULE_NOT || !rule->right || is_small(rule->right, depth + 1, rules);
}

/* Checks the rule of an option, whose name errors begin with: "rules[2].left.begin is -1". */
static fovea_status check_option(const char *name, const fovea_rule *rule, const limits *all, fovea_error *error) {
  int64_t rules = 0;
  if (!rule) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is NULL", name);
  if (is_small(rule, 1, &rules)) return fovea_fail_within(name, check_rule(rule, all, error), error);
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s joins more than %jd rules, or more than %jd deep", name,
                    (int64_t)FOVEA_RULE_LIMIT, (int64_t)FOVEA_RULE_DEPTH);
}

static fovea_status check_sizes(const fovea_pattern_options *options, fovea_error *error) {
  const int64_t most = FOVEA_NO_KEY - 1;
  fovea_status status = check_number("rows", options->rows, 0, most, error);
  if (!status) status = check_number("keys", options->keys, 0, most, error);
  if (!status) status = check_number("first_row", options->first_row, 0, most - options->rows, error);
  if (!status) status = check_number("by_row", options->by_row, 0, 1, error);
  if (!status && options->by_row && options->first_row) {
    status = fovea_fail(error, FOVEA_ERROR_UNUSED, "first_row is %jd and would not be used: by_row is 1",
                        options->first_row);
  }
  return status;
}

fovea_status fovea_check_pattern_options(const fovea_pattern_options *options, fovea_error *error) {
  fovea_status status = check_sizes(options, error);
  if (!status) status = fovea_check_allocator(&options->allocator, error);
  if (status) return status;
  const limits all = {options->first_row + options->rows, options->keys}; /* checked sizes do not overflow */
  if (options->rule && options->rules) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "rule is not NULL and would not be used: rules is not NULL");
  }
  if (!options->rules) {
    if (options->heads) {
      return fovea_fail(error, FOVEA_ERROR_UNUSED, "heads is %jd and would not be used: rules is NULL",
                        options->heads);
    }
    return check_option("rule", options->rule, &all, error);
  }
  status = check_number("heads", options->heads, 1, INT32_MAX, error);
  for (int64_t i = 0; i < options->heads && !status; i++) {
    fovea_error name;
    fovea_fail(&name, FOVEA_OK, "rules[%jd]", i);
    status = check_option(name.text, options->rules[i], &all, error);
  }
  return status;
}
#endif

#include "patterns.h"

#include "check.h"

#include <math.h>
#include <stdlib.h>

static int is_near(int64_t before, int64_t after, int64_t begin, int64_t end, int64_t key) {
  if (before != FOVEA_UNLIMITED && begin - key > before) return 0;
  return after == FOVEA_UNLIMITED || key - end <= after;
}

static int is_in(const int64_t *numbers, int64_t begin, int64_t end, int64_t number) {
  for (int64_t i = begin; i < end; i++)
    if (numbers[i] == number) return 1;
  return 0;
}

static int64_t document_of(const int64_t *numbers, int64_t count, int64_t position) {
  return position < count ? numbers[position] : -1;
}

static int sees_list(const fovea_rule *rule, int64_t list, int64_t item) {
  if (list < 0 || list >= rule->count) return 0;
  if (rule->starts == NULL) return is_in(rule->numbers, list * rule->step, (list + 1) * rule->step, item);
  return is_in(rule->numbers, rule->starts[list], rule->starts[list + 1], item);
}

static int sees_tree(const fovea_rule *rule, int64_t row, int64_t key) {
  if (key < rule->begin) return 1;
  int64_t node = row - rule->begin;
  if (node < 0 || node >= rule->count) return 0;
  for (; node >= 0; node = rule->numbers[node])
    if (rule->begin + node == key) return 1;
  return 0;
}

/* By counting: how many cells of the row's own remainder lie on either side of it. */
static int sees_along(const fovea_rule_axis *axis, int64_t row, int64_t key) {
  if (row % axis->dilation != key % axis->dilation) return 0;
  int64_t before = 0, after = 0;
  for (int64_t cell = row - axis->dilation; cell >= 0; cell -= axis->dilation) before++;
  for (int64_t cell = row + axis->dilation; cell < axis->length; cell += axis->dilation) after++;
  const int64_t distance = (key - row) / axis->dilation;
  if (axis->causal) return distance <= 0 && -distance < axis->window;
  int64_t left = axis->window / 2, right = axis->window - 1 - left;
  while (left > before) left--, right++;
  while (right > after) right--, left++;
  return distance >= -left && distance <= right;
}

static int sees_neighbourhood(const fovea_rule *rule, int64_t row, int64_t key) {
  for (int64_t i = rule->axes; i-- > 0;) {
    const int64_t length = rule->axis[i].length;
    if (!sees_along(&rule->axis[i], row % length, key % length)) return 0;
    row /= length;
    key /= length;
  }
  return row == 0 && key == 0;
}

int rule_sees(const fovea_rule *rule, int64_t row, int64_t key) {
  switch (rule->kind) {
  case FOVEA_RULE_CAUSAL:
    return key <= row;
  case FOVEA_RULE_WINDOW:
    return is_near(rule->before, rule->after, row, row, key) && (key - row) % rule->step == 0;
  case FOVEA_RULE_CHUNKS: {
    const int64_t first = row / rule->step * rule->step;
    return is_near(rule->before, rule->after, first, first + rule->step - 1, key);
  }
  case FOVEA_RULE_KEYS:
    return key >= rule->begin && key < rule->end;
  case FOVEA_RULE_ROWS:
    return row >= rule->begin && row < rule->end;
  case FOVEA_RULE_EVERY:
    return key % rule->step >= rule->begin && key % rule->step < rule->end;
  case FOVEA_RULE_DOCUMENTS: {
    const int64_t *rows = rule->row_numbers != NULL ? rule->row_numbers : rule->numbers;
    const int64_t document = document_of(rows, rule->count, row);
    return document >= 0 && document == document_of(rule->numbers, rule->count, key);
  }
  case FOVEA_RULE_GLOBAL:
    return is_in(rule->numbers, 0, rule->count, row) || is_in(rule->numbers, 0, rule->count, key);
  case FOVEA_RULE_BLOCKS:
    return sees_list(rule, row / rule->block_rows, key / rule->block_keys);
  case FOVEA_RULE_EDGES:
    return sees_list(rule, row - rule->begin, key);
  case FOVEA_RULE_TREE:
    return sees_tree(rule, row, key);
  case FOVEA_RULE_NEIGHBOURHOOD:
    return sees_neighbourhood(rule, row, key);
  case FOVEA_RULE_AND:
    return rule_sees(rule->left, row, key) && rule_sees(rule->right, row, key);
  case FOVEA_RULE_OR:
    return rule_sees(rule->left, row, key) || rule_sees(rule->right, row, key);
  default:
    return !rule_sees(rule->left, row, key);
  }
}

const fovea_rule *rule_keep(struct made_rules *made, fovea_rule rule) {
  assert_true(made->count < MADE_RULES);
  made->rules[made->count] = rule;
  return &made->rules[made->count++];
}

static int64_t *list_of(struct made_rules *made, int64_t count) {
  assert_true(made->list_count < MADE_LISTS);
  int64_t *list = malloc((size_t)(count + 1) * sizeof *list);
  assert_non_null(list);
  made->lists[made->list_count++] = list;
  return list;
}

void rules_free(struct made_rules *made) {
  for (int i = 0; i < made->list_count; i++) free(made->lists[i]);
  made->count = made->list_count = 0;
}

static int64_t distance(struct generator *generator, int64_t most) {
  return generator_below(generator, 6) == 0 ? FOVEA_UNLIMITED : generator_below(generator, most + 1);
}

static int64_t *random_list(struct made_rules *made, struct generator *generator, int64_t count, int64_t least,
                            int64_t end) {
  int64_t *list = list_of(made, count);
  for (int64_t i = 0; i < count; i++) list[i] = least + generator_below(generator, end - least);
  return list;
}

static fovea_rule random_documents(struct made_rules *made, struct generator *generator, int64_t rows,
                                   int64_t keys) {
  const int64_t count = generator_below(generator, (rows > keys ? rows : keys) + 3);
  int64_t *of_keys = list_of(made, count), *of_rows = list_of(made, count);
  const int64_t length = 1 + generator_below(generator, 200);
  for (int64_t i = 0; i < count; i++) {
    of_keys[i] = generator_below(generator, 3) ? i / length : generator_below(generator, 4) - 1;
    of_rows[i] = generator_below(generator, 4) ? of_keys[i] : generator_below(generator, 4) - 1;
  }
  return fovea_rule_documents(of_keys, generator_below(generator, 2) ? of_rows : NULL, count);
}

/* Lists of `lists` rows or blocks, some of them empty, with items below `items` and -1. */
static const int64_t *random_starts(struct made_rules *made, struct generator *generator, int64_t lists,
                                    int64_t items, const int64_t **numbers) {
  int64_t *starts = list_of(made, lists + 1);
  starts[0] = generator_below(generator, 3);
  for (int64_t i = 0; i < lists; i++) {
    starts[i + 1] = starts[i] + generator_below(generator, generator_below(generator, 3) ? 4 : items / 4 + 2);
  }
  *numbers = random_list(made, generator, starts[lists], -1, items);
  return starts;
}

static fovea_rule random_blocks(struct made_rules *made, struct generator *generator, int64_t rows, int64_t keys) {
  const int64_t sizes[] = {1, 7, 16, 64, 100, 128, 192, 300};
  const int64_t block_rows = sizes[generator_below(generator, 8)],
                block_keys = sizes[generator_below(generator, 8)];
  const int64_t blocks = generator_below(generator, (rows + block_rows - 1) / block_rows + 1);
  const int64_t *columns;
  const int64_t *starts = random_starts(made, generator, blocks, (keys + block_keys - 1) / block_keys, &columns);
  return fovea_rule_blocks(block_rows, block_keys, blocks, starts, columns);
}

static fovea_rule random_edges(struct made_rules *made, struct generator *generator, int64_t first, int64_t end,
                               int64_t keys) {
  const int64_t *numbers;
  first += generator_below(generator, (end - first) / 3 + 1);
  const int64_t lists = generator_below(generator, end - first + 1);
  if (generator_below(generator, 2)) {
    const int64_t length = generator_below(generator, 9);
    return fovea_rule_lists(first, lists, length, random_list(made, generator, lists * length, -1, keys));
  }
  const int64_t *starts = random_starts(made, generator, lists, keys, &numbers);
  return fovea_rule_edges(first, lists, starts, numbers);
}

/* A parent comes before its child in a list that is then shuffled, so that there is no circle. */
static fovea_rule random_tree(struct made_rules *made, struct generator *generator, int64_t end) {
  const int64_t first = generator_below(generator, end), nodes = generator_below(generator, end - first + 1) % 200;
  int64_t *parents = list_of(made, nodes), *order = list_of(made, nodes);
  for (int64_t i = 0; i < nodes; i++) order[i] = i;
  for (int64_t i = nodes - 1; i > 0; i--) {
    const int64_t j = generator_below(generator, i + 1), swap = order[i];
    order[i] = order[j];
    order[j] = swap;
  }
  for (int64_t i = 0; i < nodes; i++) {
    const int64_t parent = generator_below(generator, 5) ? i - 1 : generator_below(generator, i + 1) - 1;
    parents[order[i]] = parent < 0 ? -1 : order[parent];
  }
  return fovea_rule_tree(first, nodes, parents);
}

static fovea_rule random_neighbourhood(struct generator *generator, int64_t keys) {
  fovea_rule_axis axis[FOVEA_RULE_AXES];
  const int64_t axes = 1 + generator_below(generator, 3);
  int64_t cells = keys;
  for (int64_t i = 0; i < axes; i++) {
    axis[i].length = 1 + generator_below(generator, i == 0 && axes > 1 ? (cells + 7) / 8 : cells);
    cells = (cells + axis[i].length - 1) / axis[i].length;
    axis[i].dilation = 1 + generator_below(generator, generator_below(generator, 2) ? axis[i].length : 1) % 5;
    axis[i].window = 1 + generator_below(generator, axis[i].length / axis[i].dilation);
    axis[i].causal = generator_below(generator, 3) == 0;
  }
  return fovea_rule_neighbourhood(axes, axis);
}

const fovea_rule *rule_random(struct made_rules *made, struct generator *generator, fovea_rule_kind kind,
                              int64_t first_row, int64_t rows, int64_t keys) {
  const int64_t end = first_row + rows, both = end < keys ? end : keys, most = end > keys ? end : keys;
  int64_t begin = generator_below(generator, most);
  switch (kind) {
  case FOVEA_RULE_CAUSAL:
    return rule_keep(made, fovea_rule_causal());
  case FOVEA_RULE_WINDOW:
    return rule_keep(made, fovea_rule_dilated(distance(generator, keys), distance(generator, 70),
                                              1 + generator_below(generator, 3) * generator_below(generator, 50)));
  case FOVEA_RULE_CHUNKS:
    return rule_keep(made, fovea_rule_chunks(1 + generator_below(generator, 200), distance(generator, 300),
                                             distance(generator, 100)));
  case FOVEA_RULE_KEYS:
    return rule_keep(made, fovea_rule_keys(begin, begin + generator_below(generator, 400)));
  case FOVEA_RULE_ROWS:
    return rule_keep(made, fovea_rule_rows(begin, begin + generator_below(generator, 100)));
  case FOVEA_RULE_EVERY: {
    const int64_t period = 1 + generator_below(generator, generator_below(generator, 2) ? 20 : 400);
    begin = generator_below(generator, period + 1);
    return rule_keep(made, fovea_rule_every(period, begin, begin + generator_below(generator, period - begin + 1)));
  }
  case FOVEA_RULE_DOCUMENTS:
    return rule_keep(made, random_documents(made, generator, end, keys));
  case FOVEA_RULE_GLOBAL: {
    const int64_t count = generator_below(generator, 8), close = begin + 12 < most ? begin + 12 : most;
    const int near = (int)generator_below(generator, 2); /* neighbours, and small gaps */
    const int64_t *list = random_list(made, generator, count, near ? begin : 0, near ? close : most);
    return rule_keep(made, fovea_rule_global(list, count));
  }
  case FOVEA_RULE_BLOCKS:
    return rule_keep(made, random_blocks(made, generator, end, keys));
  case FOVEA_RULE_EDGES:
    return rule_keep(made, random_edges(made, generator, first_row, end, keys));
  case FOVEA_RULE_TREE:
    return rule_keep(made, random_tree(made, generator, both));
  default:
    return rule_keep(made, random_neighbourhood(generator, keys));
  }
}

const fovea_rule *rule_sparse(struct made_rules *made, struct generator *generator, int64_t rows, int64_t keys) {
  int64_t *starts = list_of(made, rows + 1), *numbers = list_of(made, rows * 300);
  starts[0] = 0;
  for (int64_t i = 0; i < rows; i++) {
    const int64_t kind = generator_below(generator, 20), first = generator_below(generator, keys);
    const int64_t degree = kind == 0   ? 0
                           : kind == 1 ? generator_below(generator, 300)
                                       : generator_below(generator, 9);
    for (int64_t j = 0; j < degree; j++) {
      const int64_t near = first + generator_below(generator, 200);
      numbers[starts[i] + j] = kind % 3 && near < keys ? near : generator_below(generator, keys);
    }
    starts[i + 1] = starts[i] + degree;
  }
  return rule_keep(made, fovea_rule_edges(0, rows, starts, numbers));
}

const fovea_rule *rule_random_joined(struct made_rules *made, struct generator *generator, int depth,
                                     int64_t first_row, int64_t rows, int64_t keys) {
  if (depth == 0 || generator_below(generator, 4) == 0) {
    const int64_t kind = FOVEA_RULE_CAUSAL + generator_below(generator, FOVEA_RULE_NEIGHBOURHOOD);
    return rule_random(made, generator, (fovea_rule_kind)kind, first_row, rows, keys);
  }
  const fovea_rule *left = rule_random_joined(made, generator, depth - 1, first_row, rows, keys);
  if (generator_below(generator, 5) == 0) return rule_keep(made, fovea_rule_not(left));
  const fovea_rule *right = rule_random_joined(made, generator, depth - 1, first_row, rows, keys);
  return rule_keep(made, generator_below(generator, 2) ? fovea_rule_and(left, right) : fovea_rule_or(left, right));
}

fovea_pattern *pattern_of(const fovea_rule *rule, int64_t first_row, int64_t rows, int64_t keys, int by_row) {
  fovea_error error;
  fovea_pattern *pattern;
  fovea_pattern_options options;
  fovea_pattern_options_init(&options, rule, rows, keys);
  options.first_row = first_row;
  options.by_row = by_row;
  if (fovea_pattern_create(&options, &pattern, &error) != FOVEA_OK) fail_msg("%s", error.text);
  return pattern;
}

struct rule_table same_rules(const fovea_rule *rule, int by_row) {
  struct rule_table rules = {.by_row = by_row};
  for (int b = 0; b < LISTED_ENTRIES; b++)
    for (int h = 0; h < TABLE_HEADS; h++) rules.of[b][h] = rule;
  return rules;
}

/* What the problem's own mask adds. */
static float own_bias(const struct trial *trial, int64_t batch, int64_t head, int64_t row, int64_t key) {
  const fovea_problem *problem = &trial->problem;
  const int64_t element = key - problem_mask_begin(problem, batch);
  if (problem->mask.type == FOVEA_MASK_NONE || element < 0) return 0.0f;
  if (problem->mask.keys != FOVEA_UNLIMITED && element >= problem->mask.keys) return -INFINITY;
  return mask_get(&trial->mask, batch, head, row, element);
}

/* Heads that share a rule see the same. */
static void mask_rows(struct trial *masked, const struct trial *patterned, const struct rule_table *rules,
                      int64_t batch, unsigned char *sees) {
  const struct entry entry = problem_entry(&patterned->problem, batch);
  for (int64_t i = 0; i < entry.q_len; i++) {
    const fovea_rule *before = NULL;
    for (int64_t h = 0; h < patterned->problem.heads; h++) {
      const fovea_rule *rule = rules->of[batch][h];
      for (int64_t j = 0; j < entry.kv_len && rule != before; j++)
        sees[j] = rule == NULL || rule_sees(rule, rules->by_row ? i : i + entry.offset, j);
      for (int64_t j = 0; j < entry.kv_len; j++) {
        const int seen = rule == NULL || sees[j];
        mask_set(&masked->mask, batch, h, i, j, seen ? own_bias(patterned, batch, h, i, j) : -INFINITY);
      }
      before = rule;
    }
  }
}

struct trial masked_trial(const struct trial *patterned, uint64_t seed, const struct rule_table *rules) {
  fovea_problem problem = patterned->problem;
  assert_true(problem.batch <= LISTED_ENTRIES && problem.heads <= TABLE_HEADS);
  problem.pattern = NULL;
  problem.patterns = NULL;
  problem.mask.begin = 0;
  problem.mask.begins = NULL;
  problem.mask.keys = FOVEA_UNLIMITED;
  if (problem.mask.type == FOVEA_MASK_NONE) problem.mask.type = FOVEA_MASK_BOOL;
  problem.mask.strides = fovea_mask_layout(problem.mask.type, problem.batch, problem.heads,
                                           problem_mask_rows(&problem), problem_mask_keys(&problem));
  struct trial masked = trial_create(&problem, seed);
  unsigned char *sees = malloc((size_t)problem.kv_len + 1);
  assert_non_null(sees);
  for (int64_t b = 0; b < problem.batch; b++) mask_rows(&masked, patterned, rules, b, sees);
  free(sees);
  return masked;
}

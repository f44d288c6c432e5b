#include "copy_nodes.h"

#include "check.h"
#include "sort.h"

#include <string.h>

#if FOVEA_BUILDS_LISTS

void *fovea_arena_take(fovea_arena *arena, int64_t count, size_t size) {
  void *room = arena->memory ? arena->memory + arena->used : NULL;
  arena->used += ((uint64_t)count * size + 15) / 16 * 16;
  return room;
}

/* Lists meet keys in blocks of this many, unless their items are larger. */
enum { UNION_KEYS = 128 };

/* The lists that the rows of a band have. */
static fovea_interval lists_of_band(const fovea_lists *lists, int64_t band) {
  const int64_t row = (lists->first_band + band) * FOVEA_BAND_ROWS - lists->first;
  const int64_t begin = fovea_most(row, 0) / lists->row_unit;
  const int64_t end = (row + FOVEA_BAND_ROWS + lists->row_unit - 1) / lists->row_unit;
  return (fovea_interval){begin, fovea_most(begin, fovea_least(end, lists->count))};
}

/* An upper bound on the elements of union_items. A list of `all` items may belong to several bands only if it
 * belongs to several rows. */
static int64_t most_in_union(const fovea_rule *rule, const fovea_lists *lists, int64_t all) {
  int64_t items = lists->row_unit == 1 ? all : 0;
  for (int64_t band = 0; lists->row_unit > 1 && band < lists->bands; band++) {
    const fovea_interval some = lists_of_band(lists, band);
    items += fovea_list_begin(rule, some.end) - fovea_list_begin(rule, some.begin);
  }
  return lists->key_unit >= UNION_KEYS ? items : 2 * items;
}

static void fill_lists(const fovea_rule *rule, const fovea_lists *lists, int64_t *starts, int32_t *items) {
  starts[0] = 0;
  for (int64_t i = 0; i < lists->count; i++) {
    int64_t count = 0;
    int32_t *list = items + starts[i];
    for (int64_t at = fovea_list_begin(rule, i); at < fovea_list_begin(rule, i + 1); at++) {
      if (rule->numbers[at] >= 0) list[count++] = (int32_t)rule->numbers[at];
    }
    starts[i + 1] = starts[i] + fovea_sort_items(list, count);
  }
}

static void fill_union(const fovea_lists *lists, int64_t *starts, int32_t *items) {
  starts[0] = 0;
  for (int64_t band = 0; band < lists->bands; band++) {
    const fovea_interval some = lists_of_band(lists, band);
    int32_t *all = items + starts[band];
    int64_t count = 0;
    for (int64_t at = lists->starts[some.begin]; at < lists->starts[some.end]; at++) {
      const int64_t first = lists->items[at] * lists->key_unit / lists->union_unit;
      const int64_t last = ((lists->items[at] + INT64_C(1)) * lists->key_unit - 1) / lists->union_unit;
      all[count++] = (int32_t)first;
      if (last != first) all[count++] = (int32_t)last;
    }
    starts[band + 1] = starts[band] + fovea_sort_items(all, count);
  }
}

/* BLOCKS and EDGES, with `all` items. */
static void copy_lists(fovea_arena *arena, const fovea_rule *rule, int64_t all, int64_t rows_end,
                       fovea_lists *lists) {
  const int blocks = rule->kind == FOVEA_RULE_BLOCKS;
  *lists = (fovea_lists){.first = rule->begin,
                         .row_unit = blocks ? rule->block_rows : 1,
                         .key_unit = blocks ? rule->block_keys : 1,
                         .count = rule->count,
                         .first_band = rule->begin / FOVEA_BAND_ROWS};
  const int64_t end = fovea_least(rows_end, lists->first + lists->count * lists->row_unit);
  if (end > lists->first) lists->bands = (end - 1) / FOVEA_BAND_ROWS - lists->first_band + 1;
  lists->union_unit = lists->key_unit >= UNION_KEYS ? lists->key_unit : UNION_KEYS;
  int64_t *starts = fovea_arena_take(arena, lists->count + 1, sizeof *starts);
  int32_t *items = fovea_arena_take(arena, all, sizeof *items);
  int64_t *union_starts = fovea_arena_take(arena, lists->bands + 1, sizeof *union_starts);
  int32_t *union_items = fovea_arena_take(arena, most_in_union(rule, lists, all), sizeof *union_items);
  if (!starts || !items || !union_starts || !union_items) return; /* only counted */
  lists->starts = starts;
  lists->items = items;
  fill_lists(rule, lists, starts, items);
  lists->union_starts = union_starts;
  lists->union_items = union_items;
  fill_union(lists, union_starts, union_items);
}

static void copy_global(fovea_arena *arena, const fovea_rule *rule, fovea_lists *lists) {
  int64_t *starts = fovea_arena_take(arena, 2, sizeof *starts);
  int32_t *items = fovea_arena_take(arena, rule->count, sizeof *items);
  if (!starts || !items) return;
  for (int64_t i = 0; i < rule->count; i++) items[i] = (int32_t)rule->numbers[i];
  starts[0] = 0;
  starts[1] = fovea_sort_items(items, rule->count);
  *lists = (fovea_lists){.row_unit = 1, .key_unit = 1, .count = 1, .starts = starts, .items = items};
}

/* Lists runs of equal numbers. They are the documents if their numbers do not decrease. */
static void find_runs(fovea_documents *documents, int32_t *runs) {
  for (int64_t i = 0, before = INT64_MIN; i < documents->count; i++) {
    const int64_t document = documents->keys[i];
    const int begins = i == 0 || document != documents->keys[i - 1];
    if (document >= 0 && begins && document <= before) return; /* it may have begun before */
    if (begins) runs[documents->run_count++] = (int32_t)i;
    if (document >= 0) before = document;
  }
  documents->runs = runs;
}

static void copy_documents(fovea_arena *arena, const fovea_rule *rule, fovea_documents *documents) {
  const int same = !rule->row_numbers || rule->row_numbers == rule->numbers;
  int64_t *keys = fovea_arena_take(arena, rule->count, sizeof *keys);
  int64_t *rows = same ? keys : fovea_arena_take(arena, rule->count, sizeof *rows);
  int32_t *runs = fovea_arena_take(arena, same ? rule->count : 0, sizeof *runs);
  if (!keys || !rows || !runs) return;
  if (rule->count > 0) memcpy(keys, rule->numbers, (size_t)rule->count * sizeof *keys);
  if (rule->count > 0 && !same) memcpy(rows, rule->row_numbers, (size_t)rule->count * sizeof *rows);
  *documents = (fovea_documents){.count = rule->count, .keys = keys, .rows = rows};
  if (same) find_runs(documents, runs);
}

/* The ancestors of every node, and the node itself, as lists of keys of a CSR matrix. */
static void copy_tree(fovea_arena *arena, const fovea_rule *tree, int64_t rows_end, fovea_lists *lists) {
  int64_t total = 0;
  for (int64_t i = 0; i < tree->count; i++) {
    for (int64_t at = i; at >= 0; at = tree->numbers[at]) total++;
  }
  int64_t *starts = fovea_arena_take(arena, tree->count + 1, sizeof *starts);
  int64_t *keys = fovea_arena_take(arena, total, sizeof *keys);
  const fovea_rule edges = fovea_rule_edges(tree->begin, tree->count, starts, keys);
  for (int64_t i = 0, used = 0; starts && keys && i <= tree->count; i++) {
    starts[i] = used;
    for (int64_t at = i < tree->count ? i : -1; at >= 0; at = tree->numbers[at]) keys[used++] = tree->begin + at;
  }
  copy_lists(arena, &edges, total, rows_end, lists);
}

static const fovea_node *copy_child(fovea_arena *arena, const fovea_rule *rule, int64_t rows_end) {
  return rule ? fovea_copy_rule(arena, rule, rows_end) : NULL;
}

/* Every row sees the keys before a tree, and the edges are its nodes. */
static fovea_node *tree_of(fovea_arena *arena, const fovea_rule *rule, fovea_node *edges) {
  const fovea_rule before = fovea_rule_keys(0, rule->begin);
  fovea_node *keys = fovea_copy_rule(arena, &before, 0);
  fovea_node *either = fovea_arena_take(arena, 1, sizeof *either);
  if (!arena->memory) return NULL;
  edges->kind = FOVEA_RULE_EDGES;
  *either = (fovea_node){.kind = FOVEA_RULE_OR, .left = keys, .right = edges};
  return either;
}

fovea_node *fovea_copy_rule(fovea_arena *arena, const fovea_rule *rule, int64_t rows_end) {
  fovea_node counted = {.kind = rule->kind}; /* written in place of a node while the memory is only counted */
  fovea_node *taken = fovea_arena_take(arena, 1, sizeof *taken), *node = taken ? taken : &counted;
  *node = (fovea_node){.kind = rule->kind,
                       .before = rule->before,
                       .after = rule->after,
                       .step = rule->step,
                       .begin = rule->begin,
                       .end = rule->end,
                       .axes = rule->axes};
  memcpy(node->axis, rule->axis, sizeof node->axis);
  switch (rule->kind) {
  case FOVEA_RULE_DOCUMENTS:
    copy_documents(arena, rule, &node->documents);
    break;
  case FOVEA_RULE_GLOBAL:
    copy_global(arena, rule, &node->lists);
    break;
  case FOVEA_RULE_BLOCKS:
  case FOVEA_RULE_EDGES:
    copy_lists(arena, rule, fovea_list_begin(rule, rule->count) - fovea_list_begin(rule, 0), rows_end,
               &node->lists);
    break;
  case FOVEA_RULE_TREE:
    copy_tree(arena, rule, rows_end, &node->lists);
    return tree_of(arena, rule, node);
  default:
    node->left = copy_child(arena, rule->left, rows_end);
    node->right = copy_child(arena, rule->right, rows_end);
    break;
  }
  return taken;
}
#endif

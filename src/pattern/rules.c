/* Rules of every kind, and what joins them. */
#include "node.h"

#if FOVEA_BUILDS_LISTS

static fovea_stretch joined(const fovea_node *node, fovea_interval rows, int64_t key) {
  /* One side is enough: an "and" that no row passes, an "or" that every row passes. */
  const fovea_seen enough = node->kind == FOVEA_RULE_AND ? FOVEA_SEEN_BY_NONE : FOVEA_SEEN_BY_ALL;
  const fovea_seen left_over = node->kind == FOVEA_RULE_AND ? FOVEA_SEEN_BY_ALL : FOVEA_SEEN_BY_NONE;
  const fovea_stretch left = fovea_node_stretch(node->left, rows, key);
  if (left.seen == enough) return left;
  const fovea_stretch right = fovea_node_stretch(node->right, rows, key);
  if (right.seen == enough) return right;
  const fovea_seen both = left.seen == left_over    ? right.seen
                          : right.seen == left_over ? left.seen
                                                    : FOVEA_SEEN_BY_SOME;
  return (fovea_stretch){both, fovea_least(left.end, right.end)};
}

static fovea_stretch reversed(fovea_stretch of) {
  const fovea_seen seen[] = {FOVEA_SEEN_BY_ALL, FOVEA_SEEN_BY_SOME, FOVEA_SEEN_BY_NONE};
  return (fovea_stretch){seen[of.seen], of.end};
}

fovea_stretch fovea_node_stretch(const fovea_node *node, fovea_interval rows, int64_t key) {
  switch (node->kind) {
  case FOVEA_RULE_AND:
  case FOVEA_RULE_OR:
    return joined(node, rows, key);
  case FOVEA_RULE_NOT:
    return reversed(fovea_node_stretch(node->left, rows, key));
  case FOVEA_RULE_EVERY:
    return fovea_every_stretch(node, key);
  case FOVEA_RULE_DOCUMENTS:
    return fovea_documents_stretch(&node->documents, rows, key);
  case FOVEA_RULE_GLOBAL:
    return fovea_global_stretch(&node->lists, rows, key);
  case FOVEA_RULE_BLOCKS:
  case FOVEA_RULE_EDGES:
    return fovea_lists_stretch(&node->lists, rows, key);
  case FOVEA_RULE_NEIGHBOURHOOD:
    return fovea_grid_stretch(node, rows, key);
  default:
    return fovea_interval_stretch(node, rows, key);
  }
}

static void join_words(const fovea_node *node, const int64_t *rows, int count, int64_t key, uint64_t *words) {
  uint64_t right[FOVEA_BAND_ROWS];
  fovea_node_words(node->left, rows, count, key, words);
  fovea_node_words(node->right, rows, count, key, right);
  if (node->kind == FOVEA_RULE_AND) {
    for (int i = 0; i < count; i++) words[i] &= right[i];
  } else {
    for (int i = 0; i < count; i++) words[i] |= right[i];
  }
}

void fovea_node_words(const fovea_node *node, const int64_t *rows, int count, int64_t key, uint64_t *words) {
  switch (node->kind) {
  case FOVEA_RULE_AND:
  case FOVEA_RULE_OR:
    join_words(node, rows, count, key, words);
    break;
  case FOVEA_RULE_NOT:
    fovea_node_words(node->left, rows, count, key, words);
    for (int i = 0; i < count; i++) words[i] = ~words[i];
    break;
  case FOVEA_RULE_EVERY:
    fovea_every_words(node, count, key, words);
    break;
  case FOVEA_RULE_DOCUMENTS:
    fovea_documents_words(&node->documents, rows, count, key, words);
    break;
  case FOVEA_RULE_GLOBAL:
    fovea_global_words(&node->lists, rows, count, key, words);
    break;
  case FOVEA_RULE_BLOCKS:
  case FOVEA_RULE_EDGES:
    fovea_lists_words(&node->lists, rows, count, key, words);
    break;
  case FOVEA_RULE_NEIGHBOURHOOD:
    fovea_grid_words(node, rows, count, key, words);
    break;
  default:
    fovea_interval_words(node, rows, count, key, words);
    break;
  }
}

/* The keys of both intervals, or of either. Returns 0 if that is no interval. */
static int join_intervals(fovea_rule_kind kind, fovea_interval left, fovea_interval right, fovea_interval *keys) {
  if (kind == FOVEA_RULE_AND) {
    *keys = fovea_intersect(left, right);
    return 1;
  }
  if (left.begin >= left.end || right.begin >= right.end) {
    *keys = left.begin >= left.end ? right : left;
    return 1;
  }
  *keys = (fovea_interval){fovea_least(left.begin, right.begin), fovea_most(left.end, right.end)};
  return left.begin <= right.end && right.begin <= left.end;
}

/* The keys of each row by a rule that has no others in it. Returns 0 if they are no intervals. */
static int leaf_intervals(const fovea_node *node, int64_t first, int count, fovea_interval *keys) {
  switch (node->kind) {
  case FOVEA_RULE_WINDOW:
    if (node->step > 1) return 0;
    break;
  case FOVEA_RULE_CAUSAL:
  case FOVEA_RULE_CHUNKS:
  case FOVEA_RULE_KEYS:
  case FOVEA_RULE_ROWS:
    break;
  case FOVEA_RULE_DOCUMENTS:
    for (int i = 0; i < count; i++) keys[i] = fovea_documents_keys(&node->documents, first + i);
    return node->documents.runs != NULL;
  default:
    return 0;
  }
  for (int i = 0; i < count; i++) keys[i] = fovea_interval_keys(node, first + i);
  return 1;
}

int fovea_node_intervals(const fovea_node *node, int64_t first, int count, fovea_interval *keys) {
  fovea_interval others[FOVEA_INTERVAL_ROWS];
  if (node->kind != FOVEA_RULE_AND && node->kind != FOVEA_RULE_OR) return leaf_intervals(node, first, count, keys);
  if (!fovea_node_intervals(node->left, first, count, keys)) return 0;
  if (!fovea_node_intervals(node->right, first, count, others)) return 0;
  for (int i = 0; i < count; i++) {
    if (!join_intervals(node->kind, keys[i], others[i], &keys[i])) return 0;
  }
  return 1;
}

int fovea_node_sees(const fovea_node *node, int64_t row, int64_t key) {
  uint64_t word;
  const int64_t first = key / FOVEA_WORD_KEYS * FOVEA_WORD_KEYS;
  fovea_node_words(node, &row, 1, first, &word);
  return (int)(word >> (key - first) & 1);
}
#endif

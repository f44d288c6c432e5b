/* Rules that let a row see one range of keys, or every so many of one. */
#include "node.h"

#if FOVEA_BUILDS_LISTS

/* After every position and distance; sums of a few do not overflow. */
static const int64_t far_away = INT64_C(1) << 50;

static int64_t distance_of(int64_t distance) {
  return distance == FOVEA_UNLIMITED || distance > far_away ? far_away : distance;
}

/* The keys from the first that the row sees to the last. Neither end decreases from row to row, but for ROWS. */
fovea_interval fovea_interval_keys(const fovea_node *node, int64_t row) {
  switch (node->kind) {
  case FOVEA_RULE_CAUSAL:
    return (fovea_interval){-far_away, row + 1};
  case FOVEA_RULE_WINDOW:
    return (fovea_interval){row - distance_of(node->before), row + distance_of(node->after) + 1};
  case FOVEA_RULE_CHUNKS: {
    const int64_t chunk = row / node->step * node->step; /* rows are not negative */
    return (fovea_interval){chunk - distance_of(node->before), chunk + node->step + distance_of(node->after)};
  }
  case FOVEA_RULE_ROWS:
    return row >= node->begin && row < node->end ? (fovea_interval){-far_away, far_away} : (fovea_interval){0, 0};
  default:
    return (fovea_interval){node->begin, node->end};
  }
}

static fovea_stretch rows_stretch(const fovea_node *node, fovea_interval rows) {
  const fovea_interval inside = fovea_intersect(rows, (fovea_interval){node->begin, node->end});
  if (inside.begin == inside.end) return (fovea_stretch){FOVEA_SEEN_BY_NONE, FOVEA_NO_KEY};
  const int all = inside.begin == rows.begin && inside.end == rows.end;
  return (fovea_stretch){all ? FOVEA_SEEN_BY_ALL : FOVEA_SEEN_BY_SOME, FOVEA_NO_KEY};
}

fovea_stretch fovea_interval_stretch(const fovea_node *node, fovea_interval rows, int64_t key) {
  if (node->kind == FOVEA_RULE_ROWS) return rows_stretch(node, rows);
  const fovea_interval first = fovea_interval_keys(node, rows.begin),
                       last = fovea_interval_keys(node, rows.end - 1);
  const int dilated = node->kind == FOVEA_RULE_WINDOW && node->step > 1;
  if (key < first.begin) return (fovea_stretch){FOVEA_SEEN_BY_NONE, first.begin};
  if (key >= last.end) return (fovea_stretch){FOVEA_SEEN_BY_NONE, FOVEA_NO_KEY};
  if (dilated || last.begin >= first.end || key >= first.end) return (fovea_stretch){FOVEA_SEEN_BY_SOME, last.end};
  if (key < last.begin) return (fovea_stretch){FOVEA_SEEN_BY_SOME, last.begin};
  return (fovea_stretch){FOVEA_SEEN_BY_ALL, first.end};
}

/* Every step-th bit, from bit `first` on. */
static uint64_t every(int64_t first, int64_t step) {
  uint64_t word = 0;
  for (int64_t bit = first; bit < FOVEA_WORD_KEYS; bit += step) word |= UINT64_C(1) << bit;
  return word;
}

static int64_t remainder_of(int64_t a, int64_t b) {
  return (a % b + b) % b;
}

void fovea_interval_words(const fovea_node *node, const int64_t *rows, int count, int64_t key, uint64_t *words) {
  for (int i = 0; i < count; i++) {
    const fovea_interval keys = fovea_interval_keys(node, rows[i]);
    words[i] = fovea_bits_between(keys.begin - key, keys.end - key);
    if (node->kind == FOVEA_RULE_WINDOW && node->step > 1 && words[i]) {
      words[i] &= every(remainder_of(rows[i] - key, node->step), node->step);
    }
  }
}

/* Shorter periods make too many stretches. */
enum { SHORTEST_PERIOD = 128 };

fovea_stretch fovea_every_stretch(const fovea_node *node, int64_t key) {
  const int64_t at = key % node->step, first = key - at;
  if (node->begin >= node->end) return (fovea_stretch){FOVEA_SEEN_BY_NONE, FOVEA_NO_KEY};
  if (node->step < SHORTEST_PERIOD) return (fovea_stretch){FOVEA_SEEN_BY_SOME, FOVEA_NO_KEY};
  if (at < node->begin) return (fovea_stretch){FOVEA_SEEN_BY_NONE, first + node->begin};
  if (at < node->end) return (fovea_stretch){FOVEA_SEEN_BY_ALL, first + node->end};
  return (fovea_stretch){FOVEA_SEEN_BY_NONE, first + node->step + node->begin};
}

void fovea_every_words(const fovea_node *node, int count, int64_t key, uint64_t *words) {
  uint64_t word = 0;
  for (int64_t first = key / node->step * node->step; first < key + FOVEA_WORD_KEYS; first += node->step) {
    word |= fovea_bits_between(first + node->begin - key, first + node->end - key);
  }
  for (int i = 0; i < count; i++) words[i] = word;
}
#endif

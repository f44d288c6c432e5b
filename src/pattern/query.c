/* Answers to plans and runs. */
#include "pattern.h"

#if FOVEA_BUILDS_LISTS

/* The first stretch of the band that ends after `key`. */
static const fovea_band_keys *find(const fovea_pattern *pattern, int64_t head, int64_t band, int64_t key,
                                   const fovea_band_keys **end) {
  const int64_t *starts = pattern->band_starts + head * pattern->bands + band;
  const fovea_band_keys *first = pattern->band_keys + starts[0];
  int64_t count = starts[1] - starts[0];
  *end = first + count;
  while (count > 0) {
    const int64_t half = count / 2;
    if (first[half].end <= key) {
      first += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return first;
}

int64_t fovea_pattern_next_key(const fovea_pattern_bands *bands, int64_t from) {
  int64_t next = FOVEA_NO_KEY;
  for (int64_t head = bands->first_head; head < bands->first_head + bands->heads; head++) {
    for (int64_t band = bands->first_band; band < bands->first_band + bands->bands; band++) {
      const fovea_band_keys *end, *keys = find(bands->pattern, head, band, from, &end);
      if (keys < end) next = fovea_least(next, fovea_most(from, keys->begin));
    }
  }
  return next;
}

/* The keys of a word that the band's rows see. Returns 0 if some row may see what another does not. */
static int word_of_band(const fovea_pattern *pattern, int64_t head, int64_t band, int64_t key, uint64_t *word) {
  const fovea_band_keys *end, *keys = find(pattern, head, band, key, &end);
  *word = 0;
  for (; keys < end && keys->begin < key + FOVEA_WORD_KEYS; keys++) {
    if (!keys->all) return 0;
    *word |= fovea_bits_between((int64_t)keys->begin - key, (int64_t)keys->end - key);
  }
  return 1;
}

int fovea_pattern_intervals(const fovea_pattern *pattern, int64_t head, int64_t first, int64_t count,
                            fovea_interval *keys) {
  for (int64_t i = 0; i < count; i += FOVEA_INTERVAL_ROWS) {
    const int rows = (int)fovea_least(FOVEA_INTERVAL_ROWS, count - i);
    if (!fovea_node_intervals(pattern->roots[head], first + i, rows, keys + i)) return 0;
  }
  for (int64_t i = 0; i < count; i++) keys[i] = fovea_intersect(keys[i], (fovea_interval){0, pattern->keys});
  return 1;
}

int fovea_pattern_is_uniform(const fovea_pattern_bands *bands, int64_t key, uint64_t words[FOVEA_BLOCK_WORDS]) {
  for (int64_t head = bands->first_head; head < bands->first_head + bands->heads; head++) {
    for (int64_t band = bands->first_band; band < bands->first_band + bands->bands; band++) {
      const int first = head == bands->first_head && band == bands->first_band;
      for (int i = 0; i < FOVEA_BLOCK_WORDS; i++) {
        uint64_t word;
        if (!word_of_band(bands->pattern, head, band, key + i * FOVEA_WORD_KEYS, &word)) return 0;
        if (first) words[i] = word;
        if (words[i] != word) return 0;
      }
    }
  }
  return 1;
}

void fovea_pattern_words(const fovea_pattern *pattern, int64_t head, const int64_t *rows, int count, int64_t key,
                         uint64_t *words) {
  uint64_t word;
  if (word_of_band(pattern, head, fovea_pattern_band(pattern, rows[0]), key, &word)) {
    for (int i = 0; i < count; i++) words[i] = word;
    return;
  }
  fovea_node_words(pattern->roots[head], rows, count, key, words);
  const uint64_t inside = fovea_bits_between(0, pattern->keys - key);
  for (int i = 0; i < count; i++) words[i] &= inside;
}

int fovea_pattern_sees(const fovea_pattern *pattern, int64_t head, int64_t row, int64_t key) {
  if (!pattern || head < 0 || head >= pattern->heads || key < 0 || key >= pattern->keys ||
      row < pattern->first_row || row - pattern->first_row >= pattern->rows)
    return 0;
  return fovea_node_sees(pattern->roots[head], row, key);
}

size_t fovea_pattern_bytes(const fovea_pattern *pattern) {
  return pattern ? pattern->bytes : 0;
}

/* The edges of which a rule keeps some, and the rule that says which. */
static const fovea_lists *edges_of(const fovea_node *node, const fovea_node **also) {
  *also = NULL;
  if (node->kind == FOVEA_RULE_AND) {
    *also = node->left->kind == FOVEA_RULE_EDGES ? node->right : node->left;
    node = *also == node->right ? node->left : node->right;
  }
  return node->kind == FOVEA_RULE_EDGES ? &node->lists : NULL;
}

fovea_key_list fovea_pattern_list(const fovea_pattern *pattern, int64_t head, int64_t row, fovea_interval keys) {
  fovea_key_list list = {.row = row};
  const fovea_lists *edges = edges_of(pattern->roots[head], &list.also);
  if (!edges) return list;
  const int64_t at = row - edges->first;
  if (at < 0 || at >= edges->count) return list;
  const int32_t *begin = edges->items + edges->starts[at], *end = edges->items + edges->starts[at + 1];
  while (begin < end && *begin < keys.begin) begin++;
  while (begin < end && end[-1] >= keys.end) end--;
  list.keys = begin;
  list.count = end - begin;
  return list;
}

double fovea_pattern_count_lists(const fovea_pattern *pattern) {
  double pairs = 0;
  const fovea_node *also;
  for (int64_t head = 0; head < pattern->heads; head++) {
    const fovea_lists *edges = edges_of(pattern->roots[head], &also);
    if (!edges) return -1;
    pairs += (double)edges->starts[edges->count];
  }
  return pairs;
}
#endif

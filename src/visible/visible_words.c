#include "visible_words.h"

#include "visible_rules.h"

#if FOVEA_BUILDS_EXPLAIN

void fovea_visible_words(const fovea_visibility *by, fovea_row_place place, int64_t first_key, int64_t words,
                         uint64_t *visible) {
  const fovea_pattern *pattern = by->entry->pattern;
  const fovea_interval keys = fovea_visible_keys(by->problem, by->entry, place.row);
  for (int64_t i = 0; i < words; i++) {
    const int64_t key = first_key + i * FOVEA_WORD_KEYS;
    visible[i] = fovea_bits_between(keys.begin - key, keys.end - key);
    if (!FOVEA_BUILDS_LISTS || !pattern || !visible[i]) continue;
    const int64_t row = fovea_pattern_row(pattern, place.row, by->entry->offset);
    uint64_t word;
    fovea_pattern_words(pattern, fovea_pattern_head(by, place.head), &row, 1, key, &word);
    visible[i] &= word;
  }
}
#endif

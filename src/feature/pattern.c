/* Patterns fit the heads, and hold every row and key of their entries. */
#include "../pattern/pattern.h"
#include "../base/error.h"
#include "../plan/entries.h"
#include "feature.h"

#if FOVEA_BUILDS_LISTS

static fovea_status check_heads(const fovea_problem *p, const fovea_pattern *pattern, fovea_error *error) {
  if (pattern->heads == 1 || pattern->heads == p->kv_heads || pattern->heads == p->heads) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_PATTERN,
                    "the pattern has rules for %jd heads; the problem has %jd, and %jd kv heads", pattern->heads,
                    p->heads, p->kv_heads);
}

static fovea_status check_entry(const fovea_pattern *pattern, const fovea_entry *entry, fovea_error *error) {
  if (entry->q_seen == 0 || entry->kv_begin >= entry->kv_len) return FOVEA_OK; /* no row may see a key */
  const int64_t first = fovea_pattern_row(pattern, 0, entry->offset), end = first + entry->q_seen;
  if (first < pattern->first_row || end > pattern->first_row + pattern->rows) {
    return fovea_fail(error, FOVEA_ERROR_PATTERN,
                      "rows of entry %jd are at positions %jd to %jd; its pattern is for rows %jd to %jd",
                      entry->batch, first, end - 1, pattern->first_row, pattern->first_row + pattern->rows - 1);
  }
  if (entry->kv_len > pattern->keys) {
    return fovea_fail(error, FOVEA_ERROR_PATTERN, "entry %jd has %jd keys; its pattern is for %jd", entry->batch,
                      entry->kv_len, pattern->keys);
  }
  return FOVEA_OK;
}

fovea_status fovea_check_pattern(const fovea_problem *p, fovea_error *error) {
  if (p->pattern && p->patterns)
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "pattern is not NULL and would not be used: patterns is not NULL");
  for (int64_t b = 0; b < p->batch; b++) {
    const fovea_pattern *pattern = p->patterns ? p->patterns[b] : p->pattern;
    if (!pattern) continue;
    const fovea_entry entry = fovea_resolve_entry(p, b);
    fovea_status status = check_heads(p, pattern, error);
    if (!status) status = check_entry(pattern, &entry, error);
    if (status) return status;
  }
  return FOVEA_OK;
}
#endif

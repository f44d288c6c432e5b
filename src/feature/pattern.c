/* Patterns fit the heads, and hold every row and key of their entries. */
#include "../pattern/pattern.h"
#include "../base/error.h"
#include "../plan/entries.h"
#include "feature.h"

#if FOVEA_BUILDS_LISTS

/* The caller's name of an entry's pattern, which may be written into `room`. */
static const char *name_of(const fovea_problem *p, int64_t entry, fovea_error *room) {
  if (!p->patterns) return "pattern";
  fovea_fail(room, FOVEA_OK, "patterns[%jd]", entry);
  return room->text;
}

static fovea_status check_heads(const fovea_problem *p, const fovea_pattern *pattern, int64_t b,
                                fovea_error *error) {
  fovea_error room;
  if (pattern->heads == 1 || pattern->heads == p->kv_heads || pattern->heads == p->heads) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                    "%s has rules for %jd heads; the problem has %jd, and %jd kv heads", name_of(p, b, &room),
                    pattern->heads, p->heads, p->kv_heads);
}

static fovea_status check_entry(const fovea_problem *p, const fovea_pattern *pattern, const fovea_entry *entry,
                                fovea_error *error) {
  fovea_error room;
  if (entry->q_seen == 0 || entry->kv_begin >= entry->kv_len) return FOVEA_OK; /* no row may see a key */
  const int64_t first = fovea_pattern_row(pattern, 0, entry->offset), end = first + entry->q_seen;
  if (first < pattern->first_row || end > pattern->first_row + pattern->rows) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "%s is for rows %jd to %jd; rows of batch element %jd are at positions %jd to %jd",
                      name_of(p, entry->batch, &room), pattern->first_row, pattern->first_row + pattern->rows - 1,
                      entry->batch, first, end - 1);
  }
  if (entry->kv_len > pattern->keys) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is for %jd keys; batch element %jd has %jd",
                      name_of(p, entry->batch, &room), pattern->keys, entry->batch, entry->kv_len);
  }
  return FOVEA_OK;
}

fovea_status fovea_check_pattern(const fovea_problem *p, fovea_error *error) {
  if (p->pattern && p->patterns)
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "pattern is not NULL and would not be used: patterns is not NULL");
  for (int64_t b = 0; b < p->batch; b++) {
    const fovea_pattern *pattern = p->patterns ? p->patterns[b] : p->pattern;
    if (!pattern) continue;
    fovea_entry entry;
    fovea_resolve_entry(p, b, &entry);
    fovea_status status = check_heads(p, pattern, b, error);
    if (!status) status = check_entry(p, pattern, &entry, error);
    if (status) return status;
  }
  return FOVEA_OK;
}
#endif

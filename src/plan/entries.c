#include "entries.h"

#include "../base/shapes.h"
#include "../pattern/pattern.h"
#include "../visible/visible_rules.h"

void fovea_entry_lengths(const fovea_problem *p, int64_t b, fovea_entry *to) {
  fovea_entry entry = {.batch = b, .q_len = p->q_len, .kv_len = p->kv_len};
  if (p->cu_seqlens_q) {
    entry.q_first = p->cu_seqlens_q[b];
    entry.q_len = p->cu_seqlens_q[b + 1] - entry.q_first;
  }
  if (p->cu_seqlens_kv) {
    entry.kv_first = p->cu_seqlens_kv[b];
    entry.kv_len = p->cu_seqlens_kv[b + 1] - entry.kv_first;
  }
  if (p->kv_lens) entry.kv_len = p->kv_lens[b];
  if (p->kv_begins) entry.kv_begin = p->kv_begins[b];
  entry.q_seen = p->q_lens ? p->q_lens[b] : entry.q_len;
  entry.offset = p->offsets                               ? p->offsets[b]
                 : p->offset != FOVEA_OFFSET_BOTTOM_RIGHT ? p->offset
                                                          : entry.kv_len - entry.q_seen;
  entry.pattern = p->patterns ? p->patterns[b] : p->pattern;
  *to = entry;
}

void fovea_resolve_entry(const fovea_problem *p, int64_t b, fovea_entry *entry) {
  fovea_entry_lengths(p, b, entry);
  if (p->mask.type != FOVEA_MASK_NONE) {
    entry->mask_begin = p->mask.begins ? p->mask.begins[b] : p->mask.begin;
    int limited = p->mask.keys != FOVEA_UNLIMITED && p->mask.keys < entry->kv_len - entry->mask_begin;
    if (limited) entry->kv_len = entry->mask_begin + p->mask.keys;
  }
  entry->kv_len = fovea_least(entry->kv_len, fovea_keys_end(p));
  entry->kv_begin = fovea_least(fovea_most(entry->kv_begin, p->keys.begin), entry->kv_len);
  const fovea_interval seen = fovea_entry_keys(p, entry);
  entry->seen_begin = seen.begin;
  entry->seen_end = seen.end;
}

/* Estimates for the scheduler how many pairs of a row and a key the entry has, from the keys of three of its rows.
 */
static double estimate_pairs(const fovea_problem *p, const fovea_entry *entry) {
  if (entry->q_seen == 0) return 0;
  double keys = 0;
  if (entry->q_seen <= 2) { /* the three are one */
    fovea_interval seen = fovea_visible_keys(p, entry, 0);
    return (double)(seen.end - seen.begin) * (double)entry->q_seen;
  }
  for (int third = 0; third <= 2; third++) {
    fovea_interval seen = fovea_visible_keys(p, entry, (entry->q_seen - 1) / 2 * third);
    keys += (double)(seen.end - seen.begin);
  }
  return keys / 3 * (double)entry->q_seen;
}

/* The share of pairs that a pattern leaves. */
static double share_of(const fovea_pattern *pattern) {
  if (!pattern || pattern->rows == 0 || pattern->keys == 0) return 1;
  return pattern->pairs / ((double)pattern->rows * (double)pattern->keys * (double)pattern->heads);
}

/* Sorts the longest entries first, so that the last tasks are short. Heap sort needs no memory and has no bad
 * cases. */
static void sift_down(fovea_entry *entries, int64_t root, int64_t count) {
  const fovea_entry sifted = entries[root];
  for (int64_t child; (child = 2 * root + 1) < count; root = child) {
    if (child + 1 < count && entries[child + 1].kv_len < entries[child].kv_len) child++;
    if (sifted.kv_len <= entries[child].kv_len) break;
    entries[root] = entries[child];
  }
  entries[root] = sifted;
}

static void sort_longest_first(fovea_entry *entries, int64_t count) {
  for (int64_t i = 1; i < count; i++) {
    if (entries[i].kv_len != entries[0].kv_len) break;
    if (i == count - 1) return; /* all have the same length */
  }
  for (int64_t root = count / 2; root-- > 0;) sift_down(entries, root, count);
  for (int64_t last = count - 1; last > 0; last--) {
    fovea_entry swap = entries[0];
    entries[0] = entries[last];
    entries[last] = swap;
    sift_down(entries, 0, last);
  }
}

double fovea_resolve_entries(const fovea_problem *problem, fovea_entry *entries) {
  double pairs = 0;
  for (int64_t b = 0; b < problem->batch; b++) {
    fovea_resolve_entry(problem, b, &entries[b]);
    pairs += estimate_pairs(problem, &entries[b]) * share_of(entries[b].pattern);
  }
  sort_longest_first(entries, problem->batch);
  return pairs;
}

#include "own_keys.h"

#include "../base/error.h"
#include "../pattern/pattern.h"
#include "../plan/entries.h"
#include "refuse.h"

#include <stddef.h>

/* What makes a row of the entry depend on which key is its own; NULL: nothing. */
static const char *needs_own_key(const fovea_problem *p, uint64_t dependent, const fovea_pattern *pattern) {
  if (dependent) return fovea_set_switch(p, __builtin_ctzll(dependent));
  return pattern && !pattern->by_row ? "the pattern" : NULL;
}

/* Whether every entry has a key for each of its rows, as in decoding: then no offset is below 0. Only lists of lengths
 * are read, since plans for large batches are made for each token. */
static int keys_suffice(const fovea_problem *p) {
  int64_t least = p->kv_len;
  if (p->cu_seqlens_q || p->cu_seqlens_kv) return 0;
  for (int64_t b = 0; p->kv_lens && b < p->batch; b++) least = fovea_least(least, p->kv_lens[b]);
  return least >= p->q_len;
}

fovea_status fovea_check_own_keys(const fovea_problem *p, uint64_t features, fovea_error *error) {
  const uint64_t dependent = features & fovea_features_with(FOVEA_TRAIT_OWN_KEY);
  if (features & FOVEA_HAS(OFFSET) || !(dependent | (features & FOVEA_HAS(PATTERN)))) return FOVEA_OK;
  if (keys_suffice(p)) return FOVEA_OK;
  /* Without lists all entries are alike, and there may be very many. */
  const int lists = (features & (FOVEA_HAS(LENGTHS) | FOVEA_HAS(PACKED))) || p->patterns;
  for (int64_t b = 0; b < (lists ? p->batch : 1); b++) {
    fovea_entry entry;
    fovea_entry_lengths(p, b, &entry);
    if (entry.offset >= 0 || entry.kv_len == 0) continue; /* without keys no row sees any */
    const char *const rule = needs_own_key(p, dependent, entry.pattern);
    if (!rule) continue;
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "offset is %jd by default, since batch element %jd has q length %jd and kv length %jd, and "
                      "%s depends on it; "
                      "%s",
                      entry.offset, b, entry.q_seen, entry.kv_len, rule,
                      p->cu_seqlens_q ? "set offset or offsets"
                                      : "set q_lens if padding follows the rows, kv_begins for kv_lens if "
                                        "it precedes them, or else offset or offsets");
  }
  return FOVEA_OK;
}

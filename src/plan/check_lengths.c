#include "check.h"

#include "../base/error.h"
#include "../base/validate.h"
#include "../pattern/pattern.h"
#include "entries.h"

static fovea_status check_list(const char *name, const int64_t *list, int64_t count, int64_t least, int64_t most,
                               fovea_status status, fovea_error *error) {
  for (int64_t i = 0; list && i < count; i++) {
    if (list[i] < least || list[i] > most) {
      return fovea_fail(error, status, "%s[%d] is %d; it must be from %d to %d", name, i, list[i], least, most);
    }
  }
  return FOVEA_OK;
}

static fovea_status check_packed(const char *name, const int32_t *list, int64_t batch, int64_t rows,
                                 const char *rows_name, const int64_t *lens, fovea_error *error) {
  if (list && lens) {
    return fovea_fail(error, FOVEA_ERROR_LENGTHS,
                      "%s is given together with lengths for padding; one of them must be NULL", name);
  }
  return fovea_validate_cumulative(name, list, batch, rows, rows_name, error);
}

fovea_status fovea_check_lengths(const fovea_problem *p, fovea_error *error) {
  fovea_status status = check_list("q_lens", p->q_lens, p->batch, 0, p->q_len, FOVEA_ERROR_LENGTHS, error);
  if (!status) status = check_list("kv_lens", p->kv_lens, p->batch, 0, p->kv_len, FOVEA_ERROR_LENGTHS, error);
  if (!status) {
    status = check_list("offsets", p->offsets, p->batch, -FOVEA_LENGTH_LIMIT, FOVEA_LENGTH_LIMIT, FOVEA_ERROR_RULE,
                        error);
  }
  if (!status) {
    status = check_packed("cu_seqlens_q", p->cu_seqlens_q, p->batch, p->q_len, "q_len", p->q_lens, error);
  }
  if (!status) {
    status = check_packed("cu_seqlens_kv", p->cu_seqlens_kv, p->batch, p->kv_len, "kv_len", p->kv_lens, error);
  }
  return status;
}

fovea_status fovea_check_segmented(const fovea_problem *p, fovea_error *error) {
  if (p->segmented != 0 && p->segmented != 1) {
    return fovea_fail(error, FOVEA_ERROR_SEGMENTS, "segmented is %d; it must be 0 or 1", (int64_t)p->segmented);
  }
  if (p->segmented && p->cu_seqlens_kv) {
    return fovea_fail(error, FOVEA_ERROR_LENGTHS,
                      "cu_seqlens_kv is given together with segments, whose lengths are kv_lens; it must be NULL");
  }
  for (int64_t b = 0; p->kv_begins && b < p->batch; b++) {
    const int64_t most = fovea_entry_lengths(p, b).kv_len;
    if (p->kv_begins[b] < 0 || p->kv_begins[b] > most) {
      return fovea_fail(error, FOVEA_ERROR_LENGTHS, "kv_begins[%d] is %d; it must be from 0 to %d", b,
                        p->kv_begins[b], most);
    }
  }
  return FOVEA_OK;
}

/* What makes a row of the entry depend on which key is its own; NULL: nothing. */
static const char *needs_own_key(const fovea_problem *p, const fovea_pattern *pattern) {
  if (p->causal) return "causal";
  if (p->window_left != FOVEA_UNLIMITED || p->window_right != FOVEA_UNLIMITED) return "the window";
  if (p->chunk_size > 0) return "chunk_size";
  if (p->term_count > 0) return "a position term";
  if (p->shaw) return "shaw";
  return pattern && !pattern->by_row ? "the pattern" : NULL;
}

fovea_status fovea_check_own_keys(const fovea_problem *p, fovea_error *error) {
  if (p->offsets || p->offset != FOVEA_OFFSET_BOTTOM_RIGHT) return FOVEA_OK;
  if (p->patterns == NULL && !needs_own_key(p, p->pattern)) return FOVEA_OK;
  /* Without lists all entries are alike, and there may be very many. */
  const int lists = p->q_lens || p->kv_lens || p->cu_seqlens_q || p->cu_seqlens_kv || p->patterns;
  for (int64_t b = 0; b < (lists ? p->batch : 1); b++) {
    const fovea_entry entry = fovea_entry_lengths(p, b);
    const char *const rule = needs_own_key(p, entry.pattern);
    if (entry.offset >= 0 || entry.kv_len == 0 || !rule) continue; /* without keys no row sees any */
    return fovea_fail(
        error, FOVEA_ERROR_RULE,
        "batch entry %d has q length %d and kv length %d: the default offset is %d, and %s depends on it; %s", b,
        entry.q_seen, entry.kv_len, entry.offset, rule,
        p->cu_seqlens_q ? "set offset or offsets"
                        : "set q_lens if padding follows the rows, kv_begins for kv_lens if "
                          "it precedes them, or else offset or offsets");
  }
  return FOVEA_OK;
}

fovea_status fovea_check_keys(const fovea_problem *p, fovea_error *error) {
  if (p->keys_begin < 0 || p->keys_begin > p->kv_len) {
    return fovea_fail(error, FOVEA_ERROR_RULE, "keys_begin is %d; it must be from 0 to kv_len, which is %d",
                      p->keys_begin, p->kv_len);
  }
  if (p->keys_end != FOVEA_UNLIMITED && (p->keys_end < p->keys_begin || p->keys_end > p->kv_len)) {
    return fovea_fail(error, FOVEA_ERROR_RULE,
                      "keys_end is %d; it must be from keys_begin to kv_len, %d to %d, or -1 for kv_len",
                      p->keys_end, p->keys_begin, p->kv_len);
  }
  if (p->to_state != 0 && p->to_state != 1) {
    return fovea_fail(error, FOVEA_ERROR_STATE, "to_state is %d; it must be 0 or 1", (int64_t)p->to_state);
  }
  return FOVEA_OK;
}

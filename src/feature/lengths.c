/* Which rows and keys entries have: lengths, padded or packed, segments, ranges of keys, and which key is a row's
 * own.
 */
#include "../base/error.h"
#include "../base/validate.h"
#include "../plan/entries.h"
#include "feature.h"

static fovea_status check_list(const char *name, const int64_t *list, int64_t count, int64_t least, int64_t most,
                               fovea_error *error) {
  for (int64_t i = 0; list && i < count; i++) {
    if (list[i] < least || list[i] > most) {
      return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s[%jd] is %jd; it must be from %jd to %jd", name, i, list[i],
                        least, most);
    }
  }
  return FOVEA_OK;
}

static fovea_status check_packed(const char *name, const int32_t *list, int64_t batch, int64_t rows,
                                 const char *rows_name, const int64_t *lens, fovea_error *error) {
  if (list && lens) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "%s is given together with lengths for padding; one of them must be NULL", name);
  }
  return fovea_validate_cumulative(name, list, batch, rows, rows_name, error);
}

fovea_status fovea_check_lengths(const fovea_problem *p, fovea_error *error) {
  const fovea_status status = check_list("q_lens", p->q_lens, p->batch, 0, p->q_len, error);
  if (status) return status;
  return check_list("kv_lens", p->kv_lens, p->batch, 0, p->kv_len, error);
}

fovea_status fovea_check_packed(const fovea_problem *p, fovea_error *error) {
  const fovea_status status =
      check_packed("cu_seqlens_q", p->cu_seqlens_q, p->batch, p->q_len, "q_len", p->q_lens, error);
  if (status) return status;
  return check_packed("cu_seqlens_kv", p->cu_seqlens_kv, p->batch, p->kv_len, "kv_len", p->kv_lens, error);
}

fovea_status fovea_check_offset(const fovea_problem *p, fovea_error *error) {
  const int set = p->offset != FOVEA_OFFSET_BOTTOM_RIGHT;
  if (p->offsets && set)
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "offset is %jd and would not be used: offsets is not NULL",
                      p->offset);
  if (set && (p->offset > FOVEA_LENGTH_LIMIT || p->offset < -FOVEA_LENGTH_LIMIT)) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "offset is %jd; it must be from %jd to %jd", p->offset,
                      -FOVEA_LENGTH_LIMIT, FOVEA_LENGTH_LIMIT);
  }
  return check_list("offsets", p->offsets, p->batch, -FOVEA_LENGTH_LIMIT, FOVEA_LENGTH_LIMIT, error);
}

fovea_status fovea_check_segmented(const fovea_problem *p, fovea_error *error) {
  if (!p->cu_seqlens_kv) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                    "cu_seqlens_kv is given together with segments, whose lengths are kv_lens; it must be NULL");
}

fovea_status fovea_check_kv_begins(const fovea_problem *p, fovea_error *error) {
  for (int64_t b = 0; b < p->batch; b++) {
    fovea_entry entry;
    fovea_entry_lengths(p, b, &entry);
    if (p->kv_begins[b] < 0 || p->kv_begins[b] > entry.kv_len) {
      return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "kv_begins[%jd] is %jd; it must be from 0 to %jd", b,
                        p->kv_begins[b], entry.kv_len);
    }
  }
  return FOVEA_OK;
}

fovea_status fovea_check_key_range(const fovea_problem *p, fovea_error *error) {
  if (p->keys.begin < 0 || p->keys.begin > p->kv_len) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "keys.begin is %jd; it must be from 0 to kv_len, which is %jd",
                      p->keys.begin, p->kv_len);
  }
  if (p->keys.end != FOVEA_UNLIMITED && (p->keys.end < p->keys.begin || p->keys.end > p->kv_len)) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "keys.end is %jd; it must be from keys.begin to kv_len, %jd to %jd, or -1 for kv_len",
                      p->keys.end, p->keys.begin, p->kv_len);
  }
  return FOVEA_OK;
}

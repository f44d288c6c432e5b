#include "positions.h"

#include "../src/base/caller.h"
#include "../src/base/error.h"

/* The largest position of a rotary embedding without tables (fovea_rotation). */
#define MOST_ROTATED (INT64_C(1) << 40)

int64_t fovea_nn_length_of(const fovea_nn_positions *p, int64_t entry) {
  if (p->cu_seqlens) return (int64_t)p->cu_seqlens[entry + 1] - p->cu_seqlens[entry];
  return p->lengths ? p->lengths[entry] : p->length;
}

int64_t fovea_nn_first_of(const fovea_nn_positions *p, int64_t entry) {
  return p->firsts ? p->firsts[entry] : p->first;
}

fovea_status fovea_nn_check_positions(const fovea_nn_positions *p, int64_t least, int64_t most, const char *of,
                                      fovea_error *error) {
  for (int64_t b = 0; b < p->batch; b++) {
    const int64_t first = fovea_nn_first_of(p, b), length = fovea_nn_length_of(p, b);
    if (length <= 0 || (first >= least && first <= most - (length - 1))) continue;
    if (p->firsts) {
      return fovea_fail(
          error, FOVEA_ERROR_ARGUMENT,
          "first_positions[%jd] is %jd, and the sequence has %jd rows; the %s's positions are from %jd to %jd", b,
          first, length, of, least, most);
    }
    return fovea_fail(
        error, FOVEA_ERROR_ARGUMENT,
        "first_position is %jd, and batch element %jd has %jd rows; the %s's positions are from %jd to %jd", first,
        b, length, of, least, most);
  }
  return FOVEA_OK;
}

fovea_status fovea_nn_refuse_unused_positions(int64_t first, const int64_t *firsts, const int64_t *rotary,
                                              int has_rotary, int appends, fovea_error *error) {
  const char *unused = firsts ? "first_positions" : "first_position", *why = NULL;
  if (first != 0 && firsts) unused = "first_position", why = "first_positions is not NULL";
  if ((first != 0 || firsts) && !appends && rotary)
    why = "rotary_positions is not NULL, and there is no cache to append to";
  if ((first != 0 || firsts) && !appends && !has_rotary) why = "there is no rotary and no cache to append to";
  if (rotary && !has_rotary) unused = "rotary_positions", why = "there is no rotary";
  if (!why) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s is set and would not be used: %s", unused, why);
}

/* Checks a list, which has a number for each row and axis. */
static fovea_status check_list(const fovea_nn_positions *p, int64_t axes, int64_t least, int64_t most,
                               fovea_error *error) {
  const int64_t rows = p->cu_seqlens ? p->length : p->batch * p->length;
  const char *name = p->rotary_name ? p->rotary_name : "rotary_positions";
  if ((uintptr_t)p->rotary % _Alignof(int64_t) != 0) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is not at a multiple of %jd bytes", name,
                      (int64_t) _Alignof(int64_t));
  }
  for (int64_t i = 0; i < axes * rows; i++) {
    if (p->rotary[i] >= least && p->rotary[i] <= most) continue;
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "%s[%jd] is %jd; the rotary embedding's positions are from %jd to %jd", name, i, p->rotary[i],
                      least, most);
  }
  return FOVEA_OK;
}

fovea_status fovea_nn_check_rotary(const fovea_rotary *given, int64_t dim, const fovea_nn_positions *positions,
                                   fovea_error *error) {
  fovea_rotation rotation;
  fovea_rotary rotary;
  fovea_rotation_init(&rotation, 1, 1, 0, dim, NULL, NULL);
  fovea_status status = fovea_read_rotary(given, &rotary, error);
  if (status) return status;
  status = fovea_rotary_apply(given, &rotation, NULL, error); /* of no rows: it only checks */
  if (status) return fovea_fail_within("rotary", status, error);
  const int64_t least = rotary.cosines ? 0 : -MOST_ROTATED;
  const int64_t most = rotary.cosines ? rotary.table_rows - 1 : MOST_ROTATED;
  if (positions->rotary) return check_list(positions, rotary.axes, least, most, error);
  return fovea_nn_check_positions(positions, least, most, "rotary embedding", error);
}

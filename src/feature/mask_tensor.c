/* The mask's keys and strides. */
#include "../base/error.h"
#include "feature.h"

static int64_t entry_keys(const fovea_problem *p, int64_t b) {
  if (p->cu_seqlens_kv) return (int64_t)p->cu_seqlens_kv[b + 1] - p->cu_seqlens_kv[b];
  return p->kv_lens ? p->kv_lens[b] : p->kv_len;
}

/* mask_begin, mask_begins and mask_keys. */
static fovea_status check_mask_keys(const fovea_problem *p, fovea_error *error) {
  if (p->mask_begins && p->mask_begin != 0) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "mask_begin is %jd and would not be used: mask_begins is not NULL",
                      p->mask_begin);
  }
  if (p->mask_begin < 0 || p->mask_begin > p->kv_len) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "mask_begin is %jd; it must be from 0 to kv_len, which is %jd",
                      p->mask_begin, p->kv_len);
  }
  for (int64_t b = 0; p->mask_begins && b < p->batch; b++) {
    if (p->mask_begins[b] >= 0 && p->mask_begins[b] <= entry_keys(p, b)) continue;
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "mask_begins[%jd] is %jd; it must be from 0 to the entry's kv length, which is %jd", b,
                      p->mask_begins[b], entry_keys(p, b));
  }
  if (p->mask_keys != FOVEA_UNLIMITED && (p->mask_keys < 0 || p->mask_keys > p->kv_len - p->mask_begin)) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "mask_keys is %jd; it must be from 0 to kv_len - mask_begin, which is %jd, or -1 for all",
                      p->mask_keys, p->kv_len - p->mask_begin);
  }
  return FOVEA_OK;
}

fovea_status fovea_check_mask(const fovea_problem *p, fovea_error *error) {
  const struct {
    const char *name;
    int64_t value;
  } strides[] = {{"batch", p->mask_strides.batch}, {"head", p->mask_strides.head}, {"row", p->mask_strides.row}};
  fovea_status status = check_mask_keys(p, error);
  if (status) return status;
  if (p->mask_strides.key != 0 && p->mask_strides.key != 1) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "mask_strides.key is %jd; it must be 1, or 0 to repeat one key",
                      p->mask_strides.key);
  }
  for (size_t i = 0; p->mask_type == FOVEA_MASK_BITS && i < sizeof strides / sizeof strides[0]; i++) {
    if (strides[i].value % 8 != 0) {
      return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                        "mask_strides.%s is %jd; in a mask of bits it must be a multiple of 8", strides[i].name,
                        strides[i].value);
    }
  }
  return FOVEA_OK;
}

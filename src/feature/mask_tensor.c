/* The mask's keys and strides. */
#include "../base/error.h"
#include "feature.h"

static int64_t entry_keys(const fovea_problem *p, int64_t b) {
  if (p->cu_seqlens_kv) return (int64_t)p->cu_seqlens_kv[b + 1] - p->cu_seqlens_kv[b];
  return p->kv_lens ? p->kv_lens[b] : p->kv_len;
}

/* mask.begin, mask.begins and mask.keys. */
static fovea_status check_mask_keys(const fovea_problem *p, fovea_error *error) {
  if (p->mask.begins && p->mask.begin != 0) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "mask.begin is %jd and would not be used: mask.begins is not NULL",
                      p->mask.begin);
  }
  if (p->mask.begin < 0 || p->mask.begin > p->kv_len) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "mask.begin is %jd; it must be from 0 to kv_len, which is %jd",
                      p->mask.begin, p->kv_len);
  }
  for (int64_t b = 0; p->mask.begins && b < p->batch; b++) {
    if (p->mask.begins[b] >= 0 && p->mask.begins[b] <= entry_keys(p, b)) continue;
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "mask.begins[%jd] is %jd; it must be from 0 to the sequence's kv length, which is %jd", b,
                      p->mask.begins[b], entry_keys(p, b));
  }
  if (p->mask.keys != FOVEA_UNLIMITED && (p->mask.keys < 0 || p->mask.keys > p->kv_len - p->mask.begin)) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "mask.keys is %jd; it must be from 0 to kv_len - mask.begin, which is %jd, or -1 for all",
                      p->mask.keys, p->kv_len - p->mask.begin);
  }
  return FOVEA_OK;
}

fovea_status fovea_check_mask(const fovea_problem *p, fovea_error *error) {
  const struct {
    const char *name;
    int64_t value;
  } strides[] = {{"batch", p->mask.strides.batch}, {"head", p->mask.strides.head}, {"row", p->mask.strides.row}};
  fovea_status status = check_mask_keys(p, error);
  if (status) return status;
  if (p->mask.strides.key != 0 && p->mask.strides.key != 1) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "mask.strides.key is %jd; it must be 1, or 0 to repeat one key",
                      p->mask.strides.key);
  }
  for (size_t i = 0; p->mask.type == FOVEA_MASK_BITS && i < sizeof strides / sizeof strides[0]; i++) {
    if (strides[i].value % 8 != 0) {
      return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                        "mask.strides.%s is %jd; in a mask of bits it must be a multiple of 8", strides[i].name,
                        strides[i].value);
    }
  }
  return FOVEA_OK;
}

#include "ids.h"

#include "../src/base/error.h"
#include "../src/base/validate.h"

fovea_status fovea_nn_check_ids(const fovea_nn_ids *ids, const fovea_nn_matrix *output, fovea_error *error) {
  const int is_short = ids->type == FOVEA_NN_INT32, size = is_short ? sizeof(int32_t) : sizeof(int64_t);
  const int alignment = is_short ? _Alignof(int32_t) : _Alignof(int64_t);
  if (ids->count == 0) return FOVEA_OK;
  const fovea_reach reach = {ids->name, 0, ids->count * size, alignment};
  const fovea_status status = fovea_validate_pointer(&reach, ids->data, error);
  /* As rows of numbers of 32 bits, which they need not be aligned as. */
  const fovea_nn_matrix numbers = {ids->name, ids->data, FOVEA_F32, 1, ids->count * size / 4, 0};
  return status ? status : fovea_nn_check_apart(output, &numbers, error);
}

fovea_status fovea_nn_check_id_range(const fovea_nn_ids *ids, int64_t least, int64_t most, const char *of,
                                     fovea_error *error) {
  for (int64_t i = 0; i < ids->count; i++) {
    const int64_t id = fovea_nn_id_at(ids, i);
    if (id >= least && id <= most) continue;
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s[%jd] is %jd; it must be from %jd to %jd%s", ids->name, i, id,
                      least, most, of);
  }
  return FOVEA_OK;
}

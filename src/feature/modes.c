/* Modes: other arithmetics than f32. */
#include "../base/error.h"
#include "../base/groups.h"
#include "feature.h"
#include "refuse.h"

/* Sums of products of this many codes are integers below 2^24, which f32 has. */
enum { MOST_INT8_DIMS = 1032 };

static fovea_status check_built(const char *name, fovea_mode mode, fovea_error *error) {
  const unsigned needed = mode == FOVEA_MODE_BF16   ? FOVEA_GROUP_BF16
                          : mode == FOVEA_MODE_INT8 ? FOVEA_GROUP_INT8
                                                    : 0;
  const unsigned missing = needed & ~(unsigned)FOVEA_GROUPS_BUILT;
  return missing ? fovea_refuse_group(name, missing, error) : FOVEA_OK;
}

fovea_status fovea_check_modes(const fovea_problem *p, fovea_error *error) {
  fovea_status status = check_built("modes.score", p->modes.score, error);
  if (!status) status = check_built("modes.value", p->modes.value, error);
  if (status || p->modes.score != FOVEA_MODE_INT8 || p->qk_dim <= MOST_INT8_DIMS) return status;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                    "qk_dim is %jd; with modes.score FOVEA_MODE_INT8 it must be at most %jd", p->qk_dim,
                    (int64_t)MOST_INT8_DIMS);
}

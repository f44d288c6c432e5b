#include "int8_vectors.h"

#include "../base/error.h"

fovea_status fovea_check_vectors(const fovea_problem *p, fovea_error *error) {
  /* The score that is capped is that of the key with its centre. */
  if (!p->key_centre || p->softcap == 0) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_UNUSED, "softcap is %g; with key_centre it must be 0", p->softcap);
}

/* Rules of positions: window and chunks. */
#include "../base/error.h"
#include "feature.h"

static fovea_status check_side(const char *name, int64_t side, fovea_error *error) {
  if (side >= FOVEA_UNLIMITED) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is %jd; it must be 0 or more, or -1 for no limit", name, side);
}

fovea_status fovea_check_window(const fovea_problem *p, fovea_error *error) {
  const fovea_status status = check_side("window_left", p->window_left, error);
  return status ? status : check_side("window_right", p->window_right, error);
}

fovea_status fovea_check_chunks(const fovea_problem *p, fovea_error *error) {
  if (p->chunks.size < 0) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "chunks.size is %jd; it must be 1 or more, or 0 for no chunks",
                      p->chunks.size);
  }
  const fovea_status status = check_side("chunks.left", p->chunks.left, error);
  return status ? status : check_side("chunks.right", p->chunks.right, error);
}

#include "unused.h"

#include "error.h"

/* Settings that would not be used: a pointer, or a number that is not what it is where nobody sets it. Each is to
 * be a comparison, and no line of a table. */
static inline __attribute__((always_inline)) fovea_status
refuse_pointer(int would_not_be_used, const char *name, const void *pointer, const char *why, fovea_error *error) {
  if (!would_not_be_used || !pointer) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s is not NULL and would not be used: %s", name, why);
}

static inline __attribute__((always_inline)) fovea_status refuse_number(int would_not_be_used, const char *name,
                                                                        int64_t value, int64_t unset,
                                                                        const char *why, fovea_error *error) {
  if (!would_not_be_used || value == unset) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s is %jd and would not be used: %s", name, value, why);
}

fovea_status fovea_refuse_unused_execution(const fovea_execution *execution, fovea_error *error) {
  if (!execution->scratch && execution->scratch_size != 0) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "scratch_size is %ju and would not be used: scratch is NULL",
                      (uint64_t)execution->scratch_size);
  }
  return refuse_pointer(!execution->parallel_for, "parallel_context", execution->parallel_context,
                        "parallel_for is NULL", error);
}

fovea_status fovea_refuse_unused_scratch(const fovea_execution *execution, fovea_error *error) {
  return refuse_pointer(1, "scratch", execution->scratch, "this call needs none", error);
}

fovea_status fovea_refuse_unused_angles(const fovea_rotary *rotary, fovea_error *error) {
  const int tables = rotary->cosines || rotary->sines;
  if ((tables || rotary->frequencies) && rotary->base != 10000.0) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "base is %g and would not be used: %s", rotary->base,
                      tables ? "cosines and sines are not NULL" : "frequencies is not NULL");
  }
  return refuse_number(!tables, "table_rows", rotary->table_rows, 0, "cosines is NULL", error);
}

fovea_status fovea_refuse_unused_axes(const fovea_rotary *rotary, fovea_error *error) {
  return refuse_pointer(rotary->axes == 1, "pair_axes", rotary->pair_axes, "axes is 1", error);
}

fovea_status fovea_refuse_unused_positions(const fovea_rotation *rotation, fovea_error *error) {
  const fovea_rotation *r = rotation;
  fovea_status status =
      refuse_pointer(r->positions != NULL, "first_positions", r->first_positions, "positions is not NULL", error);
  if (!status)
    status =
        refuse_number(r->positions != NULL, "first_position", r->first_position, 0, "positions is not NULL", error);
  if (!status)
    status = refuse_number(r->first_positions != NULL, "first_position", r->first_position, 0,
                           "first_positions is not NULL", error);
  return status;
}

fovea_status fovea_refuse_unused_position(const fovea_new_rows *rows, int with_rotary, fovea_error *error) {
  const fovea_status status =
      refuse_pointer(!with_rotary, "rotary_positions", rows->rotary_positions, "rotary is NULL", error);
  if (status) return status;
  return refuse_number(rows->first_positions != NULL, "first_position", rows->first_position, 0,
                       "first_positions is not NULL", error);
}

#include "shaw.h"

#include "../base/error.h"
#include "../base/validate.h"
#include "../plan/plan.h"
#include "feature.h"

#if FOVEA_BUILDS_TERMS

/* The numbers of a table: none is further than 2^57 bytes from the first. */
static fovea_status check_table(const fovea_problem *p, const char *name, int64_t dim, fovea_error *error) {
  int64_t floats;
  if (!__builtin_mul_overflow(p->shaw.heads, fovea_shaw_vectors(p), &floats) &&
      !__builtin_mul_overflow(floats, dim, &floats) && floats <= INT64_C(1) << 55) {
    return FOVEA_OK;
  }
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                    "%s has %jd heads of %jd vectors of %jd dims: more than 2^55 numbers", name, p->shaw.heads,
                    fovea_shaw_vectors(p), dim);
}

fovea_status fovea_check_shaw(const fovea_problem *p, fovea_error *error) {
  const fovea_bounded distance = {"shaw.distance", p->shaw.distance, 1, FOVEA_SHAW_DISTANCE_LIMIT};
  fovea_status status = fovea_validate_bounds(NULL, &distance, 1, error);
  if (status) return status;
  if (p->shaw.heads != 1 && p->shaw.heads != p->heads) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "shaw.heads is %jd; it must be 1 or heads, which is %jd",
                      p->shaw.heads, p->heads);
  }
  if (fovea_has_shaw_keys(p)) status = check_table(p, "shaw.keys", p->qk_dim, error);
  if (!status && fovea_has_shaw_values(p)) status = check_table(p, "shaw.values", p->v_dim, error);
  return status;
}

int fovea_list_shaw(const fovea_plan *plan, const fovea_tensors *tensors, fovea_input *inputs) {
  const fovea_problem *p = &plan->problem;
  const int64_t vectors = p->shaw.heads * fovea_shaw_vectors(p);
  int count = 0;
  if (fovea_has_shaw_keys(p))
    inputs[count++] =
        fovea_input_of("shaw.keys", tensors->shaw.keys, vectors * p->qk_dim, sizeof(float), _Alignof(float));
  if (fovea_has_shaw_values(p))
    inputs[count++] =
        fovea_input_of("shaw.values", tensors->shaw.values, vectors * p->v_dim, sizeof(float), _Alignof(float));
  return count;
}

fovea_scratch_floats fovea_shaw_scratch(const fovea_plan *plan) {
  const fovea_problem *p = &plan->problem;
  const uint64_t rows = (uint64_t)plan->kernels->row_tile;
  return (fovea_scratch_floats){.block = fovea_shaw_block_floats(rows),
                                .tile = fovea_has_shaw_keys(p) ? fovea_shaw_tile_floats(p, rows) : 0};
}
#endif

#include "check_problem.h"

#include "../base/error.h"
#include "../base/validate.h"
#include "../feature/all_features.h"
#include "../feature/score_terms.h"

static fovea_status check_sizes(const fovea_problem *p, fovea_error *error) {
  const fovea_bounded sizes[] = {
      {"batch", p->batch, 1, FOVEA_LENGTH_LIMIT},       {"heads", p->heads, 1, FOVEA_LENGTH_LIMIT},
      {"kv_heads", p->kv_heads, 1, FOVEA_LENGTH_LIMIT}, {"q_len", p->q_len, 0, FOVEA_LENGTH_LIMIT},
      {"kv_len", p->kv_len, 0, FOVEA_LENGTH_LIMIT},     {"qk_dim", p->qk_dim, 1, FOVEA_DIM_LIMIT},
      {"v_dim", p->v_dim, 1, FOVEA_DIM_LIMIT}};
  fovea_status status = fovea_validate_bounds(NULL, sizes, sizeof sizes / sizeof sizes[0], error);
  if (status) return status;
  /* Counters and task numbers of the whole problem must fit in 64 bits. */
  int64_t rows;
  if (__builtin_mul_overflow(p->batch, p->heads, &rows) || __builtin_mul_overflow(rows, p->q_len + 1, &rows) ||
      rows > FOVEA_LENGTH_LIMIT) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "batch %jd times heads %jd times q_len %jd is more than %jd rows", p->batch, p->heads,
                      p->q_len, FOVEA_LENGTH_LIMIT);
  }
  if (p->heads % p->kv_heads != 0) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "kv_heads is %jd; it must divide heads, which is %jd",
                      p->kv_heads, p->heads);
  }
  return FOVEA_OK;
}

static fovea_status check_types(const fovea_problem *p, fovea_error *error) {
  const fovea_bounded types[] = {fovea_bounded_type("q_type", p->q_type), fovea_bounded_type("k_type", p->k_type),
                                 fovea_bounded_type("v_type", p->v_type), fovea_bounded_type("o_type", p->o_type)};
  return fovea_validate_bounds(NULL, types, sizeof types / sizeof types[0], error);
}

static fovea_status check_strides(const fovea_problem *p, fovea_reach *reaches, fovea_error *error) {
  fovea_shape shapes[FOVEA_SHAPES];
  fovea_make_shapes(p, shapes);
  fovea_status status = FOVEA_OK;
  for (int i = 0; i < FOVEA_SHAPES && !status; i++) {
    status = fovea_validate_strides(&shapes[i], i >= FOVEA_SHAPE_O, &reaches[i], error);
  }
  return status;
}

fovea_status fovea_validate_problem(const fovea_problem *problem, fovea_reach *reaches, uint64_t *features,
                                    fovea_error *error) {
  fovea_status status = check_sizes(problem, error);
  if (!status) status = check_types(problem, error);
  if (!status) status = fovea_check_scale(problem, error);
  if (!status) status = fovea_check_features(problem, features, error);
  if (!status) status = check_strides(problem, reaches, error);
  return status;
}

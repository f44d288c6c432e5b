#include "check_shaw.h"

#include "../base/validate.h"

/* The bytes of a table, of vectors of `dim` numbers. */
static int64_t table_bytes(const fovea_problem *p, int64_t dim) {
  return p->shaw_heads * fovea_shaw_vectors(p) * dim * (int64_t)sizeof(float);
}

static fovea_status check_table(const char *name, const float *table, int64_t bytes, fovea_error *error) {
  const fovea_reach reach = {name, 0, bytes, _Alignof(float)};
  return fovea_validate_pointer(&reach, table, error);
}

fovea_status fovea_check_shaw_tables(const fovea_plan *plan, const fovea_tensors *tensors, fovea_error *error) {
  const fovea_problem *p = &plan->problem;
  fovea_status status = FOVEA_OK;
  if (fovea_has_shaw_keys(p))
    status = check_table("shaw_keys", tensors->shaw_keys, table_bytes(p, p->qk_dim), error);
  if (!status && fovea_has_shaw_values(p))
    status = check_table("shaw_values", tensors->shaw_values, table_bytes(p, p->v_dim), error);
  return status;
}

static fovea_status check_apart(const fovea_plan *plan, const fovea_written *written, const char *name,
                                const float *table, int64_t bytes, fovea_error *error) {
  const fovea_claim claim = fovea_claim_rows(table, 8, 1, 0, 1, 0, bytes);
  return fovea_check_claim(plan, written, name, &claim, error);
}

fovea_status fovea_check_shaw_inputs(const fovea_plan *plan, const fovea_tensors *tensors,
                                     const fovea_written *written, fovea_error *error) {
  const fovea_problem *p = &plan->problem;
  fovea_status status = FOVEA_OK;
  if (fovea_has_shaw_keys(p))
    status = check_apart(plan, written, "shaw_keys", tensors->shaw_keys, table_bytes(p, p->qk_dim), error);
  if (!status && fovea_has_shaw_values(p))
    status = check_apart(plan, written, "shaw_values", tensors->shaw_values, table_bytes(p, p->v_dim), error);
  return status;
}

#include "check_vectors.h"

#include "../base/validate.h"

enum { VECTORS = 3 };

typedef struct named_vectors {
  const char *name;
  const float *numbers;
  int64_t bytes; /* 0: the problem has none */
} named_vectors;

static named_vectors name_vectors(const fovea_plan *plan, const char *name, const float *numbers,
                                  fovea_vectors vectors, int64_t dim) {
  const int64_t count = vectors ? fovea_vector_numbers(&plan->problem, vectors, dim) : 0;
  return (named_vectors){name, numbers, count * (int64_t)sizeof(float)};
}

static void list(const fovea_plan *plan, const fovea_tensors *tensors, named_vectors *all) {
  const fovea_problem *p = &plan->problem;
  all[0] = name_vectors(plan, "key_centre", tensors->key_centre, p->key_centre, p->qk_dim);
  all[1] = name_vectors(plan, "key_scale", tensors->key_scale, p->key_scale, p->qk_dim);
  all[2] = name_vectors(plan, "value_scale", tensors->value_scale, p->value_scale, p->v_dim);
}

fovea_status fovea_check_vector_numbers(const fovea_plan *plan, const fovea_tensors *tensors, fovea_error *error) {
  named_vectors all[VECTORS];
  fovea_status status = FOVEA_OK;
  list(plan, tensors, all);
  for (int i = 0; i < VECTORS && !status; i++) {
    const fovea_reach reach = {all[i].name, 0, all[i].bytes, _Alignof(float)};
    if (all[i].bytes > 0) status = fovea_validate_pointer(&reach, all[i].numbers, error);
  }
  return status;
}

fovea_status fovea_check_vector_inputs(const fovea_plan *plan, const fovea_tensors *tensors,
                                       const fovea_written *written, fovea_error *error) {
  named_vectors all[VECTORS];
  fovea_status status = FOVEA_OK;
  list(plan, tensors, all);
  for (int i = 0; i < VECTORS && !status; i++) {
    const fovea_claim claim = fovea_claim_rows(all[i].numbers, 8, 1, 0, 1, 0, all[i].bytes);
    if (all[i].bytes > 0) status = fovea_check_claim(plan, written, all[i].name, &claim, error);
  }
  return status;
}

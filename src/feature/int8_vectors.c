#include "int8_vectors.h"

#include "../base/error.h"
#include "../plan/plan.h"
#include "feature.h"

#if FOVEA_BUILDS_INT8

static fovea_status refuse(const char *name, fovea_channels vectors, const char *half, fovea_error *error) {
  return fovea_fail(error, FOVEA_ERROR_UNUSED,
                    "channels.%s is %jd and would not be used: modes.%s is not FOVEA_MODE_INT8", name,
                    (int64_t)vectors, half);
}

fovea_status fovea_check_int8_vectors(const fovea_problem *p, fovea_error *error) {
  const int scored = p->modes.score == FOVEA_MODE_INT8;
  if (p->channels.key_centre && !scored) return refuse("key_centre", p->channels.key_centre, "score", error);
  if (p->channels.key_scale && !scored) return refuse("key_scale", p->channels.key_scale, "score", error);
  if (p->channels.value_scale && p->modes.value != FOVEA_MODE_INT8)
    return refuse("value_scale", p->channels.value_scale, "value", error);
  /* The score that is capped belongs to the key with its centre. */
  if (!p->channels.key_centre || p->softcap == 0) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_UNUSED, "softcap is %g; with channels.key_centre it must be 0", p->softcap);
}

static fovea_input input_of(const fovea_problem *p, const char *name, const float *numbers, fovea_channels vectors,
                            int64_t dim) {
  return fovea_input_of(name, numbers, fovea_vector_numbers(p, vectors, dim), sizeof(float), _Alignof(float));
}

int fovea_list_int8_vectors(const fovea_plan *plan, const fovea_tensors *t, fovea_input *inputs) {
  const fovea_problem *p = &plan->problem;
  int count = 0;
  if (p->channels.key_centre)
    inputs[count++] = input_of(p, "key_centre", t->channels.key_centre, p->channels.key_centre, p->qk_dim);
  if (p->channels.key_scale)
    inputs[count++] = input_of(p, "key_scale", t->channels.key_scale, p->channels.key_scale, p->qk_dim);
  if (p->channels.value_scale)
    inputs[count++] = input_of(p, "value_scale", t->channels.value_scale, p->channels.value_scale, p->v_dim);
  return count;
}

/* What a key_centre takes from the scores of each row. */
fovea_scratch_floats fovea_int8_vectors_scratch(const fovea_plan *plan) {
  return (fovea_scratch_floats){.tile = plan->problem.channels.key_centre ? (uint64_t)plan->kernels->row_tile : 0};
}
#endif

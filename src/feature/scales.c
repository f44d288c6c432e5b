/* Scales of heads and of rows. */
#include "../base/error.h"
#include "../plan/plan.h"
#include "feature.h"
#include "score_terms.h"

static int64_t scaled_rows(const fovea_problem *p) {
  return (p->cu_seqlens_q ? 1 : p->batch) * p->q_len;
}

int fovea_list_scales(const fovea_plan *plan, const fovea_tensors *t, fovea_input *inputs) {
  const fovea_problem *p = &plan->problem;
  int count = 0;
  if (p->scales & FOVEA_SCALES_PER_HEAD)
    inputs[count++] = fovea_input_of("head_scales", t->head_scales, p->heads, sizeof(double), _Alignof(double));
  if (p->scales & FOVEA_SCALES_PER_ROW)
    inputs[count++] = fovea_input_of("row_scales", t->row_scales, scaled_rows(p), sizeof(double), _Alignof(double));
  return count;
}

/* Checks an array of scales, and sets the largest size of one. */
static fovea_status check_scales(const char *name, const double *scales, int64_t count, double *largest,
                                 fovea_error *error) {
  *largest = 0;
  for (int64_t i = 0; i < count; i++) {
    const double size = scales[i] < 0 ? -scales[i] : scales[i];
    if (size > *largest) *largest = size;
    if (size - size == 0) continue;
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s[%jd] is %g; it must be finite", name, i, scales[i]);
  }
  return FOVEA_OK;
}

fovea_status fovea_check_scales_numbers(const fovea_plan *plan, const fovea_tensors *t, fovea_error *error) {
  const fovea_problem *p = &plan->problem;
  double heads = p->scale < 0 ? -p->scale : p->scale, rows = 1;
  fovea_status status = FOVEA_OK;
  if (p->scales & FOVEA_SCALES_PER_HEAD)
    status = check_scales("head_scales", t->head_scales, p->heads, &heads, error);
  if (!status && (p->scales & FOVEA_SCALES_PER_ROW))
    status = check_scales("row_scales", t->row_scales, scaled_rows(p), &rows, error);
  return status ? status
                : fovea_check_scale_product(p, p->scales & FOVEA_SCALES_PER_ROW ? "row_scales" : "head_scales",
                                            heads * rows, error);
}

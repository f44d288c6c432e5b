#include "check_terms.h"

#include "../base/error.h"
#include "../base/validate.h"
#include "../plan/terms.h"

/* The bytes of a term's numbers. Strides were checked with the plan. */
static fovea_reach reach_of(const fovea_plan *plan, int term) {
  const fovea_shape shape = fovea_position_shape(&plan->problem, &plan->positions.rules[term].term, term);
  fovea_reach reach;
  fovea_validate_strides(&shape, 0, &reach, NULL);
  return reach;
}

/* The rows that have scales. */
static int64_t scaled_rows(const fovea_plan *plan) {
  return (plan->problem.cu_seqlens_q ? 1 : plan->problem.batch) * plan->problem.q_len;
}

/* Checks an array of scales, and sets the largest size of one. */
static fovea_status check_scales(const char *name, const double *scales, int64_t count, double *largest,
                                 fovea_error *error) {
  const fovea_reach reach = {name, 0, count * (int64_t)sizeof *scales, _Alignof(double)};
  const fovea_status status = fovea_validate_pointer(&reach, scales, error);
  *largest = 0;
  for (int64_t i = 0; i < count && !status; i++) {
    const double size = scales[i] < 0 ? -scales[i] : scales[i];
    if (size > *largest) *largest = size;
    if (size - size == 0) continue;
    return fovea_fail(error, FOVEA_ERROR_SCALE, "%s[%d] is %g; it must be finite", name, i, scales[i]);
  }
  return status;
}

static fovea_status check_all_scales(const fovea_plan *plan, const fovea_tensors *tensors, fovea_error *error) {
  const fovea_problem *p = &plan->problem;
  double heads = p->scale < 0 ? -p->scale : p->scale, rows = 1;
  fovea_status status = FOVEA_OK;
  if (p->scales & FOVEA_SCALES_PER_HEAD)
    status = check_scales("head_scales", tensors->head_scales, p->heads, &heads, error);
  if (!status && (p->scales & FOVEA_SCALES_PER_ROW))
    status = check_scales("row_scales", tensors->row_scales, scaled_rows(plan), &rows, error);
  return status ? status : fovea_check_scale_product(p, "the largest scales", heads * rows, error);
}

fovea_status fovea_check_term_numbers(const fovea_plan *plan, const fovea_tensors *tensors, fovea_error *error) {
  const int count = plan->positions.count;
  fovea_status status = FOVEA_OK;
  if (count > 0) {
    const fovea_reach list = {"terms", 0, count * (int64_t)sizeof *tensors->terms, _Alignof(float *)};
    status = fovea_validate_pointer(&list, tensors->terms, error);
  }
  for (int i = 0; i < count && !status; i++) {
    const fovea_reach reach = reach_of(plan, i);
    status = fovea_validate_pointer(&reach, tensors->terms[i], error);
  }
  return status || !plan->problem.scales ? status : check_all_scales(plan, tensors, error);
}

static fovea_status check_array(const fovea_plan *plan, const fovea_written *written, const char *name,
                                const void *pointer, int64_t bytes, fovea_error *error) {
  const fovea_claim claim = fovea_claim_rows(pointer, 8, 1, 0, 1, 0, bytes);
  return pointer ? fovea_check_claim(plan, written, name, &claim, error) : FOVEA_OK;
}

fovea_status fovea_check_term_inputs(const fovea_plan *plan, const fovea_tensors *tensors,
                                     const fovea_written *written, fovea_error *error) {
  const fovea_problem *p = &plan->problem;
  const int64_t count = plan->positions.count, size = sizeof(double);
  fovea_status status =
      check_array(plan, written, "terms", tensors->terms, count * (int64_t)sizeof *tensors->terms, error);
  if (!status) status = check_array(plan, written, "head_scales", tensors->head_scales, p->heads * size, error);
  if (!status)
    status = check_array(plan, written, "row_scales", tensors->row_scales, scaled_rows(plan) * size, error);
  for (int i = 0; i < count && !status; i++) {
    const fovea_reach reach = reach_of(plan, i);
    status = check_array(plan, written, reach.name, (const char *)tensors->terms[i] + reach.begin,
                         reach.end - reach.begin, error);
  }
  return status;
}

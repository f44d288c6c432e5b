#include "row_numbers.h"

#include <stddef.h>

static uint64_t array_floats(const fovea_plan *plan) {
  const fovea_problem *p = &plan->problem;
  const uint64_t batch = p->cu_seqlens_q ? 1 : (uint64_t)p->batch;
  return (batch * (uint64_t)p->heads * (uint64_t)p->q_len + 15) / 16 * 16;
}

void fovea_plan_row_numbers(fovea_plan *plan) {
  const uint64_t arrays = (plan->problem.max_logits != 0) + 2 * (uint64_t)(plan->problem.column_sums.wanted != 0);
  plan->rows_scratch = fovea_bytes_of(arrays * array_floats(plan));
}

fovea_row_numbers fovea_row_numbers_of(const fovea_plan *plan, float *shared) {
  float *next = shared + plan->parts_scratch / sizeof(float);
  fovea_row_numbers numbers = {NULL, NULL, NULL};
  if (plan->problem.max_logits) numbers.maxima = next, next += array_floats(plan);
  if (plan->problem.column_sums.wanted) numbers.references = next, numbers.inverses = next + array_floats(plan);
  return numbers;
}

/* What the products of a row are multiplied by, if heads or rows have scales of their own. */
#ifndef FOVEA_SRC_RUN_ROW_SCALES_H
#define FOVEA_SRC_RUN_ROW_SCALES_H

#include "../feature/score_terms.h"
#include "task.h"

/* As a softcap wants it (`capped`), in natural units, or in units of log2. */
static inline float fovea_scale_of_row(const fovea_task_context *context, fovea_row_place place, int capped,
                                       int natural) {
  const fovea_problem *problem = &context->plan->problem;
  const fovea_tensors *tensors = context->tensors;
  const fovea_entry *entry = context->task->entry;
  const int64_t first = (problem->cu_seqlens_q ? 0 : entry->batch * problem->q_len) + entry->q_first;
  double scale = tensors->head_scales ? tensors->head_scales[place.head] : problem->scale;
  if (tensors->row_scales) scale *= tensors->row_scales[first + place.row];
  return fovea_scale_constant(problem, capped, natural, scale);
}

#endif

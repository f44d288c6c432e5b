/* What the products of a row are multiplied by, if heads or rows have scales of their own. */
#ifndef FOVEA_SRC_RUN_ROW_SCALES_H
#define FOVEA_SRC_RUN_ROW_SCALES_H

#include "../feature/score_terms.h"
#include "task.h"

/* As a softcap wants it (`capped`), in natural units, or in units of log2. */
static inline float fovea_scale_of_row(const fovea_row_scales *scales, fovea_row_place place, int capped,
                                       int natural) {
  double scale = scales->heads ? scales->heads[place.head] : scales->problem->scale;
  if (scales->rows) scale *= scales->rows[place.row];
  return fovea_scale_constant(scales->problem, capped, natural, scale);
}

/* The scales of an entry's rows. */
static inline fovea_row_scales fovea_row_scales_of(const fovea_problem *problem, const fovea_tensors *tensors,
                                                   const fovea_entry *entry) {
  const int64_t first = (problem->cu_seqlens_q ? 0 : entry->batch * problem->q_len) + entry->q_first;
  return (fovea_row_scales){problem, tensors->head_scales,
                            tensors->row_scales ? tensors->row_scales + first : NULL};
}

#endif

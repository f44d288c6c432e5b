/* Numbers of each row that outlive its task, in scratch that all workers share: a later phase reads them. Rows are
 * numbered like the rows of a contiguous LSE tensor. */
#ifndef FOVEA_SRC_PLAN_ROW_NUMBERS_H
#define FOVEA_SRC_PLAN_ROW_NUMBERS_H

#include "plan.h"

/* Sets rows_scratch. */
void fovea_plan_row_numbers(fovea_plan *plan);

/* Arrays with a number for each row; NULL: no phase needs it. */
typedef struct fovea_row_numbers {
  float *maxima; /* largest scores, in units of log2; NaN of a row of NaN */
  /* For weights, with the sink: what is subtracted from scores, and 1 / sum. */
  float *references, *inverses;
} fovea_row_numbers;

/* `shared`: scratch after the scratch of the workers. */
fovea_row_numbers fovea_row_numbers_of(const fovea_plan *plan, float *shared);

/* The number of row 0 of a head of an entry; the numbers of its other rows follow. */
static inline int64_t fovea_row_number(const fovea_plan *plan, const fovea_entry *entry, int64_t head) {
  const fovea_problem *p = &plan->problem;
  const int64_t batch = p->cu_seqlens_q ? 0 : entry->batch;
  return (batch * p->heads + head) * p->q_len + entry->q_first;
}

#endif

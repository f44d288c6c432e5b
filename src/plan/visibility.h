/* Which keys a row sees: every rule gives an interval of positions, so their meeting is one. */
#ifndef FOVEA_SRC_PLAN_VISIBILITY_H
#define FOVEA_SRC_PLAN_VISIBILITY_H

#include "plan.h"

/* Positions begin to end - 1; empty when end <= begin. */
typedef struct fovea_interval {
  int64_t begin, end;
} fovea_interval;

/* What two intervals share; {0, 0} where that is nothing. */
static inline fovea_interval fovea_meet(fovea_interval a, fovea_interval b) {
  fovea_interval keys = {a.begin > b.begin ? a.begin : b.begin, a.end < b.end ? a.end : b.end};
  return keys.begin < keys.end ? keys : (fovea_interval){0, 0};
}

/* What row `row` of the entry sees. Neither end decreases from one row to the next that sees anything. */
fovea_interval fovea_visible_keys(const fovea_problem *problem, const fovea_entry *entry, int64_t row);

/* From the first key that some row of the entry sees to the last; {0, 0} where none sees any. */
fovea_interval fovea_entry_keys(const fovea_problem *problem, const fovea_entry *entry);

/* The keys from the first that one of so many neighbouring rows sees to the last, at most: by window, chunks and
 * the causal rule alone, wherever the rows are. */
int64_t fovea_keys_of_rows(const fovea_problem *problem, int64_t rows);

#endif

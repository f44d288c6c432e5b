/* Which keys a row sees: every rule gives an interval of positions, so their meeting is one. */
#ifndef FOVEA_SRC_VISIBILITY_H
#define FOVEA_SRC_VISIBILITY_H

#include "plan.h"

/* Positions begin to end - 1; empty when end <= begin. */
typedef struct fovea_interval {
  int64_t begin, end;
} fovea_interval;

/* What row `row` of the entry sees. Neither end decreases from one row to the next that sees anything. */
fovea_interval fovea_visible_keys(const fovea_problem *problem, const fovea_entry *entry, int64_t row);

#endif

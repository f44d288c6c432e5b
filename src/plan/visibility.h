/* Which keys a row sees: every rule gives an interval of positions, so their meeting is one. */
#ifndef FOVEA_SRC_PLAN_VISIBILITY_H
#define FOVEA_SRC_PLAN_VISIBILITY_H

#include "entry.h"

/* What row `row` of the entry sees. Neither end decreases from one row to the next that sees anything. */
fovea_interval fovea_visible_keys(const fovea_problem *problem, const fovea_entry *entry, int64_t row);

/* From the first key that some row of the entry sees to the last; {0, 0} where none sees any. */
fovea_interval fovea_entry_keys(const fovea_problem *problem, const fovea_entry *entry);

/* The keys from the first that one of so many neighbouring rows sees to the last, at most: by window, chunks and
 * the causal rule alone, wherever the rows are. */
int64_t fovea_keys_of_rows(const fovea_problem *problem, int64_t rows);

#endif

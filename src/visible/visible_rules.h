/* Which keys a row sees by the rules. Every rule gives an interval of positions, so their intersection is one
 * interval. */
#ifndef FOVEA_SRC_VISIBLE_VISIBLE_RULES_H
#define FOVEA_SRC_VISIBLE_VISIBLE_RULES_H

#include "entry.h"

/* The keys that row `row` of the entry sees. Among rows that see keys, neither end decreases from one row to the
 * next. */
fovea_interval fovea_visible_keys(const fovea_problem *problem, const fovea_entry *entry, int64_t row);

/* The keys from the first that some row of the entry sees to the last; {0, 0} if no row sees a key. */
fovea_interval fovea_entry_keys(const fovea_problem *problem, const fovea_entry *entry);

/* An upper bound on the keys that `rows` neighbouring rows reach, from the first key that one of them sees to the
 * last, by window, chunks and the causal rule. It holds wherever the rows lie. */
int64_t fovea_keys_of_rows(const fovea_problem *problem, int64_t rows);

#endif

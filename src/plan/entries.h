/* The entries of a checked problem, resolved. */
#ifndef FOVEA_SRC_PLAN_ENTRIES_H
#define FOVEA_SRC_PLAN_ENTRIES_H

#include "entry.h"

/* The entry at index b of the batch. Its tasks and parts are not set. */
fovea_entry fovea_resolve_entry(const fovea_problem *problem, int64_t b);

/* Sets one entry for each of the batch, the longest first. Returns about how many pairs of a row and a key they
 * have. */
double fovea_resolve_entries(const fovea_problem *problem, fovea_entry *entries);

#endif

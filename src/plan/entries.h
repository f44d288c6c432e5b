/* The entries of a checked problem, resolved. */
#ifndef FOVEA_SRC_PLAN_ENTRIES_H
#define FOVEA_SRC_PLAN_ENTRIES_H

#include "../visible/entry.h"

/* The lengths, the begin, the offset and the pattern of an entry, as the problem's lists say. */
void fovea_entry_lengths(const fovea_problem *problem, int64_t batch, fovea_entry *entry);

/* One entry of a problem whose lengths, rules and mask are checked. */
void fovea_resolve_entry(const fovea_problem *problem, int64_t batch, fovea_entry *entry);

/* Sets one entry for each of the batch, the longest first. Returns about how many pairs of a row and a key they
 * have. */
double fovea_resolve_entries(const fovea_problem *problem, fovea_entry *entries);

#endif

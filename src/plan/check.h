/* The checks of a problem, by subject. */
#ifndef FOVEA_SRC_PLAN_CHECK_H
#define FOVEA_SRC_PLAN_CHECK_H

#include <fovea/fovea.h>

/* Lengths of entries: padded, packed. */
fovea_status fovea_check_lengths(const fovea_problem *problem, fovea_error *error);
/* kv_begins, and settings that need segments, or exclude them. */
fovea_status fovea_check_segmented(const fovea_problem *problem, fovea_error *error);
/* Rows that would lie before all keys by an offset that nobody set. The lengths are checked. */
fovea_status fovea_check_own_keys(const fovea_problem *problem, fovea_error *error);
/* keys_begin, keys_end and to_state. */
fovea_status fovea_check_keys(const fovea_problem *problem, fovea_error *error);
/* The mask's keys and strides. */
fovea_status fovea_check_mask(const fovea_problem *problem, fovea_error *error);

/* The patterns: they fit the heads, and hold every row and key of their entries. */
fovea_status fovea_check_patterns(const fovea_problem *problem, fovea_error *error);

#endif

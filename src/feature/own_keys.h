/* Features for which it matters which key is a row's own. */
#ifndef FOVEA_SRC_FEATURE_OWN_KEYS_H
#define FOVEA_SRC_FEATURE_OWN_KEYS_H

#include "list.h"

/* Refuses rows that would lie before all keys by an offset that nobody set, if one of the problem's features
 * depends on it. The lengths are checked. */
fovea_status fovea_check_own_keys(const fovea_problem *problem, uint64_t features, fovea_error *error);

#endif

/* Sorts lists. */
#ifndef FOVEA_SRC_PATTERN_SORT_H
#define FOVEA_SRC_PATTERN_SORT_H

#include "../../arch/groups.h"

#include <stdint.h>

/* Sorts items, each once. Returns how many are left. */
int64_t fovea_sort_items(int32_t *items, int64_t count);

#endif

/* Finds the keys that each band of rows may see. */
#ifndef FOVEA_SRC_PATTERN_COMPILE_H
#define FOVEA_SRC_PATTERN_COMPILE_H

#include "pattern.h"

/* Fills band_starts and band_keys. Returns 0 if there is no memory. */
int fovea_compile_pattern(fovea_pattern *pattern);

#endif

/* The pattern of `fovea attend`, made of what its options say. */
#ifndef FOVEA_TOOLS_ATTEND_PATTERN_H
#define FOVEA_TOOLS_ATTEND_PATTERN_H

#include "attend_options.h"
#include <fovea/pattern.h>

/* Makes the pattern of --pattern, --csr and --global, and puts it into a problem whose sizes, lengths and offsets
 * are set. Without these options there is none. Destroy it after the plan. */
bool load_pattern(const attend_options *options, fovea_pattern **pattern, fovea_problem *problem, failure *why);

#endif

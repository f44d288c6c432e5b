/* Which engines compute entries, and what they call. */
#ifndef FOVEA_SRC_PLAN_CHOOSE_ENGINES_H
#define FOVEA_SRC_PLAN_CHOOSE_ENGINES_H

#include "plan.h"

/* Sets `steps`, `tiler`, `decoder` and `decoded_rows` of a plan whose kernels, modes and terms are set. Which
 * entries are gathered is decided by gathering.h. */
void fovea_choose_engines(fovea_plan *plan);

#endif

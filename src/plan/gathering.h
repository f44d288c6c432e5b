/* Whether rows of a pattern with lists are computed one by one, or in tiles. Both have the same bits. */
#ifndef FOVEA_SRC_PLAN_GATHERING_H
#define FOVEA_SRC_PLAN_GATHERING_H

#include "plan.h"

/* Decides for every entry, by counted pairs. */
void fovea_plan_gathering(fovea_plan *plan);

#endif

/* Every check of a problem. Later steps do not check again. */
#ifndef FOVEA_SRC_PLAN_CHECK_PROBLEM_H
#define FOVEA_SRC_PLAN_CHECK_PROBLEM_H

#include "../base/shapes.h"
#include "../feature/list.h"

/* Also sets the reach of each of the FOVEA_SHAPES tensors, for all of its elements, and the features that the
 * problem has. */
fovea_status fovea_validate_problem(const fovea_problem *problem, fovea_reach *reaches, uint64_t *features,
                                    fovea_error *error);

#endif

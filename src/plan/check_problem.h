/* Every check of a problem. Nothing below checks again. */
#ifndef FOVEA_SRC_PLAN_CHECK_PROBLEM_H
#define FOVEA_SRC_PLAN_CHECK_PROBLEM_H

#include "../base/shapes.h"

/* Also says what the tensors take as a whole, FOVEA_SHAPES of them. */
fovea_status fovea_validate_problem(const fovea_problem *problem, fovea_reach *reaches, fovea_error *error);

#endif

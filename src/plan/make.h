/* A problem becomes a plan. */
#ifndef FOVEA_SRC_PLAN_MAKE_H
#define FOVEA_SRC_PLAN_MAKE_H

#include "plan.h"

/* What checking a problem finds out. */
typedef struct fovea_checked {
  const fovea_kernels *kernels;
  fovea_reach reaches[FOVEA_SHAPES];
} fovea_checked;

fovea_status fovea_plan_check(const fovea_problem *problem, fovea_checked *checked, fovea_error *error);

/* Fills a plan of a problem that was checked. `entries` has room for every batch entry and lives as long as it. */
void fovea_plan_fill(fovea_plan *plan, fovea_entry *entries, const fovea_problem *problem,
                     const fovea_checked *checked);

/* Allocates and fills a plan of a problem that was checked. */
fovea_status fovea_plan_build(const fovea_problem *problem, const fovea_checked *checked, fovea_plan **plan,
                              fovea_error *error);

#endif

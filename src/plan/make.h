/* Makes a plan of a problem. */
#ifndef FOVEA_SRC_PLAN_MAKE_H
#define FOVEA_SRC_PLAN_MAKE_H

#include "plan.h"

/* The results of fovea_plan_check() that fovea_plan_fill() needs. */
typedef struct fovea_checked {
  const fovea_kernels *kernels;
  int isa_named;     /* by the execution */
  uint64_t features; /* that the problem has */
  fovea_reach reaches[FOVEA_SHAPES];
} fovea_checked;

/* Checks a problem, and chooses the kernels of an execution that was read. */
fovea_status fovea_plan_check(const fovea_problem *problem, const fovea_execution *execution,
                              fovea_checked *checked, fovea_error *error);

/* Fills the plan of a checked problem. `entries` has room for every batch element and must live as long as the plan.
 */
void fovea_plan_fill(fovea_plan *plan, fovea_entry *entries, const fovea_problem *problem,
                     const fovea_checked *checked);

/* Allocates and fills the plan of a checked problem. */
fovea_status fovea_plan_build(const fovea_problem *problem, const fovea_checked *checked,
                              const fovea_allocator *allocator, fovea_plan **plan, fovea_error *error);

#endif

/* Problems through every entry point, each call on a painted stack (painted.h). */
#ifndef FOVEA_TESTS_STACK_CALLS_H
#define FOVEA_TESTS_STACK_CALLS_H

#include <fovea/fovea.h>

/* Attends by one call; by a plan in memory of the caller's, with its counts and its explanation; by single tasks.
 * Fails if a call uses FOVEA_STACK_SIZE or more, or is refused. `name` says what is computed. Runs it on an
 * instruction set, NULL: the best. */
void assert_small_stacks(const char *name, const fovea_problem *problem, const fovea_tensors *tensors,
                         const char *isa);

#endif

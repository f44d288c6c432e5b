/* What is checked of attention states. */
#ifndef FOVEA_SRC_STATE_VALIDATE_STATE_H
#define FOVEA_SRC_STATE_VALIDATE_STATE_H

#include "../plan/plan.h"
#include "groups.h"

/* The sizes, range and strides of a state, and what its pointer is to be checked for. `name` is what the caller
 * calls it. */
fovea_status fovea_validate_state(const char *name, const fovea_state *state, int is_output, fovea_reach *reach,
                                  fovea_error *error);

/* That a state's size is what the problem calls problem_name; that all its sizes are those of the problem's
 * outputs. */
fovea_status fovea_check_state_size(const char *name, int64_t value, const char *problem_name, int64_t wanted,
                                    fovea_error *error);
fovea_status fovea_check_state_of_problem(const fovea_problem *problem, const fovea_state *state,
                                          fovea_error *error);

/* Two states that merge into a third, which is apart from both. */
fovea_status fovea_validate_merge(const fovea_state *left, const fovea_state *right, const fovea_state *merged,
                                  fovea_error *error);

/* A problem with its outputs and a state, as the caller gave them: one is read and the other written. Copies of the
 * caller's structs are set. */
fovea_status fovea_validate_outputs(const fovea_problem *given, const fovea_tensors *given_tensors, int to_state,
                                    fovea_problem *problem, fovea_tensors *tensors, fovea_state *state,
                                    fovea_error *error);

#endif

/* Checks of attention states. */
#ifndef FOVEA_SRC_STATE_VALIDATE_STATE_H
#define FOVEA_SRC_STATE_VALIDATE_STATE_H

#include "../plan/plan.h"
#include "row_states.h"

/* Checks the sizes, range and strides of a state, and sets the reach of its numbers. `name` is the caller's name of
 * the state. */
fovea_status fovea_validate_state(const char *name, const fovea_state *state, int is_output, fovea_reach *reach,
                                  fovea_error *error);

/* Check that one size of a state equals the problem's size problem_name; that all its sizes equal the sizes of the
 * problem's outputs. */
fovea_status fovea_check_state_size(const char *name, int64_t value, const char *problem_name, int64_t wanted,
                                    fovea_error *error);
fovea_status fovea_check_state_of_problem(const fovea_problem *problem, const fovea_state *state,
                                          fovea_error *error);

/* Checks two states that merge into a third, which must share no byte with them. */
fovea_status fovea_validate_merge(const fovea_state *left, const fovea_state *right, const fovea_state *merged,
                                  fovea_error *error);

/* Checks a problem, its outputs and a state, as the caller gave them. One is read to write the other: state says
 * which. Sets copies of the caller's structs. */
fovea_status fovea_validate_outputs(const fovea_problem *given, const fovea_tensors *given_tensors, int to_state,
                                    fovea_problem *problem, fovea_tensors *tensors, fovea_state *state,
                                    fovea_error *error);

#endif

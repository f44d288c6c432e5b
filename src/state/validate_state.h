/* What is checked of attention states. */
#ifndef FOVEA_SRC_STATE_VALIDATE_STATE_H
#define FOVEA_SRC_STATE_VALIDATE_STATE_H

#include "groups.h"
#include "../plan/plan.h"

/* The sizes, range and strides of a state, and what its pointer is to be checked for. `name` is what the caller
 * calls it. */
fovea_status fovea_validate_state(const char *name, const fovea_state *state, int is_output, fovea_reach *reach,
                                  fovea_error *error);

/* The state that a run of the plan writes: that of its problem, apart from what the run reads but for segments. */
fovea_status fovea_validate_state_of_run(const fovea_plan *plan, const fovea_tensors *tensors, fovea_error *error);

/* Two states that merge into a third, which is apart from both. */
fovea_status fovea_validate_merge(const fovea_state *left, const fovea_state *right, const fovea_state *merged,
                                  fovea_error *error);

/* A problem with its outputs and a state, as the caller gave them: one is read and the other written. Copies of the
 * caller's structs are set. */
fovea_status fovea_validate_outputs(const fovea_problem *given, const fovea_tensors *given_tensors, int to_state,
                                    fovea_problem *problem, fovea_tensors *tensors, fovea_state *state,
                                    fovea_error *error);

#endif

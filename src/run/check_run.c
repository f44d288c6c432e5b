#include "check_run.h"

#include "../base/caller.h"
#include "../base/error.h"
#include "../base/validate.h"
#include "../feature/all_features.h"
#include "../state/validate_state.h"
#include "overlap.h"
#include "run_segments.h"

/* Checks that the inputs of features share no byte with what is written. */
static fovea_status check_feature_inputs(const fovea_plan *plan, const fovea_tensors *tensors,
                                         const fovea_written *written, fovea_error *error) {
  fovea_input inputs[FOVEA_INPUTS_OF_FEATURE];
  for (uint64_t rest = plan->inputs; rest;) {
    const int count = fovea_list_inputs(fovea_next_feature(&rest), plan, tensors, inputs);
    for (int i = 0; i < count; i++) {
      const fovea_reach *reach = &inputs[i].reach;
      const fovea_claim claim = fovea_claim_rows((const char *)inputs[i].pointer + reach->begin, 8, 1, 0, 1, 0,
                                                 reach->end - reach->begin);
      const fovea_status status = fovea_check_claim(plan, written, reach->name, &claim, error);
      if (status) return status;
    }
  }
  return FOVEA_OK;
}

#if FOVEA_BUILDS_STATES
fovea_status fovea_validate_state_of_run(const fovea_plan *plan, const fovea_tensors *tensors, fovea_error *error) {
  const fovea_problem *problem = &plan->problem;
  fovea_state state;
  fovea_reach reach;
  if (!problem->state) return FOVEA_OK;
  fovea_status status = fovea_read_state("state", tensors->state, &state, error);
  if (!status) status = fovea_check_state_of_problem(problem, &state, error);
  if (!status)
    status = fovea_check_state_size("keys.begin", state.keys.begin, "keys.begin", problem->keys.begin, error);
  if (!status)
    status = fovea_check_state_size("keys.end", state.keys.end, "keys.end", fovea_keys_end(problem), error);
  if (!status) status = fovea_validate_state("state", &state, 1, &reach, error);
  if (status) return status;
  const fovea_written written = fovea_written_state(plan, &state);
  status = fovea_check_inputs(plan, tensors, &written, error);
  return status ? status : check_feature_inputs(plan, tensors, &written, error);
}
#endif

fovea_status fovea_validate_tensors(const fovea_plan *plan, const fovea_tensors *tensors, fovea_error *error) {
  const void *const inputs[FOVEA_SHAPE_O] = {tensors->q, tensors->k, tensors->v, tensors->mask, tensors->sink};
  fovea_status status = FOVEA_OK;
  for (int i = 0; i < FOVEA_SHAPES && !status; i++) {
    const void *pointer = i < FOVEA_SHAPE_O ? inputs[i] : fovea_output_pointer(tensors, i);
    if (fovea_is_optional(i) && !pointer) continue;
    if (i == FOVEA_SHAPE_SINKS && plan->problem.state) continue; /* a state has none */
    status = fovea_validate_pointer(&plan->reaches[i], pointer, error);
  }
  if (!status) status = fovea_check_inputs_of(plan->inputs, plan, tensors, error);
  if (status || plan->problem.state) return status;
  fovea_written written[FOVEA_WRITTEN_LIMIT];
  int outputs = fovea_list_written(plan, tensors, written);
  for (int i = 0; i < outputs && !status; i++) {
    status = fovea_check_inputs(plan, tensors, &written[i], error);
    if (!status) status = check_feature_inputs(plan, tensors, &written[i], error);
    if (!status) status = fovea_check_outputs(plan, tensors, &written[i], written[i].shape, error);
  }
  return status;
}

static fovea_status check_structs(const fovea_plan *plan, const fovea_tensors *tensors,
                                  const fovea_written *scratch, fovea_error *error) {
  const fovea_problem *p = &plan->problem;
  fovea_status status = fovea_check_bytes(scratch, "the plan", plan, sizeof *plan, error);
  if (!status) {
    status = fovea_check_bytes(scratch, "the plan", plan->entries, p->batch * (int64_t)sizeof(fovea_entry), error);
  }
  if (!status && p->state) {
    status = fovea_check_bytes(scratch, "state", tensors->state, sizeof *tensors->state, error);
  }
  if (!status && p->cache.segmented) {
    status = fovea_check_bytes(scratch, "sequences", tensors->cache.sequences,
                               p->batch * (int64_t)sizeof(fovea_sequence), error);
  }
  return status;
}

fovea_status fovea_validate_scratch_apart(const fovea_plan *plan, const fovea_tensors *tensors,
                                          const fovea_read_segments *read, const void *memory, size_t size,
                                          fovea_error *error) {
  const fovea_written scratch = fovea_written_scratch(memory, size);
  fovea_status status = fovea_check_inputs(plan, tensors, &scratch, error);
  if (!status) status = check_feature_inputs(plan, tensors, &scratch, error);
  if (FOVEA_BUILDS_STATES && !status && plan->problem.state) {
    fovea_written state = fovea_written_state(plan, tensors->state);
    status = fovea_check_written_state(plan, &scratch, &state, error);
  } else {
    if (!status) status = fovea_check_outputs(plan, tensors, &scratch, FOVEA_SHAPES, error);
  }
  if (!status) status = check_structs(plan, tensors, &scratch, error);
  return status ? status : fovea_check_segments(plan, tensors, read, &scratch, error);
}

#include "call_plan.h"

#include "../src/base/validate.h"

fovea_nn_plan_memory fovea_nn_plan_memory_of(const fovea_execution *execution) {
  return (fovea_nn_plan_memory){
      .execution = execution, .scratch = execution->scratch, .size = execution->scratch_size};
}

static fovea_status make(fovea_nn_plan_memory *memory, const fovea_problem *problem, fovea_plan **made,
                         fovea_error *error) {
  const size_t begin = fovea_nn_reserve(&memory->used, fovea_plan_size(problem->batch));
  if (!memory->scratch) return fovea_plan_create(problem, memory->execution, made, error);
  const fovea_status status =
      fovea_validate_scratch(memory->scratch, memory->size, fovea_nn_size_of(&memory->used), error);
  if (status) return status;
  return fovea_plan_create_in(problem, memory->execution, memory->scratch + begin, memory->used.size - begin, made,
                              error);
}

fovea_status fovea_nn_find_plan(fovea_nn_plan *plan, const fovea_problem *problem, int kind,
                                const fovea_plan **found, fovea_error *error) {
  fovea_status status = FOVEA_OK;
  if (!plan->made[kind]) status = make(plan->memory, problem, &plan->made[kind], error);
  *found = plan->made[kind];
  return status;
}

void fovea_nn_release_plan(fovea_nn_plan *plan) {
  for (int kind = 0; kind < FOVEA_NN_PLAN_KINDS; kind++) fovea_plan_destroy(plan->made[kind]);
}

size_t fovea_nn_plans_end(const fovea_nn_plan_memory *memory) {
  return memory->scratch ? memory->used.size : 0;
}

size_t fovea_nn_scratch_size(const fovea_nn_plan_memory *memory, const fovea_nn_scratch *rest) {
  return memory->used.saturated || rest->saturated ? SIZE_MAX : memory->used.size + rest->size;
}

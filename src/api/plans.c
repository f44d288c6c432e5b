/* Makes plans and destroys them. */
#include "../base/caller.h"
#include "../base/error.h"
#include "../base/memory.h"
#include "../base/validate.h"
#include "../plan/make.h"

fovea_status fovea_plan_create(const fovea_problem *given, const fovea_execution *given_execution,
                               fovea_plan **plan, fovea_error *error) {
  if (!plan) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "plan is NULL");
  *plan = NULL;
  fovea_checked checked;
  fovea_problem problem;
  fovea_execution execution;
  fovea_status status = fovea_read_problem(given, &problem, error);
  if (!status) status = fovea_read_execution(given_execution, &execution, error);
  if (!status) status = fovea_plan_check(&problem, &execution, &checked, error);
  return status ? status : fovea_plan_build(&problem, &checked, &execution.allocator, plan, error);
}

fovea_status fovea_plan_create_in(const fovea_problem *given, const fovea_execution *given_execution, void *memory,
                                  size_t size, fovea_plan **plan, fovea_error *error) {
  if (!plan) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "plan is NULL");
  *plan = NULL;
  fovea_checked checked;
  fovea_problem problem;
  fovea_execution execution;
  fovea_status status = fovea_read_problem(given, &problem, error);
  if (!status) status = fovea_read_execution(given_execution, &execution, error);
  if (!status) status = fovea_plan_check(&problem, &execution, &checked, error);
  if (!status) status = fovea_validate_memory("plan", memory, size, fovea_plan_size(problem.batch), error);
  if (status) return status;
  fovea_plan *made = memory;
  fovea_plan_fill(made, (fovea_entry *)(made + 1), &problem, &checked);
  *plan = made;
  return FOVEA_OK;
}

void fovea_plan_destroy(fovea_plan *plan) {
  if (!plan || !plan->allocated) return;
  const fovea_allocator allocator = plan->allocator; /* a copy that outlives the plan */
  fovea_release(&allocator, plan);
}

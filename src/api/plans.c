/* Plans, made and destroyed. */
#include "../base/caller.h"
#include "../base/error.h"
#include "../base/memory.h"
#include "../plan/make.h"

fovea_status fovea_plan_create(const fovea_problem *given, fovea_plan **plan, fovea_error *error) {
  if (!plan) return fovea_fail(error, FOVEA_ERROR_NULL, "plan is NULL");
  *plan = NULL;
  fovea_checked checked;
  fovea_problem problem;
  fovea_status status = fovea_read_problem(given, &problem, error);
  if (!status) status = fovea_plan_check(&problem, &checked, error);
  return status ? status : fovea_plan_build(&problem, &checked, plan, error);
}

/* Memory that a plan is to lie in. */
static fovea_status check_memory(const void *memory, size_t size, int64_t batch, fovea_error *error) {
  if (!memory) return fovea_fail(error, FOVEA_ERROR_NULL, "memory is NULL");
  if ((uintptr_t)memory % FOVEA_SCRATCH_ALIGNMENT != 0) {
    return fovea_fail(error, FOVEA_ERROR_ALIGNMENT, "memory is %d bytes off an address that is a multiple of %d",
                      (int64_t)((uintptr_t)memory % FOVEA_SCRATCH_ALIGNMENT), (int64_t)FOVEA_SCRATCH_ALIGNMENT);
  }
  if (size < fovea_plan_size(batch)) {
    return fovea_fail(error, FOVEA_ERROR_SIZE, "size is %u bytes; a plan of %d batch entries needs %u",
                      (uint64_t)size, batch, (uint64_t)fovea_plan_size(batch));
  }
  return FOVEA_OK;
}

fovea_status fovea_plan_create_in(const fovea_problem *given, void *memory, size_t size, fovea_plan **plan,
                                  fovea_error *error) {
  if (!plan) return fovea_fail(error, FOVEA_ERROR_NULL, "plan is NULL");
  *plan = NULL;
  fovea_checked checked;
  fovea_problem problem;
  fovea_status status = fovea_read_problem(given, &problem, error);
  if (!status) status = fovea_plan_check(&problem, &checked, error);
  if (!status) status = check_memory(memory, size, problem.batch, error);
  if (status) return status;
  fovea_plan *made = memory;
  fovea_plan_fill(made, (fovea_entry *)(made + 1), &problem, &checked);
  *plan = made;
  return FOVEA_OK;
}

void fovea_plan_destroy(fovea_plan *plan) {
  if (!plan || !plan->allocated) return;
  const fovea_allocator allocator = plan->problem.allocator; /* which outlives the plan that it takes back */
  fovea_release(&allocator, plan);
}

/* The entry points that check, plan and run in one call. */
#include "../plan/make.h"
#include <fovea/fovea.h>

#include "../base/caller.h"
#include "../base/error.h"
#include "../base/memory.h"
#include "../run/bind.h"
#include "../system/dispatch.h"

/* Runs a plan on tensors as the caller gave them. */
static fovea_status run_plan(const fovea_plan *plan, const fovea_tensors *tensors, const fovea_execution *execution,
                             fovea_error *error) {
  fovea_run run;
  fovea_status status = fovea_bind_tensors(&run, plan, tensors, error);
  if (status) return status;
  int workers = fovea_schedule_workers(plan->tasks, plan->work, execution);
  void *scratch = execution->scratch, *allocated = NULL;
  if (scratch) {
    status = fovea_check_scratch(&run, workers, scratch, execution->scratch_size, error);
    if (status) return status;
  } else {
    if (plan->tasks == 0 && plan->phase_count == 1) return FOVEA_OK; /* there are no rows: no scratch is needed */
    size_t size = fovea_plan_scratch_size(plan, workers);
    scratch = allocated = fovea_allocate(&execution->allocator, size);
    if (!scratch) {
      return fovea_fail(error, FOVEA_ERROR_MEMORY, "No memory for %ju bytes of scratch, aligned to %jd",
                        (uint64_t)size, (int64_t)FOVEA_SCRATCH_ALIGNMENT);
    }
  }
  fovea_bind_scratch(&run, workers, scratch);
  fovea_schedule_run(&run.job, execution, workers);
  fovea_release(&execution->allocator, allocated);
  return FOVEA_OK;
}

/* A plan runs on the set that it was made for. */
static fovea_status check_isa(const fovea_plan *plan, const char *isa, fovea_error *error) {
  const fovea_kernels *named;
  if (!isa) return FOVEA_OK;
  const fovea_status status = fovea_dispatch_wanted(isa, FOVEA_F32, &named, error);
  if (status || named == plan->kernels) return status;
  return fovea_fail(error, FOVEA_ERROR_UNUSED,
                    "isa is \"%s\" and would not be used: the plan was made for \"%s\"; make a plan with this isa, "
                    "or run it with isa NULL",
                    isa, fovea_dispatch_table(plan->kernels));
}

fovea_status fovea_plan_run(const fovea_plan *plan, const fovea_tensors *tensors, const fovea_execution *given,
                            fovea_error *error) {
  fovea_execution execution;
  if (!plan) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "plan is NULL");
  fovea_status status = fovea_read_execution(given, &execution, error);
  if (!status) status = check_isa(plan, execution.isa, error);
  return status ? status : run_plan(plan, tensors, &execution, error);
}

fovea_status fovea_attend(const fovea_problem *given, const fovea_tensors *tensors,
                          const fovea_execution *given_execution, fovea_error *error) {
  enum { ENTRIES_ON_STACK = 32 };
  fovea_checked checked;
  fovea_problem problem;
  fovea_execution execution;
  fovea_plan *allocated, plan;
  fovea_entry entries[ENTRIES_ON_STACK];
  fovea_status status = fovea_read_problem(given, &problem, error);
  if (!status) status = fovea_read_execution(given_execution, &execution, error);
  if (!status) status = fovea_plan_check(&problem, &execution, &checked, error);
  if (status) return status;
  if (problem.batch <= ENTRIES_ON_STACK) {
    fovea_plan_fill(&plan, entries, &problem, &checked);
    return run_plan(&plan, tensors, &execution, error);
  }
  status = fovea_plan_build(&problem, &checked, &execution.allocator, &allocated, error);
  if (status) return status;
  status = run_plan(allocated, tensors, &execution, error);
  fovea_plan_destroy(allocated);
  return status;
}

fovea_status fovea_attention(const float *q, const float *k, const float *v, float *o, int64_t batch, int64_t heads,
                             int64_t kv_heads, int64_t q_len, int64_t kv_len, int64_t dim, int causal) {
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_problem_init(&problem, batch, heads, kv_heads, q_len, kv_len, dim, dim);
  problem.causal = causal;
  fovea_tensors_init(&tensors, q, k, v, o, NULL);
  return fovea_attend(&problem, &tensors, NULL, NULL);
}

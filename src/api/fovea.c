/* The entry points: check, plan, run. */
#include "../plan/make.h"
#include <fovea/fovea.h>

#include "../base/caller.h"
#include "../base/error.h"
#include "../base/memory.h"
#include "../base/unused.h"
#include "../base/validate.h"
#include "../plan/plan.h"
#include "../run/check_run.h"
#include "../run/run_segments.h"
#include "../run/schedule.h"
#include "../run/tile.h"

/* Runs a plan on tensors that were read. */
static fovea_status run_plan(const fovea_plan *plan, const fovea_tensors *tensors, const fovea_execution *given,
                             fovea_error *error) {
  fovea_execution execution;
  fovea_status status = fovea_refuse_unused_tensors(&plan->problem, tensors, error);
  if (!status) status = fovea_validate_tensors(plan, tensors, error);
  if (!status) status = fovea_validate_state_of_run(plan, tensors, error);
  if (!status) status = fovea_validate_sequences(plan, tensors, error);
  if (!status) status = fovea_read_execution(given, &execution, error);
  if (status) return status;
  int workers = fovea_schedule_workers(plan, &execution);
  size_t size = fovea_plan_scratch_size(plan, workers);
  if (execution.scratch) {
    status = fovea_validate_scratch(execution.scratch, execution.scratch_size, size, error);
    if (!status) status = fovea_validate_scratch_apart(plan, tensors, execution.scratch, size, error);
    if (!status) fovea_schedule_run(plan, tensors, &execution, workers, execution.scratch);
    return status;
  }
  if (plan->tasks == 0) return FOVEA_OK; /* no row, and no use for scratch */
  void *scratch = fovea_allocate(&plan->problem.allocator, size);
  if (!scratch) {
    return fovea_fail(error, FOVEA_ERROR_MEMORY, "no memory for %u bytes of scratch, aligned to %d", (uint64_t)size,
                      (int64_t)FOVEA_SCRATCH_ALIGNMENT);
  }
  fovea_schedule_run(plan, tensors, &execution, workers, scratch);
  fovea_release(&plan->problem.allocator, scratch);
  return FOVEA_OK;
}

fovea_status fovea_plan_run(const fovea_plan *plan, const fovea_tensors *given, const fovea_execution *execution,
                            fovea_error *error) {
  fovea_tensors tensors;
  if (!plan) return fovea_fail(error, FOVEA_ERROR_NULL, "plan is NULL");
  fovea_status status = fovea_read_tensors(given, &tensors, error);
  return status ? status : run_plan(plan, &tensors, execution, error);
}

fovea_status fovea_plan_run_task(const fovea_plan *plan, const fovea_tensors *given, int phase, int64_t task,
                                 int worker, int workers, void *scratch, size_t scratch_size, fovea_error *error) {
  if (!plan) return fovea_fail(error, FOVEA_ERROR_NULL, "plan is NULL");
  if (phase < 0 || phase >= fovea_plan_phases(plan)) {
    return fovea_fail(error, FOVEA_ERROR_TASK, "phase is %d; the plan has phases 0 to %d", (int64_t)phase,
                      (int64_t)fovea_plan_phases(plan) - 1);
  }
  if (task < 0 || task >= fovea_plan_tasks(plan, phase)) {
    return fovea_fail(error, FOVEA_ERROR_TASK, "task is %d; the phase has tasks 0 to %d", task,
                      fovea_plan_tasks(plan, phase) - 1);
  }
  if (workers < 1 || worker < 0 || worker >= workers) {
    return fovea_fail(error, FOVEA_ERROR_TASK, "worker is %d of %d; it must be from 0 to workers - 1",
                      (int64_t)worker, (int64_t)workers);
  }
  fovea_tensors tensors;
  fovea_status status = fovea_read_tensors(given, &tensors, error);
  if (!status) status = fovea_refuse_unused_tensors(&plan->problem, &tensors, error);
  if (!status) status = fovea_validate_tensors(plan, &tensors, error);
  if (!status) status = fovea_validate_state_of_run(plan, &tensors, error);
  if (!status) status = fovea_validate_sequences(plan, &tensors, error);
  size_t size = fovea_plan_scratch_size(plan, workers);
  if (!status) status = fovea_validate_scratch(scratch, scratch_size, size, error);
  if (!status) status = fovea_validate_scratch_apart(plan, &tensors, scratch, size, error);
  if (status) return status;
  fovea_run_task(plan, &tensors, phase, task, worker, workers, scratch);
  return FOVEA_OK;
}

fovea_status fovea_attend(const fovea_problem *given, const fovea_tensors *given_tensors,
                          const fovea_execution *execution, fovea_error *error) {
  enum { ENTRIES_ON_STACK = 32 };
  fovea_checked checked;
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_plan *allocated, plan;
  fovea_entry entries[ENTRIES_ON_STACK];
  fovea_status status = fovea_read_problem(given, &problem, error);
  if (!status) status = fovea_plan_check(&problem, &checked, error);
  if (!status) status = fovea_read_tensors(given_tensors, &tensors, error);
  if (status) return status;
  if (problem.batch <= ENTRIES_ON_STACK) {
    fovea_plan_fill(&plan, entries, &problem, &checked);
    return run_plan(&plan, &tensors, execution, error);
  }
  status = fovea_plan_build(&problem, &checked, &allocated, error);
  if (status) return status;
  status = run_plan(allocated, &tensors, execution, error);
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

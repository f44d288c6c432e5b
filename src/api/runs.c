/* Runs whose tasks the caller runs one by one. */
#include "../base/claim.h"
#include "../base/error.h"
#include "../base/validate.h"
#include "../run/bind.h"
#include "../run/count.h"

size_t fovea_run_size(const fovea_plan *plan) {
  return plan ? sizeof(fovea_run) : 0;
}

/* Checks that the run does not lie in its own scratch. */
static fovea_status check_apart(const fovea_run *run, const void *scratch, size_t size, fovea_error *error) {
  fovea_claim a = fovea_claim_rows(run, 8, 1, 0, 1, 0, sizeof *run);
  fovea_claim b = fovea_claim_rows(scratch, 8, 1, 0, 1, 0, (int64_t)size);
  return fovea_claims_overlap(&a, &b)
             ? fovea_fail(error, FOVEA_ERROR_ARGUMENT, "scratch shares memory with the run")
             : FOVEA_OK;
}

fovea_status fovea_run_bind(const fovea_plan *plan, const fovea_tensors *tensors, int workers, void *scratch,
                            size_t scratch_size, void *memory, size_t size, fovea_run **run, fovea_error *error) {
  if (!run) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "run is NULL");
  *run = NULL;
  if (!plan) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "plan is NULL");
  if (workers < 1)
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "workers is %jd; it must be 1 or more", (int64_t)workers);
  fovea_run *bound = memory;
  fovea_status status = fovea_validate_memory("run", memory, size, sizeof *bound, error);
  if (!status) status = fovea_bind_tensors(bound, plan, tensors, error);
  if (!status) status = fovea_check_scratch(bound, workers, scratch, scratch_size, error);
  if (!status) status = check_apart(bound, scratch, fovea_plan_scratch_size(plan, workers), error);
  if (status) return status;
  fovea_bind_scratch(bound, workers, scratch);
  *run = bound;
  return FOVEA_OK;
}

fovea_status fovea_run_task(const fovea_run *run, int phase, int64_t task, int worker, fovea_error *error) {
  if (!run) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "run is NULL");
  if (!run->plan) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "run is not bound: call fovea_run_bind()");
  if (phase < 0 || phase >= run->job.phase_count) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "phase is %jd; the plan has phases 0 to %jd", (int64_t)phase,
                      (int64_t)run->job.phase_count - 1);
  }
  if (task < 0 || task >= run->job.phases[phase].tasks) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "task is %jd; the phase has tasks 0 to %jd", task,
                      run->job.phases[phase].tasks - 1);
  }
  if (worker < 0 || worker >= run->workers) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "worker is %jd of %jd; it must be from 0 to workers - 1",
                      (int64_t)worker, (int64_t)run->workers);
  }
  run->job.phases[phase].run(run, task, worker);
  return FOVEA_OK;
}

fovea_status fovea_run_counts(const fovea_run *run, fovea_counts *counts) {
  if (!run || !counts) return FOVEA_ERROR_ARGUMENT;
  if (!run->plan) return FOVEA_ERROR_ARGUMENT; /* it is not bound */
  fovea_count_run(run, counts);
  return FOVEA_OK;
}

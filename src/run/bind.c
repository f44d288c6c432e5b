#include "bind.h"

#include "../base/caller.h"
#include "../base/validate.h"
#include "../feature/all_features.h"
#include "check_run.h"
#include "columns.h"
#include "max_logits.h"
#include "run_segments.h"
#include "tile.h"

fovea_status fovea_bind_tensors(fovea_run *run, const fovea_plan *plan, const fovea_tensors *tensors,
                                fovea_error *error) {
  run->plan = plan;
  fovea_status status = fovea_read_tensors(tensors, &run->tensors, error);
  if (!status) status = fovea_refuse_unused_tensors(&plan->problem, &run->tensors, error);
  if (!status) status = fovea_validate_tensors(plan, &run->tensors, error);
  if (FOVEA_BUILDS_STATES && !status) status = fovea_validate_state_of_run(plan, &run->tensors, error);
  if (!status) status = fovea_validate_sequences(plan, &run->tensors, &run->read, error);
  if (FOVEA_BUILDS_STATES && !status && plan->problem.state)
    status = fovea_read_state("state", run->tensors.state, &run->state, error);
  return status;
}

fovea_status fovea_check_scratch(const fovea_run *run, int workers, const void *scratch, size_t size,
                                 fovea_error *error) {
  size_t needed = fovea_plan_scratch_size(run->plan, workers);
  fovea_status status = fovea_validate_scratch(scratch, size, needed, error);
  if (status) return status;
  return fovea_validate_scratch_apart(run->plan, &run->tensors, &run->read, scratch, needed, error);
}

/* What runs a task of each kind of phase. */
static void (*const task_of[FOVEA_PLAN_PHASES])(const void *run, int64_t number, int worker) = {
    [FOVEA_PHASE_ATTEND] = fovea_attend_task,
    [FOVEA_PHASE_MERGE] = fovea_merge_task,
    [FOVEA_PHASE_MAX_LOGITS] = fovea_max_logits_task,
    [FOVEA_PHASE_COLUMN_SUMS] = FOVEA_BUILDS_OUTPUTS ? fovea_column_task : NULL,
};
_Static_assert((int)FOVEA_PLAN_PHASES <= (int)FOVEA_PHASES_LIMIT, "a job has room for the phases of a plan");

void fovea_bind_scratch(fovea_run *run, int workers, void *scratch) {
  const fovea_plan *plan = run->plan;
  if (plan->problem.state) run->tensors.state = &run->state; /* scratch was compared with the caller's struct */
  run->scratch = scratch;
  run->workers = workers;
  run->job = (fovea_job){
      .data = run,
      .work = plan->work,
      .phase_count = plan->phase_count,
  };
  for (int i = 0; i < plan->phase_count; i++) {
    run->job.phases[i] = (fovea_phase){plan->phases[i].tasks, task_of[plan->phases[i].kind]};
  }
}

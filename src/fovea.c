/* The entry points: check, plan, run. */
#include <fovea/fovea.h>

#include "error.h"
#include "memory.h"
#include "plan.h"
#include "schedule.h"
#include "tile.h"
#include "validate.h"

#include <limits.h>
#include <math.h>

static fovea_strides contiguous(int64_t heads, int64_t rows, int64_t dim) {
  /* Products are taken without sign so that no nonsense size is undefined; sizes are checked later. */
  uint64_t head = (uint64_t)rows * (uint64_t)dim;
  return (fovea_strides){(int64_t)((uint64_t)heads * head), (int64_t)head, dim};
}

void fovea_problem_init(fovea_problem *problem, int64_t batch, int64_t heads, int64_t kv_heads, int64_t q_len,
                        int64_t kv_len, int64_t qk_dim, int64_t v_dim) {
  *problem = (fovea_problem){
      .struct_size = sizeof *problem,
      .batch = batch,
      .heads = heads,
      .kv_heads = kv_heads,
      .q_len = q_len,
      .kv_len = kv_len,
      .qk_dim = qk_dim,
      .v_dim = v_dim,
      .q_strides = contiguous(heads, q_len, qk_dim),
      .k_strides = contiguous(kv_heads, kv_len, qk_dim),
      .v_strides = contiguous(kv_heads, kv_len, v_dim),
      .o_strides = contiguous(heads, q_len, v_dim),
      .lse_strides = contiguous(heads, q_len, 1),
      .scale = qk_dim > 0 ? 1.0 / sqrt((double)qk_dim) : 1.0,
      .window_left = FOVEA_UNLIMITED,
      .window_right = FOVEA_UNLIMITED,
      .offset = FOVEA_OFFSET_BOTTOM_RIGHT,
  };
}

fovea_strides fovea_strides_rows_before_heads(int64_t rows, int64_t heads, int64_t dim) {
  uint64_t row = (uint64_t)heads * (uint64_t)dim;
  return (fovea_strides){(int64_t)((uint64_t)rows * row), dim, (int64_t)row};
}

void fovea_tensors_init(fovea_tensors *tensors, const void *q, const void *k, const void *v, void *o, float *lse) {
  *tensors = (fovea_tensors){sizeof *tensors, q, k, v, o, lse};
}

void fovea_execution_init(fovea_execution *execution) {
  *execution = (fovea_execution){.struct_size = sizeof *execution};
}

static fovea_status check_execution(const fovea_execution *execution, fovea_error *error) {
  if (!execution) return FOVEA_OK;
  if (execution->struct_size != sizeof *execution) {
    return fovea_fail(error, FOVEA_ERROR_STRUCT_SIZE,
                      "execution.struct_size is %d, not %d; call fovea_execution_init()",
                      (int64_t)execution->struct_size, (int64_t)sizeof *execution);
  }
  if (execution->threads < 0) {
    return fovea_fail(error, FOVEA_ERROR_TASK, "threads is %d; it must be 1 or more, or 0 for the default",
                      (int64_t)execution->threads);
  }
  return FOVEA_OK;
}

fovea_status fovea_plan_run(const fovea_plan *plan, const fovea_tensors *tensors, const fovea_execution *execution,
                            fovea_error *error) {
  if (!plan) return fovea_fail(error, FOVEA_ERROR_NULL, "plan is NULL");
  fovea_status status = fovea_validate_tensors(&plan->problem, tensors, error);
  if (!status) status = check_execution(execution, error);
  if (status) return status;
  int workers = fovea_schedule_workers(plan, execution);
  size_t size = fovea_plan_scratch_size(plan, workers);
  if (execution && execution->scratch) {
    status = fovea_validate_scratch(execution->scratch, execution->scratch_size, size, error);
    if (!status) fovea_schedule_run(plan, tensors, execution, workers, execution->scratch);
    return status;
  }
  void *scratch = fovea_allocate(size);
  if (!scratch) return fovea_fail(error, FOVEA_ERROR_MEMORY, "no memory for %d bytes of scratch", (int64_t)size);
  fovea_schedule_run(plan, tensors, execution, workers, scratch);
  fovea_release(scratch);
  return FOVEA_OK;
}

fovea_status fovea_plan_run_task(const fovea_plan *plan, const fovea_tensors *tensors, int phase, int64_t task,
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
  fovea_status status = fovea_validate_tensors(&plan->problem, tensors, error);
  if (!status) {
    status = fovea_validate_scratch(scratch, scratch_size, fovea_plan_scratch_size(plan, workers), error);
  }
  if (status) return status;
  fovea_run_task(plan, tensors, task, (char *)scratch + (size_t)worker * plan->worker_scratch);
  return FOVEA_OK;
}

fovea_status fovea_attend(const fovea_problem *problem, const fovea_tensors *tensors,
                          const fovea_execution *execution, fovea_error *error) {
  enum { ENTRIES_ON_STACK = 32 };
  const fovea_kernels *kernels;
  fovea_plan *allocated, plan;
  fovea_entry entries[ENTRIES_ON_STACK];
  fovea_status status = fovea_plan_check(problem, &kernels, error);
  if (status) return status;
  if (problem->batch <= ENTRIES_ON_STACK) {
    fovea_plan_fill(&plan, entries, problem, kernels);
    return fovea_plan_run(&plan, tensors, execution, error);
  }
  status = fovea_plan_build(problem, kernels, &allocated, error);
  if (status) return status;
  status = fovea_plan_run(allocated, tensors, execution, error);
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

/* Differential attention: two attentions into scratch, then their difference, normalised. */
#include "differential.h"

#include "../../src/base/error.h"
#include "../../src/base/memory.h"
#include "../../src/base/types.h"
#include "../../src/base/validate.h"
#include "../layer_scratch.h"
#include "../row_job.h"

/* Where the parts of scratch begin. */
typedef struct layout {
  size_t plan, bound, run, o[2];
  size_t run_size;
  fovea_nn_scratch all;
} layout;

static uint64_t output_bytes(const fovea_nn_differential_call *call) {
  const fovea_problem *p = &call->problem;
  return fovea_nn_product(fovea_nn_bytes(call->batch, p->heads, p->q_len), (uint64_t)p->v_dim);
}

/* The sizes of a plan's run and its scratch. */
static fovea_status measure_plan(const fovea_nn_differential_call *call, const fovea_problem *problem, int workers,
                                 size_t *bound, size_t *scratch, fovea_error *error) {
  const fovea_execution *e = &call->execution;
  const size_t bytes = fovea_plan_size(problem->batch);
  fovea_plan *plan;
  fovea_status status = FOVEA_OK;
  if (e->scratch) status = fovea_validate_scratch(e->scratch, e->scratch_size, bytes, error);
  if (status) return status;
  status = e->scratch ? fovea_plan_create_in(problem, e->scratch, bytes, &plan, error)
                      : fovea_plan_create(problem, &plan, error);
  if (status) return status;
  const size_t size = fovea_plan_scratch_size(plan, workers), run = fovea_run_size(plan);
  if (size > *scratch) *scratch = size;
  if (run > *bound) *bound = run;
  fovea_plan_destroy(plan);
  return FOVEA_OK;
}

static fovea_status measure(const fovea_nn_differential_call *call, int workers, layout *l, fovea_error *error) {
  size_t bound = 0;
  *l = (layout){.run_size = 0};
  fovea_status status = measure_plan(call, &call->problem, workers, &bound, &l->run_size, error);
  if (!status) status = measure_plan(call, &call->inner, workers, &bound, &l->run_size, error);
  if (status) return status;
  l->plan = fovea_nn_reserve(&l->all, fovea_plan_size(call->problem.batch));
  l->bound = fovea_nn_reserve(&l->all, bound);
  l->run = fovea_nn_reserve(&l->all, l->run_size);
  l->o[0] = fovea_nn_reserve(&l->all, output_bytes(call));
  l->o[1] = fovea_nn_reserve(&l->all, output_bytes(call));
  return FOVEA_OK;
}

/* Binds both attentions as if each wrote the caller's O, which checks all tensors and their memory. */
static fovea_status check_runs(const fovea_nn_differential_call *call, const layout *l, char *memory, int workers,
                               fovea_error *error) {
  fovea_plan *plan;
  fovea_run *run;
  fovea_tensors second = call->second;
  fovea_status status = fovea_plan_create_in(&call->problem, memory + l->plan, l->bound - l->plan, &plan, error);
  second.o = call->first.o;
  if (!status) {
    status = fovea_run_bind(plan, &call->first, workers, memory + l->run, l->o[0] - l->run, memory + l->bound,
                            l->run - l->bound, &run, error);
  }
  if (status) return status;
  return fovea_run_bind(plan, &second, workers, memory + l->run, l->o[0] - l->run, memory + l->bound,
                        l->run - l->bound, &run, error);
}

typedef struct difference {
  const fovea_nn_differential_call *call;
  const float *o[2];
} difference;

/* Rows count over entries and heads, without those that no entry owns; a call has rows of one head. */
static void write_rows(const void *data, int64_t first, int64_t count) {
  const difference *difference = data;
  const fovea_nn_differential_call *call = difference->call;
  const fovea_problem *p = &call->problem;
  const int64_t head_rows = call->row_end - call->row_begin;
  for (int64_t end = first + count, rows = 0; first < end; first += rows) {
    const int64_t head = first / head_rows, row = call->row_begin + first % head_rows;
    const int64_t rest = call->row_end - row, from = (head * p->q_len + row) * p->v_dim;
    const int64_t to = head / p->heads * p->o_strides.batch + head % p->heads * p->o_strides.head;
    rows = rest < end - first ? rest : end - first;
    const fovea_nn_differ_args args = {
        .first = difference->o[0] + from,
        .second = difference->o[1] + from,
        .rows = rows,
        .dim = p->v_dim,
        .lambda = call->lambda,
        .eps = call->eps,
        .factor = call->factor,
        .gamma = call->differential.gamma,
        .y = {fovea_output_element(call->first.o, p->o_type, to + row * p->o_strides.row), p->o_type,
              p->o_strides.row}};
    call->kernels->differ(&args);
  }
}

/* In memory that is large enough. */
static fovea_status run(const fovea_nn_differential_call *call, const layout *l, char *memory, int workers,
                        fovea_error *error) {
  const fovea_problem *p = &call->problem;
  const fovea_execution rows = fovea_nn_without_scratch(&call->execution);
  const difference difference = {call, {(float *)(void *)(memory + l->o[0]), (float *)(void *)(memory + l->o[1])}};
  fovea_execution execution = call->execution;
  fovea_plan *plan;
  fovea_status status = check_runs(call, l, memory, workers, error);
  if (!status) {
    status = fovea_plan_create_in(&call->inner, memory + l->plan, l->bound - l->plan, &plan, error);
  }
  execution.scratch = memory + l->run;
  execution.scratch_size = l->o[0] - l->run;
  for (int i = 0; i < 2 && !status; i++) {
    fovea_tensors tensors = i ? call->second : call->first;
    tensors.o = memory + l->o[i];
    status = fovea_plan_run(plan, &tensors, &execution, error);
  }
  if (status) return status;
  const fovea_nn_row_job job = {call->batch * p->heads * (call->row_end - call->row_begin), p->v_dim, 8,
                                &difference, write_rows};
  fovea_nn_run_rows(&job, &rows);
  return FOVEA_OK;
}

fovea_status fovea_nn_differential_run(const fovea_nn_differential *differential, const fovea_problem *problem,
                                       const fovea_tensors *first, const fovea_tensors *second,
                                       const fovea_execution *execution, fovea_error *error) {
  fovea_nn_differential_call call;
  layout l;
  char *memory;
  void *allocated;
  if (!first || !second) return fovea_fail(error, FOVEA_ERROR_NULL, "%s is NULL", first ? "second" : "first");
  fovea_status status = fovea_nn_check_differential(differential, problem, first, second, execution, &call, error);
  const int workers = status ? 1 : fovea_nn_workers(&call.execution);
  if (!status) status = measure(&call, workers, &l, error);
  if (status) return status;
  status = fovea_nn_obtain(&l.all, &call.execution, &call.problem.allocator, &memory, &allocated, error);
  if (!status) status = run(&call, &l, memory, workers, error);
  fovea_release(&call.problem.allocator, allocated);
  return status;
}

size_t fovea_nn_differential_scratch_size(const fovea_nn_differential *differential, const fovea_problem *problem,
                                          int workers) {
  fovea_nn_differential_call call;
  layout l;
  if (fovea_nn_check_differential(differential, problem, NULL, NULL, NULL, &call, NULL) != FOVEA_OK) return 0;
  if (measure(&call, workers > 0 ? workers : fovea_default_threads(), &l, NULL) != FOVEA_OK) return 0;
  return l.all.saturated ? SIZE_MAX : l.all.size;
}

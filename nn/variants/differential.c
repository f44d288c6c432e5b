/* Differential attention: two attentions into scratch, then their difference, normalised. */
#include "differential.h"

#include "../../src/base/error.h"
#include "../../src/base/types.h"
#include "../../src/base/validate.h"
#include "../call_plan.h"
#include "../row_job.h"

/* Where the parts of scratch begin. */
typedef struct layout {
  size_t bound, run, o[2];
  fovea_nn_scratch all;
} layout;

static uint64_t output_bytes(const fovea_nn_differential_call *call) {
  const fovea_problem *p = &call->problem;
  return fovea_nn_product(fovea_nn_bytes(call->batch, p->heads, p->q_len), (uint64_t)p->v_dim);
}

/* The plans of a call: as if each attention wrote the caller's O, and of the attentions that are run. */
typedef struct both_plans {
  fovea_nn_plan_memory memory;
  fovea_nn_plan plans;
  const fovea_plan *given, *inner;
} both_plans;

static fovea_status make_plans(const fovea_nn_differential_call *call, both_plans *plans, fovea_error *error) {
  *plans = (both_plans){.memory = fovea_nn_plan_memory_of(&call->execution)};
  plans->plans.memory = &plans->memory;
  const fovea_status status = fovea_nn_find_plan(&plans->plans, &call->problem, 0, &plans->given, error);
  return status ? status : fovea_nn_find_plan(&plans->plans, &call->inner, 1, &plans->inner, error);
}

static size_t larger(size_t a, size_t b) {
  return a > b ? a : b;
}

static layout lay_out(const fovea_nn_differential_call *call, const both_plans *plans, int workers) {
  const fovea_plan *given = plans->given, *inner = plans->inner;
  layout l = {.bound = 0};
  l.bound = fovea_nn_reserve(&l.all, larger(fovea_run_size(given), fovea_run_size(inner)));
  l.run = fovea_nn_reserve(
      &l.all, larger(fovea_plan_scratch_size(given, workers), fovea_plan_scratch_size(inner, workers)));
  l.o[0] = fovea_nn_reserve(&l.all, output_bytes(call));
  l.o[1] = fovea_nn_reserve(&l.all, output_bytes(call));
  return l;
}

/* Binds both attentions as if each wrote the caller's O, which checks all tensors and their memory. */
static fovea_status check_runs(const fovea_nn_differential_call *call, const layout *l, const fovea_plan *plan,
                               char *memory, int workers, fovea_error *error) {
  fovea_run *run;
  fovea_tensors second = call->second;
  second.o = call->first.o;
  const fovea_status status = fovea_run_bind(plan, &call->first, workers, memory + l->run, l->o[0] - l->run,
                                             memory + l->bound, l->run - l->bound, &run, error);
  if (status) return status;
  return fovea_run_bind(plan, &second, workers, memory + l->run, l->o[0] - l->run, memory + l->bound,
                        l->run - l->bound, &run, error);
}

typedef struct difference {
  const fovea_nn_differential_call *call;
  const float *o[2];
} difference;

/* Rows count over batch elements and heads, without rows that no sequence owns; a call has rows of one head. */
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
static fovea_status run(const fovea_nn_differential_call *call, const layout *l, const both_plans *plans,
                        char *memory, int workers, fovea_error *error) {
  const fovea_problem *p = &call->problem;
  const fovea_execution rows = fovea_nn_without_scratch(&call->execution);
  const difference difference = {call, {(float *)(void *)(memory + l->o[0]), (float *)(void *)(memory + l->o[1])}};
  fovea_execution execution = call->execution;
  fovea_status status = check_runs(call, l, plans->given, memory, workers, error);
  execution.scratch = memory + l->run;
  execution.scratch_size = l->o[0] - l->run;
  for (int i = 0; i < 2 && !status; i++) {
    fovea_tensors tensors = i ? call->second : call->first;
    tensors.o = memory + l->o[i];
    status = fovea_plan_run(plans->inner, &tensors, &execution, error);
  }
  if (status) return status;
  const fovea_nn_row_job job = {call->batch * p->heads * (call->row_end - call->row_begin), p->v_dim, 8,
                                &difference, write_rows};
  fovea_nn_run_rows(&job, &rows);
  return FOVEA_OK;
}

typedef struct differential_run {
  fovea_nn_differential_call *call;
  const layout *layout;
  const both_plans *plans;
  int workers; /* that have memory */
} differential_run;

static fovea_status run_steps(void *data, char *memory, const fovea_execution *execution, fovea_error *error) {
  const differential_run *r = data;
  r->call->execution = *execution;
  return run(r->call, r->layout, r->plans, memory, r->workers, error);
}

/* In scratch after the plans, or in memory that is allocated. */
static fovea_status run_in_memory(fovea_nn_differential_call *call, const both_plans *plans, fovea_error *error) {
  const fovea_problem *p = &call->problem;
  const double pairs = (double)p->batch * (double)p->heads * (double)p->q_len * (double)p->kv_len;
  layout l = lay_out(call, plans, fovea_nn_workers(&call->execution));
  differential_run r = {call, &l, plans, fovea_nn_workers(&call->execution)};
  l.all.before = fovea_nn_plans_end(&plans->memory);
  return fovea_nn_run_steps(run_steps, &r, &l.all, 2 * pairs * (double)(p->qk_dim + p->v_dim), &call->execution,
                            error);
}

fovea_status fovea_nn_differential_run(const fovea_nn_differential *differential, const fovea_problem *problem,
                                       const fovea_tensors *first, const fovea_tensors *second,
                                       const fovea_execution *execution, fovea_error *error) {
  fovea_nn_differential_call call;
  both_plans plans;
  if (!first || !second) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is NULL", first ? "second" : "first");
  fovea_status status = fovea_nn_check_differential(differential, problem, first, second, execution, &call, error);
  if (status) return status;
  status = make_plans(&call, &plans, error);
  if (!status) status = run_in_memory(&call, &plans, error);
  fovea_nn_release_plan(&plans.plans);
  return status;
}

fovea_status fovea_nn_differential_scratch_size(const fovea_nn_differential *differential,
                                                const fovea_problem *problem, const fovea_execution *execution,
                                                size_t *size, fovea_error *error) {
  fovea_nn_differential_call call;
  both_plans plans;
  fovea_execution measured;
  fovea_status status = fovea_nn_begin_measure(execution, &measured, size, error);
  if (!status) status = fovea_nn_check_differential(differential, problem, NULL, NULL, &measured, &call, error);
  if (status) return status;
  status = make_plans(&call, &plans, error);
  if (!status) {
    const layout l = lay_out(&call, &plans, fovea_nn_workers(&measured));
    *size = fovea_nn_scratch_size(&plans.memory, &l.all);
  }
  fovea_nn_release_plan(&plans.plans);
  return status;
}

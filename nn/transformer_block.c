/* Encoder and decoder layers, composed of single calls over three buffers in scratch. */
#include "transformer_block.h"
#include "../src/base/caller.h"
#include "../src/base/error.h"
#include "../src/base/validate.h"
#include "attention.h"
#include "choose_table.h"
#include "defaults.h"
#include "layer_scratch.h"
#include "linear.h"
#include "scores.h"
#include "tasks.h"

/* A call that was checked, with its buffers. */
typedef struct block_call {
  fovea_nn_block block;
  fovea_nn_attending self, cross;
  fovea_problem problem; /* the problem of self, complete */
  fovea_execution execution;
  fovea_nn_plans *plans;
  int64_t rows, dim, width; /* of x; outputs of `up` */
  float *sums, *normed;     /* (rows, dim) */
  float *hidden, *gates;    /* (rows, width) */
  void *attention;          /* scratch */
  size_t attention_size;
  fovea_nn_scratch all; /* where the buffers begin in it */
  size_t sums_begin, normed_begin, hidden_begin, gates_begin;
} block_call;

fovea_status fovea_nn_count_rows(const fovea_problem *given, fovea_problem *problem, int64_t *rows,
                                 fovea_error *error) {
  fovea_status status = fovea_read_problem(given, problem, error);
  if (!status) status = fovea_nn_check_sizes(problem, error);
  if (!status) *rows = problem->cu_seqlens_q ? problem->q_len : problem->batch * problem->q_len;
  return status;
}

static fovea_status read_call(const fovea_nn_block *block, const fovea_nn_attending *self,
                              const fovea_nn_attending *cross, const fovea_execution *execution, block_call *call,
                              fovea_error *error) {
  fovea_status status = fovea_nn_read_block(block, &call->block, error);
  if (!status) status = fovea_read_execution(execution, &call->execution, error);
  if (!status) status = fovea_nn_check_block(&call->block, self, cross, error);
  if (status) return status;
  status = fovea_nn_count_rows(self->problem, &call->problem, &call->rows, error);
  if (status) return fovea_fail_within("self", status, error);
  call->self = *self;
  call->dim = call->block.self->query->in;
  call->width = call->block.up->out;
  if (!cross) return FOVEA_OK;
  fovea_problem problem;
  int64_t rows;
  call->cross = *cross;
  status = fovea_nn_count_rows(cross->problem, &problem, &rows, error);
  if (status || rows == call->rows) return fovea_fail_within("cross", status, error);
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "cross.problem has %jd rows; self.problem has %jd", rows,
                    call->rows);
}

static fovea_status normalise(const block_call *call, const fovea_nn_norm *norm, const float *from, float *to,
                              fovea_error *error) {
  const fovea_execution execution = fovea_nn_without_scratch(&call->execution);
  fovea_nn_norm_rows rows;
  fovea_nn_norm_rows_init(&rows, norm, call->rows, from, to);
  return fovea_nn_norm_run(norm, &rows, &execution, error);
}

/* Names the attention in an error that it gives. */
static fovea_status fail_within(int crossing, fovea_status status, fovea_error *error) {
  return fovea_fail_within(crossing ? "cross" : "self", status, error);
}

static fovea_status attend_or_check(const block_call *call, int crossing, const float *from, const float *residual,
                                    float *to, int only_checked, fovea_error *error) {
  const fovea_nn_attending *attending = crossing ? &call->cross : &call->self;
  fovea_nn_attention_tensors tensors;
  fovea_execution execution = call->execution;
  fovea_status status = fovea_nn_read_attention_tensors(attending->tensors, &tensors, error);
  if (status) return status;
  tensors.x = from;
  tensors.y = to;
  tensors.residual = residual;
  execution.scratch = call->attention;
  execution.scratch_size = call->attention_size;
  status =
      fovea_nn_run_attention(crossing ? call->block.cross : call->block.self, attending->problem, &tensors,
                             &execution, crossing ? &call->plans->cross : &call->plans->self, only_checked, error);
  return fail_within(crossing, status, error);
}

static fovea_status attend(const block_call *call, int crossing, const float *from, const float *residual,
                           float *to, fovea_error *error) {
  return attend_or_check(call, crossing, from, residual, to, 0, error);
}

static fovea_status multiply(const block_call *call, const fovea_nn_linear *linear, const float *from,
                             const float *gate, const float *residual, float *to, fovea_error *error) {
  /* No attention runs meanwhile. */
  const fovea_execution execution = fovea_nn_with_scratch(&call->execution, call->attention, call->attention_size);
  fovea_nn_linear_rows rows;
  fovea_nn_linear_rows_init(&rows, linear, call->rows, from, to);
  rows.gate = gate;
  rows.residual = residual;
  return fovea_nn_multiply(linear, &rows, &execution, error);
}

static fovea_status feed(const block_call *call, const float *from, const float *residual, float *to,
                         fovea_error *error) {
  const fovea_nn_block *b = &call->block;
  fovea_status status = FOVEA_OK;
  if (b->gate) status = multiply(call, b->gate, from, NULL, NULL, call->gates, error);
  if (!status) status = multiply(call, b->up, from, b->gate ? call->gates : NULL, NULL, call->hidden, error);
  return status ? status : multiply(call, b->down, call->hidden, NULL, residual, to, error);
}

static fovea_status run_post_norm(const block_call *call, const float *x, float *y, fovea_error *error) {
  const fovea_nn_block *b = &call->block;
  fovea_status status = attend(call, 0, x, x, call->sums, error);
  if (!status) status = normalise(call, b->self_norm, call->sums, call->normed, error);
  if (!status && b->cross) status = attend(call, 1, call->normed, call->normed, call->sums, error);
  if (!status && b->cross) status = normalise(call, b->cross_norm, call->sums, call->normed, error);
  if (!status) status = feed(call, call->normed, call->normed, call->sums, error);
  return status ? status : normalise(call, b->feed_norm, call->sums, y, error);
}

static fovea_status run_pre_norm(const block_call *call, const float *x, float *y, fovea_error *error) {
  const fovea_nn_block *b = &call->block;
  fovea_status status = normalise(call, b->self_norm, x, call->normed, error);
  if (!status) status = attend(call, 0, call->normed, x, call->sums, error);
  if (!status && b->cross) status = normalise(call, b->cross_norm, call->sums, call->normed, error);
  if (!status && b->cross) status = attend(call, 1, call->normed, call->sums, call->sums, error);
  if (!status) status = normalise(call, b->feed_norm, call->sums, call->normed, error);
  return status ? status : feed(call, call->normed, call->sums, y, error);
}

/* Reserves (rows, dim) numbers. */
static size_t reserve_rows(const block_call *call, int64_t dim, fovea_nn_scratch *all) {
  return fovea_nn_reserve(all, fovea_nn_bytes(call->rows, dim, 1));
}

static fovea_status measure_attention(const block_call *call, int crossing, int workers, fovea_nn_scratch *all,
                                      fovea_error *error) {
  const fovea_nn_attending *attending = crossing ? &call->cross : &call->self;
  const fovea_status status = fovea_nn_measure_attention(
      crossing ? call->block.cross : call->block.self, attending->problem, attending->tensors->rows_first, workers,
      crossing ? &call->plans->cross : &call->plans->self, all, error);
  return fail_within(crossing, status, error);
}

/* The bytes of scratch that the largest of the linear layers uses. */
static uint64_t bytes_of_layers(const block_call *call) {
  const fovea_nn_block *b = &call->block;
  const fovea_nn_layer_use layers[] = {{b->up, call->rows}, {b->down, call->rows}, {b->gate, call->rows}};
  return fovea_nn_layers_bytes(layers, 3, call->plans->self.memory->execution);
}

/* Lays out scratch, of which both attentions and the linear layers use the first part. */
static fovea_status lay_out(block_call *call, int workers, fovea_error *error) {
  fovea_nn_scratch self, cross = {0};
  fovea_status status = measure_attention(call, 0, workers, &self, error);
  if (!status && call->block.cross) status = measure_attention(call, 1, workers, &cross, error);
  if (status) return status;
  call->all = (fovea_nn_scratch){0};
  fovea_nn_reserve_for_either(&call->all, fovea_nn_size_of(self.size > cross.size ? &self : &cross),
                              bytes_of_layers(call));
  call->all.saturated |= self.saturated | cross.saturated;
  call->attention_size = call->all.size;
  call->sums_begin = reserve_rows(call, call->dim, &call->all);
  call->normed_begin = reserve_rows(call, call->dim, &call->all);
  call->hidden_begin = reserve_rows(call, call->width, &call->all);
  call->gates_begin = call->hidden_begin;
  if (call->block.gate) call->gates_begin = reserve_rows(call, call->width, &call->all);
  return FOVEA_OK;
}

/* Checks masks, segments and numbers of both attentions, before the first of them changes a cache. */
static fovea_status check_attentions(const block_call *call, const float *x, fovea_error *error) {
  const fovea_status status = attend_or_check(call, 0, x, x, call->sums, 1, error);
  if (status || !call->block.cross) return status;
  return attend_or_check(call, 1, call->normed, call->normed, call->sums, 1, error);
}

static fovea_status run(block_call *call, char *memory, const float *x, float *y, fovea_nn_block_part part,
                        fovea_error *error) {
  call->attention = memory;
  call->sums = (float *)(void *)(memory + call->sums_begin);
  call->normed = (float *)(void *)(memory + call->normed_begin);
  call->hidden = (float *)(void *)(memory + call->hidden_begin);
  call->gates = (float *)(void *)(memory + call->gates_begin);
  /* Self-attention alone makes these checks before it writes. */
  if (part == FOVEA_NN_BLOCK_CHECKS || (part == FOVEA_NN_BLOCK_WHOLE && call->block.cross)) {
    const fovea_status status = check_attentions(call, x, error);
    if (status || part == FOVEA_NN_BLOCK_CHECKS) return status;
  }
  return call->block.norm_first ? run_pre_norm(call, x, y, error) : run_post_norm(call, x, y, error);
}

/* Checks all that the steps check, before the first of them changes a cache. */
static fovea_status check_steps(const block_call *call, const float *x, float *y, fovea_error *error) {
  const int64_t rows = call->rows, dim = call->dim;
  const fovea_nn_around around = {.x = {"x", x, FOVEA_F32, rows, dim, dim},
                                  .y = {"y", y, FOVEA_F32, rows, dim, dim},
                                  .scratch =
                                      fovea_nn_scratch_of(call->execution.scratch, call->execution.scratch_size)};
  fovea_nn_output outputs[2][FOVEA_NN_OUTPUT_COUNT];
  fovea_status status = fovea_nn_check_matrix(&around.x, 0, error);
  if (!status) status = fovea_nn_check_matrix(&around.y, 1, error);
  if (status) return status;
  return fovea_nn_check_attentions(&call->block, &call->self, call->block.cross ? &call->cross : NULL, &around,
                                   outputs, error);
}

typedef struct block_run {
  block_call *call;
  const float *x;
  float *y;
  fovea_nn_block_part part;
} block_run;

static fovea_status run_steps(void *data, char *memory, const fovea_execution *execution, fovea_error *error) {
  const block_run *r = data;
  r->call->execution = *execution;
  return run(r->call, memory, r->x, r->y, r->part, error);
}

/* Multiply-adds of its linear layers, if those of attention have `dim` outputs. */
static double work_of(const block_call *call) {
  return (double)call->rows * (double)call->dim * (4.0 * (double)call->dim + 2.0 * (double)call->width);
}

/* In scratch after the plans of the layer itself, or in memory that is allocated. */
static fovea_status run_in_memory(block_call *call, const float *x, float *y, fovea_nn_block_part part,
                                  const fovea_nn_plan_memory *own_plans, fovea_error *error) {
  block_run r = {call, x, y, part};
  fovea_status status = lay_out(call, fovea_nn_workers(&call->execution), error);
  if (!status && part == FOVEA_NN_BLOCK_WHOLE) status = check_steps(call, x, y, error);
  if (status) return status;
  if (own_plans) call->all.before = fovea_nn_plans_end(own_plans);
  return fovea_nn_run_steps(run_steps, &r, &call->all, work_of(call), &call->execution, error);
}

fovea_status fovea_nn_run_block(const fovea_nn_block *block, const fovea_nn_attending *self,
                                const fovea_nn_attending *cross, const float *x, float *y, fovea_nn_block_part part,
                                const fovea_execution *execution, fovea_nn_plans *plans, fovea_error *error) {
  block_call call = {.plans = plans};
  const fovea_status status = read_call(block, self, cross, execution, &call, error);
  return status ? status : run_in_memory(&call, x, y, part, NULL, error);
}

fovea_status fovea_nn_block_run(const fovea_nn_block *block, const fovea_nn_attending *self,
                                const fovea_nn_attending *cross, const float *x, float *y,
                                const fovea_execution *execution, fovea_error *error) {
  block_call call = {.rows = 0};
  fovea_status status = fovea_nn_read_execution(execution, &call.execution, error);
  if (!status) status = read_call(block, self, cross, execution, &call, error);
  if (status) return status;
  fovea_nn_plan_memory memory = fovea_nn_plan_memory_of(&call.execution);
  fovea_nn_plans plans = fovea_nn_plans_in(&memory);
  call.plans = &plans;
  status = run_in_memory(&call, x, y, FOVEA_NN_BLOCK_WHOLE, &memory, error);
  fovea_nn_release_plans(&plans);
  return status;
}

fovea_status fovea_nn_measure_block(const fovea_nn_block *block, const fovea_nn_attending *self,
                                    const fovea_nn_attending *cross, int workers, fovea_nn_plans *plans,
                                    fovea_nn_scratch *all, fovea_error *error) {
  block_call call = {.plans = plans};
  fovea_status status = read_call(block, self, cross, NULL, &call, error);
  if (!status) status = lay_out(&call, workers, error);
  if (!status) *all = call.all;
  return status;
}

fovea_status fovea_nn_block_scratch_size(const fovea_nn_block *block, const fovea_nn_attending *self,
                                         const fovea_nn_attending *cross, const fovea_execution *execution,
                                         size_t *size, fovea_error *error) {
  fovea_execution measured;
  fovea_nn_scratch all;
  fovea_status status = fovea_nn_begin_measure(execution, &measured, size, error);
  if (status) return status;
  fovea_nn_plan_memory memory = fovea_nn_plan_memory_of(&measured);
  fovea_nn_plans plans = fovea_nn_plans_in(&memory);
  status = fovea_nn_measure_block(block, self, cross, fovea_nn_workers(&measured), &plans, &all, error);
  if (!status) *size = fovea_nn_scratch_size(&memory, &all);
  fovea_nn_release_plans(&plans);
  return status;
}

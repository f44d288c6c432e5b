/* Linformer: keys and values are summed up along the length, span by span, the spans' sums as a tree; then
 * attention over the sums. */
#include "linformer.h"

#include "../../arch/float_state.h"
#include "../../src/base/error.h"
#include "../../src/base/types.h"
#include "../../src/base/validate.h"
#include "../call_plan.h"
#include "../tasks.h"

#include <fovea/state.h>

/* Heads that take a block of E while it is in the second-level cache. */
enum { GROUP_HEADS = 4 };

/* Where the parts of scratch begin. */
typedef struct layout {
  size_t run, sums[2], workers, worker_keys;
  size_t run_size, worker_size;
  fovea_nn_scratch all;
} layout;

/* The sums of K and V, in scratch. */
typedef struct projection {
  const fovea_nn_linformer_call *call;
  float *sums[2]; /* [span][batch][kv head][k][dim]: after the last phase the sums of span 0 are over all keys */
  char *workers;
  const layout *layout;
  int64_t heads, groups; /* of all batch elements */
} projection;

/* The bytes of the sums of one span. */
static uint64_t sum_bytes(const fovea_nn_linformer_call *call, int side) {
  const fovea_problem *p = &call->problem;
  return fovea_nn_product(fovea_nn_bytes(p->batch, p->kv_heads, call->linformer.k), (uint64_t)call->dims[side]);
}

/* What a worker converts to f32: a block of E, and a block of K or V. */
static fovea_nn_scratch worker_parts(const fovea_nn_linformer_call *call, size_t *keys) {
  const int64_t dim = call->dims[0] > call->dims[1] ? call->dims[0] : call->dims[1];
  const int halves = call->problem.k_type != FOVEA_F32 || call->problem.v_type != FOVEA_F32;
  const int64_t columns = call->linformer.type == FOVEA_F32 ? 0 : call->projected;
  fovea_nn_scratch parts = {0};
  fovea_nn_reserve(&parts, fovea_nn_bytes(FOVEA_BLOCK_KEYS, columns, 1));
  *keys = fovea_nn_reserve(&parts, fovea_nn_bytes(FOVEA_BLOCK_KEYS, halves ? dim : 0, 1));
  return parts;
}

static layout lay_out(const fovea_nn_linformer_call *call, const fovea_plan *plan, int workers) {
  layout l = {.run_size = fovea_plan_scratch_size(plan, workers)};
  const fovea_nn_scratch worker = worker_parts(call, &l.worker_keys);
  l.worker_size = worker.size;
  l.run = fovea_nn_reserve(&l.all, l.run_size);
  for (int side = 0; side < 2; side++) {
    l.sums[side] = fovea_nn_reserve(&l.all, fovea_nn_product(sum_bytes(call, side), (uint64_t)call->spans));
  }
  l.workers = fovea_nn_reserve(&l.all, fovea_nn_product(worker.size, (uint64_t)workers));
  l.all.saturated |= worker.saturated;
  return l;
}

static int64_t length_of(const fovea_problem *p, int64_t entry) {
  return p->kv_lens ? p->kv_lens[entry] : p->kv_len;
}

static float *sums_of(const projection *p, int side, int64_t span, int64_t head) {
  const int64_t numbers = p->call->linformer.k * p->call->dims[side];
  return p->sums[side] + (span * p->heads + head) * numbers;
}

/* A block of E or F, as f32: the caller's, or converted. */
static const float *take_weights(const projection *p, int side, int64_t head, int64_t first, int positions,
                                 float *room, int64_t *stride) {
  const fovea_nn_linformer *l = &p->call->linformer;
  const void *all = side && l->value_projection ? l->value_projection : l->key_projection;
  const void *from = fovea_element(all, l->type, head * l->projection_head + first * l->projection_row);
  const fovea_widen_args args = {from, l->type, l->projection_row, positions, l->k, room, p->call->projected};
  *stride = l->projection_row;
  if (l->type == FOVEA_F32) return from;
  p->call->kernels->widen(&args);
  *stride = p->call->projected;
  return room;
}

/* A block of K or V, as f32: the caller's, or converted. */
static const float *take_rows(const projection *p, int side, int64_t entry, int64_t head, int64_t first,
                              int positions, float *room, int64_t *stride) {
  const fovea_problem *problem = &p->call->problem;
  const fovea_strides *s = side ? &problem->v_strides : &problem->k_strides;
  const fovea_type type = side ? problem->v_type : problem->k_type;
  const void *all = side ? p->call->tensors.v : p->call->tensors.k;
  const int64_t dim = side ? problem->v_dim : problem->qk_dim;
  const void *from = fovea_element(all, type, entry * s->batch + head * s->head + first * s->row);
  const fovea_widen_args args = {from, type, s->row, positions, dim, room, p->call->dims[side]};
  *stride = s->row;
  if (type == FOVEA_F32) return from;
  p->call->kernels->widen(&args);
  *stride = p->call->dims[side];
  return room;
}

/* One block of positions of one head. */
static void add_block(const projection *p, int side, int64_t span, int64_t head, int64_t first, int begun,
                      const float *weights, int64_t weight_stride, float *room) {
  const fovea_problem *problem = &p->call->problem;
  const int64_t entry = head / problem->kv_heads, rest = length_of(problem, entry) - first;
  if (rest <= 0) return;
  fovea_nn_outer_args args = {.left = weights,
                              .left_stride = weight_stride,
                              .positions = (int)(rest < FOVEA_BLOCK_KEYS ? rest : FOVEA_BLOCK_KEYS),
                              .left_count = (int)p->call->linformer.k,
                              .right_count = (int)(side ? problem->v_dim : problem->qk_dim),
                              .begun = begun,
                              .sums = sums_of(p, side, span, head),
                              .sum_stride = p->call->dims[side]};
  args.right = take_rows(p, side, entry, head % problem->kv_heads, first, args.positions, room, &args.right_stride);
  p->call->kernels->outer(&args);
}

/* A span of some heads. A block of E that all heads share is read, and converted, once for them. */
static void sum_span(const void *data, int64_t task, int worker) {
  const projection *p = data;
  const fovea_problem *problem = &p->call->problem;
  const int64_t per_head = p->call->linformer.projection_head != 0;
  const int64_t span = task / (2 * p->groups), group = task % p->groups;
  const int side = (int)(task / p->groups % 2);
  const int64_t end = (group + 1) * GROUP_HEADS < p->heads ? (group + 1) * GROUP_HEADS : p->heads;
  char *memory = p->workers + (size_t)worker * p->layout->worker_size;
  float *weight_room = (float *)(void *)memory, *room = (float *)(void *)(memory + p->layout->worker_keys);
  const int64_t span_begin = span * FOVEA_SPAN_KEYS, span_rest = problem->kv_len - span_begin;
  const int64_t span_end = span_begin + (span_rest < FOVEA_SPAN_KEYS ? span_rest : FOVEA_SPAN_KEYS);
  const fovea_float_state caller = fovea_float_begin();
  for (int64_t first = span_begin; first < span_end; first += FOVEA_BLOCK_KEYS) {
    const int64_t rest = problem->kv_len - first;
    const int positions = (int)(rest < FOVEA_BLOCK_KEYS ? rest : FOVEA_BLOCK_KEYS);
    const float *weights = NULL;
    int64_t stride = 0;
    for (int64_t head = group * GROUP_HEADS; head < end; head++) {
      if (!weights || per_head) {
        weights = take_weights(p, side, head % problem->kv_heads, first, positions, weight_room, &stride);
      }
      add_block(p, side, span, head, first, first > span_begin, weights, stride, room);
    }
  }
  fovea_float_end(caller);
}

/* The sums of one head: its spans merge as a binary tree, each node where its first span was. Without keys they are
 * zeros. */
static void merge_spans(const void *data, int64_t task, int worker) {
  const projection *p = data;
  const int64_t head = task / 2, keys = length_of(&p->call->problem, head / p->call->problem.kv_heads);
  const int64_t spans = (keys + FOVEA_SPAN_KEYS - 1) / FOVEA_SPAN_KEYS;
  const int side = (int)(task % 2);
  const int64_t numbers = p->call->linformer.k * p->call->dims[side];
  float *all = sums_of(p, side, 0, head);
  const fovea_float_state caller = fovea_float_begin();
  (void)worker;
  for (int64_t i = 0; spans == 0 && i < numbers; i++) all[i] = 0.0f;
  for (int64_t size = 1; size < spans; size *= 2) {
    for (int64_t left = 0; left + size < spans; left += 2 * size) {
      float *to = sums_of(p, side, left, head);
      const float *from = sums_of(p, side, left + size, head);
      for (int64_t i = 0; i < numbers; i++) to[i] += from[i];
    }
  }
  fovea_float_end(caller);
}

/* Multiply-adds of the sums. */
static double work_of(const fovea_nn_linformer_call *call) {
  const fovea_problem *p = &call->problem;
  const double rows = (double)p->batch * (double)p->kv_heads * (double)p->kv_len;
  return rows * (double)call->linformer.k * (double)(p->qk_dim + p->v_dim);
}

static void project(const projection *p, const fovea_execution *execution, int workers) {
  const fovea_problem *problem = &p->call->problem;
  const int64_t tasks = problem->kv_len > 0 ? 2 * p->call->spans * p->groups : 0;
  const int count = fovea_nn_workers_for(tasks, work_of(p->call), workers, execution);
  (void)fovea_tasks_run(sum_span, p, tasks, count, execution, NULL);
  (void)fovea_tasks_run(merge_spans, p, 2 * p->heads, count, execution, NULL);
}

/* In memory that is large enough. */
static fovea_status run(const fovea_nn_linformer_call *call, const layout *l, const fovea_plan *plan, char *memory,
                        int workers, fovea_error *error) {
  const fovea_execution rows = fovea_nn_without_scratch(&call->execution);
  const int64_t heads = call->problem.batch * call->problem.kv_heads;
  const projection p = {.call = call,
                        .sums = {(float *)(void *)(memory + l->sums[0]), (float *)(void *)(memory + l->sums[1])},
                        .workers = memory + l->workers,
                        .layout = l,
                        .heads = heads,
                        .groups = (heads + GROUP_HEADS - 1) / GROUP_HEADS};
  fovea_execution execution = call->execution;
  fovea_tensors tensors = call->tensors;
  project(&p, &rows, workers);
  execution.scratch = memory + l->run;
  execution.scratch_size = l->run_size;
  tensors.k = p.sums[0];
  tensors.v = p.sums[1];
  return fovea_plan_run(plan, &tensors, &execution, error);
}

typedef struct linformer_run {
  fovea_nn_linformer_call *call;
  const layout *layout;
  const fovea_plan *plan;
  int workers; /* that have memory */
} linformer_run;

static fovea_status run_steps(void *data, char *memory, const fovea_execution *execution, fovea_error *error) {
  const linformer_run *r = data;
  r->call->execution = *execution;
  return run(r->call, r->layout, r->plan, memory, r->workers, error);
}

/* In scratch from byte `before` on, or in memory that is allocated. */
static fovea_status run_in_memory(fovea_nn_linformer_call *call, const fovea_plan *plan, size_t before,
                                  fovea_error *error) {
  layout l = lay_out(call, plan, fovea_nn_workers(&call->execution));
  linformer_run r = {call, &l, plan, fovea_nn_workers(&call->execution)};
  l.all.before = before;
  return fovea_nn_run_steps(run_steps, &r, &l.all, work_of(call), &call->execution, error);
}

fovea_status fovea_nn_linformer_run(const fovea_nn_linformer *linformer, const fovea_problem *problem,
                                    const fovea_tensors *tensors, const fovea_execution *execution,
                                    fovea_error *error) {
  fovea_nn_linformer_call call;
  if (!tensors) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "tensors is NULL");
  fovea_status status = fovea_nn_check_linformer(linformer, problem, tensors, execution, &call, error);
  if (status) return status;
  fovea_nn_plan_memory plans = fovea_nn_plan_memory_of(&call.execution);
  fovea_nn_plan plan = {.memory = &plans};
  const fovea_plan *found;
  status = fovea_nn_find_plan(&plan, &call.inner, 0, &found, error);
  if (!status && call.problem.q_len > 0) status = run_in_memory(&call, found, fovea_nn_plans_end(&plans), error);
  fovea_nn_release_plan(&plan);
  return status;
}

fovea_status fovea_nn_linformer_scratch_size(const fovea_nn_linformer *linformer, const fovea_problem *problem,
                                             const fovea_execution *execution, size_t *size, fovea_error *error) {
  fovea_nn_linformer_call call;
  fovea_execution measured;
  fovea_status status = fovea_nn_begin_measure(execution, &measured, size, error);
  if (!status) status = fovea_nn_check_linformer(linformer, problem, NULL, &measured, &call, error);
  if (status) return status;
  fovea_nn_plan_memory plans = fovea_nn_plan_memory_of(&measured);
  fovea_nn_plan plan = {.memory = &plans};
  const fovea_plan *found;
  status = fovea_nn_find_plan(&plan, &call.inner, 0, &found, error);
  if (!status) {
    const layout l = lay_out(&call, found, fovea_nn_workers(&measured));
    *size = fovea_nn_scratch_size(&plans, &l.all);
  }
  fovea_nn_release_plan(&plan);
  return status;
}

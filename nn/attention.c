/* A layer of attention: projections into scratch, rotary embedding, caches, attention, and the output's layer. */
#include "attention.h"
#include "average.h"
#include "defaults.h"
#include "layer_scratch.h"
#include "linear.h"
#include "tasks.h"

#include "../src/base/caller.h"
#include "../src/base/types.h"
#include "../src/base/validate.h"

#include <string.h>

/* Where the parts of scratch begin, after the plan. */
typedef struct scratch_layout {
  size_t bound, run, q, k, v, o, scores;
  fovea_nn_scratch all;
} scratch_layout;

static uint64_t bytes_of(const fovea_nn_heads *heads) {
  return fovea_nn_bytes(heads->rows, heads->heads, heads->dim);
}

/* The bytes of scratch that the largest of the linear layers uses. */
static uint64_t bytes_of_layers(const fovea_nn_attention_call *call, const fovea_execution *execution) {
  const fovea_nn_attention *a = &call->attention;
  const fovea_nn_layer_use layers[] = {
      {a->query, call->q.rows}, {a->key, call->k.rows}, {a->value, call->v.rows}, {a->output, call->q.rows}};
  return fovea_nn_layers_bytes(layers, 4, execution);
}

/* The run that a plan is bound to, the scratch of attention itself or of a linear layer before and after it, and
 * the rows. */
static scratch_layout lay_out(const fovea_nn_attention_call *call, const fovea_plan *plan, int workers,
                              const fovea_execution *execution) {
  scratch_layout layout = {0};
  layout.bound = fovea_nn_reserve(&layout.all, fovea_run_size(plan));
  layout.run = fovea_nn_reserve_for_either(&layout.all, fovea_plan_scratch_size(plan, workers),
                                           bytes_of_layers(call, execution));
  layout.q = fovea_nn_reserve(&layout.all, bytes_of(&call->q));
  layout.k = fovea_nn_reserve(&layout.all, bytes_of(&call->k));
  layout.v = fovea_nn_reserve(&layout.all, bytes_of(&call->v));
  layout.o = fovea_nn_reserve(&layout.all, bytes_of(&call->o));
  layout.scores = fovea_nn_reserve(&layout.all, fovea_nn_score_bytes(call));
  return layout;
}

/* One projection: the rows of `from` through `linear` into f32 heads. Layers and memories were checked, but not x:
 * the projection of queries, which is the first, checks it. */
static fovea_status project(const fovea_nn_attention_call *call, const fovea_nn_linear *linear, const void *from,
                            fovea_type type, int64_t stride, const fovea_nn_heads *to, fovea_error *error) {
  fovea_nn_linear_rows rows;
  fovea_nn_linear_rows_init(&rows, linear, to->rows, from, to->numbers);
  rows.x_type = type;
  rows.x_stride = stride;
  return linear == call->attention.query ? fovea_nn_run_linear(linear, &rows, &call->layers, error)
                                         : fovea_nn_multiply(linear, &rows, &call->layers, error);
}

static fovea_status rotate(const fovea_nn_attention_call *call, const fovea_nn_heads *heads, fovea_strides strides,
                           int64_t length, const int32_t *cu_seqlens, int at_rows, fovea_error *error) {
  const fovea_nn_attention_tensors *t = &call->tensors;
  fovea_rotation rotation;
  fovea_rotation_init(&rotation, call->problem.batch, heads->heads, length, heads->dim, heads->numbers,
                      heads->numbers);
  rotation.from_strides = rotation.to_strides = strides;
  rotation.cu_seqlens = cu_seqlens;
  if (at_rows) {
    rotation.first_position = t->rotary_positions ? 0 : t->first_position;
    rotation.first_positions = t->rotary_positions ? NULL : t->first_positions;
    rotation.positions = t->rotary_positions;
  } else {
    rotation.positions = t->memory_positions;
  }
  return fovea_rotary_apply(call->attention.rotary, &rotation, &call->rows, error);
}

static fovea_status append(const fovea_nn_attention_call *call, fovea_error *error) {
  const fovea_nn_attention_tensors *t = &call->tensors;
  const fovea_problem *p = &call->problem;
  fovea_new_rows rows;
  fovea_new_rows_init(&rows, p->batch, p->kv_heads, p->q_len, p->qk_dim, p->v_dim, call->k.numbers, call->v.numbers,
                      t->cache.sequences);
  rows.k_strides = p->k_strides;
  rows.v_strides = p->v_strides;
  rows.first_position = t->first_position;
  rows.first_positions = t->first_positions;
  rows.rotary_positions = t->rotary_positions;
  rows.cu_seqlens = p->cu_seqlens_q;
  if (!p->cu_seqlens_q) rows.row_lens = p->q_lens;
  rows.layer = t->cache.layer;
  return fovea_append(&rows, call->attention.rotary, &call->rows, error);
}

/* Keys or values of one batch element after the other, each after the row of the bias. */
static fovea_status project_after_bias(const fovea_nn_attention_call *call, int values, fovea_error *error) {
  const fovea_nn_attention_tensors *t = &call->tensors;
  const fovea_nn_linear *linear = values ? call->attention.value : call->attention.key;
  const float *bias = values ? call->attention.bias_value : call->attention.bias_key;
  const fovea_nn_heads *heads = values ? &call->v : &call->k;
  const fovea_strides strides = values ? call->problem.v_strides : call->problem.k_strides;
  const fovea_type type = values ? t->memory_values_type : t->memory_type;
  const int64_t stride = values ? t->memory_values_stride : t->memory_stride, batch = call->problem.batch;
  const int64_t rows = call->problem.kv_len - 1, from_batch = t->rows_first ? stride : rows * stride;
  fovea_status status = FOVEA_OK;
  for (int64_t b = 0; b < batch && !status; b++) {
    fovea_nn_linear_rows call_rows;
    float *first = heads->numbers + b * strides.batch;
    const void *memory = values ? t->memory_values : t->memory;
    const void *from = rows > 0 ? fovea_element(memory, type, b * from_batch) : NULL;
    memcpy(first, bias, (size_t)(heads->heads * heads->dim) * sizeof(float));
    fovea_nn_linear_rows_init(&call_rows, linear, rows, from, first + strides.row);
    call_rows.x_type = type;
    call_rows.x_stride = t->rows_first ? batch * stride : stride;
    call_rows.y_stride = strides.row;
    status = fovea_nn_multiply(linear, &call_rows, &call->layers, error);
  }
  return status;
}

static fovea_status project_memory(const fovea_nn_attention_call *call, fovea_error *error) {
  const fovea_nn_attention *a = &call->attention;
  const fovea_nn_attention_tensors *t = &call->tensors;
  fovea_status status;
  if (a->bias_key) {
    status = project_after_bias(call, 0, error);
    return status ? status : project_after_bias(call, 1, error);
  }
  status = project(call, a->key, t->memory, t->memory_type, t->memory_stride, &call->k, error);
  if (status) return status;
  return project(call, a->value, t->memory_values, t->memory_values_type, t->memory_values_stride, &call->v, error);
}

/* Queries, and new keys and values, rotated for their positions. */
static fovea_status make_heads(const fovea_nn_attention_call *call, fovea_error *error) {
  const fovea_nn_attention *a = &call->attention;
  const fovea_nn_attention_tensors *t = &call->tensors;
  const fovea_problem *p = &call->problem;
  fovea_status status = project(call, a->query, t->x, t->x_type, t->x_stride, &call->q, error);
  if (!status && a->key) status = project_memory(call, error);
  if (!status && a->rotary) {
    status = rotate(call, &call->q, p->q_strides, p->q_len, p->cu_seqlens_q, 1, error);
  }
  if (!status && p->cache.segmented && a->key) return append(call, error);
  if (!status && a->rotary && !p->cache.segmented) {
    status = rotate(call, &call->k, p->k_strides, p->kv_len, p->cu_seqlens_kv, call->from_rows, error);
  }
  return status;
}

static fovea_nn_linear_rows output_rows(const fovea_nn_attention_call *call) {
  const fovea_nn_attention_tensors *t = &call->tensors;
  fovea_nn_linear_rows rows;
  fovea_nn_linear_rows_init(&rows, call->attention.output, call->q.rows, call->o.numbers, t->y);
  rows.y_type = t->y_type;
  rows.y_stride = t->y_stride;
  if (t->residual) {
    rows.residual = t->residual;
    rows.residual_type = t->residual_type;
    rows.residual_stride = t->residual_stride;
  }
  return rows;
}

/* What attention reads and writes. */
static fovea_tensors make_tensors(const fovea_nn_attention_call *call) {
  const fovea_nn_attention *a = &call->attention;
  const fovea_nn_attention_tensors *t = &call->tensors;
  const int segmented = call->problem.cache.segmented;
  fovea_tensors tensors;
  fovea_tensors_init(&tensors, call->q.numbers, segmented ? NULL : call->k.numbers,
                     segmented ? NULL : call->v.numbers, call->o.numbers, t->lse);
#define FROM_LAYER(field) tensors.field = a->field;
#define FROM_CALL(field)  tensors.field = t->field;
#define FROM_OWN(field)
#define TENSOR(NAME, field, kind, used, unused, from) FROM_##from(field)
#include "../src/feature/list.inc"
  if (a->average_scores) tensors.scores = call->score_numbers;
  return tensors;
}

/* Attention, and the output's layer. */
static fovea_status attend(const fovea_nn_attention_call *call, const fovea_plan *plan,
                           const fovea_tensors *tensors, fovea_error *error) {
  const fovea_nn_linear_rows rows = output_rows(call);
  fovea_status status = fovea_plan_run(plan, tensors, &call->layers, error);
  if (!status && call->attention.average_scores) status = fovea_nn_average_scores(call, &call->rows, error);
  return status ? status : fovea_nn_multiply(call->attention.output, &rows, &call->layers, error);
}

/* Attention does not write rows of a packed batch that belong to no sequence. */
static void clear_gaps(const fovea_nn_attention_call *call) {
  if (call->problem.cu_seqlens_q) memset(call->o.numbers, 0, (size_t)bytes_of(&call->o));
}

/* Makes the projections and attends, in memory that is large enough. Binding checks all that attention checks:
 * before caches change, or if nothing else is wanted. */
static fovea_status run(fovea_nn_attention_call *call, const fovea_plan *plan, char *memory,
                        const scratch_layout *layout, int only_checked, fovea_error *error) {
  const int appends = call->problem.cache.segmented && call->attention.key;
  call->rows = fovea_nn_without_scratch(&call->execution);
  call->layers = fovea_nn_with_scratch(&call->execution, memory + layout->run, layout->q - layout->run);
  call->q.numbers = (float *)(void *)(memory + layout->q);
  call->k.numbers = (float *)(void *)(memory + layout->k);
  call->v.numbers = (float *)(void *)(memory + layout->v);
  call->o.numbers = (float *)(void *)(memory + layout->o);
  call->score_numbers = (float *)(void *)(memory + layout->scores);
  const fovea_nn_linear_rows output = output_rows(call);
  fovea_status status = fovea_nn_check_output(call->attention.output, &output, error); /* before caches change */
  const fovea_tensors tensors = make_tensors(call);
  if (!status && (appends || only_checked)) {
    fovea_run *bound;
    status = fovea_run_bind(plan, &tensors, fovea_nn_workers(&call->execution), call->layers.scratch,
                            call->layers.scratch_size, memory + layout->bound, layout->run - layout->bound, &bound,
                            error);
  }
  if (status || only_checked) return status;
  status = make_heads(call, error);
  if (status) return status;
  clear_gaps(call);
  return attend(call, plan, &tensors, error);
}

/* What of a layer its plan depends on. */
static int kind_of(const fovea_nn_attention_call *call) {
  return (call->attention.bias_key != NULL) + 2 * (call->attention.average_scores != 0);
}

typedef struct attention_run {
  fovea_nn_attention_call *call;
  const fovea_plan *plan;
  const scratch_layout *layout;
  int only_checked;
} attention_run;

static fovea_status run_steps(void *data, char *memory, const fovea_execution *execution, fovea_error *error) {
  const attention_run *r = data;
  r->call->execution = *execution;
  return run(r->call, r->plan, memory, r->layout, r->only_checked, error);
}

/* Multiply-adds of the projections of queries and of the output. */
static double work_of(const fovea_nn_attention_call *call) {
  const fovea_nn_linear *q = call->attention.query, *o = call->attention.output;
  return (double)call->q.rows * ((double)q->in * (double)q->out + (double)o->in * (double)o->out);
}

/* In scratch from byte `before` on, or in memory that is allocated. */
static fovea_status run_in_memory(fovea_nn_attention_call *call, const fovea_plan *plan, size_t before,
                                  int only_checked, fovea_error *error) {
  scratch_layout layout = lay_out(call, plan, fovea_nn_workers(&call->execution), &call->execution);
  attention_run r = {call, plan, &layout, only_checked};
  layout.all.before = before;
  return fovea_nn_run_steps(run_steps, &r, &layout.all, only_checked ? 0.0 : work_of(call), &call->execution,
                            error);
}

fovea_status fovea_nn_run_attention(const fovea_nn_attention *attention, const fovea_problem *problem,
                                    const fovea_nn_attention_tensors *tensors, const fovea_execution *execution,
                                    fovea_nn_plan *plan, int only_checked, fovea_error *error) {
  fovea_nn_attention_call call;
  const fovea_plan *found;
  fovea_status status = fovea_nn_check_attention(attention, problem, tensors, execution, &call, error);
  if (!status) status = fovea_nn_find_plan(plan, &call.problem, kind_of(&call), &found, error);
  return status ? status : run_in_memory(&call, found, 0, only_checked, error);
}

fovea_status fovea_nn_attention_run(const fovea_nn_attention *attention, const fovea_problem *problem,
                                    const fovea_nn_attention_tensors *tensors, const fovea_execution *execution,
                                    fovea_error *error) {
  fovea_nn_attention_call call;
  fovea_status status = fovea_nn_check_attention(attention, problem, tensors, execution, &call, error);
  if (status) return status;
  fovea_nn_plan_memory plans = fovea_nn_plan_memory_of(&call.execution);
  fovea_nn_plan plan = {.memory = &plans};
  const fovea_plan *found;
  const int in_scratch = call.execution.scratch != NULL; /* then a plan is written to it */
  if (in_scratch) status = fovea_nn_check_read_places(&call, error);
  if (!status) status = fovea_nn_find_plan(&plan, &call.problem, kind_of(&call), &found, error);
  if (!status && !in_scratch) status = fovea_nn_check_read_places(&call, error);
  if (!status) status = run_in_memory(&call, found, fovea_nn_plans_end(&plans), 0, error);
  fovea_nn_release_plan(&plan);
  return status;
}

fovea_status fovea_nn_measure_attention(const fovea_nn_attention *attention, const fovea_problem *problem,
                                        int rows_first, int workers, fovea_nn_plan *plan, fovea_nn_scratch *all,
                                        fovea_error *error) {
  fovea_nn_attention_call call;
  fovea_status status = fovea_nn_read_attention("attention", attention, &call.attention, error);
  if (!status) status = fovea_nn_read_attention_problem(problem, &call, error);
  if (status) return status;
  fovea_nn_place_heads(&call.problem, rows_first, &call);
  const fovea_plan *found;
  status = fovea_nn_find_plan(plan, &call.problem, kind_of(&call), &found, error);
  if (!status) *all = lay_out(&call, found, workers, plan->memory->execution).all;
  return status;
}

fovea_status fovea_nn_attention_scratch_size(const fovea_nn_attention *attention, const fovea_problem *problem,
                                             const fovea_execution *execution, size_t *size, fovea_error *error) {
  fovea_execution measured;
  fovea_nn_scratch all;
  fovea_status status = fovea_nn_begin_measure(execution, &measured, size, error);
  if (status) return status;
  fovea_nn_plan_memory plans = fovea_nn_plan_memory_of(&measured);
  fovea_nn_plan plan = {.memory = &plans};
  status = fovea_nn_measure_attention(attention, problem, 0, fovea_nn_workers(&measured), &plan, &all, error);
  if (!status) *size = fovea_nn_scratch_size(&plans, &all);
  fovea_nn_release_plan(&plan);
  return status;
}

/* Multi-head latent attention: queries and latent rows into scratch, rows into caches, attention of either form. */
#include "latent.h"

#include "../../src/base/error.h"
#include "../../src/base/types.h"
#include "../../src/base/validate.h"
#include "../call_plan.h"
#include "../linear.h"

#include <string.h>

/* Where the parts of scratch begin. What a form does not need has no bytes. */
typedef struct layout {
  size_t bound, run, run_size;   /* attention: bound run, scratch; linear layers have it before and after */
  size_t segments, sequences;    /* twice as many as there are: written and read */
  size_t down, q, latent;        /* rows of q_a_proj; heads of queries; new latent rows */
  size_t inner_q, inner_o, o;    /* absorbed: queries and outputs of attention; heads of outputs */
  size_t all_rows, keys, values; /* expanded: all latent rows of a cache; heads of keys and values */
  size_t lengths;                /* expanded: rows of each batch element */
  fovea_nn_scratch all;
} layout;

static layout lay_out(const fovea_nn_latent_call *call, const fovea_plan *plan, const fovea_execution *execution) {
  const fovea_nn_latent *n = &call->latent;
  const fovea_problem *p = &call->problem;
  const int64_t rows = call->rows, keys = p->batch * p->kv_len, heads = n->heads;
  const int64_t expanded = call->absorbed ? 0 : keys, absorbed = call->absorbed ? rows : 0;
  const int workers = fovea_nn_workers(execution);
  layout l = {.all = {0}};
  fovea_nn_scratch *all = &l.all;
  l.bound = fovea_nn_reserve(all, fovea_run_size(plan));
  l.run = fovea_nn_reserve_for_either(all, fovea_plan_scratch_size(plan, workers),
                                      fovea_nn_latent_layer_bytes(call, workers, execution));
  l.run_size = all->size - l.run;
  l.segments = fovea_nn_reserve(all, fovea_nn_product((uint64_t)call->segments, 2 * sizeof(fovea_segment)));
  l.sequences = fovea_nn_reserve(all, fovea_nn_product((uint64_t)p->batch, 2 * sizeof(fovea_sequence)));
  l.down = fovea_nn_reserve(all, n->q_a_proj ? fovea_nn_bytes(rows, n->q_a_proj->out, 1) : 0);
  l.q = fovea_nn_reserve(all, fovea_nn_bytes(rows, heads, p->qk_dim));
  l.latent = fovea_nn_reserve(all, fovea_nn_bytes(rows, call->width, 1));
  l.inner_q = fovea_nn_reserve(all, fovea_nn_bytes(absorbed, heads, call->width));
  l.inner_o = fovea_nn_reserve(all, fovea_nn_bytes(absorbed, heads, n->kv_lora_rank));
  l.o = fovea_nn_reserve(all, fovea_nn_bytes(rows, heads, p->v_dim));
  l.all_rows = fovea_nn_reserve(all, fovea_nn_bytes(p->cache.segmented ? expanded : 0, call->width, 1));
  l.keys = fovea_nn_reserve(all, fovea_nn_bytes(expanded, heads, p->qk_dim));
  l.values = fovea_nn_reserve(all, fovea_nn_bytes(expanded, heads, p->v_dim));
  l.lengths = fovea_nn_reserve(all, fovea_nn_product((uint64_t)p->batch, sizeof(int64_t)));
  return l;
}

/* A call in its memory. */
typedef struct latent_run {
  const fovea_nn_latent_call *call;
  const layout *layout;
  char *memory;
  fovea_execution rows, layers; /* without scratch, and with scratch for linear layers */
  fovea_nn_latent_segments segments;
  const fovea_plan *plan; /* of attention */
  fovea_tensors tensors;
} latent_run;

static float *floats(const latent_run *r, size_t at) {
  return (float *)(void *)(r->memory + at);
}

/* A layer of the caller's rows, or of scratch. */
static fovea_status project(const latent_run *r, const fovea_nn_linear *linear, const void *x, fovea_type type,
                            int64_t stride, float *to, fovea_error *error) {
  fovea_nn_linear_rows rows;
  fovea_nn_linear_rows_init(&rows, linear, r->call->rows, x, to);
  rows.x_type = type;
  rows.x_stride = stride;
  return fovea_nn_run_linear(linear, &rows, &r->layers, error);
}

/* In place. */
static fovea_status normalise(const latent_run *r, const fovea_nn_norm *norm, float *numbers, int64_t stride,
                              fovea_error *error) {
  fovea_nn_norm_rows rows;
  if (!norm) return FOVEA_OK;
  fovea_nn_norm_rows_init(&rows, norm, r->call->rows, numbers, numbers);
  rows.x_stride = rows.y_stride = stride;
  return fovea_nn_norm_run(norm, &rows, &r->rows, error);
}

/* Rotates parts of rows, or only copies them, if there is no embedding. */
static fovea_status rotate(const latent_run *r, int64_t heads, const float *from, int64_t from_head, float *to,
                           int64_t to_head, fovea_error *error) {
  const fovea_problem *p = &r->call->problem;
  const fovea_nn_latent_tensors *t = &r->call->tensors;
  const int64_t rope = r->call->latent.qk_rope_head_dim;
  fovea_rotary none;
  fovea_rotation rotation;
  if (rope == 0) return FOVEA_OK;
  fovea_rotary_init(&none, FOVEA_ROTARY_INTERLEAVED, 0);
  fovea_rotation_init(&rotation, p->batch, heads, p->q_len, rope, from, to);
  rotation.from_strides = (fovea_strides){p->q_len * heads * from_head, from_head, heads * from_head};
  rotation.to_strides = (fovea_strides){p->q_len * heads * to_head, to_head, heads * to_head};
  rotation.cu_seqlens = p->cu_seqlens_q;
  rotation.first_position = t->rotary_positions ? 0 : t->first_position;
  rotation.first_positions = t->rotary_positions ? NULL : t->first_positions;
  rotation.positions = t->rotary_positions;
  const fovea_rotary *rotary = r->call->latent.rotary ? r->call->latent.rotary : &none;
  return fovea_rotary_apply(rotary, &rotation, &r->rows, error);
}

/* Queries, and new latent rows with their rotated keys. */
static fovea_status make_rows(const latent_run *r, fovea_error *error) {
  const fovea_nn_latent_call *call = r->call;
  const fovea_nn_latent *n = &call->latent;
  const fovea_nn_latent_tensors *t = &call->tensors;
  float *down = floats(r, r->layout->down), *q = floats(r, r->layout->q), *latent = floats(r, r->layout->latent);
  const int64_t dim = call->problem.qk_dim, nope = n->qk_nope_head_dim, rank = n->kv_lora_rank;
  fovea_status status = project(r, n->kv_a_proj, t->x, t->x_type, t->x_stride, latent, error);
  if (!status) status = normalise(r, n->kv_a_layernorm, latent, call->width, error);
  if (!status && n->q_a_proj) {
    status = project(r, n->q_a_proj, t->x, t->x_type, t->x_stride, down, error);
    if (!status) status = normalise(r, n->q_a_layernorm, down, n->q_a_proj->out, error);
    if (!status) status = project(r, n->q_b_proj, down, FOVEA_F32, n->q_a_proj->out, q, error);
  } else if (!status) {
    status = project(r, n->q_b_proj, t->x, t->x_type, t->x_stride, q, error);
  }
  if (!status) status = rotate(r, 1, latent + rank, call->width, latent + rank, call->width, error);
  if (status || call->absorbed) return status;
  return rotate(r, n->heads, q + nope, dim, q + nope, dim, error);
}

static fovea_status append(const latent_run *r, fovea_error *error) {
  const fovea_nn_latent_call *call = r->call;
  const fovea_problem *p = &call->problem;
  const float *latent = floats(r, r->layout->latent);
  fovea_new_rows rows;
  fovea_new_rows_init(&rows, p->batch, 1, p->q_len, call->width - 1, 1, latent, latent + call->width - 1,
                      r->segments.written_sequences);
  rows.k_strides = rows.v_strides = (fovea_strides){p->q_len * call->width, 0, call->width};
  rows.first_position = call->tensors.first_position;
  rows.first_positions = call->tensors.first_positions;
  rows.cu_seqlens = p->cu_seqlens_q;
  if (!p->cu_seqlens_q) rows.row_lens = p->q_lens;
  rows.layer = call->tensors.cache.layer;
  return fovea_append(&rows, NULL, &r->rows, error);
}

static int64_t length_of(const fovea_nn_latent_call *call, int64_t entry) {
  return call->problem.kv_lens ? call->problem.kv_lens[entry] : call->problem.kv_len;
}

/* The first layer of segments, counted from the layer that is read. */
static void step_to_layer(const latent_run *r, const fovea_sequence *sequence, fovea_segment *first) {
  for (int64_t i = 0; i < sequence->count; i++) {
    const int64_t step = first[i].layers > 1 ? r->call->tensors.cache.layer * first[i].k_layer : 0;
    if (step == 0) continue;
    first[i].k = fovea_output_element(first[i].k, first[i].k_type, step);
    first[i].v = fovea_output_element(first[i].v, first[i].v_type, step);
  }
}

/* Expanded: the latent rows of a cache as f32, batch element by batch element, by the segments that append() has
 * used. */
static fovea_status gather(const latent_run *r, fovea_error *error) {
  const fovea_nn_latent_call *call = r->call;
  const int64_t length = call->problem.kv_len, width = call->width;
  fovea_status status = FOVEA_OK;
  for (int64_t b = 0; b < call->problem.batch && !status; b++) {
    float *to = floats(r, r->layout->all_rows) + b * length * width;
    const fovea_sequence from = r->segments.written_sequences[b];
    const fovea_segment segment = {
        .rows = length, .k = to, .v = to + width - 1, .k_row = width, .v_row = width, .layers = 1};
    const fovea_sequence rows = fovea_sequence_of(&segment, 1);
    step_to_layer(r, &from, r->segments.written + (from.segments - r->segments.written));
    status = fovea_sequence_copy(&from, &rows, 1, 1, width - 1, 1, 0, length_of(call, b), &r->rows, error);
  }
  return status;
}

/* Expanded: keys and values of all heads. */
static fovea_status expand(const latent_run *r, const float *latent, fovea_error *error) {
  const fovea_nn_latent_call *call = r->call;
  const fovea_nn_latent *n = &call->latent;
  const fovea_problem *p = &call->problem;
  const int64_t heads = n->heads, rope = n->qk_rope_head_dim, dim = p->qk_dim, length = p->kv_len;
  int64_t *lengths = (int64_t *)(void *)(r->memory + r->layout->lengths);
  float *keys = floats(r, r->layout->keys), *values = floats(r, r->layout->values);
  for (int64_t b = 0; b < p->batch; b++) lengths[b] = length_of(call, b);
  fovea_nn_head_layers layers = {.linear = fovea_nn_latent_head_layer(call, 0),
                                 .weight_head = (n->qk_nope_head_dim + n->v_head_dim) * call->kv_b.weight_stride,
                                 .heads = heads,
                                 .entries = p->batch,
                                 .entry_rows = lengths,
                                 .rows = length,
                                 .x = latent,
                                 .y = keys,
                                 .x_row = call->width,
                                 .x_entry = length * call->width,
                                 .y_row = heads * dim,
                                 .y_head = dim,
                                 .y_entry = length * heads * dim};
  fovea_nn_run_head_layers(&layers, &r->layers);
  layers.linear = fovea_nn_latent_head_layer(call, 1);
  layers.y = values;
  layers.y_row = heads * n->v_head_dim;
  layers.y_head = n->v_head_dim;
  layers.y_entry = length * heads * n->v_head_dim;
  fovea_nn_run_head_layers(&layers, &r->layers);
  fovea_status status = FOVEA_OK;
  for (int64_t b = 0; b < p->batch && !status && rope > 0; b++) { /* the same rotated part for each head */
    fovea_rotary none;
    fovea_rotation copy;
    fovea_rotary_init(&none, FOVEA_ROTARY_INTERLEAVED, 0);
    fovea_rotation_init(&copy, 1, heads, lengths[b], rope, latent + b * length * call->width + n->kv_lora_rank,
                        keys + b * length * heads * dim + n->qk_nope_head_dim);
    copy.from_strides = (fovea_strides){0, 0, call->width};
    copy.to_strides = (fovea_strides){0, dim, heads * dim};
    status = fovea_rotary_apply(&none, &copy, &r->rows, error);
  }
  return status;
}

/* Absorbed: queries in the space of latent rows, [W_uk^T q_nope | q_rope]. */
static fovea_status absorb_queries(const latent_run *r, fovea_error *error) {
  const fovea_nn_latent_call *call = r->call;
  const fovea_nn_latent *n = &call->latent;
  const int64_t heads = n->heads, dim = call->problem.qk_dim;
  float *q = floats(r, r->layout->q), *inner_q = floats(r, r->layout->inner_q);
  const fovea_nn_head_layers layers = {.linear = fovea_nn_latent_head_layer(call, 0),
                                       .weight_head = fovea_nn_latent_key_elements(call),
                                       .heads = heads,
                                       .entries = 1,
                                       .rows = call->rows,
                                       .x = q,
                                       .y = inner_q,
                                       .x_row = heads * dim,
                                       .x_head = dim,
                                       .y_row = heads * call->width,
                                       .y_head = call->width};
  fovea_nn_run_head_layers(&layers, &r->layers);
  return rotate(r, heads, q + n->qk_nope_head_dim, dim, inner_q + n->kv_lora_rank, call->width, error);
}

static void absorb_outputs(const latent_run *r) {
  const fovea_nn_latent_call *call = r->call;
  const fovea_nn_latent *n = &call->latent;
  const int64_t heads = n->heads;
  const fovea_nn_head_layers layers = {.linear = fovea_nn_latent_head_layer(call, 1),
                                       .weight_head = fovea_nn_latent_value_elements(call),
                                       .heads = heads,
                                       .entries = 1,
                                       .rows = call->rows,
                                       .x = floats(r, r->layout->inner_o),
                                       .y = floats(r, r->layout->o),
                                       .x_row = heads * n->kv_lora_rank,
                                       .x_head = n->kv_lora_rank,
                                       .y_row = heads * n->v_head_dim,
                                       .y_head = n->v_head_dim};
  fovea_nn_run_head_layers(&layers, &r->layers);
}

static fovea_nn_linear_rows output_rows(const latent_run *r) {
  const fovea_nn_latent_tensors *t = &r->call->tensors;
  fovea_nn_linear_rows rows;
  fovea_nn_linear_rows_init(&rows, r->call->latent.o_proj, r->call->rows, floats(r, r->layout->o), t->y);
  rows.y_type = t->y_type;
  rows.y_stride = t->y_stride;
  if (t->residual) {
    rows.residual = t->residual;
    rows.residual_type = t->residual_type;
    rows.residual_stride = t->residual_stride;
  }
  return rows;
}

/* Plans attention of the form and binds it, which checks the mask, the sinks and the segments, before any cache is
 * changed. */
static fovea_status bind_attention(latent_run *r, fovea_error *error) {
  const fovea_nn_latent_call *call = r->call;
  const layout *l = r->layout;
  const int segmented = call->problem.cache.segmented, workers = fovea_nn_workers(&call->execution);
  fovea_run *bound;
  if (call->absorbed) {
    const float *rows = segmented ? NULL : floats(r, l->latent);
    fovea_tensors_init(&r->tensors, floats(r, l->inner_q), rows, rows, floats(r, l->inner_o), NULL);
    if (segmented) r->tensors.cache.sequences = r->segments.read_sequences;
    r->tensors.cache.layer = call->tensors.cache.layer;
  } else {
    fovea_tensors_init(&r->tensors, floats(r, l->q), floats(r, l->keys), floats(r, l->values), floats(r, l->o),
                       NULL);
  }
  r->tensors.mask = call->tensors.mask;
  r->tensors.sink = call->tensors.sink;
  return fovea_run_bind(r->plan, &r->tensors, workers, r->memory + l->run, l->run_size, r->memory + l->bound,
                        l->run - l->bound, &bound, error);
}

/* Attention of the form; heads of outputs in scratch. */
static fovea_status attend(const latent_run *r, fovea_error *error) {
  const fovea_nn_latent_call *call = r->call;
  const layout *l = r->layout;
  const fovea_problem *p = &call->problem;
  fovea_execution execution = call->execution;
  fovea_status status = call->absorbed ? absorb_queries(r, error) : FOVEA_OK;
  if (!status && !call->absorbed && p->cache.segmented) status = gather(r, error);
  if (!status && !call->absorbed)
    status = expand(r, floats(r, p->cache.segmented ? l->all_rows : l->latent), error);
  if (status) return status;
  execution.scratch = r->memory + l->run;
  execution.scratch_size = l->run_size;
  if (p->cu_seqlens_q) { /* attention does not write rows that no sequence owns */
    memset(r->tensors.o, 0, (size_t)fovea_nn_bytes(call->rows, call->inner.heads, call->inner.v_dim));
  }
  status = fovea_plan_run(r->plan, &r->tensors, &execution, error);
  if (!status && call->absorbed) absorb_outputs(r);
  return status;
}

/* In memory that is large enough. */
static fovea_status run(const fovea_nn_latent_call *call, const layout *l, const fovea_plan *plan, char *memory,
                        fovea_error *error) {
  const int64_t batch = call->problem.batch;
  fovea_segment *segments = (fovea_segment *)(void *)(memory + l->segments);
  fovea_sequence *sequences = (fovea_sequence *)(void *)(memory + l->sequences);
  latent_run r = {.call = call,
                  .layout = l,
                  .memory = memory,
                  .rows = fovea_nn_without_scratch(&call->execution),
                  .layers = fovea_nn_with_scratch(&call->execution, memory + l->run, l->run_size),
                  .plan = plan};
  r.segments = (fovea_nn_latent_segments){segments, segments + call->segments, sequences, sequences + batch};
  const fovea_nn_linear_rows output = output_rows(&r);
  fovea_status status = fovea_nn_check_output(call->latent.o_proj, &output, error); /* before caches change */
  if (!status && call->problem.cache.segmented) status = fovea_nn_latent_segments_of(call, &r.segments, error);
  if (!status) status = bind_attention(&r, error);
  if (!status) status = make_rows(&r, error);
  if (!status && call->problem.cache.segmented) status = append(&r, error);
  if (!status) status = attend(&r, error);
  return status ? status : fovea_nn_run_linear(call->latent.o_proj, &output, &r.layers, error);
}

typedef struct latent_steps {
  fovea_nn_latent_call *call;
  const layout *layout;
  const fovea_plan *plan;
} latent_steps;

static fovea_status run_steps(void *data, char *memory, const fovea_execution *execution, fovea_error *error) {
  const latent_steps *s = data;
  s->call->execution = *execution;
  return run(s->call, s->layout, s->plan, memory, error);
}

/* In scratch from byte `before` on, or in memory that is allocated. */
static fovea_status run_in_memory(fovea_nn_latent_call *call, const fovea_plan *plan, size_t before,
                                  fovea_error *error) {
  const fovea_nn_linear *in = call->latent.kv_a_proj, *out = call->latent.o_proj;
  const double each = (double)in->in * (double)in->out + (double)out->in * (double)out->out;
  layout l = lay_out(call, plan, &call->execution);
  latent_steps s = {call, &l, plan};
  l.all.before = before;
  return fovea_nn_run_steps(run_steps, &s, &l.all, (double)call->rows * each, &call->execution, error);
}

fovea_status fovea_nn_latent_run(const fovea_nn_latent *latent, const fovea_problem *problem,
                                 const fovea_nn_latent_tensors *tensors, const fovea_execution *execution,
                                 fovea_error *error) {
  fovea_nn_latent_call call;
  fovea_status status = fovea_nn_check_latent(latent, problem, tensors, execution, 0, &call, error);
  if (status) return status;
  fovea_nn_plan_memory plans = fovea_nn_plan_memory_of(&call.execution);
  fovea_nn_plan plan = {.memory = &plans};
  const fovea_plan *found;
  status = fovea_nn_find_plan(&plan, &call.inner, 0, &found, error);
  if (!status) status = run_in_memory(&call, found, fovea_nn_plans_end(&plans), error);
  fovea_nn_release_plan(&plan);
  return status;
}

fovea_status fovea_nn_latent_scratch_size(const fovea_nn_latent *latent, const fovea_problem *problem,
                                          const fovea_nn_latent_tensors *tensors, const fovea_execution *execution,
                                          size_t *size, fovea_error *error) {
  fovea_nn_latent_call call;
  fovea_execution measured;
  fovea_status status = fovea_nn_begin_measure(execution, &measured, size, error);
  if (!status && !problem) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "problem is NULL");
  if (!status) status = fovea_nn_check_latent(latent, problem, tensors, &measured, 1, &call, error);
  if (status) return status;
  fovea_nn_plan_memory plans = fovea_nn_plan_memory_of(&measured);
  fovea_nn_plan plan = {.memory = &plans};
  const fovea_plan *found;
  status = fovea_nn_find_plan(&plan, &call.inner, 0, &found, error);
  if (!status) {
    const layout l = lay_out(&call, found, &measured);
    *size = fovea_nn_scratch_size(&plans, &l.all);
  }
  fovea_nn_release_plan(&plan);
  return status;
}

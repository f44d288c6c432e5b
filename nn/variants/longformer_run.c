/* A layer of Longformer: projections, local rows, global rows in the place of theirs, the output's layer. */
#include "../../src/base/types.h"
#include "../layer_scratch.h"
#include "../linear.h"
#include "longformer.h"

#include <string.h>

/* Where the parts of scratch begin. Attention and linear layers have `run` one after the other. K and V of global rows take the place of K and V of local rows, and their Q the
 * place of the Q of the others. */
typedef struct scratch_layout {
  fovea_nn_scratch all;
  size_t run, q, k, v, o, global_x, global_o;
} scratch_layout;

/* Scratch as numbers. */
typedef struct parts {
  char *run;
  size_t run_size;
  float *q, *k, *v, *o, *global_o;
  void *global_x;
} parts;

/* The bytes of scratch that the largest of the linear layers uses. */
static uint64_t bytes_of_layers(const fovea_nn_longformer_call *call, int64_t rows,
                                const fovea_execution *execution) {
  fovea_nn_layer_use layers[FOVEA_NN_LONGFORMER_LAYERS];
  for (int i = 0; i < FOVEA_NN_LONGFORMER_LAYERS; i++) layers[i] = (fovea_nn_layer_use){call->layers[i], rows};
  layers[FOVEA_NN_LONGFORMER_GLOBAL_QUERY].rows = call->longformer->global_count;
  return fovea_nn_layers_bytes(layers, FOVEA_NN_LONGFORMER_LAYERS, execution);
}

static scratch_layout lay_out(const fovea_nn_longformer_call *call, const fovea_execution *execution) {
  const int workers = fovea_nn_workers(execution);
  const fovea_nn_longformer *l = call->longformer;
  const fovea_nn_longformer_options *o = &l->options;
  const int64_t rows = o->batch * o->length;
  const size_t local = fovea_plan_scratch_size(l->local, workers);
  const size_t global = l->global ? fovea_plan_scratch_size(l->global, workers) : 0;
  scratch_layout layout = {.all = {0}};
  layout.run = fovea_nn_reserve_for_either(&layout.all, local > global ? local : global,
                                           bytes_of_layers(call, rows, execution));
  layout.q = fovea_nn_reserve(&layout.all, fovea_nn_bytes(rows, o->heads, o->qk_dim));
  layout.k = fovea_nn_reserve(&layout.all, fovea_nn_bytes(rows, o->heads, o->qk_dim));
  layout.v = fovea_nn_reserve(&layout.all, fovea_nn_bytes(rows, o->heads, o->v_dim));
  layout.o = fovea_nn_reserve(&layout.all, fovea_nn_bytes(rows, o->heads, o->v_dim));
  layout.global_x = fovea_nn_reserve(&layout.all, fovea_nn_bytes(l->global_count, call->in, 1));
  layout.global_o = fovea_nn_reserve(&layout.all, fovea_nn_bytes(l->global_count, o->heads, o->v_dim));
  return layout;
}

static fovea_status project(const fovea_nn_linear *linear, int64_t rows, const void *x, fovea_type type,
                            int64_t stride, float *to, const fovea_execution *execution, fovea_error *error) {
  fovea_nn_linear_rows call;
  fovea_nn_linear_rows_init(&call, linear, rows, x, to);
  call.x_type = type;
  call.x_stride = stride;
  return fovea_nn_run_linear(linear, &call, execution, error);
}

static int is_wanted(const fovea_nn_longformer *l, int64_t entry, int only_global) {
  return l->lengths[entry] > 0 && (!only_global || l->starts[entry + 1] > l->starts[entry]);
}

/* Rows through a layer, of all batch elements or only of batch elements with global tokens. Batch elements without
 * padding between them are one call. */
static fovea_status project_entries(const fovea_nn_longformer_call *call, const fovea_nn_linear *linear, float *to,
                                    int only_global, const fovea_execution *execution, fovea_error *error) {
  const fovea_nn_longformer *l = call->longformer;
  const fovea_nn_longformer_rows *r = &call->rows;
  const int64_t batch = l->options.batch, length = l->options.length;
  fovea_status status = FOVEA_OK;
  for (int64_t b = 0, end; b < batch && !status; b = end) {
    end = b + 1;
    if (!is_wanted(l, b, only_global)) continue;
    while (end < batch && l->lengths[end - 1] == length && is_wanted(l, end, only_global)) end++;
    const int64_t first = b * length, rows = (end - 1 - b) * length + l->lengths[end - 1];
    status = project(linear, rows, fovea_element(r->x, r->x_type, first * r->x_stride), r->x_type, r->x_stride,
                     to + first * linear->out, execution, error);
  }
  return status;
}

/* Queries of global rows only, keys and values of their batch elements. */
static fovea_status project_global(const fovea_nn_longformer_call *call, const parts *parts,
                                   const fovea_execution *execution, fovea_error *error) {
  const fovea_nn_longformer *l = call->longformer;
  const fovea_nn_longformer_rows *r = &call->rows;
  const size_t bytes = (size_t)fovea_bytes(r->x_type, call->in);
  for (int64_t i = 0; i < l->global_count; i++) {
    memcpy((char *)parts->global_x + (size_t)i * bytes, fovea_element(r->x, r->x_type, l->rows[i] * r->x_stride),
           bytes);
  }
  fovea_status status = project(call->layers[FOVEA_NN_LONGFORMER_GLOBAL_QUERY], l->global_count, parts->global_x,
                                r->x_type, call->in, parts->q, execution, error);
  if (!status)
    status = project_entries(call, call->layers[FOVEA_NN_LONGFORMER_GLOBAL_KEY], parts->k, 1, execution, error);
  if (status) return status;
  return project_entries(call, call->layers[FOVEA_NN_LONGFORMER_GLOBAL_VALUE], parts->v, 1, execution, error);
}

static fovea_status attend(const fovea_nn_longformer_call *call, const fovea_plan *plan, const parts *parts,
                           float *o, fovea_error *error) {
  fovea_execution execution = call->execution;
  fovea_tensors tensors;
  fovea_tensors_init(&tensors, parts->q, parts->k, parts->v, o, NULL);
  execution.scratch = parts->run;
  execution.scratch_size = parts->run_size;
  execution.isa = NULL; /* the plan has its own, perhaps one table of a set */
  return fovea_plan_run(plan, &tensors, &execution, error);
}

/* Global rows, in the place of what they saw as local ones. */
static fovea_status run_global(const fovea_nn_longformer_call *call, const parts *parts,
                               const fovea_execution *layers, fovea_error *error) {
  const fovea_nn_longformer *l = call->longformer;
  const int64_t width = l->options.heads * l->options.v_dim;
  if (l->global_count == 0) return FOVEA_OK;
  fovea_status status = project_global(call, parts, layers, error);
  if (!status) status = attend(call, l->global, parts, parts->global_o, error);
  for (int64_t i = 0; i < l->global_count && !status; i++) {
    memcpy(parts->o + l->rows[i] * width, parts->global_o + i * width, (size_t)width * sizeof(float));
  }
  return status;
}

static fovea_status write_result(const fovea_nn_longformer_call *call, const float *o,
                                 const fovea_execution *layers, fovea_error *error) {
  const fovea_nn_longformer_options *options = &call->longformer->options;
  const fovea_nn_longformer_rows *r = &call->rows;
  const fovea_nn_linear *output = call->layers[FOVEA_NN_LONGFORMER_OUTPUT];
  const int64_t count = options->batch * options->length;
  if (output) {
    fovea_nn_linear_rows rows;
    fovea_nn_linear_rows_init(&rows, output, count, o, r->y);
    rows.y_type = r->y_type;
    rows.y_stride = r->y_stride;
    return fovea_nn_run_linear(output, &rows, layers, error);
  }
  const fovea_execution execution = fovea_nn_without_scratch(layers);
  fovea_nn_map map;
  fovea_nn_map_init(&map, count, options->heads * options->v_dim, o, r->y);
  map.y_type = r->y_type;
  map.y_stride = r->y_stride;
  return fovea_nn_activate(&map, FOVEA_NN_ACTIVATION_NONE, &execution, error);
}

static fovea_status run(const fovea_nn_longformer_call *call, const parts *parts, fovea_error *error) {
  const fovea_execution layers = fovea_nn_with_scratch(&call->execution, parts->run, parts->run_size);
  fovea_status status = project_entries(call, call->layers[FOVEA_NN_LONGFORMER_QUERY], parts->q, 0, &layers, error);
  if (!status) status = project_entries(call, call->layers[FOVEA_NN_LONGFORMER_KEY], parts->k, 0, &layers, error);
  if (!status) status = project_entries(call, call->layers[FOVEA_NN_LONGFORMER_VALUE], parts->v, 0, &layers, error);
  if (!status) status = attend(call, call->longformer->local, parts, parts->o, error);
  if (!status) status = run_global(call, parts, &layers, error);
  return status ? status : write_result(call, parts->o, &layers, error);
}

typedef struct longformer_run {
  fovea_nn_longformer_call *call;
  const scratch_layout *layout;
} longformer_run;

static fovea_status run_steps(void *data, char *memory, const fovea_execution *execution, fovea_error *error) {
  const longformer_run *r = data;
  const scratch_layout *l = r->layout;
  const parts parts = {.run = memory + l->run,
                       .run_size = l->q - l->run,
                       .q = (float *)(void *)(memory + l->q),
                       .k = (float *)(void *)(memory + l->k),
                       .v = (float *)(void *)(memory + l->v),
                       .o = (float *)(void *)(memory + l->o),
                       .global_o = (float *)(void *)(memory + l->global_o),
                       .global_x = memory + l->global_x};
  r->call->execution = *execution;
  return run(r->call, &parts, error);
}

/* Multiply-adds of the projections. */
static double work_of(const fovea_nn_longformer_call *call) {
  const fovea_nn_longformer_options *o = &call->longformer->options;
  const double outputs = (double)o->heads * (double)(2 * o->qk_dim + o->v_dim);
  return (double)o->batch * (double)o->length * (double)call->in * outputs;
}

fovea_status fovea_nn_longformer_run(const fovea_nn_longformer *longformer, const fovea_nn_longformer_layer *layer,
                                     const fovea_nn_longformer_rows *rows, const fovea_execution *execution,
                                     fovea_error *error) {
  fovea_nn_longformer_call call;
  const fovea_status status = fovea_nn_check_longformer(longformer, layer, rows, execution, &call, error);
  if (status) return status;
  const scratch_layout layout = lay_out(&call, &call.execution);
  longformer_run r = {&call, &layout};
  return fovea_nn_run_steps(run_steps, &r, &layout.all, work_of(&call), &call.execution, error);
}

fovea_status fovea_nn_longformer_scratch_size(const fovea_nn_longformer *longformer,
                                              const fovea_nn_longformer_layer *layer,
                                              const fovea_nn_longformer_rows *rows,
                                              const fovea_execution *execution, size_t *size, fovea_error *error) {
  fovea_nn_longformer_call call;
  fovea_execution measured;
  fovea_status status = fovea_nn_begin_measure(execution, &measured, size, error);
  if (!status) status = fovea_nn_check_longformer(longformer, layer, rows, &measured, &call, error);
  if (status) return status;
  const scratch_layout layout = lay_out(&call, &measured);
  *size = fovea_nn_size_of(&layout.all);
  return FOVEA_OK;
}

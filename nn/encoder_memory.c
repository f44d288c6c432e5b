/* What a decoder attends over in an encoder's rows, projected once into caches. */
#include "../src/base/caller.h"
#include "../src/base/error.h"
#include "../src/base/resolve.h"
#include "attention.h"
#include "defaults.h"
#include "encoder.h"
#include "layer_parts.h"
#include "layer_scratch.h"
#include "linear.h"
#include "positions.h"
#include "scores.h"

/* A call that was read. */
typedef struct memory_call {
  fovea_nn_encoder_decoder model;
  fovea_nn_encoder decoder;
  fovea_problem problem; /* with the strides of the projections */
  fovea_nn_attention_tensors tensors;
  fovea_execution execution;
  fovea_nn_attention_call heads; /* sizes of the projections */
  fovea_nn_scratch all;
  size_t v_begin, layers_begin; /* keys are first; scratch of the linear layers is last */
  double work;                  /* multiply-adds of all layers */
} memory_call;

static fovea_status check_out(const char *name, const fovea_nn_linear *linear, int64_t kv_heads, int64_t dim,
                              fovea_error *error) {
  const fovea_status status = fovea_nn_check_layer(name, linear, error);
  if (status || linear->out == kv_heads * dim) return status;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s.out is %jd; the problem's kv_heads and dim are %jd times %jd",
                    name, linear->out, kv_heads, dim);
}

/* Checks the cross-attention of a layer. */
static fovea_status check_cross(const memory_call *call, const fovea_nn_attention *attention, fovea_error *error) {
  const fovea_problem *p = &call->problem;
  fovea_status status = check_out("key", attention->key, p->kv_heads, p->qk_dim, error);
  if (!status) status = check_out("value", attention->value, p->kv_heads, p->v_dim, error);
  if (status) return status;
  if (attention->bias_key || attention->bias_value) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s is given together with caches",
                      attention->bias_key ? "bias_key" : "bias_value");
  }
  if (call->tensors.memory_values || attention->value->in == attention->key->in) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                    "value.in is %jd and key.in is %jd: they differ, but memory_values is NULL",
                    attention->value->in, attention->key->in);
}

/* Reads the cross-attention of layer i. */
static fovea_status read_layer(const memory_call *call, int64_t i, fovea_nn_attention *attention,
                               fovea_error *error) {
  fovea_nn_block block;
  fovea_status status = fovea_nn_block_at(&call->decoder, i, &block, error);
  if (status) return fovea_fail_within("decoder", status, error);
  status = fovea_nn_read_attention("cross", block.cross, attention, error);
  if (!status) status = fovea_fail_within("cross", check_cross(call, attention, error), error);
  return fovea_fail_within("decoder", fovea_nn_fail_in_layer(i, status, error), error);
}

/* The memory's rows are at positions 0, 1, ..., or at the positions of a list. */
static fovea_status check_rotary(const memory_call *call, const fovea_nn_attention *attention, fovea_error *error) {
  const fovea_problem *p = &call->problem;
  const fovea_nn_positions positions = {.batch = p->batch,
                                        .length = p->kv_len,
                                        .cu_seqlens = p->cu_seqlens_kv,
                                        .lengths = p->kv_lens,
                                        .rotary = call->tensors.memory_positions,
                                        .rotary_name = "memory_positions"};
  if (!attention->rotary) return FOVEA_OK;
  return fovea_fail_within("cross", fovea_nn_check_rotary(attention->rotary, p->qk_dim, &positions, error), error);
}

static fovea_status check_layers(const memory_call *call, fovea_error *error) {
  fovea_nn_attention attention;
  fovea_status status = FOVEA_OK;
  int rotates = 0;
  for (int64_t i = 0; i < call->decoder.count && !status; i++) {
    status = read_layer(call, i, &attention, error);
    if (status) return status;
    status = fovea_nn_fail_in_layer(i, check_rotary(call, &attention, error), error);
    fovea_fail_within("decoder", status, error);
    rotates |= !status && attention.rotary;
  }
  if (status || rotates || !call->tensors.memory_positions) return status;
  return fovea_fail(error, FOVEA_ERROR_UNUSED,
                    "memory_positions is set and would not be used: no layer has a rotary embedding");
}

/* The projections have a row for each of the memory, whatever the problem is for later. */
static void place_heads(memory_call *call) {
  fovea_problem *p = &call->problem;
  p->cache.segmented = p->cache.holes = 0;
  p->q_len = 0;
  p->cu_seqlens_q = NULL;
  fovea_nn_place_heads(p, call->tensors.rows_first, &call->heads);
  call->all = (fovea_nn_scratch){0};
  const int64_t rows = call->heads.k.rows;
  fovea_nn_reserve(&call->all, fovea_nn_bytes(rows, p->kv_heads, p->qk_dim));
  call->v_begin = fovea_nn_reserve(&call->all, fovea_nn_bytes(rows, p->kv_heads, p->v_dim));
}

/* The scratch of the largest linear layer of a decoder that was checked, and the work of all. */
static void place_layers(memory_call *call) {
  uint64_t most = 0;
  for (int64_t i = 0; i < call->decoder.count; i++) {
    fovea_nn_attention attention;
    if (read_layer(call, i, &attention, NULL) != FOVEA_OK) continue;
    const fovea_nn_layer_use layers[] = {{attention.key, call->heads.k.rows},
                                         {attention.value, call->heads.k.rows}};
    const uint64_t bytes = fovea_nn_layers_bytes(layers, 2, &call->execution);
    if (bytes > most) most = bytes;
    for (int j = 0; j < 2; j++)
      call->work += (double)layers[j].rows * (double)layers[j].linear->in * (double)layers[j].linear->out;
  }
  call->layers_begin = fovea_nn_reserve(&call->all, most);
}

static fovea_status read_call(const fovea_nn_encoder_decoder *model, const fovea_nn_attending *cross,
                              const fovea_execution *execution, memory_call *call, fovea_error *error) {
  fovea_status status = fovea_nn_read_encoder_decoder(model, &call->model, error);
  if (!status) status = fovea_nn_read_encoder("decoder", call->model.decoder, &call->decoder, error);
  if (!status) status = fovea_read_execution(execution, &call->execution, error);
  if (status) return status;
  if (!cross || !cross->problem || !cross->tensors) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "cross is NULL, or its problem or tensors");
  }
  status = fovea_nn_read_attention_tensors(cross->tensors, &call->tensors, error);
  if (!status) status = fovea_read_problem(cross->problem, &call->problem, error);
  if (!status) status = fovea_nn_check_sizes(&call->problem, error);
  if (!status) status = check_layers(call, error);
  if (status) return status;
  if (call->tensors.rows_first && call->problem.cu_seqlens_kv) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED,
                      "rows_first is set and would not be used: the memory is packed (cu_seqlens_kv)");
  }
  if (call->problem.kv_lens && call->problem.cu_seqlens_kv) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "kv_lens is given together with cu_seqlens_kv, which has the lengths; it must be NULL");
  }
  place_heads(call);
  place_layers(call);
  return FOVEA_OK;
}

/* What goes through a layer's key or value. */
static fovea_nn_matrix memory_of(const memory_call *call, const fovea_nn_linear *linear, int values) {
  const fovea_nn_attention_tensors *t = &call->tensors;
  const int64_t rows = call->heads.k.rows, in = linear->in;
  fovea_nn_matrix memory = {"memory", t->memory, t->memory_type, rows, in, t->memory_stride};
  if (values && t->memory_values) {
    memory = (fovea_nn_matrix){"memory_values",        t->memory_values, t->memory_values_type, rows, in,
                               t->memory_values_stride};
  }
  fovea_resolve_stride(&memory.stride, in);
  return memory;
}

/* Scratch lies apart from a layer's weights, tables and lists. */
static fovea_status check_scratch_place(const memory_call *call, const fovea_nn_attention *attention,
                                        fovea_error *error) {
  const fovea_nn_matrix scratch = fovea_nn_scratch_of(call->execution.scratch, call->execution.scratch_size);
  fovea_nn_attention_call layer = call->heads;
  fovea_nn_matrix parts[FOVEA_NN_ATTENTION_PARTS];
  fovea_status status = FOVEA_OK;
  layer.attention = *attention;
  layer.problem = call->problem;
  layer.tensors = call->tensors;
  layer.memory_rows = call->heads.k.rows;
  const int count = fovea_nn_add_positions(&layer, parts, fovea_nn_add_attention(attention, parts, 0));
  for (int i = 0; i < count && !status && scratch.data; i++)
    status = fovea_nn_check_apart(&scratch, &parts[i], error);
  return status;
}

/* Checks what all layers read, before the first writes its caches. */
static fovea_status check_memory(const memory_call *call, fovea_error *error) {
  fovea_status status = FOVEA_OK;
  for (int64_t i = 0; i < call->decoder.count && !status; i++) {
    fovea_nn_attention attention;
    status = read_layer(call, i, &attention, error);
    if (status) return status;
    const fovea_nn_matrix keys = memory_of(call, attention.key, 0), values = memory_of(call, attention.value, 1);
    status = fovea_nn_check_matrix(&keys, 0, error);
    if (!status) status = fovea_nn_check_matrix(&values, 0, error);
    if (!status) status = check_scratch_place(call, &attention, error);
  }
  return status;
}

static fovea_status project(const memory_call *call, const fovea_nn_linear *linear, int values, float *to,
                            const fovea_execution *execution, fovea_error *error) {
  const fovea_nn_matrix from = memory_of(call, linear, values);
  fovea_nn_linear_rows rows;
  fovea_nn_linear_rows_init(&rows, linear, from.rows, from.data, to);
  rows.x_type = from.type;
  rows.x_stride = from.stride;
  return fovea_nn_run_linear(linear, &rows, execution, error);
}

static fovea_status prepare_layer(const memory_call *call, int64_t i, char *memory, fovea_error *error) {
  const fovea_execution execution = fovea_nn_without_scratch(&call->execution);
  const fovea_execution layers =
      fovea_nn_with_scratch(&call->execution, memory + call->layers_begin, call->all.size - call->layers_begin);
  float *k = (float *)(void *)memory, *v = (float *)(void *)(memory + call->v_begin);
  const fovea_problem *p = &call->problem;
  fovea_nn_attention attention;
  fovea_new_rows rows;
  fovea_status status = read_layer(call, i, &attention, error);
  if (!status) status = project(call, attention.key, 0, k, &layers, error);
  if (!status) status = project(call, attention.value, 1, v, &layers, error);
  if (status) return status;
  fovea_new_rows_init(&rows, p->batch, p->kv_heads, p->kv_len, p->qk_dim, p->v_dim, k, v,
                      call->tensors.cache.sequences);
  rows.k_strides = p->k_strides;
  rows.v_strides = p->v_strides;
  rows.cu_seqlens = p->cu_seqlens_kv;
  rows.row_lens = p->cu_seqlens_kv ? NULL : p->kv_lens;
  rows.rotary_positions = attention.rotary ? call->tensors.memory_positions : NULL; /* some layer has one */
  rows.layer = call->tensors.cache.layer + i;
  return fovea_append(&rows, attention.rotary, &execution, error);
}

static fovea_status run_steps(void *data, char *memory, const fovea_execution *execution, fovea_error *error) {
  memory_call *call = data;
  fovea_status status = FOVEA_OK;
  call->execution = *execution;
  for (int64_t i = 0; i < call->decoder.count && !status; i++) status = prepare_layer(call, i, memory, error);
  return status;
}

fovea_status fovea_nn_encoder_decoder_prepare(const fovea_nn_encoder_decoder *model,
                                              const fovea_nn_attending *cross, const fovea_execution *execution,
                                              fovea_error *error) {
  memory_call call = {.v_begin = 0};
  fovea_status status = read_call(model, cross, execution, &call, error);
  if (status || call.heads.k.rows == 0) return status;
  status = check_memory(&call, error);
  return status ? status : fovea_nn_run_steps(run_steps, &call, &call.all, call.work, &call.execution, error);
}

fovea_status fovea_nn_encoder_decoder_prepare_scratch_size(const fovea_nn_encoder_decoder *model,
                                                           const fovea_nn_attending *cross,
                                                           const fovea_execution *execution, size_t *size,
                                                           fovea_error *error) {
  memory_call call = {.v_begin = 0};
  fovea_execution measured;
  fovea_status status = fovea_nn_begin_measure(execution, &measured, size, error);
  if (!status) status = read_call(model, cross, &measured, &call, error);
  if (!status) *size = fovea_nn_size_of(&call.all);
  return status;
}

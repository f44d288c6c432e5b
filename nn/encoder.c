/* Stacks of layers: an embedding, layers and norms by single calls, whose rows stay in scratch until the last. */
#include "../src/base/caller.h"
#include "defaults.h"
#include "encoder_call.h"
#include "tasks.h"

#include <string.h>

void fovea_nn_encoder_init_sized(fovea_nn_encoder *encoder, size_t struct_size, const fovea_nn_block *blocks,
                                 size_t block_size, int64_t count) {
  const fovea_nn_encoder defaults = {
      .struct_size = struct_size, .blocks = blocks, .count = count, .block_size = block_size};
  fovea_nn_write_defaults(encoder, struct_size, &defaults, sizeof defaults);
}

void fovea_nn_encoder_rows_init_sized(fovea_nn_encoder_rows *rows, size_t struct_size,
                                      const fovea_nn_attending *self, const void *ids, float *y) {
  const fovea_nn_encoder_rows defaults = {.struct_size = struct_size, .self = self, .ids = ids, .y = y};
  fovea_nn_write_defaults(rows, struct_size, &defaults, sizeof defaults);
}

/* Writes the position of each row. */
static void write_position_ids(const fovea_nn_encoder_call *call, void *ids) {
  const fovea_problem *p = &call->problem;
  const fovea_nn_positions positions = fovea_nn_positions_of(call);
  const int is_short = call->rows.id_type == FOVEA_NN_INT32;
  memset(ids, 0, (size_t)call->row_count * (is_short ? sizeof(int32_t) : sizeof(int64_t)));
  for (int64_t b = 0; b < p->batch; b++) {
    const int64_t first = fovea_nn_first_of(&positions, b), length = fovea_nn_length_of(&positions, b);
    for (int64_t i = 0; i < length; i++) {
      int64_t row = call->self.rows_first ? i * p->batch + b : b * p->q_len + i;
      if (p->cu_seqlens_q) row = p->cu_seqlens_q[b] + i;
      if (is_short)
        ((int32_t *)ids)[row] = (int32_t)(first + i);
      else
        ((int64_t *)ids)[row] = first + i;
    }
  }
}

static fovea_status embed(const fovea_nn_encoder_call *call, char *memory, const fovea_execution *execution,
                          fovea_error *error) {
  const fovea_nn_encoder_rows *r = &call->rows;
  fovea_nn_embedding_rows rows;
  fovea_nn_embedding_rows_init(&rows, &call->embedding, call->row_count, r->ids, call->hidden);
  rows.id_type = r->id_type;
  rows.token_type_ids = r->token_type_ids;
  rows.position_ids = r->position_ids;
  if (call->numbered) {
    write_position_ids(call, memory + call->position_ids_begin);
    rows.position_ids = memory + call->position_ids_begin;
  }
  return fovea_nn_embed(&call->embedding, &rows, execution, error);
}

static fovea_status normalise(const fovea_nn_encoder_call *call, const fovea_nn_norm *norm, const float *from,
                              float *to, const fovea_execution *execution, fovea_error *error) {
  fovea_nn_norm_rows rows;
  fovea_nn_norm_rows_init(&rows, norm, call->row_count, from, to);
  return fovea_nn_norm_run(norm, &rows, execution, error);
}

/* All layers, of which the first takes `from`. */
static fovea_status run_layers(const fovea_nn_encoder_call *call, const float *from, fovea_nn_block_part part,
                               const fovea_execution *execution, fovea_nn_plans *plans, fovea_error *error) {
  const fovea_nn_encoder *e = &call->encoder;
  fovea_status status = FOVEA_OK;
  for (int64_t i = 0; i < e->count && !status; i++) {
    fovea_nn_layer_call layer;
    float *to = i == e->count - 1 && !e->final_norm ? call->rows.y : call->hidden;
    status = fovea_nn_make_layer(call, i, &layer, error);
    if (status) break;
    status = fovea_nn_run_block(&layer.block, &layer.self, layer.crossing, from, to, part, execution, plans, error);
    fovea_nn_fail_in_layer(i, status, error);
    from = to;
  }
  return fovea_nn_fail_in_part(call->names.stack, status, error);
}

/* Checks all layers before the first changes a cache. y is written by the last step. */
static fovea_status run(fovea_nn_encoder_call *call, char *memory, fovea_nn_plans *plans, fovea_error *error) {
  const fovea_nn_encoder *e = &call->encoder;
  const fovea_execution rows = fovea_nn_without_scratch(&call->execution);
  fovea_execution execution = call->execution;
  const float *from = call->rows.x;
  fovea_status status = FOVEA_OK;
  call->hidden = (float *)(void *)(memory + call->hidden_begin);
  execution.scratch = memory;
  execution.scratch_size = call->hidden_begin;
  const int alone = e->count == 1 && !call->rows.cross; /* then the layer checks itself before it writes */
  if (!alone)
    status = run_layers(call, from ? from : call->hidden, FOVEA_NN_BLOCK_CHECKS, &execution, plans, error);
  if (status) return status;
  if (!from) {
    from = call->hidden;
    status = fovea_nn_fail_in_part(call->names.rows, embed(call, memory, &rows, error), error);
  }
  if (!status && e->embedding_norm) {
    status = normalise(call, e->embedding_norm, from, call->hidden, &rows, error);
    from = call->hidden;
  }
  if (!status) status = run_layers(call, from, FOVEA_NN_BLOCK_COMPUTES, &execution, plans, error);
  if (status || !e->final_norm) return status;
  return normalise(call, e->final_norm, call->hidden, call->rows.y, &rows, error);
}

typedef struct encoder_run {
  fovea_nn_encoder_call *call;
  fovea_nn_plans *plans;
} encoder_run;

static fovea_status run_steps(void *data, char *memory, const fovea_execution *execution, fovea_error *error) {
  const encoder_run *r = data;
  r->call->execution = *execution;
  return run(r->call, memory, r->plans, error);
}

/* About as many multiply-adds as the layers make, if they are four times as wide inside. */
static double work_of(const fovea_nn_encoder_call *call) {
  const double layer = 12.0 * (double)call->dim * (double)call->dim;
  return (double)call->row_count * (double)call->encoder.count * layer;
}

/* In scratch after the plans of the stack itself, or in memory that is allocated. */
static fovea_status run_in_memory(fovea_nn_encoder_call *call, fovea_nn_plans *plans,
                                  const fovea_nn_plan_memory *own_plans, fovea_error *error) {
  encoder_run r = {call, plans};
  fovea_status status = fovea_nn_measure_encoder(call, fovea_nn_workers(&call->execution), plans, error);
  if (!status) status = fovea_nn_check_encoder_output(call, error);
  if (status) return status;
  if (own_plans) call->all.before = fovea_nn_plans_end(own_plans);
  return fovea_nn_run_steps(run_steps, &r, &call->all, work_of(call), &call->execution, error);
}

fovea_status fovea_nn_run_stack(fovea_nn_stack_names names, const fovea_nn_encoder *encoder,
                                const fovea_nn_encoder_rows *rows, const fovea_execution *execution,
                                fovea_nn_plans *plans, fovea_error *error) {
  fovea_nn_encoder_call call = {.names = names};
  const fovea_status status = fovea_nn_read_encoder_call(encoder, rows, execution, &call, error);
  return status || call.row_count == 0 ? status : run_in_memory(&call, plans, NULL, error);
}

fovea_status fovea_nn_encoder_run(const fovea_nn_encoder *encoder, const fovea_nn_encoder_rows *rows,
                                  const fovea_execution *execution, fovea_error *error) {
  fovea_nn_encoder_call call = {.row_count = 0};
  fovea_status status = fovea_nn_read_encoder_call(encoder, rows, execution, &call, error);
  if (status || call.row_count == 0) return status;
  fovea_nn_plan_memory memory = fovea_nn_plan_memory_of(&call.execution);
  fovea_nn_plans plans = fovea_nn_plans_in(&memory);
  status = run_in_memory(&call, &plans, &memory, error);
  fovea_nn_release_plans(&plans);
  return status;
}

fovea_status fovea_nn_measure_stack(fovea_nn_stack_names names, const fovea_nn_encoder *encoder,
                                    const fovea_nn_encoder_rows *rows, int64_t y_dim, int workers,
                                    const fovea_execution *execution, fovea_nn_plans *plans,
                                    fovea_nn_encoder_shape *shape, fovea_error *error) {
  fovea_nn_encoder_call call = {.names = names, .y_dim = y_dim};
  fovea_status status = fovea_nn_read_encoder_call(encoder, rows, execution, &call, error);
  if (!status) status = fovea_nn_measure_encoder(&call, workers, plans, error);
  if (!status) *shape = (fovea_nn_encoder_shape){call.row_count, call.dim, work_of(&call), call.all};
  return status;
}

fovea_status fovea_nn_encoder_scratch_size(const fovea_nn_encoder *encoder, const fovea_nn_encoder_rows *rows,
                                           const fovea_execution *execution, size_t *size, fovea_error *error) {
  fovea_execution measured;
  fovea_nn_encoder_shape shape;
  const fovea_nn_stack_names alone = {NULL, NULL};
  fovea_status status = fovea_nn_begin_measure(execution, &measured, size, error);
  if (status) return status;
  fovea_nn_plan_memory memory = fovea_nn_plan_memory_of(&measured);
  fovea_nn_plans plans = fovea_nn_plans_in(&memory);
  status = fovea_nn_measure_stack(alone, encoder, rows, 0, fovea_nn_workers(&measured), &measured, &plans, &shape,
                                  error);
  if (!status) *size = fovea_nn_scratch_size(&memory, &shape.all);
  fovea_nn_release_plans(&plans);
  return status;
}

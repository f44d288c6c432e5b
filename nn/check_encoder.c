/* Everything that a stack of layers may be refused for. */
#include "../src/base/caller.h"
#include "../src/base/error.h"
#include "../src/base/validate.h"
#include "choose_table.h"
#include "defaults.h"
#include "encoder_call.h"
#include "layer_parts.h"
#include "norm.h"
#include "scores.h"

static fovea_status check_dim(const char *name, int64_t given, int64_t wanted, fovea_error *error) {
  if (given == wanted) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is %jd; the first layer has %jd", name, given, wanted);
}

fovea_status fovea_nn_fail_in_part(const char *part, fovea_status status, fovea_error *error) {
  return part ? fovea_fail_within(part, status, error) : status;
}

fovea_status fovea_nn_read_encoder(const char *name, const fovea_nn_encoder *given, fovea_nn_encoder *encoder,
                                   fovea_error *error) {
  fovea_status status = fovea_nn_read_struct(name, given, encoder, sizeof *encoder, error);
  if (status) return status;
  const fovea_bounded count = {"count", encoder->count, 1, FOVEA_DIM_LIMIT};
  status = fovea_validate_bounds(name, &count, 1, error);
  if (status) return status;
  if (!encoder->blocks) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s.blocks is NULL", name);
  if (encoder->block_size >= sizeof(fovea_nn_block) && encoder->block_size % _Alignof(fovea_nn_block) == 0)
    return FOVEA_OK;
  return fovea_fail(
      error, FOVEA_ERROR_ARGUMENT, "%s.block_size is %ju; a block has at least %ju, a multiple of %ju", name,
      (uint64_t)encoder->block_size, (uint64_t)sizeof(fovea_nn_block), (uint64_t) _Alignof(fovea_nn_block));
}

fovea_status fovea_nn_block_at(const fovea_nn_encoder *encoder, int64_t i, fovea_nn_block *block,
                               fovea_error *error) {
  const char *first = (const char *)encoder->blocks;
  return fovea_nn_read_layer(i, (const void *)(first + (size_t)i * encoder->block_size), block, error);
}

static fovea_status read_tensors(const char *name, const fovea_nn_attending *attending,
                                 fovea_nn_attention_tensors *tensors, fovea_error *error) {
  if (!attending || !attending->problem || !attending->tensors) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is NULL, or its problem or tensors", name);
  }
  return fovea_fail_within(name, fovea_nn_read_attention_tensors(attending->tensors, tensors, error), error);
}

fovea_status fovea_nn_read_encoder_rows(const char *name, const fovea_nn_encoder_rows *given,
                                        fovea_nn_encoder_rows *rows, fovea_error *error) {
  return fovea_nn_read_struct(name, given, rows, sizeof *rows, error);
}

/* Ids, or x. */
static fovea_status check_inputs(const fovea_nn_encoder_call *call, fovea_error *error) {
  const fovea_nn_encoder_rows *r = &call->rows;
  const fovea_bounded id_type = {"id_type", (int)r->id_type, 0, FOVEA_NN_INT64};
  const char *unused = NULL;
  if (!r->x) {
    return fovea_validate_bounds(NULL, &id_type, 1, error);
  }
  if (r->ids) unused = "ids";
  if (r->id_type != FOVEA_NN_INT32) unused = "id_type";
  if (r->token_type_ids) unused = "token_type_ids";
  if (r->position_ids) unused = "position_ids";
  if (!unused) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s is set and would not be used: x is not NULL", unused);
}

/* The parts of the stack beside its layers. */
static fovea_status check_parts(fovea_nn_encoder_call *call, fovea_error *error) {
  const fovea_nn_encoder *e = &call->encoder;
  const fovea_nn_norm *norms[] = {e->embedding_norm, e->final_norm};
  fovea_nn_block first;
  fovea_status status = fovea_nn_block_at(e, 0, &first, error);
  if (status) return status;
  if (!first.self || !first.self->query) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "blocks[0].self%s is NULL", first.self ? ".query" : "");
  }
  call->dim = first.self->query->in;
  for (int i = 0; i < 2 && !status; i++) {
    if (!norms[i]) continue;
    status = fovea_nn_check_norm(i == 0 ? "embedding_norm" : "final_norm", norms[i], error);
    if (!status)
      status = check_dim(i == 0 ? "embedding_norm.dim" : "final_norm.dim", norms[i]->dim, call->dim, error);
  }
  if (status || call->rows.x) return status;
  if (!e->embedding) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "embedding is NULL, and so is x");
  status = fovea_nn_read_embedding(e->embedding, &call->embedding, error);
  call->numbered = call->embedding.positions.data && !call->rows.position_ids;
  return status ? status : check_dim("embedding.dim", call->embedding.dim, call->dim, error);
}

/* A distance between scores needs scores. */
static fovea_status check_distance(const char *name, const float *scores, int64_t layer, int64_t count,
                                   fovea_error *error) {
  const int64_t limit = INT64_C(1) << 57;
  if (layer != 0 && (!scores || count == 1)) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s is %jd and would not be used: %s", name, layer,
                      scores ? "there is one layer" : "the tensors have no scores");
  }
  if (layer <= limit / count && layer >= -limit / count) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                    "%s is %jd; the scores of %jd layers must lie within 2^57 elements", name, layer, count);
}

/* Only scores have a distance from layer to layer. */
static fovea_status check_further_outputs(const char *of, const fovea_nn_attention_tensors *t, int64_t count,
                                          fovea_error *error) {
  const struct {
    const char *name;
    const void *data;
  } outputs[] = {
#define OUTPUT(NAME, PLACE, field, wanted, optional, layout)                                                       \
  {#field, FOVEA_SHAPE_##PLACE == FOVEA_SHAPE_SCORES ? NULL : t->field},
#include "../src/feature/list.inc"
  };
  for (size_t i = 0; i < sizeof outputs / sizeof outputs[0] && count > 1; i++) {
    if (!outputs[i].data) continue;
    return fovea_fail(error, FOVEA_ERROR_UNUSED,
                      "%s.tensors.%s is set, and %jd layers would write it one after the other: run the layers by "
                      "fovea_nn_block_run(), each with its own",
                      of, outputs[i].name, count);
  }
  return FOVEA_OK;
}

static fovea_status check_distances(const fovea_nn_encoder_call *call, fovea_error *error) {
  const fovea_nn_encoder_rows *r = &call->rows;
  const int64_t count = call->encoder.count;
  const float *crossing = r->cross ? call->cross.scores : NULL;
  fovea_status status = check_distance("self_score_layer", call->self.scores, r->self_score_layer, count, error);
  if (!status) status = check_further_outputs("self", &call->self, count, error);
  if (!status && r->cross) status = check_further_outputs("cross", &call->cross, count, error);
  return status ? status : check_distance("cross_score_layer", crossing, r->cross_score_layer, count, error);
}

/* A list of rotary positions needs a layer that rotates by it; others, without a rotary embedding, pass it over. */
static fovea_status check_rotary_positions(const fovea_nn_encoder_call *call, fovea_error *error) {
  const int crosses = call->rows.cross != NULL;
  const char *unused = NULL;
  if (crosses && call->cross.memory_positions) unused = "cross.tensors.memory_positions";
  if (crosses && call->cross.rotary_positions) unused = "cross.tensors.rotary_positions";
  int self = call->self.rotary_positions != NULL, cross = unused != NULL;
  for (int64_t i = 0; i < call->encoder.count && (self || cross); i++) {
    fovea_nn_block block;
    const fovea_status status = fovea_nn_block_at(&call->encoder, i, &block, error);
    if (status) return status;
    if (block.self && block.self->rotary) self = 0;
    if (block.cross && block.cross->rotary) cross = 0;
  }
  if (!self && !cross) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s is set and would not be used: no layer has a rotary embedding",
                    self ? "self.tensors.rotary_positions" : unused);
}

/* What the call's rows are, apart from the layers. */
static fovea_status read_rows(fovea_nn_encoder_call *call, fovea_error *error) {
  const fovea_nn_attending *self = call->rows.self, *cross = call->rows.cross;
  fovea_status status = read_tensors("self", self, &call->self, error);
  if (!status && cross) status = read_tensors("cross", cross, &call->cross, error);
  if (!status) status = check_distances(call, error);
  if (!status) status = check_rotary_positions(call, error);
  if (status) return status;
  status = fovea_nn_count_rows(self->problem, &call->problem, &call->row_count, error);
  if (status) return fovea_fail_within("self", status, error);
  if (cross) status = fovea_read_problem(cross->problem, &call->cross_problem, error);
  return status ? fovea_fail_within("cross", status, error) : check_inputs(call, error);
}

fovea_status fovea_nn_read_encoder_call(const fovea_nn_encoder *encoder, const fovea_nn_encoder_rows *rows,
                                        const fovea_execution *execution, fovea_nn_encoder_call *call,
                                        fovea_error *error) {
  const fovea_nn_stack_names *names = &call->names;
  const char *stack = names->stack ? names->stack : "encoder";
  fovea_status status = fovea_nn_read_encoder(stack, encoder, &call->encoder, error);
  if (!status) status = fovea_nn_read_encoder_rows(names->rows ? names->rows : "rows", rows, &call->rows, error);
  if (!status) status = fovea_nn_read_execution(execution, &call->execution, error);
  if (status) return status;
  status = fovea_nn_fail_in_part(names->rows, read_rows(call, error), error);
  return status ? status : fovea_nn_fail_in_part(names->stack, check_parts(call, error), error);
}

/* Whether self-attention takes the positions of the rows, beside the embedding. */
static int takes_positions(const fovea_nn_encoder_call *call, const fovea_nn_attention *self) {
  return !self || (self->rotary && !call->self.rotary_positions) || (call->problem.cache.segmented && self->key);
}

/* Positions that only the embedding takes would be refused by a layer. Which of two is set, layers check. */
static void clear_positions(const fovea_nn_encoder_call *call, fovea_nn_layer_call *layer) {
  fovea_nn_attention_tensors *t = &layer->self_tensors;
  if (!call->numbered || takes_positions(call, layer->block.self)) return;
  if (t->first_positions && t->first_position != 0) return;
  t->first_position = 0;
  t->first_positions = NULL;
}

static fovea_status make_crossing(const fovea_nn_encoder_call *call, int64_t i, fovea_nn_layer_call *layer,
                                  fovea_error *error) {
  fovea_nn_attention_tensors *t = &layer->cross_tensors;
  *t = call->cross;
  if (t->scores) t->scores += i * call->rows.cross_score_layer;
  if (layer->block.cross && !layer->block.cross->rotary) t->rotary_positions = t->memory_positions = NULL;
  layer->cross = (fovea_nn_attending){call->rows.cross->problem, t};
  layer->crossing = &layer->cross;
  if (!call->cross_problem.cache.segmented || !layer->block.cross) return FOVEA_OK;
  t->cache.layer += i;
  const fovea_status status = fovea_nn_read_attention("cross", layer->block.cross, &layer->filled, error);
  layer->filled.key = layer->filled.value = NULL;
  layer->block.cross = &layer->filled;
  return fovea_nn_fail_in_layer(i, status, error);
}

fovea_status fovea_nn_make_layer(const fovea_nn_encoder_call *call, int64_t i, fovea_nn_layer_call *layer,
                                 fovea_error *error) {
  fovea_nn_attention_tensors *t = &layer->self_tensors;
  const fovea_status status = fovea_nn_block_at(&call->encoder, i, &layer->block, error);
  if (status) return status;
  *t = call->self;
  if (call->problem.cache.segmented) t->cache.layer += i;
  if (t->scores) t->scores += i * call->rows.self_score_layer;
  if (layer->block.self && !layer->block.self->rotary) t->rotary_positions = NULL; /* some layer has one */
  clear_positions(call, layer);
  layer->self = (fovea_nn_attending){call->rows.self->problem, t};
  layer->crossing = NULL;
  return call->rows.cross ? make_crossing(call, i, layer, error) : FOVEA_OK;
}

/* ---- Layers ---- */

/* Checks layer i: its sizes, and all that its run checks when earlier layers have changed their caches. */
static fovea_status measure_layer(fovea_nn_encoder_call *call, int64_t i, int workers, fovea_nn_plans *plans,
                                  const fovea_nn_around *around, fovea_nn_output outputs[2][FOVEA_NN_OUTPUT_COUNT],
                                  fovea_error *error) {
  fovea_nn_layer_call layer;
  fovea_nn_scratch all;
  fovea_status status = fovea_nn_make_layer(call, i, &layer, error);
  if (status) return status;
  status = fovea_nn_measure_block(&layer.block, &layer.self, layer.crossing, workers, plans, &all, error);
  if (!status && fovea_nn_size_of(&all) > call->block_size) call->block_size = fovea_nn_size_of(&all);
  if (!status)
    status = fovea_nn_check_attentions(&layer.block, &layer.self, layer.crossing, around, outputs, error);
  if (!status) status = check_dim("self.query.in", layer.block.self->query->in, call->dim, error);
  return fovea_nn_fail_in_layer(i, status, error);
}

static fovea_nn_matrix y_of(const fovea_nn_encoder_call *call) {
  const int64_t dim = call->y_dim > 0 ? call->y_dim : call->dim;
  return (fovea_nn_matrix){"y", call->rows.y, FOVEA_F32, call->row_count, dim, dim};
}

static fovea_nn_matrix x_of(const fovea_nn_encoder_call *call) {
  const int64_t dim = call->dim;
  return (fovea_nn_matrix){"x", call->rows.x, FOVEA_F32, call->rows.x ? call->row_count : 0, dim, dim};
}

/* Tables, and all weights of the stack that are in no layer: first the tables, if there is no x. */
enum { TABLES = 3, STACK_PARTS = 7 };

static int parts_of(const fovea_nn_encoder_call *call, fovea_nn_matrix parts[STACK_PARTS]) {
  const fovea_nn_embedding *e = &call->embedding;
  const struct {
    const char *name;
    const fovea_nn_table *table;
  } tables[] = {{"tokens", &e->tokens}, {"token_types", &e->token_types}, {"positions", &e->positions}};
  int count = 0;
  for (int i = 0; i < TABLES && !call->rows.x; i++) {
    const fovea_nn_table *t = tables[i].table;
    parts[count++] =
        (fovea_nn_matrix){tables[i].name, t->data, t->type, t->data ? t->count : 0, call->dim, t->stride};
  }
  count = fovea_nn_add_norm(call->encoder.embedding_norm, parts, count);
  return fovea_nn_add_norm(call->encoder.final_norm, parts, count);
}

/* Checks all layers, and sets the size of the scratch that the largest of them needs. */
static fovea_status measure_layers(fovea_nn_encoder_call *call, int workers, fovea_nn_plans *plans,
                                   fovea_error *error) {
  const fovea_execution *e = &call->execution;
  const fovea_nn_around around = {
      .x = x_of(call), .y = y_of(call), .scratch = fovea_nn_scratch_of(e->scratch, e->scratch_size)};
  fovea_nn_layer_scores all[2] = {
      {.name = "self_score_layer", .data = call->self.scores, .layer = call->rows.self_score_layer},
      {.name = "cross_score_layer", .data = call->cross.scores, .layer = call->rows.cross_score_layer}};
  fovea_nn_matrix parts[STACK_PARTS];
  const int count = parts_of(call, parts);
  fovea_status status = FOVEA_OK;
  for (int i = 0; i < TABLES && !call->rows.x && !status; i++)
    status = fovea_fail_within("embedding", fovea_nn_check_table(&parts[i], error), error);
  call->block_size = 0;
  for (int64_t i = 0; i < call->encoder.count && !status; i++) {
    fovea_nn_output outputs[2][FOVEA_NN_OUTPUT_COUNT];
    status = measure_layer(call, i, workers, plans, &around, outputs, error);
    for (int kind = 0; kind < 2 && !status; kind++) {
      fovea_nn_add_scores(&all[kind], &outputs[kind][FOVEA_NN_OUTPUT_SCORES], i);
      status = fovea_nn_check_outputs_apart(outputs[kind], parts, count, error);
      fovea_nn_fail_in_layer(i, fovea_fail_within(kind == 0 ? "self" : "cross", status, error), error);
    }
  }
  if (status) return fovea_nn_fail_in_part(call->names.stack, status, error);
  status = fovea_nn_check_layer_scores(all, call->encoder.count, error);
  return fovea_nn_fail_in_part(call->names.rows, status, error);
}

fovea_status fovea_nn_measure_encoder(fovea_nn_encoder_call *call, int workers, fovea_nn_plans *plans,
                                      fovea_error *error) {
  const uint64_t count = (uint64_t)call->row_count, id = call->rows.id_type == FOVEA_NN_INT32 ? 4 : 8;
  const fovea_status status = measure_layers(call, workers, plans, error);
  if (status) return status;
  call->all = (fovea_nn_scratch){0};
  fovea_nn_reserve(&call->all, call->block_size);
  call->hidden_begin = fovea_nn_reserve(&call->all, fovea_nn_bytes(call->row_count, call->dim, 1));
  call->position_ids_begin = call->numbered ? fovea_nn_reserve(&call->all, count * id) : 0;
  return FOVEA_OK;
}

/* ---- Output and positions ---- */

fovea_nn_positions fovea_nn_positions_of(const fovea_nn_encoder_call *call) {
  const fovea_problem *p = &call->problem;
  return (fovea_nn_positions){.batch = p->batch,
                              .length = p->q_len,
                              .cu_seqlens = p->cu_seqlens_q,
                              .lengths = p->q_lens,
                              .first = call->self.first_position,
                              .firsts = call->self.first_positions};
}

static fovea_status check_output(const fovea_nn_encoder_call *call, fovea_error *error) {
  const fovea_nn_matrix x = x_of(call), y = y_of(call);
  const fovea_nn_positions positions = fovea_nn_positions_of(call);
  fovea_nn_matrix parts[STACK_PARTS];
  const int count = parts_of(call, parts);
  fovea_status status = fovea_nn_check_matrix(&y, 1, error);
  if (!status) status = fovea_nn_check_matrix(&x, 0, error);
  if (!status && !fovea_nn_is_same(&x, &y)) status = fovea_nn_check_apart(&y, &x, error);
  for (int i = 0; i < count && !status; i++) status = fovea_nn_check_apart(&y, &parts[i], error);
  if (status || !call->numbered) return status;
  int64_t most = call->embedding.positions.count - 1;
  if (call->rows.id_type == FOVEA_NN_INT32 && most > INT32_MAX) most = INT32_MAX;
  return fovea_fail_within("self", fovea_nn_check_positions(&positions, 0, most, "embedding", error), error);
}

fovea_status fovea_nn_check_encoder_output(const fovea_nn_encoder_call *call, fovea_error *error) {
  return fovea_nn_fail_in_part(call->names.rows, check_output(call, error), error);
}

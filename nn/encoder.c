/* Stacks of layers: an embedding, layers and norms by single calls, whose rows stay in scratch until the last. */
#include "encoder.h"

#include "../src/base/caller.h"
#include "../src/base/error.h"
#include "../src/base/memory.h"
#include "../src/base/validate.h"
#include "attention.h"
#include "block.h"
#include "caller.h"
#include "ids.h"
#include "scratch.h"

#include <string.h>

#define FIRST_ENCODER      sizeof(fovea_nn_encoder)
#define FIRST_ENCODER_ROWS sizeof(fovea_nn_encoder_rows)
#define FIRST_BLOCK        sizeof(fovea_nn_block)

/* A call that was read. */
typedef struct encoder_call {
  fovea_nn_encoder encoder;
  fovea_nn_encoder_rows rows;
  fovea_nn_embedding embedding;
  fovea_nn_attention_tensors self, cross;
  fovea_problem problem; /* that of self, complete */
  fovea_execution execution;
  int64_t row_count, dim;
  int places; /* positions of the embedding are those of the rows */
  fovea_nn_scratch all;
  size_t block_size, hidden_begin, places_begin; /* scratch of a layer; what lies behind it */
  float *hidden;                                 /* (row_count, dim) */
} encoder_call;

/* One layer of it, with pointers into itself. */
typedef struct layer_call {
  fovea_nn_block block;
  fovea_nn_attention filled; /* cross-attention over caches that hold the memory */
  fovea_nn_attention_tensors self_tensors, cross_tensors;
  fovea_nn_attending self, cross;
  const fovea_nn_attending *crossing; /* &cross or NULL */
} layer_call;

void fovea_nn_encoder_init_sized(fovea_nn_encoder *encoder, size_t struct_size, const fovea_nn_block *blocks,
                                 size_t block_size, int64_t count) {
  const fovea_nn_encoder defaults = {
      .struct_size = struct_size, .blocks = blocks, .count = count, .block_size = block_size};
  memcpy(encoder, &defaults, struct_size < sizeof defaults ? struct_size : sizeof defaults);
}

void fovea_nn_encoder_rows_init_sized(fovea_nn_encoder_rows *rows, size_t struct_size,
                                      const fovea_nn_attending *self, const void *ids, float *y) {
  const fovea_nn_encoder_rows defaults = {.struct_size = struct_size, .self = self, .ids = ids, .y = y};
  memcpy(rows, &defaults, struct_size < sizeof defaults ? struct_size : sizeof defaults);
}

static fovea_status check_dim(const char *name, int64_t given, int64_t wanted, fovea_error *error) {
  if (given == wanted) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_SIZE, "%s is %d; the first layer has %d", name, given, wanted);
}

fovea_status fovea_nn_read_encoder(const fovea_nn_encoder *given, fovea_nn_encoder *encoder, fovea_error *error) {
  if (!given) return fovea_fail(error, FOVEA_ERROR_NULL, "encoder is NULL");
  fovea_status status = fovea_nn_check_size("encoder", given->struct_size, FIRST_ENCODER, sizeof *encoder, error);
  if (status) return status;
  *encoder = *given;
  const fovea_bounded count = {"count", encoder->count, 1, FOVEA_DIM_LIMIT};
  status = fovea_validate_bounds("encoder", &count, 1, FOVEA_ERROR_SIZE, error);
  if (status) return status;
  if (!encoder->blocks) return fovea_fail(error, FOVEA_ERROR_NULL, "blocks is NULL");
  if (encoder->block_size >= FIRST_BLOCK && encoder->block_size % _Alignof(fovea_nn_block) == 0) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_STRUCT_SIZE, "block_size is %u; a block has at least %u, a multiple of %u",
                    (uint64_t)encoder->block_size, (uint64_t)FIRST_BLOCK, (uint64_t) _Alignof(fovea_nn_block));
}

fovea_status fovea_nn_block_at(const fovea_nn_encoder *encoder, int64_t i, fovea_nn_block *block,
                               fovea_error *error) {
  const char *first = (const char *)encoder->blocks;
  return fovea_nn_read_block((const fovea_nn_block *)(const void *)(first + (size_t)i * encoder->block_size), block,
                             error);
}

static fovea_status read_tensors(const char *name, const fovea_nn_attending *attending,
                                 fovea_nn_attention_tensors *tensors, fovea_error *error) {
  if (!attending || !attending->problem || !attending->tensors) {
    return fovea_fail(error, FOVEA_ERROR_NULL, "%s or its problem or tensors are NULL", name);
  }
  return fovea_nn_read_attention_tensors(attending->tensors, tensors, error);
}

fovea_status fovea_nn_read_encoder_rows(const fovea_nn_encoder_rows *given, fovea_nn_encoder_rows *rows,
                                        fovea_error *error) {
  if (!given) return fovea_fail(error, FOVEA_ERROR_NULL, "rows is NULL");
  const fovea_status status =
      fovea_nn_check_size("rows", given->struct_size, FIRST_ENCODER_ROWS, sizeof *rows, error);
  if (!status) *rows = *given;
  return status;
}

/* Ids and an embedding, or x; a table of positions for what is set about them. */
static fovea_status check_inputs(const encoder_call *call, fovea_error *error) {
  const fovea_nn_encoder_rows *r = &call->rows;
  const fovea_bounded id_type = {"id_type", (int)r->id_type, 0, FOVEA_NN_INT64};
  const char *unused = NULL;
  if (!r->x) {
    if (!call->encoder.embedding) return fovea_fail(error, FOVEA_ERROR_NULL, "embedding is NULL, and so is x");
    return fovea_validate_bounds(NULL, &id_type, 1, FOVEA_ERROR_TYPE, error);
  }
  if (r->ids) unused = "ids";
  if (r->id_type != FOVEA_NN_INT32) unused = "id_type";
  if (r->token_type_ids) unused = "token_type_ids";
  if (r->position_ids) unused = "position_ids";
  if (!unused) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s is set and would not be used: x is not NULL", unused);
}

static fovea_status check_parts(encoder_call *call, fovea_error *error) {
  const fovea_nn_encoder *e = &call->encoder;
  const fovea_nn_norm *norms[] = {e->embedding_norm, e->final_norm};
  fovea_nn_norm norm;
  fovea_nn_block first;
  fovea_status status = fovea_nn_block_at(e, 0, &first, error);
  if (status) return status;
  if (!first.self || !first.self->query) {
    return fovea_fail(error, FOVEA_ERROR_NULL, "self is NULL or has no query");
  }
  call->dim = first.self->query->in;
  for (int i = 0; i < 2 && !status; i++) {
    if (!norms[i]) continue;
    status = fovea_nn_read_norm(norms[i], &norm, error);
    if (!status) status = check_dim("dim of a norm", norm.dim, call->dim, error);
  }
  if (!status) status = check_inputs(call, error);
  if (status || call->rows.x) return status;
  status = fovea_nn_read_embedding(e->embedding, &call->embedding, error);
  call->places = call->embedding.positions.data && !call->rows.position_ids;
  return status ? status : check_dim("dim of the embedding", call->embedding.dim, call->dim, error);
}

/* Scores of several layers lie apart, and a distance between scores needs scores. */
static fovea_status check_score_layer(const char *name, const float *scores, int64_t layer, int64_t count,
                                      fovea_error *error) {
  const int64_t limit = INT64_C(1) << 57;
  if (layer != 0 && (!scores || count == 1)) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s is %d and would not be used: %s", name, layer,
                      scores ? "there is one layer" : "the tensors have no scores");
  }
  if (!scores || count == 1) return FOVEA_OK;
  if (layer != 0 && layer <= limit / count && layer >= -limit / count) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_STRIDE,
                    "%s is %d; the scores of %d layers must lie apart, within 2^57 elements", name, layer, count);
}

static fovea_status check_score_layers(const encoder_call *call, fovea_error *error) {
  const fovea_nn_encoder_rows *r = &call->rows;
  const int64_t count = call->encoder.count;
  const float *crossing = r->cross ? call->cross.scores : NULL;
  const fovea_status status =
      check_score_layer("self_score_layer", call->self.scores, r->self_score_layer, count, error);
  return status ? status : check_score_layer("cross_score_layer", crossing, r->cross_score_layer, count, error);
}

static fovea_status read_call(const fovea_nn_encoder *encoder, const fovea_nn_encoder_rows *rows,
                              const fovea_execution *execution, encoder_call *call, fovea_error *error) {
  fovea_status status = fovea_nn_read_encoder(encoder, &call->encoder, error);
  if (!status) status = fovea_nn_read_encoder_rows(rows, &call->rows, error);
  if (!status) status = fovea_read_execution(execution, &call->execution, error);
  if (!status) status = read_tensors("self", call->rows.self, &call->self, error);
  if (!status && call->rows.cross) status = read_tensors("cross", call->rows.cross, &call->cross, error);
  if (!status) status = check_score_layers(call, error);
  if (!status) status = fovea_nn_count_rows(call->rows.self->problem, &call->problem, &call->row_count, error);
  return status ? status : check_parts(call, error);
}

/* Sets up layer i. Each has its own layer of the caches. */
static fovea_status make_layer(const encoder_call *call, int64_t i, layer_call *layer, fovea_error *error) {
  const fovea_nn_attending *self = call->rows.self, *cross = call->rows.cross;
  fovea_status status = fovea_nn_block_at(&call->encoder, i, &layer->block, error);
  layer->self_tensors = call->self;
  layer->cross_tensors = call->cross;
  if (self->problem->segmented) layer->self_tensors.layer += i;
  if (call->self.scores) layer->self_tensors.scores = call->self.scores + i * call->rows.self_score_layer;
  if (cross && call->cross.scores) {
    layer->cross_tensors.scores = call->cross.scores + i * call->rows.cross_score_layer;
  }
  layer->self = (fovea_nn_attending){self->problem, &layer->self_tensors};
  layer->crossing = NULL;
  if (status || !cross) return status;
  layer->cross = (fovea_nn_attending){cross->problem, &layer->cross_tensors};
  layer->crossing = &layer->cross;
  if (!cross->problem->segmented || !layer->block.cross) return FOVEA_OK;
  layer->cross_tensors.layer += i;
  status = fovea_nn_read_attention(layer->block.cross, &layer->filled, error);
  layer->filled.key = layer->filled.value = NULL;
  layer->block.cross = &layer->filled;
  return status;
}

/* Checks what the layer itself checks when earlier layers have changed their caches. */
static fovea_status check_layer(const encoder_call *call, const layer_call *layer, fovea_error *error) {
  fovea_nn_attention_call attention;
  fovea_status status = fovea_nn_check_attention(layer->block.self, layer->self.problem, &layer->self_tensors, NULL,
                                                 &attention, error);
  if (!status && layer->crossing) {
    status = fovea_nn_check_attention(layer->block.cross, layer->cross.problem, &layer->cross_tensors, NULL,
                                      &attention, error);
  }
  return status ? status : check_dim("in of a query", layer->block.self->query->in, call->dim, error);
}

/* Checks all layers, and sets the size of the scratch that the largest of them needs. */
static fovea_status measure_layers(encoder_call *call, int workers, void *memory, size_t size, fovea_error *error) {
  fovea_error why = {.status = FOVEA_OK};
  call->block_size = 0;
  for (int64_t i = 0; i < call->encoder.count; i++) {
    layer_call layer;
    fovea_status status = make_layer(call, i, &layer, &why);
    size_t bytes = 0;
    if (!status)
      bytes = fovea_nn_block_bytes(&layer.block, &layer.self, layer.crossing, workers, memory, size, &why);
    if (!status && bytes == 0) status = why.status;
    if (!status) status = check_layer(call, &layer, &why);
    if (status) {
      if (error) *error = why;
      return status;
    }
    if (bytes > call->block_size) call->block_size = bytes;
  }
  return FOVEA_OK;
}

static fovea_status check_y(const encoder_call *call, fovea_error *error) {
  const fovea_nn_encoder_rows *r = &call->rows;
  const fovea_nn_embedding *e = &call->embedding;
  const int64_t dim = call->dim;
  const fovea_nn_matrix y = {"y", r->y, FOVEA_F32, call->row_count, dim, dim};
  const fovea_nn_matrix x = {"x", r->x, FOVEA_F32, r->x ? call->row_count : 0, dim, dim};
  const struct {
    const char *name;
    const fovea_nn_table *table;
  } tables[] = {{"tokens", &e->tokens}, {"token_types", &e->token_types}, {"positions", &e->positions}};
  fovea_status status = fovea_nn_check_matrix(&y, 1, error);
  if (!status) status = fovea_nn_check_matrix(&x, 0, error);
  if (!status && !fovea_nn_is_same(&x, &y)) status = fovea_nn_check_apart(&y, &x, error);
  for (int i = 0; i < 3 && !status && !r->x; i++) {
    const fovea_nn_table *t = tables[i].table;
    const fovea_nn_matrix matrix = {tables[i].name, t->data, t->type, t->data ? t->count : 0, dim, t->stride};
    status = fovea_nn_check_matrix(&matrix, 0, error);
    if (!status) status = fovea_nn_check_apart(&y, &matrix, error);
  }
  return status;
}

/* Checks the layers, and lays out scratch: that of a layer, the rows, their positions. */
static fovea_status measure(encoder_call *call, int workers, void *memory, size_t size, fovea_error *error) {
  const double count = (double)call->row_count, id = call->rows.id_type == FOVEA_NN_INT32 ? 4 : 8;
  fovea_status status = FOVEA_OK;
  if (memory) status = fovea_validate_scratch(memory, size, fovea_plan_size(call->problem.batch), error);
  if (!status) status = measure_layers(call, workers, memory, size, error);
  if (status) return status;
  call->all = (fovea_nn_scratch){0, 0};
  fovea_nn_reserve(&call->all, (double)call->block_size);
  call->hidden_begin = fovea_nn_reserve(&call->all, count * (double)call->dim * (double)sizeof(float));
  call->places_begin = call->places ? fovea_nn_reserve(&call->all, count * id) : 0;
  return FOVEA_OK;
}

static int64_t length_of(const fovea_problem *p, int64_t entry) {
  return p->cu_seqlens_q ? p->cu_seqlens_q[entry + 1] - p->cu_seqlens_q[entry] : p->q_len;
}

static int64_t first_place(const encoder_call *call, int64_t entry) {
  return call->self.first_positions ? call->self.first_positions[entry] : call->self.first_position;
}

static fovea_status check_places(const encoder_call *call, fovea_error *error) {
  int64_t most = call->embedding.positions.count - 1;
  if (call->rows.id_type == FOVEA_NN_INT32 && most > INT32_MAX) most = INT32_MAX;
  for (int64_t b = 0; call->places && b < call->problem.batch; b++) {
    const int64_t first = first_place(call, b), length = length_of(&call->problem, b);
    if (length == 0 || (first >= 0 && first <= most - (length - 1))) continue;
    return fovea_fail(error, FOVEA_ERROR_POSITION,
                      "entry %d has %d rows from position %d on; the embedding's positions are from 0 to %d", b,
                      length, first, most);
  }
  return FOVEA_OK;
}

/* Writes the position of each row. */
static void write_places(const encoder_call *call, void *places) {
  const fovea_problem *p = &call->problem;
  const int is_short = call->rows.id_type == FOVEA_NN_INT32;
  memset(places, 0, (size_t)call->row_count * (is_short ? sizeof(int32_t) : sizeof(int64_t)));
  for (int64_t b = 0; b < p->batch; b++) {
    const int64_t first = first_place(call, b), length = length_of(p, b);
    for (int64_t i = 0; i < length; i++) {
      int64_t row = call->self.rows_first ? i * p->batch + b : b * p->q_len + i;
      if (p->cu_seqlens_q) row = p->cu_seqlens_q[b] + i;
      if (is_short)
        ((int32_t *)places)[row] = (int32_t)(first + i);
      else
        ((int64_t *)places)[row] = first + i;
    }
  }
}

static fovea_status embed(const encoder_call *call, char *memory, const fovea_execution *execution,
                          fovea_error *error) {
  const fovea_nn_encoder_rows *r = &call->rows;
  fovea_nn_embedding_rows rows;
  fovea_nn_embedding_rows_init(&rows, &call->embedding, call->row_count, r->ids, call->hidden);
  rows.id_type = r->id_type;
  rows.token_type_ids = r->token_type_ids;
  rows.position_ids = r->position_ids;
  if (call->places) {
    write_places(call, memory + call->places_begin);
    rows.position_ids = memory + call->places_begin;
  }
  return fovea_nn_embed(&call->embedding, &rows, execution, error);
}

static fovea_status normalise(const encoder_call *call, const fovea_nn_norm *norm, const float *from, float *to,
                              const fovea_execution *execution, fovea_error *error) {
  fovea_nn_norm_rows rows;
  fovea_nn_norm_rows_init(&rows, norm, call->row_count, from, to);
  return fovea_nn_norm_run(norm, &rows, execution, error);
}

/* y is written by the last step. */
static fovea_status run(encoder_call *call, char *memory, fovea_error *error) {
  const fovea_nn_encoder *e = &call->encoder;
  const fovea_execution rows = fovea_nn_without_scratch(&call->execution);
  fovea_execution execution = call->execution;
  const float *from = call->rows.x;
  fovea_status status = FOVEA_OK;
  call->hidden = (float *)(void *)(memory + call->hidden_begin);
  execution.scratch = memory;
  execution.scratch_size = call->hidden_begin;
  if (!from) {
    from = call->hidden;
    status = embed(call, memory, &rows, error);
  }
  if (!status && e->embedding_norm) {
    status = normalise(call, e->embedding_norm, from, call->hidden, &rows, error);
    from = call->hidden;
  }
  for (int64_t i = 0; i < e->count && !status; i++) {
    layer_call layer;
    float *to = i == e->count - 1 && !e->final_norm ? call->rows.y : call->hidden;
    status = make_layer(call, i, &layer, error);
    if (!status)
      status = fovea_nn_block_run(&layer.block, &layer.self, layer.crossing, from, to, &execution, error);
    from = to;
  }
  if (status || !e->final_norm) return status;
  return normalise(call, e->final_norm, call->hidden, call->rows.y, &rows, error);
}

fovea_status fovea_nn_encoder_run(const fovea_nn_encoder *encoder, const fovea_nn_encoder_rows *rows,
                                  const fovea_execution *execution, fovea_error *error) {
  encoder_call call = {.row_count = 0};
  char *memory;
  void *allocated;
  fovea_status status = read_call(encoder, rows, execution, &call, error);
  const fovea_execution *e = &call.execution;
  if (status || call.row_count == 0) return status;
  status = measure(&call, fovea_nn_workers(e), e->scratch, e->scratch_size, error);
  if (!status) status = check_y(&call, error);
  if (!status) status = check_places(&call, error);
  if (!status) status = fovea_nn_obtain(&call.all, e, &call.problem.allocator, &memory, &allocated, error);
  if (status) return status;
  status = run(&call, memory, error);
  fovea_release(&call.problem.allocator, allocated);
  return status;
}

size_t fovea_nn_encoder_bytes(const fovea_nn_encoder *encoder, const fovea_nn_encoder_rows *rows, int workers,
                              void *memory, size_t size, fovea_nn_encoder_shape *shape, fovea_error *error) {
  encoder_call call = {.row_count = 0};
  if (read_call(encoder, rows, NULL, &call, error) != FOVEA_OK) return 0;
  *shape = (fovea_nn_encoder_shape){call.row_count, call.dim, call.problem.allocator};
  if (measure(&call, workers, memory, size, error) != FOVEA_OK) return 0;
  return call.all.saturated ? SIZE_MAX : call.all.size;
}

size_t fovea_nn_encoder_scratch_size(const fovea_nn_encoder *encoder, const fovea_nn_encoder_rows *rows,
                                     int workers) {
  fovea_nn_encoder_shape shape;
  if (workers <= 0) workers = fovea_default_threads();
  return fovea_nn_encoder_bytes(encoder, rows, workers, NULL, 0, &shape, NULL);
}

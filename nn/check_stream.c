/* Makes streams: everything that a stream may be refused for, and its memory. */
#include "../src/base/caller.h"
#include "../src/base/error.h"
#include "../src/base/validate.h"
#include "attention.h"
#include "defaults.h"
#include "fields.h"
#include "linear.h"
#include "matrix.h"
#include "stream.h"
#include "transformer_block.h"

#include <string.h>

void fovea_nn_streaming_init_sized(fovea_nn_streaming *streaming, size_t struct_size, int64_t layers,
                                   const fovea_nn_block *const *blocks, const fovea_problem *problem,
                                   int64_t chunk) {
  const fovea_nn_streaming defaults = {
      .struct_size = struct_size, .layers = layers, .blocks = blocks, .problem = problem, .chunk = chunk};
  fovea_nn_write_defaults(streaming, struct_size, &defaults, sizeof defaults);
}

/* The features that a stream hands on. */
static uint64_t known_features(void) {
  return fovea_features_of_layer(FOVEA_LAYER_STREAM);
}

fovea_problem fovea_nn_stream_problem(const fovea_problem *problem, int64_t rows, int64_t keys) {
  fovea_problem p;
  fovea_problem_init(&p, 1, problem->heads, problem->kv_heads, rows, keys, problem->qk_dim, problem->v_dim);
  fovea_nn_copy_fields(problem, known_features() & ~FOVEA_HAS(SIZES), &p);
  return p;
}

/* ---- The problem ---- */

/* What a stream knows is what fovea_nn_stream_problem() hands on. */
static fovea_status check_unused(const fovea_problem *p, fovea_error *error) {
  static const char why[] =
      "a stream has one utterance, of any length, and rows see by causal, window and chunk rules only";
  if (p->q_len != 0 || p->kv_len != 0) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "problem.%s is set and would not be used: %s",
                      p->q_len != 0 ? "q_len" : "kv_len", why);
  }
  return fovea_nn_refuse_fields(p, known_features(), why, error);
}

/* The keys that a layer keeps. */
static int64_t capacity_of(const fovea_nn_stream *stream) {
  return stream->left + stream->right + stream->streaming.chunk;
}

/* The most frames that a row sees on a side: by the window, and by its chunk, in which it may be first or last.
 * FOVEA_UNLIMITED: any number. */
static int64_t reach_of(int64_t window, int64_t chunk_size, int64_t chunk_side) {
  if (chunk_size == 0 || chunk_side == FOVEA_UNLIMITED) return window;
  const int64_t chunk = chunk_size - 1 + chunk_side;
  return window != FOVEA_UNLIMITED && window < chunk ? window : chunk;
}

static fovea_status check_side(const char *name, int64_t number, fovea_error *error) {
  const fovea_bounded side = {name, number, 0, FOVEA_LENGTH_LIMIT / 8};
  if (number == FOVEA_UNLIMITED) return FOVEA_OK;
  return fovea_validate_bounds(NULL, &side, 1, error);
}

static fovea_status check_reach(const char *side, int64_t reach, fovea_error *error) {
  if (reach != FOVEA_UNLIMITED) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                    "problem.window_%s is FOVEA_UNLIMITED, and no chunk ends it: the memory of a stream is "
                    "bounded by its window or its chunks; set window_%s, or chunks.size and chunks.%s",
                    side, side, side);
}

/* Checks the rules, and finds how far rows see. */
static fovea_status check_rules(fovea_nn_stream *stream, fovea_error *error) {
  const fovea_problem *p = &stream->problem;
  const fovea_bounded rules[] = {{"causal", p->causal, 0, 1},
                                 {"chunks.size", p->chunks.size, 0, FOVEA_LENGTH_LIMIT / 8}};
  fovea_status status = fovea_validate_bounds(NULL, rules, 2, error);
  if (!status) status = check_side("window_left", p->window_left, error);
  if (!status) status = check_side("window_right", p->window_right, error);
  if (!status) status = check_side("chunks.left", p->chunks.left, error);
  if (!status) status = check_side("chunks.right", p->chunks.right, error);
  if (status) return status;
  if (p->chunks.size == 0 && (p->chunks.left != 0 || p->chunks.right != 0)) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "problem.%s is %jd and would not be used: chunks.size is 0",
                      p->chunks.left ? "chunks.left" : "chunks.right",
                      p->chunks.left ? p->chunks.left : p->chunks.right);
  }
  stream->left = reach_of(p->window_left, p->chunks.size, p->chunks.left);
  stream->right = p->causal ? 0 : reach_of(p->window_right, p->chunks.size, p->chunks.right);
  status = check_reach("left", stream->left, error);
  return status ? status : check_reach("right", stream->right, error);
}

/* Products of these sizes must not overflow. */
static fovea_status check_sizes(const fovea_nn_stream *stream, fovea_error *error) {
  const fovea_nn_streaming *s = &stream->streaming;
  const fovea_problem all = fovea_nn_stream_problem(&stream->problem, s->chunk, capacity_of(stream));
  const fovea_problem *p = &all;
  const fovea_status status = fovea_nn_check_sizes(p, error);
  if (status) return status;
  const uint64_t most = UINT64_C(1) << 59; /* bytes */
  const uint64_t keys = fovea_nn_bytes(p->kv_len, p->kv_heads, p->qk_dim + p->v_dim);
  const uint64_t rows = fovea_nn_bytes(stream->right + s->chunk, stream->dim, 1);
  if (keys < most && rows < most && fovea_nn_product((uint64_t)s->layers, keys + rows) < most) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                    "layers is %jd: with %jd keys and %jd frames of each, they are more than 2^57 numbers",
                    s->layers, p->kv_len, stream->right + s->chunk);
}

/* ---- The layers ---- */

static fovea_status check_fields(const fovea_nn_block *block, fovea_error *error) {
  fovea_nn_attention a;
  const fovea_status status = fovea_nn_read_attention("self", block->self, &a, error);
  if (status) return status;
  if (block->cross) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "cross is set and would not be used: a stream has encoder layers");
  }
  if (a.key && a.value && a.query) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "self.%s is NULL", !a.query ? "query" : a.key ? "value" : "key");
}

static fovea_status check_block(int64_t layer, const fovea_nn_block *given, fovea_error *error) {
  fovea_nn_block block;
  const fovea_status status = fovea_nn_read_layer(layer, given, &block, error);
  return status ? status : fovea_nn_fail_in_layer(layer, check_fields(&block, error), error);
}

/* Reads what the caller gave, and checks all that sizes follow from. `stream` gets all but its memory. */
static fovea_status read_streaming(const fovea_nn_streaming *given, fovea_nn_stream *stream, fovea_error *error) {
  fovea_nn_streaming *s = &stream->streaming;
  fovea_status status = fovea_nn_read_struct("streaming", given, s, sizeof *s, error);
  if (status) return status;
  if (!s->blocks || !s->problem) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is NULL", s->blocks ? "problem" : "blocks");
  }
  const fovea_bounded sizes[] = {{"layers", s->layers, 1, FOVEA_LENGTH_LIMIT},
                                 {"chunk", s->chunk, 1, FOVEA_LENGTH_LIMIT / 4}};
  status = fovea_validate_bounds(NULL, sizes, 2, error);
  if (!status) status = fovea_copy_problem(s->problem, &stream->problem, error);
  const fovea_bounded batch = {"batch", stream->problem.batch, 1, 1};
  if (!status) status = fovea_validate_bounds("problem", &batch, 1, error);
  if (!status) status = check_unused(&stream->problem, error);
  if (!status) status = check_rules(stream, error);
  if (!status) status = check_block(0, s->blocks[0], error);
  if (status) return status;
  status = fovea_nn_check_layer("self.query", s->blocks[0]->self->query, error);
  if (status) return fovea_nn_fail_in_layer(0, status, error);
  stream->dim = s->blocks[0]->self->query->in;
  return check_sizes(stream, error);
}

static fovea_status check_linear(const fovea_nn_linear *linear, fovea_error *error) {
  fovea_nn_linear_rows rows;
  fovea_nn_linear_rows_init(&rows, linear, 0, NULL, NULL);
  return fovea_nn_run_linear(linear, &rows, NULL, error);
}

static fovea_status check_norm(const fovea_nn_norm *norm, fovea_error *error) {
  fovea_nn_norm_rows rows;
  fovea_nn_norm_rows_init(&rows, norm, 0, NULL, NULL);
  return fovea_nn_norm_run(norm, &rows, NULL, error);
}

static fovea_status check_rotary(const fovea_problem *p, const fovea_rotary *rotary, int64_t *most,
                                 fovea_error *error) {
  fovea_rotation rotation;
  if (!rotary) return FOVEA_OK;
  fovea_rotation_init(&rotation, 1, p->heads, 0, p->qk_dim, NULL, NULL);
  const fovea_status status = fovea_rotary_apply(rotary, &rotation, NULL, error);
  if (status) return status;
  const int64_t positions = rotary->cosines ? rotary->table_rows : INT64_C(1) << 40;
  if (positions < *most) *most = positions;
  return FOVEA_OK;
}

/* The memory in which a stream asks how much scratch a plan needs. */
static fovea_nn_plan_memory plan_memory_of(const fovea_nn_stream *stream, const fovea_execution *execution) {
  return (fovea_nn_plan_memory){.execution = execution, .scratch = stream->plan, .size = stream->plan_size};
}

/* Checks a layer, whose fields were checked, as its run does, for no rows. */
static fovea_status check_run(fovea_nn_stream *stream, const fovea_nn_block *b, fovea_error *error) {
  const fovea_problem problem = fovea_nn_stream_problem(&stream->problem, 0, 0);
  fovea_nn_attention_tensors tensors;
  fovea_nn_attention_call attention;
  fovea_nn_plan_memory memory = plan_memory_of(stream, NULL);
  fovea_nn_plans plans = fovea_nn_plans_in(&memory);
  fovea_nn_scratch all;
  fovea_nn_attention_tensors_init(&tensors, NULL, NULL);
  const fovea_nn_attending self = {&problem, &tensors};
  fovea_status status = fovea_nn_check_attention(b->self, &problem, &tensors, NULL, &attention, error);
  if (status) return fovea_fail_within("self", status, error);
  status = fovea_nn_measure_block(b, &self, NULL, 1, &plans, &all, error);
  if (status) return status;
  if (b->self->query->in != stream->dim) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "self.query.in is %jd; in blocks[0] it is %jd",
                      b->self->query->in, stream->dim);
  }
  const fovea_nn_linear *linears[] = {b->self->query,  b->self->key, b->self->value,
                                      b->self->output, b->up,        b->down};
  for (int i = 0; i < 6 && !status; i++) status = check_linear(linears[i], error);
  if (!status && b->gate) status = check_linear(b->gate, error);
  if (!status) status = check_norm(b->self_norm, error);
  if (!status) status = check_norm(b->feed_norm, error);
  return status ? status : check_rotary(&problem, b->self->rotary, &stream->most, error);
}

static fovea_status check_layer(fovea_nn_stream *stream, int64_t layer, fovea_error *error) {
  const fovea_nn_block *block = stream->streaming.blocks[layer];
  const fovea_status status = check_block(layer, block, error);
  return status ? status : fovea_nn_fail_in_layer(layer, check_run(stream, block, error), error);
}

static fovea_status check_sinks(const fovea_nn_stream *stream, fovea_error *error) {
  const int wanted = stream->problem.sink == FOVEA_SINK_PER_HEAD;
  const fovea_nn_matrix sinks = fovea_nn_stream_sinks(stream);
  if (wanted == (stream->streaming.sink != NULL)) return fovea_nn_check_matrix(&sinks, 0, error);
  return wanted ? fovea_fail(error, FOVEA_ERROR_ARGUMENT, "sink is NULL; the problem's sink is FOVEA_SINK_PER_HEAD")
                : fovea_fail(error, FOVEA_ERROR_UNUSED,
                             "sink is set and would not be used: the problem's sink is not FOVEA_SINK_PER_HEAD");
}

/* ---- Memory ---- */

/* Where the parts of a stream begin. */
typedef struct stream_layout {
  size_t layers, plan, k, v, rows;
  fovea_nn_scratch all;
} stream_layout;

static stream_layout lay_out(fovea_nn_stream *stream) {
  const fovea_problem *p = &stream->problem;
  const int64_t count = stream->streaming.layers, frames = stream->right + stream->streaming.chunk;
  stream_layout layout = {.layers = 0};
  fovea_pages_init(&stream->rings, stream->streaming.layers, capacity_of(stream), p->kv_heads, p->qk_dim, p->v_dim,
                   FOVEA_F32, FOVEA_KEYS_IN_ROWS);
  fovea_nn_reserve(&layout.all, sizeof *stream);
  layout.layers = fovea_nn_reserve(&layout.all, fovea_nn_product((uint64_t)count, sizeof(fovea_nn_stream_layer)));
  layout.plan = fovea_nn_reserve(&layout.all, fovea_plan_size(1));
  layout.k = fovea_nn_reserve(&layout.all, fovea_nn_bytes(count, stream->rings.k_strides.batch, 1));
  layout.v = fovea_nn_reserve(&layout.all, fovea_nn_bytes(count, stream->rings.v_strides.batch, 1));
  layout.rows = fovea_nn_reserve(&layout.all, fovea_nn_bytes(count, frames, stream->dim));
  return layout;
}

/* The bytes of a stream; SIZE_MAX if a size_t cannot hold them. */
static size_t size_of(const stream_layout *layout) {
  return layout->all.saturated ? SIZE_MAX : layout->all.size;
}

fovea_status fovea_nn_stream_size(const fovea_nn_streaming *streaming, size_t *size, fovea_error *error) {
  fovea_nn_stream stream = {.dim = 0};
  if (!size) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "size is NULL");
  *size = 0;
  const fovea_status status = read_streaming(streaming, &stream, error);
  if (status) return status;
  const stream_layout layout = lay_out(&stream);
  *size = size_of(&layout);
  return FOVEA_OK;
}

static fovea_status place_layers(fovea_nn_stream *stream, float *rows, fovea_error *error) {
  const int64_t count = (stream->right + stream->streaming.chunk) * stream->dim;
  fovea_status status = FOVEA_OK;
  for (int64_t i = 0; i < stream->streaming.layers && !status; i++) {
    fovea_nn_stream_layer *layer = &stream->layers[i];
    *layer = (fovea_nn_stream_layer){.rows = rows + i * count};
    status = fovea_nn_read_block(stream->streaming.blocks[i], &layer->block, error);
    if (!status) status = fovea_nn_read_attention("self", layer->block.self, &layer->attention, error);
    layer->key = layer->attention.key;
    layer->value = layer->attention.value;
    layer->attention.key = layer->attention.value = NULL;
    layer->block.self = &layer->attention;
  }
  return status;
}

/* The bytes of scratch that the largest linear layer of keys and values uses. */
static uint64_t bytes_of_layers(const fovea_nn_stream *stream, const fovea_execution *execution) {
  const int64_t chunk = stream->streaming.chunk;
  uint64_t most = 0;
  for (int64_t i = 0; i < stream->streaming.layers; i++) {
    const fovea_nn_layer_use layers[] = {{stream->layers[i].key, chunk}, {stream->layers[i].value, chunk}};
    const uint64_t bytes = fovea_nn_layers_bytes(layers, 2, execution);
    if (bytes > most) most = bytes;
  }
  return most;
}

/* A plan of the most rows checks the rules; its scratch is enough for all smaller lengths. */
fovea_status fovea_nn_stream_lay_out(fovea_nn_stream *stream, const fovea_execution *execution,
                                     fovea_nn_stream_scratch *layout, fovea_error *error) {
  const int64_t chunk = stream->streaming.chunk, zero = 0;
  const int workers = fovea_nn_workers(execution);
  fovea_problem problem = fovea_nn_stream_problem(&stream->problem, chunk, capacity_of(stream));
  fovea_nn_attention_tensors tensors;
  fovea_nn_plan_memory memory = plan_memory_of(stream, execution);
  fovea_nn_plans plans = fovea_nn_plans_in(&memory);
  *layout = (fovea_nn_stream_scratch){.normed = 0};
  problem.cache.segmented = 1;
  problem.kv_begins = &zero;
  fovea_nn_attention_tensors_init(&tensors, NULL, NULL);
  const fovea_nn_attending self = {&problem, &tensors};
  layout->normed = fovea_nn_reserve(&layout->all, fovea_nn_bytes(chunk, stream->dim, 1));
  layout->k = fovea_nn_reserve(&layout->all, fovea_nn_bytes(chunk, problem.kv_heads, problem.qk_dim));
  layout->v = fovea_nn_reserve(&layout->all, fovea_nn_bytes(chunk, problem.kv_heads, problem.v_dim));
  layout->layers = fovea_nn_reserve(&layout->all, bytes_of_layers(stream, execution));
  layout->layers_size = layout->all.size - layout->layers;
  fovea_status status = FOVEA_OK;
  for (int64_t i = 0; i < stream->streaming.layers && !status; i++) {
    fovea_nn_scratch all;
    status = fovea_nn_measure_block(&stream->layers[i].block, &self, NULL, workers, &plans, &all, error);
    fovea_nn_fail_in_layer(i, status, error);
    const size_t bytes = status ? 0 : fovea_nn_scratch_size(&memory, &all);
    if (bytes > layout->all.size) layout->all.size = bytes;
  }
  return status;
}

fovea_status fovea_nn_stream_create_in(const fovea_nn_streaming *streaming, void *memory, size_t size,
                                       fovea_nn_stream **stream, fovea_error *error) {
  fovea_nn_stream made = {.most = FOVEA_LENGTH_LIMIT};
  fovea_nn_stream_scratch scratch;
  if (!stream) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "stream is NULL");
  *stream = NULL;
  fovea_status status = read_streaming(streaming, &made, error);
  if (status) return status;
  const stream_layout layout = lay_out(&made);
  made.size = size_of(&layout);
  status = fovea_validate_memory("stream", memory, size, made.size, error);
  if (!status) made.plan = (char *)memory + layout.plan;
  made.plan_size = layout.k - layout.plan;
  for (int64_t i = 0; i < made.streaming.layers && !status; i++) status = check_layer(&made, i, error);
  if (!status) status = check_sinks(&made, error);
  if (status) return status;
  char *bytes = memory;
  made.layers = (fovea_nn_stream_layer *)(void *)(bytes + layout.layers);
  made.rings.k = bytes + layout.k;
  made.rings.v = bytes + layout.v;
  status = place_layers(&made, (float *)(void *)(bytes + layout.rows), error);
  fovea_execution alone;
  fovea_execution_init(&alone);
  alone.threads = 1;
  if (!status) status = fovea_nn_stream_lay_out(&made, &alone, &scratch, error);
  if (status) return status;
  memcpy(memory, &made, sizeof made);
  *stream = memory;
  return FOVEA_OK;
}

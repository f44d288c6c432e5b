#include "session.h"
#include "layers.h"

#include <stdlib.h>
#include <string.h>

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* One allocation for all buffers. */
static bool make_buffers(struct session *session) {
  const struct model *model = session->model;
  const int64_t rows = session->options.chunk;
  struct {
    float **buffer;
    int64_t size;
  } parts[] = {{&session->hidden, rows * model->dim},      {&session->normed, rows * model->dim},
               {&session->query, rows * model->dim},       {&session->key, rows * model->kv_dim},
               {&session->value, rows * model->kv_dim},    {&session->attended, rows * model->dim},
               {&session->gate, rows * model->hidden_dim}, {&session->up, rows * model->hidden_dim},
               {&session->logits, model->vocabulary}};
  const int count = (int)(sizeof parts / sizeof parts[0]);
  int64_t total = 0;
  for (int i = 0; i < count; i++) total += parts[i].size;
  float *next = session->memory = malloc((size_t)total * sizeof *next);
  if (!next) return false;
  for (int i = 0; i < count; next += parts[i++].size) *parts[i].buffer = next;
  return true;
}

bool session_open(struct session *session, const struct model *model, const struct session_options *options,
                  struct failure *failure) {
  *session = (struct session){.model = model, .options = *options};
  const int64_t chunk = session->options.chunk = smaller(options->chunk, options->positions);
  struct cache_shape shape = {.kind = options->cache,
                              .type = options->type,
                              .key_layout = options->key_layout,
                              .layers = model->layers,
                              .kv_heads = model->kv_heads,
                              .head_dim = model->head_dim,
                              .positions = options->positions,
                              .page_rows = options->page_rows};
  if (options->cache == CACHE_RING) /* the first row of a chunk looks back a whole window */
    shape.page_rows = options->window > 0 ? options->window - 1 + chunk : options->positions;
  fovea_rotary_init(&session->rotary, FOVEA_ROTARY_INTERLEAVED, model->head_dim);
  session->rotary.isa = options->isa;
  if (!make_buffers(session)) return refuse(failure, "no memory for %d tokens at once", (int)chunk);
  if (cache_create(&session->cache, &shape, failure)) return true;
  session_close(session);
  return false;
}

void session_close(struct session *session) {
  cache_destroy(&session->cache);
  free(session->memory);
  session->memory = NULL;
}

/* Makes the plan for `rows` new tokens; it serves all layers. */
static fovea_plan *make_plan(const struct session *session, int64_t rows, struct failure *failure) {
  const struct model *model = session->model;
  const int64_t end = session->position + rows, begin = cache_begin(&session->cache, end);
  fovea_problem problem;
  fovea_plan *plan = NULL;
  fovea_error error;
  fovea_problem_init(&problem, 1, model->heads, model->kv_heads, rows, end, model->head_dim, model->head_dim);
  problem.q_strides = problem.o_strides = fovea_strides_rows_before_heads(rows, model->heads, model->head_dim);
  problem.causal = 1; /* the last row is the last position */
  problem.window_left = session->options.window > 0 ? session->options.window - 1 : FOVEA_UNLIMITED;
  problem.segmented = 1;
  problem.kv_begins = &begin;
  problem.isa = session->options.isa;
  if (fovea_plan_create(&problem, &plan, &error) != FOVEA_OK) refuse(failure, "%s", error.text);
  return plan;
}

/* Rotates the queries in place. */
static fovea_status rotate_queries(const struct session *session, int64_t rows, fovea_error *error) {
  const struct model *model = session->model;
  fovea_rotation rotation;
  fovea_rotation_init(&rotation, 1, model->heads, rows, model->head_dim, session->query, session->query);
  rotation.from_strides = rotation.to_strides =
      fovea_strides_rows_before_heads(rows, model->heads, model->head_dim);
  rotation.first_position = session->position;
  return fovea_rotary_apply(&session->rotary, &rotation, NULL, error);
}

/* Rotates the new keys, and appends keys and values to the cache. */
static fovea_status append(const struct session *session, const fovea_sequence *sequence, int64_t rows,
                           fovea_error *error) {
  const struct model *model = session->model;
  fovea_new_rows new_rows;
  fovea_new_rows_init(&new_rows, 1, model->kv_heads, rows, model->head_dim, model->head_dim, session->key,
                      session->value, sequence);
  new_rows.k_strides = new_rows.v_strides = fovea_strides_rows_before_heads(rows, model->kv_heads, model->head_dim);
  new_rows.first_position = session->position;
  new_rows.isa = session->options.isa;
  return fovea_append(&new_rows, &session->rotary, NULL, error);
}

/* attended = attention of the new queries over all keys in the cache, the new ones among them. */
static bool attend(struct session *session, const fovea_plan *plan, int64_t layer, int64_t rows,
                   struct failure *failure) {
  fovea_sequence sequence;
  fovea_tensors tensors;
  fovea_execution execution;
  fovea_error error;
  if (!cache_sequence(&session->cache, layer, session->position + rows, &sequence, failure)) return false;
  fovea_tensors_init(&tensors, session->query, NULL, NULL, session->attended, NULL);
  tensors.sequences = &sequence;
  fovea_execution_init(&execution);
  execution.threads = session->options.threads;
  fovea_status status = rotate_queries(session, rows, &error);
  if (status == FOVEA_OK) status = append(session, &sequence, rows, &error);
  if (status == FOVEA_OK) status = fovea_plan_run(plan, &tensors, &execution, &error);
  return status == FOVEA_OK || refuse(failure, "%s", error.text);
}

static bool run_layer(struct session *session, const fovea_plan *plan, int64_t layer, int64_t rows,
                      struct failure *failure) {
  const struct model *model = session->model;
  const int64_t dim = model->dim, kv_dim = model->kv_dim, hidden_dim = model->hidden_dim;
  float *hidden = session->hidden, *normed = session->normed;

  layer_norm(normed, hidden, model->attention_norm + layer * dim, rows, dim);
  layer_product(session->query, normed, model->query + layer * dim * dim, rows, dim, dim);
  layer_product(session->key, normed, model->key + layer * kv_dim * dim, rows, kv_dim, dim);
  layer_product(session->value, normed, model->value + layer * kv_dim * dim, rows, kv_dim, dim);
  if (!attend(session, plan, layer, rows, failure)) return false;
  layer_product(normed, session->attended, model->output + layer * dim * dim, rows, dim, dim);
  layer_add(hidden, normed, rows * dim);

  layer_norm(normed, hidden, model->hidden_norm + layer * dim, rows, dim);
  layer_product(session->gate, normed, model->gate + layer * hidden_dim * dim, rows, hidden_dim, dim);
  layer_product(session->up, normed, model->up + layer * hidden_dim * dim, rows, hidden_dim, dim);
  layer_gate(session->gate, session->up, rows * hidden_dim);
  layer_product(normed, session->gate, model->down + layer * dim * hidden_dim, rows, dim, hidden_dim);
  layer_add(hidden, normed, rows * dim);
  return true;
}

static bool feed_chunk(struct session *session, const int32_t *tokens, int64_t rows, struct failure *failure) {
  const struct model *model = session->model;
  const int64_t dim = model->dim;
  if (!cache_reserve(&session->cache, session->position + rows, failure)) return false;
  fovea_plan *plan = make_plan(session, rows, failure);
  if (!plan) return false;
  for (int64_t row = 0; row < rows; row++)
    memcpy(session->hidden + row * dim, model->embedding + tokens[row] * dim, (size_t)dim * sizeof(float));
  bool done = true;
  for (int64_t layer = 0; layer < model->layers && done; layer++)
    done = run_layer(session, plan, layer, rows, failure);
  fovea_plan_destroy(plan);
  if (!done) return false;
  layer_norm(session->normed, session->hidden + (rows - 1) * dim, model->final_norm, 1, dim);
  layer_product(session->logits, session->normed, model->classifier, 1, model->vocabulary, dim);
  session->position += rows;
  return true;
}

bool session_feed(struct session *session, const int32_t *tokens, int64_t count, struct failure *failure) {
  if (count > session->options.positions - session->position)
    return refuse(failure, "%lld tokens do not fit: the cache was made for %lld positions", (long long)count,
                  (long long)session->options.positions);
  for (int64_t done = 0; done < count;) {
    const int64_t rows = smaller(session->options.chunk, count - done);
    if (!feed_chunk(session, tokens + done, rows, failure)) return false;
    done += rows;
  }
  return true;
}

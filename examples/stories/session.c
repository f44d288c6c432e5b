#include "session.h"

#include <stdlib.h>

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* One allocation for all buffers. */
static bool make_buffers(struct session *session) {
  const struct model *model = session->model;
  const int64_t rows = session->options.chunk, dim = model->dim;
  session->hidden = malloc((size_t)((rows + 1) * dim + model->vocabulary) * sizeof(float));
  if (!session->hidden) return false;
  session->normed = session->hidden + rows * dim;
  session->logits = session->normed + dim;
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
                              .page_rows = options->page_rows,
                              .narrow = options->narrow,
                              .chunk = chunk};
  if (options->cache == CACHE_RING) /* the first row of a chunk looks back a whole window */
    shape.page_rows = options->window > 0 ? options->window - 1 + chunk : options->positions;
  if (!make_buffers(session)) return refuse(failure, "no memory for %d tokens at once", (int)chunk);
  if (layers_create(&session->layers, model, options->isa, options->threads, failure) &&
      cache_create(&session->cache, &shape, failure))
    return true;
  session_close(session);
  return false;
}

void session_close(struct session *session) {
  cache_destroy(&session->cache);
  layers_destroy(&session->layers);
  free(session->hidden);
  session->hidden = NULL;
}

/* What all layers attend over: `rows` new tokens, and what the cache still holds from `*begin` on. */
static void describe(const struct session *session, int64_t rows, const int64_t *begin, fovea_problem *problem) {
  const struct model *model = session->model;
  fovea_problem_init(problem, 1, model->heads, model->kv_heads, rows, session->position + rows, model->head_dim,
                     model->head_dim);
  problem->causal = 1; /* the last row is the last position */
  problem->window_left = session->options.window > 0 ? session->options.window - 1 : FOVEA_UNLIMITED;
  problem->cache.segmented = 1;
  problem->kv_begins = begin;
  problem->modes.score = problem->modes.value = session->options.mode;
}

/* The layers append their keys and values to the cache, and attend over all of it. */
static bool run_layers(struct session *session, int64_t rows, const fovea_execution *execution,
                       struct failure *failure) {
  const int64_t end = session->position + rows, begin = cache_begin(&session->cache, end);
  fovea_problem problem;
  fovea_nn_attention_tensors tensors;
  fovea_error error;
  fovea_status status = FOVEA_OK;
  describe(session, rows, &begin, &problem);
  fovea_nn_attention_tensors_init(&tensors, NULL, NULL);
  tensors.first_position = session->position;
  const fovea_nn_attending self = {&problem, &tensors};
  for (int64_t i = 0; i < session->model->layers && !status; i++) {
    fovea_sequence sequence;
    if (!cache_sequence(&session->cache, i, end, &sequence, failure)) return false;
    tensors.cache.sequences = &sequence;
    status = fovea_nn_block_run(&session->layers.layer[i].block, &self, NULL, session->hidden, session->hidden,
                                execution, &error);
  }
  return status == FOVEA_OK || refuse(failure, "%s", error.text);
}

static bool embed(const struct session *session, const int32_t *tokens, int64_t rows,
                  const fovea_execution *execution, struct failure *failure) {
  fovea_nn_embedding_rows embedding_rows;
  fovea_error error;
  fovea_nn_embedding_rows_init(&embedding_rows, &session->layers.embedding, rows, tokens, session->hidden);
  return fovea_nn_embed(&session->layers.embedding, &embedding_rows, execution, &error) == FOVEA_OK ||
         refuse(failure, "%s", error.text);
}

/* The scores of the token that follows the last row. */
static bool classify(const struct session *session, const float *row, const fovea_execution *execution,
                     struct failure *failure) {
  const struct layers *layers = &session->layers;
  fovea_nn_norm_rows norm_rows;
  fovea_nn_linear_rows linear_rows;
  fovea_error error;
  fovea_nn_norm_rows_init(&norm_rows, &layers->final_norm, 1, row, session->normed);
  fovea_nn_linear_rows_init(&linear_rows, &layers->classifier, 1, session->normed, session->logits);
  fovea_status status = fovea_nn_norm_run(&layers->final_norm, &norm_rows, execution, &error);
  if (!status) status = fovea_nn_linear_run(&layers->classifier, &linear_rows, execution, &error);
  return status == FOVEA_OK || refuse(failure, "%s", error.text);
}

fovea_execution session_execution(const struct session_options *options) {
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.threads = options->threads;
  execution.isa = options->isa;
  return execution;
}

static bool feed_chunk(struct session *session, const int32_t *tokens, int64_t rows, struct failure *failure) {
  const float *last = session->hidden + (rows - 1) * session->model->dim;
  const fovea_execution execution = session_execution(&session->options);
  if (!cache_reserve(&session->cache, session->position + rows, failure) ||
      !embed(session, tokens, rows, &execution, failure) || !run_layers(session, rows, &execution, failure) ||
      !cache_settle(&session->cache, session->position + rows, failure) ||
      !classify(session, last, &execution, failure))
    return false;
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

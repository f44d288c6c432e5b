#include "encoder.h"
#include "pool.h"

#include <stdlib.h>
#include <string.h>

bool batch_create(struct batch *batch, int64_t texts_room, struct failure *failure) {
  const size_t rows = (size_t)texts_room * TOKENS_LIMIT;
  *batch = (struct batch){.texts_room = texts_room};
  batch->tokens = calloc(rows, sizeof *batch->tokens);
  batch->positions = calloc(rows, sizeof *batch->positions);
  batch->types = calloc(rows, sizeof *batch->types);
  batch->ends = calloc((size_t)texts_room + 1, sizeof *batch->ends);
  if (batch->tokens && batch->positions && batch->types && batch->ends) return true;
  batch_free(batch);
  return refuse(failure, "no memory for %lld texts at once", (long long)texts_room);
}

void batch_free(struct batch *batch) {
  free(batch->tokens);
  free(batch->positions);
  free(batch->types);
  free(batch->ends);
  *batch = (struct batch){.count = 0};
}

void batch_clear(struct batch *batch) {
  batch->count = batch->rows = 0;
}

void batch_add(struct batch *batch, const struct vocabulary *vocabulary, const char *text, size_t length) {
  bool cut;
  const int64_t count = wordpiece_encode(vocabulary, text, length, batch->tokens + batch->rows, &cut);
  for (int64_t i = 0; i < count; i++) batch->positions[batch->rows + i] = (int32_t)i;
  batch->rows += count;
  batch->cut += cut;
  batch->ends[++batch->count] = (int32_t)batch->rows;
}

/* Embeds the tokens, and runs that many layers. `weights` gets what the heads of the last one attend to, of one
 * text; NULL: that is not wanted. */
static fovea_status run_layers(const struct model *model, const struct batch *batch, int threads, int64_t layers,
                               float *weights, float *hidden, fovea_error *error) {
  const fovea_nn_embedding *embedding = &model->embedding;
  fovea_execution execution;
  fovea_nn_embedding_rows rows;
  fovea_nn_norm_rows norm_rows;
  fovea_problem problem;
  fovea_nn_attention_tensors tensors;
  fovea_execution_init(&execution);
  execution.threads = threads;
  fovea_nn_embedding_rows_init(&rows, embedding, batch->rows, batch->tokens, hidden);
  rows.token_type_ids = batch->types;
  rows.position_ids = batch->positions;
  fovea_nn_norm_rows_init(&norm_rows, &model->embedding_norm, batch->rows, hidden, hidden);
  fovea_problem_init(&problem, batch->count, model->heads, model->heads, batch->rows, batch->rows, MODEL_HEAD_DIM,
                     MODEL_HEAD_DIM);
  problem.cu_seqlens_q = problem.cu_seqlens_kv = batch->ends;
  problem.isa = model->isa;
  fovea_nn_attention_tensors_init(&tensors, NULL, NULL);
  const fovea_nn_attending self = {&problem, &tensors};
  fovea_status status = fovea_nn_embed(embedding, &rows, &execution, error);
  if (!status) status = fovea_nn_norm_run(&model->embedding_norm, &norm_rows, &execution, error);
  for (int64_t i = 0; i < layers && !status; i++) {
    if (weights && i + 1 == layers) {
      problem.score_output = FOVEA_SCORES_WEIGHTS;
      tensors.scores = weights;
    }
    status = fovea_nn_block_run(&model->layer[i].block, &self, NULL, hidden, hidden, &execution, error);
  }
  return status;
}

bool encoder_vectors(const struct model *model, const struct batch *batch, int threads, float *vectors,
                     struct failure *failure) {
  fovea_error error;
  float *hidden = malloc((size_t)(batch->rows * model->dim) * sizeof *hidden);
  if (!hidden) return refuse(failure, "no memory for %lld tokens", (long long)batch->rows);
  const fovea_status status = run_layers(model, batch, threads, model->layers, NULL, hidden, &error);
  for (int64_t i = 0; i < batch->count && !status; i++)
    pool(hidden + batch->ends[i] * model->dim, batch->ends[i + 1] - batch->ends[i], model->dim,
         vectors + i * model->dim);
  free(hidden);
  return !status || refuse(failure, "%s", error.text);
}

bool encoder_attention(const struct model *model, const struct batch *batch, int threads, int64_t layer,
                       int64_t head, float *weights, struct failure *failure) {
  const int64_t rows = batch->rows, size = rows * model->dim;
  fovea_error error;
  float *hidden = malloc((size_t)(size + model->heads * rows * rows) * sizeof *hidden);
  if (!hidden) return refuse(failure, "no memory for %lld tokens", (long long)rows);
  float *heads = hidden + size;
  const fovea_status status = run_layers(model, batch, threads, layer + 1, heads, hidden, &error);
  if (!status) memcpy(weights, heads + head * rows * rows, (size_t)(rows * rows) * sizeof *weights);
  free(hidden);
  return !status || refuse(failure, "%s", error.text);
}

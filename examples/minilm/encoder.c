#include "encoder.h"
#include "pool.h"

#include <stdlib.h>

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
  free(batch->memory);
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

/* What the layers attend over: each text by itself. */
static void describe(const struct model *model, const struct batch *batch, fovea_problem *problem,
                     fovea_nn_attention_tensors *tensors) {
  fovea_problem_init(problem, batch->count, model->heads, model->heads, batch->rows, batch->rows, MODEL_HEAD_DIM,
                     MODEL_HEAD_DIM);
  problem->cu_seqlens_q = problem->cu_seqlens_kv = batch->ends;
  problem->isa = model->isa;
  fovea_nn_attention_tensors_init(tensors, NULL, NULL);
}

/* Bytes of scratch of a layer; 0 if there is no plan. */
static size_t scratch_size(const struct model *model, const struct batch *batch, int threads) {
  fovea_problem problem;
  fovea_nn_attention_tensors tensors;
  const fovea_nn_attending self = {&problem, &tensors};
  describe(model, batch, &problem, &tensors);
  return fovea_nn_block_scratch_size(&model->layer[0].block, &self, NULL, threads);
}

/* Embeds the tokens, and runs that many layers. Without scratch each layer allocates its own. */
static fovea_status run_layers(const struct model *model, const struct batch *batch, int threads, int64_t layers,
                               float *hidden, void *scratch, size_t size, fovea_error *error) {
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
  describe(model, batch, &problem, &tensors);
  const fovea_nn_attending self = {&problem, &tensors};
  fovea_status status = fovea_nn_embed(embedding, &rows, &execution, error);
  if (!status) status = fovea_nn_norm_run(&model->embedding_norm, &norm_rows, &execution, error);
  execution.scratch = scratch;
  execution.scratch_size = size;
  for (int64_t i = 0; i < layers && !status; i++)
    status = fovea_nn_block_run(&model->layer[i].block, &self, NULL, hidden, hidden, &execution, error);
  return status;
}

/* Memory at a multiple of FOVEA_SCRATCH_ALIGNMENT for all texts until a larger batch comes: the system gives new
 * memory page by page, which takes as long as a layer. */
static void *make_room(struct batch *batch, size_t size) {
  if (size + FOVEA_SCRATCH_ALIGNMENT > batch->memory_size) {
    free(batch->memory);
    batch->memory_size = size + FOVEA_SCRATCH_ALIGNMENT;
    batch->memory = malloc(batch->memory_size);
    if (!batch->memory) batch->memory_size = 0;
  }
  const size_t past = (uintptr_t)batch->memory % FOVEA_SCRATCH_ALIGNMENT;
  return batch->memory ? (char *)batch->memory + (past ? FOVEA_SCRATCH_ALIGNMENT - past : 0) : NULL;
}

bool encoder_vectors(const struct model *model, struct batch *batch, int threads, float *vectors,
                     struct failure *failure) {
  fovea_error error;
  const size_t size = scratch_size(model, batch, threads);
  char *scratch = make_room(batch, size + (size_t)(batch->rows * model->dim) * sizeof(float));
  if (!scratch) return refuse(failure, "no memory for %lld tokens", (long long)batch->rows);
  float *hidden = (float *)(void *)(scratch + size);
  const fovea_status status =
      run_layers(model, batch, threads, model->layers, hidden, size ? scratch : NULL, size, &error);
  for (int64_t i = 0; i < batch->count && !status; i++)
    pool(hidden + batch->ends[i] * model->dim, batch->ends[i + 1] - batch->ends[i], model->dim,
         vectors + i * model->dim);
  return !status || refuse(failure, "%s", error.text);
}

/* What attention never stores comes out as its output when V is the identity matrix. `identity` is zeros. */
static fovea_status attend_to_identity(const struct model *model, int64_t rows, int64_t head, const float *query,
                                       const float *key, float *identity, float *weights, fovea_error *error) {
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_problem_init(&problem, 1, 1, 1, rows, rows, MODEL_HEAD_DIM, rows);
  problem.q_strides.row = problem.k_strides.row = model->dim;
  problem.isa = model->isa;
  for (int64_t i = 0; i < rows; i++) identity[i * rows + i] = 1;
  fovea_tensors_init(&tensors, query + head * MODEL_HEAD_DIM, key + head * MODEL_HEAD_DIM, identity, weights, NULL);
  return fovea_attend(&problem, &tensors, NULL, error);
}

bool encoder_attention(const struct model *model, const struct batch *batch, int threads, int64_t layer,
                       int64_t head, float *weights, struct failure *failure) {
  const int64_t rows = batch->rows, size = rows * model->dim;
  const struct model_layer *chosen = &model->layer[layer];
  fovea_nn_linear_rows query_rows, key_rows;
  fovea_error error;
  float *hidden = calloc((size_t)(3 * size + rows * rows), sizeof *hidden);
  if (!hidden) return refuse(failure, "no memory for %lld tokens", (long long)rows);
  float *query = hidden + size, *key = query + size, *identity = key + size;
  fovea_nn_linear_rows_init(&query_rows, &chosen->query, rows, hidden, query);
  fovea_nn_linear_rows_init(&key_rows, &chosen->key, rows, hidden, key);
  fovea_status status = run_layers(model, batch, threads, layer, hidden, NULL, 0, &error);
  if (!status) status = fovea_nn_linear_run(&chosen->query, &query_rows, NULL, &error);
  if (!status) status = fovea_nn_linear_run(&chosen->key, &key_rows, NULL, &error);
  if (!status) status = attend_to_identity(model, rows, head, query, key, identity, weights, &error);
  free(hidden);
  return !status || refuse(failure, "%s", error.text);
}

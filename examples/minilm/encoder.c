#include "encoder.h"
#include "pool.h"

#include <fovea/encoder.h>
#include <stdlib.h>
#include <string.h>

bool batch_create(struct batch *batch, int64_t texts_room, struct failure *failure) {
  const size_t rows = (size_t)texts_room * TOKENS_LIMIT;
  *batch = (struct batch){.texts_room = texts_room};
  batch->tokens = calloc(rows, sizeof *batch->tokens);
  batch->types = calloc(rows, sizeof *batch->types);
  batch->ends = calloc((size_t)texts_room + 1, sizeof *batch->ends);
  if (batch->tokens && batch->types && batch->ends) return true;
  batch_free(batch);
  return refuse(failure, "no memory for %lld texts at once", (long long)texts_room);
}

void batch_free(struct batch *batch) {
  free(batch->tokens);
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
  batch->rows += count;
  batch->cut += cut;
  batch->ends[++batch->count] = (int32_t)batch->rows;
}

/* A call of the encoder, with pointers into itself. */
struct run {
  fovea_nn_encoder encoder;
  fovea_nn_encoder_rows rows;
  fovea_problem problem; /* each text by itself */
  fovea_nn_attention_tensors tensors;
  fovea_nn_attending self;
  fovea_execution execution;
};

/* That many layers. Positions begin anew with each text. */
static void make_run(struct run *run, const struct model *model, const struct batch *batch, int threads,
                     int64_t layers, float *hidden) {
  fovea_nn_encoder_init(&run->encoder, &model->layer[0].block, layers);
  run->encoder.block_size = sizeof model->layer[0];
  run->encoder.embedding = &model->embedding;
  run->encoder.embedding_norm = &model->embedding_norm;
  fovea_problem_init(&run->problem, batch->count, model->heads, model->heads, batch->rows, batch->rows,
                     MODEL_HEAD_DIM, MODEL_HEAD_DIM);
  run->problem.cu_seqlens_q = run->problem.cu_seqlens_kv = batch->ends;
  fovea_nn_attention_tensors_init(&run->tensors, NULL, NULL);
  run->self = (fovea_nn_attending){&run->problem, &run->tensors};
  fovea_nn_encoder_rows_init(&run->rows, &run->self, batch->tokens, hidden);
  run->rows.token_type_ids = batch->types;
  fovea_execution_init(&run->execution);
  run->execution.threads = threads;
  run->execution.isa = model->isa;
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
  struct run run;
  fovea_error error;
  make_run(&run, model, batch, threads, model->layers, NULL);
  size_t size;
  if (fovea_nn_encoder_scratch_size(&run.encoder, &run.rows, &run.execution, &size, &error) != FOVEA_OK)
    return refuse(failure, "%s", error.text);
  char *scratch = make_room(batch, size + (size_t)(batch->rows * model->dim) * sizeof(float));
  if (!scratch) return refuse(failure, "no memory for %lld tokens", (long long)batch->rows);
  float *hidden = run.rows.y = (float *)(void *)(scratch + size);
  if (size > 0) run.execution.scratch = scratch;
  run.execution.scratch_size = size;
  if (fovea_nn_encoder_run(&run.encoder, &run.rows, &run.execution, &error) != FOVEA_OK)
    return refuse(failure, "%s", error.text);
  for (int64_t i = 0; i < batch->count; i++)
    pool(hidden + batch->ends[i] * model->dim, batch->ends[i + 1] - batch->ends[i], model->dim,
         vectors + i * model->dim);
  return true;
}

bool encoder_attention(const struct model *model, const struct batch *batch, int threads, int64_t layer,
                       int64_t head, float *weights, struct failure *failure) {
  const int64_t rows = batch->rows, numbers = model->heads * rows * rows;
  struct run run;
  fovea_error error;
  float *hidden = malloc((size_t)(rows * model->dim + (layer + 1) * numbers) * sizeof *hidden);
  if (!hidden) return refuse(failure, "no memory for %lld tokens", (long long)rows);
  make_run(&run, model, batch, threads, layer + 1, hidden);
  run.problem.scores.kind = FOVEA_SCORES_WEIGHTS;
  run.tensors.scores = hidden + rows * model->dim;
  run.rows.self_score_layer = layer > 0 ? numbers : 0;
  const fovea_status status = fovea_nn_encoder_run(&run.encoder, &run.rows, &run.execution, &error);
  if (!status)
    memcpy(weights, run.tensors.scores + layer * numbers + head * rows * rows,
           (size_t)(rows * rows) * sizeof *weights);
  free(hidden);
  return !status || refuse(failure, "%s", error.text);
}

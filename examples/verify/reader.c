#include "reader.h"

#include <stdlib.h>

enum { PAGE_ROWS = 16, LOGIT_NUMBERS = 1 << 23 };

bool reader_open(struct reader *reader, const struct model *model, enum cache_type cache, int64_t longest,
                 int64_t chunk, const fovea_execution *execution, struct failure *failure) {
  *reader = (struct reader){.model = model, .execution = *execution, .chunk = chunk < longest ? chunk : longest};
  /* Logits take much room: as many rows at a time as have LOGIT_NUMBERS. */
  reader->logit_rows = LOGIT_NUMBERS / model->vocabulary > 0 ? LOGIT_NUMBERS / model->vocabulary : 1;
  if (reader->logit_rows > reader->chunk) reader->logit_rows = reader->chunk;
  reader->hidden = malloc((size_t)(reader->chunk * model->dim) * sizeof *reader->hidden);
  reader->logits = malloc((size_t)(reader->logit_rows * model->vocabulary) * sizeof *reader->logits);
  if ((reader->hidden && reader->logits) || refuse(failure, "no memory for %lld tokens at once", (long long)chunk))
    if (cache_create(&reader->cache, model, cache, PAGE_ROWS, 1, longest, failure)) return true;
  reader_close(reader);
  return false;
}

void reader_close(struct reader *reader) {
  cache_destroy(&reader->cache);
  free(reader->hidden);
  free(reader->logits);
  reader->hidden = reader->logits = NULL;
}

/* Whether some of the next rows are a caller's. */
static bool is_observed(const struct reader *reader, int64_t rows) {
  const struct observer *observer = &reader->observer;
  return observer->layer && (reader->position + rows - 1) / observer->every * observer->every >= reader->position;
}

/* All layers in one call. */
static bool run_all_layers(struct reader *reader, const fovea_nn_attending *self, struct failure *failure) {
  fovea_nn_encoder encoder = reader->model->encoder;
  fovea_nn_encoder_rows encoder_rows;
  fovea_error error;
  encoder.final_norm = NULL; /* run_head() has it */
  fovea_nn_encoder_rows_init(&encoder_rows, self, NULL, reader->hidden);
  encoder_rows.x = reader->hidden;
  return fovea_nn_encoder_run(&encoder, &encoder_rows, &reader->execution, &error) == FOVEA_OK ||
         refuse(failure, "%s", error.text);
}

static bool run_layers(struct reader *reader, int64_t rows, struct failure *failure) {
  const struct model *model = reader->model;
  fovea_problem problem;
  fovea_nn_attention_tensors tensors;
  fovea_error error;
  fovea_problem_init(&problem, 1, model->heads, model->kv_heads, rows, reader->position + rows, model->head_dim,
                     model->head_dim);
  problem.causal = 1; /* the last row is the last position */
  problem.cache.segmented = 1;
  fovea_nn_attention_tensors_init(&tensors, NULL, NULL);
  tensors.first_position = reader->position;
  tensors.cache.sequences = reader->cache.sequences;
  const fovea_nn_attending self = {&problem, &tensors};
  if (!is_observed(reader, rows)) return run_all_layers(reader, &self, failure);
  for (int64_t i = 0; i < model->layers; i++) {
    tensors.cache.layer = i;
    if (fovea_nn_block_run(&model->layer[i].block, &self, NULL, reader->hidden, reader->hidden, &reader->execution,
                           &error) != FOVEA_OK)
      return refuse(failure, "%s", error.text);
    reader->observer.layer(reader->observer.context, i, reader->position, rows, reader->hidden);
  }
  return true;
}

static bool run_head(struct reader *reader, int64_t rows, struct failure *failure) {
  const struct model *model = reader->model;
  fovea_nn_norm_rows norm_rows;
  fovea_nn_linear_rows linear_rows;
  fovea_error error;
  for (int64_t first = 0; first < rows; first += reader->logit_rows) {
    const int64_t count = rows - first < reader->logit_rows ? rows - first : reader->logit_rows;
    float *hidden = reader->hidden + first * model->dim;
    fovea_nn_norm_rows_init(&norm_rows, &model->final_norm, count, hidden, hidden);
    fovea_nn_linear_rows_init(&linear_rows, &model->head, count, hidden, reader->logits);
    if (fovea_nn_norm_run(&model->final_norm, &norm_rows, &reader->execution, &error) != FOVEA_OK ||
        fovea_nn_linear_run(&model->head, &linear_rows, &reader->execution, &error) != FOVEA_OK)
      return refuse(failure, "%s", error.text);
    for (int64_t i = 0; i < count && reader->observer.logits; i++)
      if (!reader->observer.logits(reader->observer.context, reader->position + first + i,
                                   reader->logits + i * model->vocabulary, failure))
        return false;
  }
  return true;
}

bool reader_read(struct reader *reader, const int32_t *tokens, int64_t count, struct failure *failure) {
  for (int64_t done = 0; done < count;) {
    const int64_t rows = count - done < reader->chunk ? count - done : reader->chunk, end = reader->position + rows;
    for (int64_t i = 0; i < rows; i++)
      matrix_row(&reader->model->embedding, tokens[done + i], reader->hidden + i * reader->model->dim);
    if (!cache_extend(&reader->cache, 1, &reader->position, &end, failure) || !run_layers(reader, rows, failure) ||
        !run_head(reader, rows, failure))
      return false;
    reader->position = end;
    done += rows;
  }
  return true;
}

bool reader_forget(struct reader *reader, struct failure *failure) {
  reader->position = 0;
  return cache_drop(&reader->cache, 0, 0, failure);
}

#include "engine.h"

#include "../stories/digest.h"
#include "../stories/sample.h"
#include "../stories/tokenizer.h"

#include <stdlib.h>

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

bool engine_open(struct engine *engine, const struct model *model, const struct engine_options *options,
                 struct failure *failure) {
  *engine = (struct engine){.model = model, .options = *options};
  engine->options.chunk = smaller(options->chunk, options->longest);
  const size_t batch = (size_t)options->batch, rows = batch * (size_t)engine->options.chunk;
  engine->slots = calloc(batch, sizeof(struct text *));
  engine->lens = malloc(batch * sizeof *engine->lens);
  engine->ends = malloc(batch * sizeof *engine->ends);
  engine->begins = malloc((batch + 1) * sizeof *engine->begins);
  engine->hidden = malloc(rows * (size_t)model->dim * sizeof *engine->hidden);
  engine->last = malloc(batch * (size_t)model->dim * sizeof *engine->last);
  engine->logits = malloc(batch * (size_t)model->vocabulary * sizeof *engine->logits);
  const bool room = engine->slots && engine->lens && engine->ends && engine->begins && engine->hidden &&
                    engine->last && engine->logits;
  if ((room || refuse(failure, "no memory for %zu tokens at once", rows)) &&
      chances_open(&engine->chances, model->vocabulary, failure) &&
      cache_create(&engine->cache, model, options->cache, options->page_rows, options->batch, options->longest,
                   failure))
    return true;
  engine_close(engine);
  return false;
}

void engine_close(struct engine *engine) {
  cache_destroy(&engine->cache);
  chances_close(&engine->chances);
  free(engine->slots);
  free(engine->lens);
  free(engine->ends);
  free(engine->begins);
  free(engine->hidden);
  free(engine->last);
  free(engine->logits);
  *engine = (struct engine){.model = NULL};
}

static bool has_slot(const struct engine *engine, const struct text *text) {
  for (int64_t i = 0; i < engine->count; i++)
    if (engine->slots[i] == text) return true;
  return false;
}

/* Takes the rows of a step from the embedding; returns how many. */
static int64_t choose_rows(struct engine *engine, struct text *texts, int64_t count) {
  for (int64_t i = 0; i < count && engine->count < engine->options.batch; i++)
    if (!texts[i].ended && !has_slot(engine, &texts[i])) engine->slots[engine->count++] = &texts[i];
  int32_t rows = 0;
  for (int64_t i = 0; i < engine->count; i++) {
    const struct text *text = engine->slots[i];
    const int64_t more = smaller(text->count - text->read, engine->options.chunk);
    engine->begins[i] = rows;
    engine->lens[i] = text->read;
    engine->ends[i] = text->read + more;
    for (int64_t j = text->read; j < engine->ends[i]; j++, rows++)
      matrix_row(&engine->model->embedding, text->tokens[j], engine->hidden + rows * engine->model->dim);
  }
  engine->begins[engine->count] = rows;
  engine->stepped = engine->count;
  return rows;
}

/* All layers, in one call: they append the keys and values of the rows to the cache, and attend over it. */
static bool run_layers(struct engine *engine, int64_t rows, const fovea_execution *execution,
                       struct failure *failure) {
  const struct model *model = engine->model;
  fovea_problem problem;
  fovea_nn_attention_tensors tensors;
  fovea_nn_encoder_rows encoder_rows;
  fovea_error error;
  int64_t longest = 0;
  for (int64_t i = 0; i < engine->count; i++)
    if (engine->ends[i] > longest) longest = engine->ends[i];
  fovea_problem_init(&problem, engine->count, model->heads, model->kv_heads, rows, longest, model->head_dim,
                     model->head_dim);
  problem.causal = 1; /* a text's last row is its last position */
  problem.cu_seqlens_q = engine->begins;
  problem.kv_lens = engine->ends;
  problem.cache.segmented = 1;
  fovea_nn_attention_tensors_init(&tensors, NULL, NULL);
  tensors.first_positions = engine->lens;
  tensors.cache.sequences = engine->cache.sequences;
  const fovea_nn_attending self = {&problem, &tensors};
  fovea_nn_encoder_rows_init(&encoder_rows, &self, NULL, engine->hidden);
  encoder_rows.x = engine->hidden;
  return fovea_nn_encoder_run(&model->encoder, &encoder_rows, execution, &error) == FOVEA_OK ||
         refuse(failure, "%s", error.text);
}

/* Appends the token that follows these logits, if there is room and the text goes on. */
static bool continue_text(struct engine *engine, struct text *text, const float *logits,
                          const fovea_execution *execution, struct failure *failure) {
  const int64_t vocabulary = engine->model->vocabulary;
  int32_t token;
  if (engine->options.has_digests) text->digest = digest_numbers(text->digest, logits, vocabulary);
  if (text->logits) memcpy(text->logits + text->rows * vocabulary, logits, (size_t)vocabulary * sizeof *logits);
  text->rows++;
  if (!sample_token(&engine->chances, logits, engine->options.temperature, execution, &text->generator, &token,
                    failure))
    return false;
  text->ended = !text->endless && (token == TOKEN_BEGIN || token == TOKEN_END);
  if (!text->ended) text->tokens[text->count++] = token;
  if (text->count == text->room) text->ended = true;
  return true;
}

/* Only the last row of a text whose tokens have all been read needs logits. */
static bool choose_tokens(struct engine *engine, const fovea_execution *execution, struct failure *failure) {
  const struct model *model = engine->model;
  fovea_nn_linear_rows linear_rows;
  fovea_error error;
  int64_t ready = 0;
  for (int64_t i = 0; i < engine->count; i++) {
    engine->slots[i]->read = engine->ends[i];
    if (engine->ends[i] == engine->slots[i]->count)
      memcpy(engine->last + ready++ * model->dim, engine->hidden + (engine->begins[i + 1] - 1) * model->dim,
             (size_t)model->dim * sizeof *engine->last);
  }
  fovea_nn_linear_rows_init(&linear_rows, &model->head, ready, engine->last, engine->logits);
  if (fovea_nn_linear_run(&model->head, &linear_rows, execution, &error) != FOVEA_OK)
    return refuse(failure, "%s", error.text);
  ready = 0;
  for (int64_t i = 0; i < engine->count; i++) {
    if (engine->slots[i]->read < engine->slots[i]->count) continue;
    if (!continue_text(engine, engine->slots[i], engine->logits + ready++ * model->vocabulary, execution, failure))
      return false;
  }
  return true;
}

/* Texts that have ended leave their slots to others. */
static bool free_slots(struct engine *engine, struct failure *failure) {
  for (int64_t i = engine->count - 1; i >= 0; i--) {
    if (!engine->slots[i]->ended) continue;
    if (!cache_drop(&engine->cache, i, engine->count - 1, failure)) return false;
    engine->slots[i] = engine->slots[--engine->count];
  }
  return true;
}

/* What one team of threads does. */
struct step {
  struct engine *engine;
  int64_t rows;
  struct failure *failure;
  bool done;
};

static void run_step(void *data, const fovea_execution *execution) {
  struct step *step = data;
  step->done = run_layers(step->engine, step->rows, execution, step->failure) &&
               choose_tokens(step->engine, execution, step->failure);
}

/* The multiply-adds of matrices, with logits of all texts; attention has more. */
static double work_of(const struct engine *engine, int64_t rows) {
  const struct model *model = engine->model;
  const int64_t heads = 2 * (model->heads + model->kv_heads) * model->head_dim;
  return (double)rows * (double)(model->layers * model->dim * (heads + 3 * model->hidden)) +
         (double)(engine->count * model->dim * model->vocabulary);
}

bool engine_step(struct engine *engine, struct text *texts, int64_t count, int64_t *rows, struct failure *failure) {
  struct step step = {engine, choose_rows(engine, texts, count), failure, false};
  fovea_error error;
  *rows = step.rows;
  if (step.rows == 0) return true;
  if (!cache_extend(&engine->cache, engine->count, engine->lens, engine->ends, failure)) return false;
  if (fovea_team_run(run_step, &step, work_of(engine, step.rows), &engine->options.execution, &error) != FOVEA_OK)
    return refuse(failure, "%s", error.text);
  return step.done && free_slots(engine, failure);
}

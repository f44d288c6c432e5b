#include "translator.h"

#include <stdlib.h>
#include <string.h>

/* Where the numbers of one translation lie, in one piece of memory. */
struct workspace {
  const struct model *model;
  fovea_execution execution;
  float *memory;
  float *embedded; /* (letters, embedded) */
  float *gates;    /* (letters, 3 state) of one direction: the input's part */
  float *zeros;    /* a state before anything was read */
  float *states;   /* (letters, 2 state): forward, backward */
  float *keys;     /* (letters, aligned) */
  /* One after the other, so that the writer's input is (context, symbol) and the answer's is (state, context). */
  float *state, *context, *symbol;
};

static bool make_workspace(struct workspace *work, const struct model *model, int64_t letters, int threads,
                           struct failure *failure) {
  *work = (struct workspace){.model = model};
  struct {
    float **part;
    int64_t size;
  } parts[] = {{&work->embedded, letters * model->embedded},
               {&work->gates, letters * 3 * model->state},
               {&work->zeros, model->state},
               {&work->states, letters * 2 * model->state},
               {&work->keys, letters * model->aligned},
               {&work->state, model->state},
               {&work->context, 2 * model->state},
               {&work->symbol, model->fed}};
  const int count = (int)(sizeof parts / sizeof parts[0]);
  int64_t total = 0;
  for (int i = 0; i < count; i++) total += parts[i].size;
  float *next = work->memory = calloc((size_t)total, sizeof *next);
  if (!next) return refuse(failure, "no memory for %lld numbers", (long long)total);
  for (int i = 0; i < count; next += parts[i++].size) *parts[i].part = next;
  fovea_execution_init(&work->execution);
  work->execution.threads = threads;
  work->execution.isa = model->isa;
  return true;
}

static fovea_status embed(const struct workspace *work, const fovea_nn_embedding *embedding, const int32_t *ids,
                          int64_t count, float *to, fovea_error *error) {
  fovea_nn_embedding_rows rows;
  fovea_nn_embedding_rows_init(&rows, embedding, count, ids, to);
  return fovea_nn_embed(embedding, &rows, &work->execution, error);
}

static fovea_status multiply(const struct workspace *work, const fovea_nn_linear *linear, int64_t count,
                             const float *from, float *to, fovea_error *error) {
  fovea_nn_linear_rows rows;
  fovea_nn_linear_rows_init(&rows, linear, count, from, to);
  return fovea_nn_linear_run(linear, &rows, &work->execution, error);
}

/* Reads in one direction: all letters are projected at once, then the cell goes from letter to letter. */
static fovea_status read_along(const struct workspace *work, int direction, int64_t letters, fovea_error *error) {
  const struct model *model = work->model;
  const fovea_nn_cell *cell = &model->reader[direction];
  const float *before = work->zeros;
  fovea_status status =
      multiply(work, &model->reader_input[direction], letters, work->embedded, work->gates, error);
  for (int64_t i = 0; i < letters && !status; i++) {
    const int64_t at = direction == FORWARD ? i : letters - 1 - i;
    float *after = work->states + (2 * at + direction) * model->state;
    fovea_nn_cell_rows rows;
    fovea_nn_cell_rows_init(&rows, cell, 1, work->gates + at * 3 * model->state, before, after);
    status = fovea_nn_gru(cell, &rows, &work->execution, error);
    before = after;
  }
  return status;
}

/* The writer begins with the state of the backward reader at the first letter, so after all letters. */
static fovea_status read_letters(const struct workspace *work, const struct letters *letters, fovea_error *error) {
  const struct model *model = work->model;
  fovea_status status = embed(work, &model->letters, letters->ids, letters->count, work->embedded, error);
  for (int i = 0; i < DIRECTIONS && !status; i++) status = read_along(work, i, letters->count, error);
  if (!status) status = multiply(work, &model->key, letters->count, work->states, work->keys, error);
  memcpy(work->state, work->states + model->state, (size_t)model->state * sizeof(float));
  return status;
}

/* One step: a context vector for the state so far, the next state, the logits of the next symbol. */
static fovea_status write_symbol(const struct workspace *work, int64_t letters, int32_t before, float *logits,
                                 float *weights, fovea_error *error) {
  const struct model *model = work->model;
  fovea_nn_additive_tensors tensors;
  fovea_nn_cell_rows rows;
  fovea_nn_additive_tensors_init(&tensors, &model->alignment, 1, 1, letters, 2 * model->state, work->state,
                                 work->keys, work->states, work->context);
  tensors.weights = weights;
  fovea_status status = fovea_nn_additive_run(&model->alignment, &tensors, &work->execution, error);
  if (!status) status = embed(work, &model->symbols, &before, 1, work->symbol, error);
  fovea_nn_cell_rows_init(&rows, &model->writer, 1, work->context, work->state, work->state);
  if (!status) status = fovea_nn_gru(&model->writer, &rows, &work->execution, error);
  return status ? status : multiply(work, &model->answer, 1, work->state, logits, error);
}

static int32_t likeliest(const float *logits) {
  int32_t best = 0;
  for (int32_t i = 1; i < SYMBOL_COUNT; i++)
    if (logits[i] > logits[best]) best = i;
  return best;
}

static fovea_status run(const struct workspace *work, struct translation *translation, fovea_error *error) {
  const struct letters *letters = &translation->letters;
  int32_t symbol = SYMBOL_END;
  fovea_status status = read_letters(work, letters, error);
  for (int64_t step = 0; step < STEPS_LIMIT && !status; step++) {
    status =
        write_symbol(work, letters->count, symbol, translation->logits[step], translation->weights[step], error);
    if (status) break;
    symbol = likeliest(translation->logits[step]);
    translation->steps = step + 1;
    if (symbol == SYMBOL_END) break;
    translation->answer[step] = symbol_of(symbol);
  }
  return status;
}

bool translate(const struct model *model, const char *text, int threads, struct translation *translation,
               struct failure *failure) {
  struct workspace work;
  fovea_error error;
  *translation = (struct translation){.steps = 0};
  if (!letters_read(&translation->letters, text, failure) ||
      !make_workspace(&work, model, translation->letters.count, threads, failure))
    return false;
  const fovea_status status = run(&work, translation, &error);
  free(work.memory);
  return status == FOVEA_OK || refuse(failure, "%s", error.text);
}

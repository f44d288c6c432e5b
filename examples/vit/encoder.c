#include "encoder.h"

#include <math.h>
#include <stdlib.h>

/* The pixels of a patch lie together, 0 to 1. */
static void cut_patches(const unsigned char *image, float *patches) {
  for (int i = 0; i < IMAGE_PIXELS; i++) {
    const int y = i / IMAGE_SIDE, x = i % IMAGE_SIDE;
    const int patch = y / PATCH_SIDE * PATCH_STEPS + x / PATCH_SIDE;
    const int place = y % PATCH_SIDE * PATCH_SIDE + x % PATCH_SIDE;
    patches[patch * PATCH_PIXELS + place] = (float)image[i] / BRIGHTEST;
  }
}

/* Makes the tokens: of each patch position in all images at once, so that its row of `positions` is the residual of
 * all rows. */
static fovea_status embed(const struct model *model, const float *patches, int64_t count,
                          const fovea_execution *execution, float *tokens, fovea_error *error) {
  const int64_t dim = model->dim;
  for (int64_t i = 0; i < count; i++)
    for (int64_t d = 0; d < dim; d++) tokens[i * TOKENS * dim + d] = model->class_token[d] + model->positions[d];
  fovea_status status = FOVEA_OK;
  for (int i = 0; i < PATCHES && !status; i++) {
    fovea_nn_linear_rows rows;
    fovea_nn_linear_rows_init(&rows, &model->patch, count, patches + i * PATCH_PIXELS, tokens + (i + 1) * dim);
    rows.x_stride = PATCHES * PATCH_PIXELS;
    rows.y_stride = TOKENS * dim;
    rows.residual = model->positions + (i + 1) * dim;
    rows.residual_stride = 0;
    status = fovea_nn_linear_run(&model->patch, &rows, execution, error);
  }
  return status;
}

/* Runs all layers in place. `weights` is of one image, or NULL. */
static fovea_status run_layers(const struct model *model, int64_t count, const fovea_execution *execution,
                               float *tokens, float *weights, fovea_error *error) {
  const int64_t head_dim = model->dim / MODEL_HEADS, layer_size = MODEL_HEADS * TOKENS * TOKENS;
  fovea_problem problem;
  fovea_nn_attention_tensors tensors;
  fovea_problem_init(&problem, count, MODEL_HEADS, MODEL_HEADS, TOKENS, TOKENS, head_dim, head_dim);
  fovea_nn_attention_tensors_init(&tensors, NULL, NULL);
  if (weights) problem.scores.kind = FOVEA_SCORES_WEIGHTS;
  const fovea_nn_attending self = {&problem, &tensors};
  fovea_status status = FOVEA_OK;
  for (int64_t i = 0; i < model->layers && !status; i++) {
    if (weights) tensors.scores = weights + i * layer_size;
    status = fovea_nn_block_run(&model->layer[i].block, &self, NULL, tokens, tokens, execution, error);
  }
  return status;
}

/* The head sees the class tokens only. */
static fovea_status classify(const struct model *model, int64_t count, const fovea_execution *execution,
                             float *tokens, float *logits, fovea_error *error) {
  fovea_nn_norm_rows norm_rows;
  fovea_nn_linear_rows head_rows;
  fovea_nn_norm_rows_init(&norm_rows, &model->norm, count, tokens, tokens);
  fovea_nn_linear_rows_init(&head_rows, &model->head, count, tokens, logits);
  norm_rows.x_stride = norm_rows.y_stride = head_rows.x_stride = TOKENS * model->dim;
  const fovea_status status = fovea_nn_norm_run(&model->norm, &norm_rows, execution, error);
  return status ? status : fovea_nn_linear_run(&model->head, &head_rows, execution, error);
}

/* Either `logits` of all images or `weights` of one. */
static bool run(const struct model *model, const unsigned char *images, int64_t count, int threads, float *logits,
                float *weights, struct failure *failure) {
  fovea_execution execution;
  fovea_error error;
  const int64_t token_numbers = count * TOKENS * model->dim;
  float *tokens = malloc((size_t)(token_numbers + count * IMAGE_PIXELS) * sizeof *tokens);
  if (!tokens) return refuse(failure, "no memory for %lld images", (long long)count);
  float *patches = tokens + token_numbers;
  fovea_execution_init(&execution);
  execution.threads = threads;
  execution.isa = model->isa;
  for (int64_t i = 0; i < count; i++) cut_patches(images + i * IMAGE_PIXELS, patches + i * IMAGE_PIXELS);
  fovea_status status = embed(model, patches, count, &execution, tokens, &error);
  if (!status) status = run_layers(model, count, &execution, tokens, weights, &error);
  if (!status && logits) status = classify(model, count, &execution, tokens, logits, &error);
  free(tokens);
  return !status || refuse(failure, "%s", error.text);
}

bool encoder_logits(const struct model *model, const unsigned char *images, int64_t count, int threads,
                    float *logits, struct failure *failure) {
  if (!run(model, images, count, threads, logits, NULL, failure)) return false;
  for (int64_t i = 0; i < count * DIGITS; i++)
    if (!isfinite(logits[i]))
      return refuse(failure, "the weights make %g of a digit, which is no number to compare", (double)logits[i]);
  return true;
}

bool encoder_attention(const struct model *model, const unsigned char *image, float *weights,
                       struct failure *failure) {
  return run(model, image, 1, 1, NULL, weights, failure);
}

bool encoder_probabilities(const struct model *model, const float *logits, float *probabilities,
                           struct failure *failure) {
  fovea_nn_map map;
  fovea_execution execution;
  fovea_error error;
  fovea_nn_map_init(&map, 1, DIGITS, logits, probabilities);
  fovea_execution_init(&execution);
  execution.isa = model->isa;
  return fovea_nn_softmax(&map, &execution, &error) == FOVEA_OK || refuse(failure, "%s", error.text);
}

int encoder_choice(const float *logits) {
  int best = 0;
  for (int i = 1; i < DIGITS; i++)
    if (logits[i] > logits[best]) best = i;
  return best;
}

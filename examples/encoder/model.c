#include "model.h"

#include "../stories/digest.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const int64_t dim = ENCODER_DIM, hidden = ENCODER_HIDDEN, head_dim = ENCODER_DIM / ENCODER_HEADS;

static void make_linear(fovea_nn_linear *linear, int64_t in, int64_t out, const float *numbers, const float *bias) {
  fovea_nn_linear_init(linear, in, out, numbers);
  linear->bias = bias;
}

static void make_norm(fovea_nn_norm *norm, const float *gamma, const float *beta) {
  fovea_nn_norm_init(norm, FOVEA_NN_LAYER_NORM, dim);
  norm->gamma = gamma;
  norm->beta = beta;
}

static void make_layer(struct layer *layer, const struct weights *weights, int i) {
  const float *parts[PART_COUNT];
  for (int part = 0; part < PART_COUNT; part++) parts[part] = weights_of_layer(weights, i, (enum layer_part)part);
  make_linear(&layer->query, dim, dim, parts[PART_QUERY], NULL);
  make_linear(&layer->key, dim, dim, parts[PART_KEY], NULL);
  make_linear(&layer->value, dim, dim, parts[PART_VALUE], NULL);
  make_linear(&layer->output, dim, dim, parts[PART_OUTPUT], NULL);
  make_linear(&layer->up, dim, hidden, parts[PART_UP], parts[PART_UP_BIAS]);
  make_linear(&layer->down, hidden, dim, parts[PART_DOWN], parts[PART_DOWN_BIAS]);
  layer->up.activation = FOVEA_NN_ACTIVATION_RELU;
  make_norm(&layer->self_norm, parts[PART_SELF_GAMMA], parts[PART_SELF_BETA]);
  make_norm(&layer->feed_norm, parts[PART_FEED_GAMMA], parts[PART_FEED_BETA]);
  fovea_nn_attention_init(&layer->attention, &layer->query, &layer->key, &layer->value, &layer->output);
  fovea_nn_block_init(&layer->block, &layer->attention, &layer->self_norm, &layer->up, &layer->down,
                      &layer->feed_norm);
}

bool model_create(struct model *model, const struct weights *weights, const char *isa, int threads,
                  struct failure *failure) {
  const int64_t *last = &weights->begins[ENCODER_PARTS - 2];
  fovea_nn_sinusoid_rows rows;
  fovea_execution execution;
  fovea_error error;
  *model = (struct model){.weights = weights, .isa = isa, .threads = threads};
  fovea_nn_sinusoid_rows_init(&rows, ENCODER_LENGTH, dim, model->positions);
  fovea_execution_init(&execution);
  execution.isa = isa;
  if (fovea_nn_sinusoids(&rows, &execution, &error) != FOVEA_OK) return refuse(failure, "%s", error.text);
  fovea_nn_embedding_init(&model->embedding, dim, ENCODER_VOCABULARY, weights->numbers);
  model->embedding.scale = sqrtf(ENCODER_DIM);
  model->embedding.positions = (fovea_nn_table){model->positions, ENCODER_LENGTH, FOVEA_F32, dim};
  for (int i = 0; i < ENCODER_LAYERS; i++) make_layer(&model->layers[i], weights, i);
  make_norm(&model->final_norm, weights->numbers + last[0], weights->numbers + last[1]);
  fovea_nn_encoder_init(&model->encoder, &model->layers[0].block, ENCODER_LAYERS);
  model->encoder.block_size = sizeof model->layers[0]; /* a block is a part of a larger struct */
  model->encoder.embedding = &model->embedding;
  model->encoder.final_norm = &model->final_norm;
  return true;
}

/* A padding mask: the same for all heads and rows. */
static void set_mask(fovea_problem *problem) {
  problem->mask.type = FOVEA_MASK_BOOL;
  problem->mask.strides = fovea_mask_layout(FOVEA_MASK_BOOL, ENCODER_BATCH, 1, 1, ENCODER_LENGTH);
}

bool model_run(const struct model *model, float y[ENCODER_NUMBERS], float *attention, struct failure *failure) {
  fovea_problem problem;
  fovea_nn_attention_tensors tensors;
  fovea_nn_encoder_rows rows;
  fovea_execution execution;
  fovea_error error;
  fovea_problem_init(&problem, ENCODER_BATCH, ENCODER_HEADS, ENCODER_HEADS, ENCODER_LENGTH, ENCODER_LENGTH,
                     head_dim, head_dim);
  set_mask(&problem);
  fovea_nn_attention_tensors_init(&tensors, NULL, NULL);
  tensors.mask = model->weights->seen;
  const fovea_nn_attending self = {&problem, &tensors};
  fovea_nn_encoder_rows_init(&rows, &self, model->weights->ids, y);
  rows.id_type = FOVEA_NN_INT64;
  if (attention) {
    problem.scores.kind = FOVEA_SCORES_WEIGHTS;
    tensors.scores = attention;
    rows.self_score_layer = ENCODER_WEIGHT_NUMBERS;
  }
  fovea_execution_init(&execution);
  execution.threads = model->threads;
  execution.isa = model->isa;
  return fovea_nn_encoder_run(&model->encoder, &rows, &execution, &error) == FOVEA_OK ||
         refuse(failure, "%s", error.text);
}

uint64_t model_digest(const float *numbers, int count) {
  return digest_numbers(digest_begin, numbers, count);
}

double model_distance(const float *numbers, const double *expected, int count) {
  double largest = 0;
  for (int i = 0; i < count; i++) {
    const double difference = fabs((double)numbers[i] - expected[i]);
    if (!(difference <= largest)) largest = difference <= DBL_MAX ? difference : INFINITY;
  }
  return largest;
}

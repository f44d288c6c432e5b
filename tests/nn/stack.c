#include "nn/stack.h"

#include "support/check.h"

#include <math.h>

float stack_number(uint32_t i) {
  uint32_t h = i * 0x9e3779b1u + 0x7f4a7c15u;
  h = (h ^ (h >> 16)) * 0x85ebca6bu;
  h = (h ^ (h >> 13)) * 0xc2b2ae35u;
  h ^= h >> 16;
  return ((float)(h >> 16) - 32768.0f) * 0x1p-16f;
}

/* Weights that are taken one after the other. */
struct source {
  float *next;
  uint32_t index;
};

static const float *take(struct source *source, int64_t count, float offset) {
  float *numbers = source->next;
  for (int64_t i = 0; i < count; i++) numbers[i] = stack_number(source->index++) + offset;
  source->next += count;
  return numbers;
}

static void take_attention(struct source *source, fovea_nn_attention *attention, fovea_nn_linear layers[4]) {
  const float *weight = take(source, 3 * STACK_WIDTH * STACK_WIDTH, 0), *bias = take(source, 3 * STACK_WIDTH, 0);
  for (int i = 0; i < 3; i++) {
    fovea_nn_linear_init(&layers[i], STACK_WIDTH, STACK_WIDTH, weight + i * STACK_WIDTH * STACK_WIDTH);
    layers[i].bias = bias + i * STACK_WIDTH;
  }
  fovea_nn_linear_init(&layers[3], STACK_WIDTH, STACK_WIDTH, take(source, STACK_WIDTH * STACK_WIDTH, 0));
  layers[3].bias = take(source, STACK_WIDTH, 0);
  fovea_nn_attention_init(attention, &layers[0], &layers[1], &layers[2], &layers[3]);
}

static void take_linear(struct source *source, fovea_nn_linear *linear, int64_t in, int64_t out) {
  fovea_nn_linear_init(linear, in, out, take(source, in * out, 0));
  linear->bias = take(source, out, 0);
}

static void take_norm(struct source *source, fovea_nn_norm *norm) {
  fovea_nn_norm_init(norm, FOVEA_NN_LAYER_NORM, STACK_WIDTH);
  norm->gamma = take(source, STACK_WIDTH, 1);
  norm->beta = take(source, STACK_WIDTH, 0);
}

static void take_layer(struct source *source, struct stack_layer *l, int with_cross, int norm_first) {
  take_attention(source, &l->self_attention, l->self);
  if (with_cross) take_attention(source, &l->cross_attention, l->cross);
  take_linear(source, &l->up, STACK_WIDTH, STACK_HIDDEN);
  take_linear(source, &l->down, STACK_HIDDEN, STACK_WIDTH);
  l->up.activation = FOVEA_NN_ACTIVATION_RELU;
  take_norm(source, &l->norms[0]);
  if (with_cross) take_norm(source, &l->norms[1]);
  take_norm(source, &l->norms[2]);
  fovea_nn_block_init(&l->block, &l->self_attention, &l->norms[0], &l->up, &l->down, &l->norms[2]);
  l->block.norm_first = norm_first;
  if (!with_cross) return;
  l->block.cross = &l->cross_attention;
  l->block.cross_norm = &l->norms[1];
}

void stack_create(struct stack *s, int count, int with_cross, int norm_first, uint32_t first) {
  struct source source = {s->numbers, first};
  fovea_nn_sinusoid_rows rows;
  for (int i = 0; i < count; i++) take_layer(&source, &s->layers[i], with_cross, norm_first);
  take_norm(&source, &s->final_norm);
  fovea_nn_embedding_init(&s->embedding, STACK_WIDTH, STACK_VOCABULARY,
                          take(&source, STACK_VOCABULARY * STACK_WIDTH, 0));
  take_linear(&source, &s->output, STACK_WIDTH, STACK_VOCABULARY);
  take_norm(&source, &s->embedding_norm);
  assert_true(source.next <= s->numbers + sizeof s->numbers / sizeof *s->numbers);
  fovea_nn_sinusoid_rows_init(&rows, STACK_POSITIONS, STACK_WIDTH, s->positions);
  assert_int_equal(fovea_nn_sinusoids(&rows, NULL, NULL), FOVEA_OK);
  s->embedding.scale = sqrtf(STACK_WIDTH);
  s->embedding.positions = (fovea_nn_table){s->positions, STACK_POSITIONS, FOVEA_F32, STACK_WIDTH};
  fovea_nn_encoder_init(&s->encoder, &s->layers[0].block, count);
  s->encoder.block_size = sizeof s->layers[0];
  s->encoder.embedding = &s->embedding;
  s->encoder.final_norm = &s->final_norm;
}

uint32_t stack_end(const struct stack *stack, uint32_t first) {
  return first + (uint32_t)(stack->embedding_norm.beta + STACK_WIDTH - stack->numbers);
}

/* The encoder of "Attention is all you need" over these weights: token times sqrt(dim), sinusoids, post-norm layers
 * with ReLU, and one more norm. */
#ifndef ENCODER_MODEL_H
#define ENCODER_MODEL_H

#include "weights.h"

#include <fovea/embedding.h>
#include <fovea/encoder.h>
#include <fovea/nn.h>

enum {
  ENCODER_NUMBERS = ENCODER_ROWS * ENCODER_DIM,
  ENCODER_WEIGHT_NUMBERS = ENCODER_BATCH * ENCODER_HEADS * ENCODER_LENGTH * ENCODER_LENGTH
};

struct layer {
  fovea_nn_linear query, key, value, output, up, down;
  fovea_nn_attention attention;
  fovea_nn_norm self_norm, feed_norm;
  fovea_nn_block block;
};

struct model {
  const struct weights *weights;
  const char *isa;
  int threads;
  float positions[ENCODER_LENGTH * ENCODER_DIM];
  fovea_nn_embedding embedding;
  fovea_nn_norm final_norm;
  struct layer layers[ENCODER_LAYERS];
  fovea_nn_encoder encoder;
};

/* `weights` is kept. isa NULL: the best; threads 0: as many as there are CPUs. Neither changes a bit. */
bool model_create(struct model *model, const struct weights *weights, const char *isa, int threads,
                  struct failure *failure);

/* From ids to rows (batch, length, dim). `attention` gets the weights of each layer, ENCODER_WEIGHT_NUMBERS as
 * (batch, heads, length, length); NULL: they are not wanted. */
bool model_run(const struct model *model, float y[ENCODER_NUMBERS], float *attention, struct failure *failure);

/* FNV-1a of the bits of numbers. */
uint64_t model_digest(const float *numbers, int count);

/* The largest distance between two numbers; infinity if one of them is NaN. */
double model_distance(const float *numbers, const double *expected, int count);

#endif

/* The layers of a model, as structs of fovea_nn that point into its weights. */
#ifndef STORIES_LAYERS_H
#define STORIES_LAYERS_H

#include "model.h"

#include <fovea/embedding.h>
#include <fovea/nn.h>

struct layer {
  fovea_nn_linear query, key, value, output, gate, up, down;
  fovea_nn_norm attention_norm, hidden_norm;
  fovea_nn_attention attention;
  fovea_nn_block block;
};

/* Structs point at each other: layers stay where they were created. */
struct layers {
  fovea_nn_embedding embedding;
  fovea_rotary rotary;
  struct layer *layer; /* model->layers of them */
  fovea_nn_norm final_norm;
  fovea_nn_linear classifier;
  float *panels; /* of all matrices, packed */
};

/* The threads pack weights, on this instruction set (NULL: the best). */
bool layers_create(struct layers *layers, const struct model *model, const char *isa, int threads,
                   struct failure *failure);
void layers_destroy(struct layers *layers);

#endif

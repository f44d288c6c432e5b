/* The weights of a small Vision Transformer (Dosovitskiy et al., 2021), as layers of fovea_nn. Weights are used as
 * they lie in the file: matrices in f16, bf16 or f32, the others in f32. */
#ifndef VIT_MODEL_H
#define VIT_MODEL_H

#include "../minilm/safetensors.h"

#include <fovea/nn.h>

enum {
  IMAGE_SIDE = 8,
  IMAGE_PIXELS = IMAGE_SIDE * IMAGE_SIDE,
  PATCH_SIDE = 2,
  PATCH_PIXELS = PATCH_SIDE * PATCH_SIDE,
  PATCH_STEPS = IMAGE_SIDE / PATCH_SIDE, /* patches in a row, and rows of patches */
  PATCHES = PATCH_STEPS * PATCH_STEPS,
  TOKENS = 1 + PATCHES, /* the class token first */
  DIGITS = 10,
  MODEL_HEADS = 4, /* a file does not say how many heads there are */
  MODEL_DIM_LIMIT = 256,
  MODEL_LAYER_LIMIT = 12
};

struct model_layer {
  fovea_nn_linear query, key, value, output, up, down;
  fovea_nn_attention attention;
  fovea_nn_norm self_norm, feed_norm;
  fovea_nn_block block;
};

struct model {
  struct safetensors file;
  int64_t dim, hidden_dim, layers;
  const float *class_token; /* (dim) */
  const float *positions;   /* (TOKENS, dim) */
  fovea_nn_linear patch, head;
  fovea_nn_norm norm;
  struct model_layer layer[MODEL_LAYER_LIMIT];
  const char *isa; /* model_use_isa() */
};

/* Reads the tensors that train.py writes, by PyTorch's names; sizes follow from their shapes. `path` and the
 * model's own address are kept. */
bool model_read(struct model *model, const char *path, struct failure *failure);
void model_free(struct model *model);

/* Lets all layers use an instruction set; NULL, as after reading: the best. */
void model_use_isa(struct model *model, const char *isa);

#endif

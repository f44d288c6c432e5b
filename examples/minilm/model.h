/* The weights of a sentence model of MiniLM's kind (BERT's encoder), as layers of fovea_nn. Weights stay in the
 * type of the file; matrices are packed once. */
#ifndef MINILM_MODEL_H
#define MINILM_MODEL_H

#include "safetensors.h"

#include <fovea/embedding.h>
#include <fovea/nn.h>

enum { MODEL_HEAD_DIM = 32 }; /* MiniLM's; a file does not say how many heads there are */

struct model_layer {
  fovea_nn_linear query, key, value, output, up, down;
  fovea_nn_attention attention;
  fovea_nn_norm self_norm, feed_norm;
  fovea_nn_block block;
};

struct model {
  struct safetensors file;
  int64_t dim, hidden_dim, heads, layers, vocabulary, positions;
  fovea_nn_embedding embedding;
  fovea_nn_norm embedding_norm;
  struct model_layer *layer;
  const char *isa; /* model_use_isa() */
  void **kept;     /* memory of packed and converted weights */
  size_t kept_count;
};

/* Reads the tensors of BertModel (Hugging Face transformers) by their names; sizes follow from their shapes. `path`
 * is kept. */
bool model_read(struct model *model, const char *path, struct failure *failure);
void model_free(struct model *model);

/* Lets all layers use an instruction set; NULL, as after reading: the best. */
void model_use_isa(struct model *model, const char *isa);

#endif

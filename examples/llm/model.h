/* A language model of Llama's kind from a GGUF file, as structs of fovea_nn with packed weights. */
#ifndef LLM_MODEL_H
#define LLM_MODEL_H

#include "checkpoint.h"
#include "gguf.h"

#include <fovea/encoder.h>
#include <fovea/weights.h>

struct layer {
  fovea_nn_linear query, key, value, output, gate, up, down;
  fovea_nn_norm attention_norm, feed_norm;
  fovea_nn_attention attention;
  fovea_nn_block block;
};

/* Its structs point at each other: a model stays where it was opened. */
struct model {
  int64_t dim, hidden, layers, heads, kv_heads, head_dim, vocabulary;
  int64_t context; /* positions that it was trained for */
  struct gguf gguf;
  struct checkpoint checkpoint; /* has the matrices, if it was asked for */
  bool has_checkpoint;

  struct layer *layer;
  fovea_rotary rotary;
  struct matrix embedding; /* a row for each token */
  fovea_nn_norm final_norm;
  fovea_nn_encoder encoder; /* all layers, and the norm */
  fovea_nn_linear head;     /* makes logits of its rows */

  fovea_mode mode; /* of layers with quantised weights */
  bool has_codes;  /* there are such layers */
  void **pieces;   /* of memory, with packed weights and norms */
  int64_t piece_count;
};

/* Reads a file and packs its weights, by the threads and the isa of the execution. If `weights` is not NULL it is a
 * safetensors file, which has the matrices instead. Tensors and values that would make another model of it are refused,
 * and int8 mode if no weights are quantised. */
bool model_open(struct model *model, const char *path, const char *weights, fovea_mode mode,
                const fovea_execution *execution, struct failure *failure);
void model_close(struct model *model);

#endif

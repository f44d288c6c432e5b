#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINEARS = 7, NAME_SIZE = 64, ALIGNMENT = 64, LAYER_LIMIT = 4096 };

/* Larger than any size of a model; the product of three does not overflow. */
static const int64_t size_limit = 1 << 20;

static bool read_sizes(struct model *model, struct failure *failure) {
  const struct gguf *gguf = &model->gguf;
  const struct gguf_value *tokens;
  if (!gguf_is(gguf_find(gguf, "general.architecture"), "llama"))
    return refuse(failure, "%s: general.architecture is not 'llama'", gguf->path);
  if (!gguf_array(gguf, "tokenizer.ggml.tokens", GGUF_STRING, &tokens, failure) ||
      !gguf_whole(gguf, "llama.embedding_length", 1, size_limit, 0, &model->dim, failure) ||
      !gguf_whole(gguf, "llama.feed_forward_length", 1, size_limit, 0, &model->hidden, failure) ||
      !gguf_whole(gguf, "llama.block_count", 1, LAYER_LIMIT, 0, &model->layers, failure) ||
      !gguf_whole(gguf, "llama.attention.head_count", 1, size_limit, 0, &model->heads, failure) ||
      !gguf_whole(gguf, "llama.attention.head_count_kv", 1, model->heads, model->heads, &model->kv_heads,
                  failure) ||
      !gguf_whole(gguf, "llama.attention.key_length", 1, size_limit, model->dim / model->heads, &model->head_dim,
                  failure) ||
      !gguf_whole(gguf, "llama.context_length", 1, size_limit, 0, &model->context, failure))
    return false;
  model->vocabulary = (int64_t)tokens->count;
  return model->heads % model->kv_heads == 0 ||
         refuse(failure, "%s: %lld kv heads do not divide %lld heads", gguf->path, (long long)model->kv_heads,
                (long long)model->heads);
}

/* Rotates neighbours: whoever writes a GGUF file of this architecture orders the rows of queries and keys so. In Hugging
 * Face's files they are in their first order. */
static bool read_rotary(struct model *model, struct failure *failure) {
  const struct gguf *gguf = &model->gguf;
  const struct gguf_value *scaling = gguf_find(gguf, "llama.rope.scaling.type");
  int64_t dims, value_dim;
  double base;
  if (!gguf_whole(gguf, "llama.rope.dimension_count", 0, model->head_dim, model->head_dim, &dims, failure) ||
      !gguf_whole(gguf, "llama.attention.value_length", model->head_dim, model->head_dim, model->head_dim,
                  &value_dim, failure) ||
      !gguf_number(gguf, "llama.rope.freq_base", 1, 10000, &base, failure))
    return false;
  if (dims % 2 != 0) return refuse(failure, "%s: llama.rope.dimension_count is odd", gguf->path);
  if (scaling && !gguf_is(scaling, "none"))
    return refuse(failure, "%s: llama.rope.scaling.type is not 'none', which is all that this program has",
                  gguf->path);
  fovea_rotary_init(&model->rotary, model->has_checkpoint ? FOVEA_ROTARY_HALVES : FOVEA_ROTARY_INTERLEAVED, dims);
  model->rotary.base = base;
  return true;
}

/* Aligned memory that the model frees. */
static void *allocate(struct model *model, int64_t bytes, struct failure *failure) {
  char *piece = malloc((size_t)bytes + ALIGNMENT);
  if (!piece) {
    refuse(failure, "no memory for %lld bytes of weights", (long long)bytes);
    return NULL;
  }
  model->pieces[model->piece_count++] = piece;
  return piece + (ALIGNMENT - (uintptr_t)piece % ALIGNMENT);
}

/* Finds a matrix by its name in a GGUF file. `layer` is -1 for what belongs to none. */
static bool take(struct model *model, int64_t layer, const char *of, int64_t rows, int64_t columns,
                 struct matrix *matrix, struct failure *failure) {
  char name[NAME_SIZE];
  if (model->has_checkpoint) return checkpoint_take(&model->checkpoint, layer, of, rows, columns, matrix, failure);
  if (layer < 0)
    snprintf(name, sizeof name, "%s.weight", of);
  else
    snprintf(name, sizeof name, "blk.%lld.%s.weight", (long long)layer, of);
  return gguf_take(&model->gguf, name, rows, columns, matrix, failure);
}

/* As take(), of which rows of numbers are read. */
static bool take_rows(struct model *model, int64_t layer, const char *of, int64_t rows, struct matrix *matrix,
                      struct failure *failure) {
  return take(model, layer, of, rows, model->dim, matrix, failure) &&
         (matrix->row_bytes > 0 ||
          refuse(failure, "%s: its %s is in codes without blocks", model->checkpoint.file.path, of));
}

/* Packs the rows of a layer into panels of their type. */
static bool pack(struct model *model, fovea_nn_linear *linear, const fovea_execution *execution,
                 struct failure *failure) {
  const int64_t size = linear->weight_type == FOVEA_F32 ? 4 : 2;
  void *panels =
      allocate(model, size * fovea_nn_panel_elements(linear->in, linear->out, linear->weight_type), failure);
  fovea_error error;
  if (!panels) return false;
  if (fovea_nn_pack(linear, panels, execution, &error) != FOVEA_OK) return refuse(failure, "%s", error.text);
  linear->weights = panels;
  linear->layout = FOVEA_NN_WEIGHTS_IN_PANELS;
  linear->weight_stride = 0;
  return true;
}

/* Packs codes, which stay codes. */
static bool pack_codes(struct model *model, fovea_nn_linear *linear, const fovea_nn_codes *codes,
                       const fovea_execution *execution, struct failure *failure) {
  fovea_error error;
  size_t bytes;
  if (fovea_nn_codes_size(codes, &bytes, &error) != FOVEA_OK) return refuse(failure, "%s", error.text);
  void *packed = allocate(model, (int64_t)bytes, failure);
  if (!packed) return false;
  if (fovea_nn_pack_codes(codes, packed, execution, &error) != FOVEA_OK) return refuse(failure, "%s", error.text);
  linear->weights = packed;
  linear->layout = FOVEA_NN_WEIGHTS_QUANTISED;
  linear->mode = model->mode;
  model->has_codes = true;
  return true;
}

/* A matrix of the file becomes a linear layer of the same numbers. */
static bool read_linear(struct model *model, fovea_nn_linear *linear, int64_t layer, const char *of, int64_t in,
                        int64_t out, const fovea_execution *execution, struct failure *failure) {
  struct matrix matrix;
  if (!take(model, layer, of, out, in, &matrix, failure)) return false;
  fovea_nn_linear_init(linear, in, out, matrix.data);
  if (matrix.has_codes) return pack_codes(model, linear, &matrix.codes, execution, failure);
  linear->weight_type = matrix.type;
  return pack(model, linear, execution, failure);
}

static bool read_norm(struct model *model, fovea_nn_norm *norm, int64_t layer, const char *of, double eps,
                      struct failure *failure) {
  struct matrix matrix;
  if (!take_rows(model, layer, of, 1, &matrix, failure)) return false;
  float *gamma = allocate(model, model->dim * (int64_t)sizeof *gamma, failure);
  if (!gamma) return false;
  matrix_row(&matrix, 0, gamma);
  fovea_nn_norm_init(norm, FOVEA_NN_RMS_NORM, model->dim);
  norm->eps = eps;
  norm->gamma = gamma;
  return true;
}

static bool read_layer(struct model *model, int64_t index, double eps, const fovea_execution *execution,
                       struct failure *failure) {
  struct layer *layer = &model->layer[index];
  const int64_t dim = model->dim, q_dim = model->heads * model->head_dim,
                kv_dim = model->kv_heads * model->head_dim;
  const struct {
    const char *name;
    fovea_nn_linear *linear;
    int64_t in, out;
  } linears[LINEARS] = {{"attn_q", &layer->query, dim, q_dim},          {"attn_k", &layer->key, dim, kv_dim},
                        {"attn_v", &layer->value, dim, kv_dim},         {"attn_output", &layer->output, q_dim, dim},
                        {"ffn_gate", &layer->gate, dim, model->hidden}, {"ffn_up", &layer->up, dim, model->hidden},
                        {"ffn_down", &layer->down, model->hidden, dim}};
  for (int i = 0; i < LINEARS; i++)
    if (!read_linear(model, linears[i].linear, index, linears[i].name, linears[i].in, linears[i].out, execution,
                     failure))
      return false;
  return read_norm(model, &layer->attention_norm, index, "attn_norm", eps, failure) &&
         read_norm(model, &layer->feed_norm, index, "ffn_norm", eps, failure);
}

/* SwiGLU: what the model calls the gate has the activation, so it is the block's `up`. */
static void connect(struct layer *layer, const fovea_rotary *rotary) {
  layer->gate.activation = FOVEA_NN_ACTIVATION_SILU;
  fovea_nn_attention_init(&layer->attention, &layer->query, &layer->key, &layer->value, &layer->output);
  layer->attention.rotary = rotary;
  fovea_nn_block_init(&layer->block, &layer->attention, &layer->attention_norm, &layer->gate, &layer->down,
                      &layer->feed_norm);
  layer->block.gate = &layer->up;
  layer->block.norm_first = 1;
}

static bool read_layers(struct model *model, const fovea_execution *execution, struct failure *failure) {
  double eps;
  if (!gguf_number(&model->gguf, "llama.attention.layer_norm_rms_epsilon", 0, -1, &eps, failure) ||
      !take_rows(model, -1, "token_embd", model->vocabulary, &model->embedding, failure) ||
      !read_norm(model, &model->final_norm, -1, "output_norm", eps, failure))
    return false;
  for (int64_t i = 0; i < model->layers; i++) {
    if (!read_layer(model, i, eps, execution, failure)) return false;
    connect(&model->layer[i], &model->rotary);
  }
  const bool has_head = model->has_checkpoint ? checkpoint_has(&model->checkpoint, "output")
                                              : gguf_has_tensor(&model->gguf, "output.weight");
  if (!read_linear(model, &model->head, -1, has_head ? "output" : "token_embd", model->dim, model->vocabulary,
                   execution, failure))
    return false;
  fovea_nn_encoder_init(&model->encoder, &model->layer[0].block, model->layers);
  model->encoder.block_size = sizeof(struct layer);
  model->encoder.final_norm = &model->final_norm;
  return true;
}

/* Biases, experts, factors of frequencies and the like make another model of the same sizes. */
static bool check_taken(const struct model *model, struct failure *failure) {
  const struct gguf *gguf = &model->gguf;
  if (model->has_checkpoint && gguf_has_tensor(gguf, "rope_freqs.weight"))
    return refuse(failure, "%s: this program has no use for its tensor rope_freqs.weight", gguf->path);
  if (model->has_checkpoint) return checkpoint_check(&model->checkpoint, failure);
  for (uint64_t i = 0; i < gguf->tensor_count; i++) {
    const struct gguf_tensor *tensor = &gguf->tensors[i];
    if (!tensor->taken)
      return refuse(failure, "%s: this program has no use for its tensor %.*s", gguf->path,
                    (int)(tensor->name.length < NAME_SIZE ? tensor->name.length : NAME_SIZE), tensor->name.bytes);
  }
  return true;
}

static bool check_mode(const struct model *model, struct failure *failure) {
  return model->mode == FOVEA_MODE_EXACT || model->has_codes ||
         refuse(failure, "%s: int8 mode is for quantised weights, of which it has none", model->gguf.path);
}

static bool make_room(struct model *model, struct failure *failure) {
  const size_t layers = (size_t)model->layers;
  model->layer = calloc(layers, sizeof *model->layer);
  model->pieces = calloc((LINEARS + 2) * layers + 2, sizeof *model->pieces); /* with norms, and the head */
  return (model->layer && model->pieces) || refuse(failure, "no memory for %zu layers", layers);
}

bool model_open(struct model *model, const char *path, const char *weights, fovea_mode mode,
                const fovea_execution *execution, struct failure *failure) {
  *model = (struct model){.mode = mode, .has_checkpoint = weights != NULL};
  if (!gguf_read(&model->gguf, path, failure)) return false;
  if ((!weights || checkpoint_read(&model->checkpoint, weights, failure)) && read_sizes(model, failure) &&
      read_rotary(model, failure) && make_room(model, failure) && read_layers(model, execution, failure) &&
      check_taken(model, failure) && check_mode(model, failure))
    return true;
  model_close(model);
  return false;
}

void model_close(struct model *model) {
  for (int64_t i = 0; i < model->piece_count; i++) free(model->pieces[i]);
  free(model->pieces);
  free(model->layer);
  gguf_free(&model->gguf);
  checkpoint_free(&model->checkpoint);
  *model = (struct model){.layer = NULL};
}

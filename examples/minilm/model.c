#include "model.h"

#include <stdio.h>
#include <stdlib.h>

enum {
  NAME_SIZE = 96,
  FULL_NAME_SIZE = NAME_SIZE + 8,
  LAYER_LIMIT = 64,
  SIZE_LIMIT = 1 << 20,
  KEPT_OF_LAYER = 16,
  KEPT_OF_MODEL = 2
};

static const double norm_eps = 1e-12; /* config.json, layer_norm_eps */

static bool fail(struct failure *failure, const struct model *model, const char *name, const fovea_error *error) {
  return refuse(failure, "%s: %s: %s", model->file.path, name, error->text);
}

static void *keep(struct model *model, size_t bytes, struct failure *failure) {
  void *memory = malloc(bytes);
  if (memory)
    model->kept[model->kept_count++] = memory;
  else
    refuse(failure, "no memory for the model");
  return memory;
}

/* Biases, gammas and betas are f32 for fovea_nn; other types are converted. */
static bool take_vector(struct model *model, const char *name, int64_t count, const float **vector,
                        struct failure *failure) {
  struct numbers numbers;
  fovea_nn_map map;
  fovea_error error;
  if (!safetensors_take(&model->file, name, count, 0, &numbers, failure)) return false;
  *vector = numbers.data;
  if (numbers.type == FOVEA_F32) return true;
  float *converted = keep(model, (size_t)count * sizeof *converted, failure);
  if (!converted) return false;
  fovea_nn_map_init(&map, 1, count, numbers.data, converted);
  map.x_type = numbers.type;
  *vector = converted;
  return fovea_nn_activate(&map, FOVEA_NN_ACTIVATION_NONE, NULL, &error) == FOVEA_OK ||
         fail(failure, model, name, &error);
}

static bool take_linear(struct model *model, const char *name, int64_t in, int64_t out, fovea_nn_linear *linear,
                        struct failure *failure) {
  char full[FULL_NAME_SIZE];
  struct numbers weights;
  fovea_error error;
  snprintf(full, sizeof full, "%s.bias", name);
  fovea_nn_linear_init(linear, in, out, NULL);
  if (!take_vector(model, full, out, &linear->bias, failure)) return false;
  snprintf(full, sizeof full, "%s.weight", name);
  if (!safetensors_take(&model->file, full, out, in, &weights, failure)) return false;
  fovea_nn_linear rows = *linear;
  rows.bias = NULL;
  rows.weights = weights.data;
  linear->weight_type = rows.weight_type = weights.type;
  const size_t size = weights.type == FOVEA_F32 ? 4 : 2;
  void *panels = keep(model, (size_t)fovea_nn_panel_elements(in, out, weights.type) * size, failure);
  if (!panels) return false;
  linear->weights = panels;
  linear->layout = FOVEA_NN_WEIGHTS_IN_PANELS;
  linear->weight_stride = 0;
  return fovea_nn_pack(&rows, panels, NULL, &error) == FOVEA_OK || fail(failure, model, full, &error);
}

static bool take_norm(struct model *model, const char *name, fovea_nn_norm *norm, struct failure *failure) {
  char full[FULL_NAME_SIZE];
  fovea_nn_norm_init(norm, FOVEA_NN_LAYER_NORM, model->dim);
  norm->eps = norm_eps;
  snprintf(full, sizeof full, "%s.weight", name);
  if (!take_vector(model, full, model->dim, &norm->gamma, failure)) return false;
  snprintf(full, sizeof full, "%s.bias", name);
  return take_vector(model, full, model->dim, &norm->beta, failure);
}

/* The shape of a matrix, whose numbers must not be larger than any model's. */
static bool find_shape(const struct model *model, const char *name, int64_t *rows, int64_t *columns,
                       struct failure *failure) {
  const struct stored_tensor *tensor = safetensors_find(&model->file, name);
  if (!tensor) return refuse(failure, "%s: there is no tensor %s", model->file.path, name);
  if (tensor->rank != 2 || tensor->shape[0] < 1 || tensor->shape[0] > SIZE_LIMIT || tensor->shape[1] < 1 ||
      tensor->shape[1] > SIZE_LIMIT)
    return refuse(failure, "%s: %s is no matrix with sizes from 1 to %d", model->file.path, name, SIZE_LIMIT);
  *rows = tensor->shape[0];
  *columns = tensor->shape[1];
  return true;
}

static bool find_sizes(struct model *model, struct failure *failure) {
  int64_t columns;
  if (!find_shape(model, "embeddings.word_embeddings.weight", &model->vocabulary, &model->dim, failure) ||
      !find_shape(model, "embeddings.position_embeddings.weight", &model->positions, &columns, failure) ||
      !find_shape(model, "encoder.layer.0.intermediate.dense.weight", &model->hidden_dim, &columns, failure))
    return false;
  model->heads = model->dim / MODEL_HEAD_DIM;
  if (model->dim % MODEL_HEAD_DIM != 0)
    return refuse(failure, "%s: the dim %lld is not a multiple of %d, the dim of a head", model->file.path,
                  (long long)model->dim, MODEL_HEAD_DIM);
  char name[NAME_SIZE];
  for (; model->layers < LAYER_LIMIT; model->layers++) {
    snprintf(name, sizeof name, "encoder.layer.%d.attention.self.query.weight", (int)model->layers);
    if (!safetensors_find(&model->file, name)) break;
  }
  return model->layers > 0 || refuse(failure, "%s: there is no tensor %s", model->file.path, name);
}

static bool read_embedding(struct model *model, struct failure *failure) {
  fovea_nn_embedding *embedding = &model->embedding;
  fovea_nn_embedding_init(embedding, model->dim, model->vocabulary, NULL);
  const struct {
    const char *name;
    int64_t count;
    fovea_nn_table *table;
  } tables[] = {{"embeddings.word_embeddings.weight", model->vocabulary, &embedding->tokens},
                {"embeddings.position_embeddings.weight", model->positions, &embedding->positions},
                {"embeddings.token_type_embeddings.weight", 2, &embedding->token_types}};
  for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
    struct numbers numbers;
    if (!safetensors_take(&model->file, tables[i].name, tables[i].count, model->dim, &numbers, failure))
      return false;
    *tables[i].table = (fovea_nn_table){numbers.data, tables[i].count, numbers.type, model->dim};
  }
  return take_norm(model, "embeddings.LayerNorm", &model->embedding_norm, failure);
}

static bool read_layer(struct model *model, int number, struct failure *failure) {
  struct model_layer *layer = &model->layer[number];
  const int64_t dim = model->dim, hidden = model->hidden_dim;
  const struct {
    const char *name;
    int64_t in, out;
    fovea_nn_linear *linear;
  } linears[] = {
      {"attention.self.query", dim, dim, &layer->query}, {"attention.self.key", dim, dim, &layer->key},
      {"attention.self.value", dim, dim, &layer->value}, {"attention.output.dense", dim, dim, &layer->output},
      {"intermediate.dense", dim, hidden, &layer->up},   {"output.dense", hidden, dim, &layer->down}};
  char name[NAME_SIZE];
  for (size_t i = 0; i < sizeof linears / sizeof linears[0]; i++) {
    snprintf(name, sizeof name, "encoder.layer.%d.%s", number, linears[i].name);
    if (!take_linear(model, name, linears[i].in, linears[i].out, linears[i].linear, failure)) return false;
  }
  layer->up.activation = FOVEA_NN_ACTIVATION_GELU;
  snprintf(name, sizeof name, "encoder.layer.%d.attention.output.LayerNorm", number);
  if (!take_norm(model, name, &layer->self_norm, failure)) return false;
  snprintf(name, sizeof name, "encoder.layer.%d.output.LayerNorm", number);
  if (!take_norm(model, name, &layer->feed_norm, failure)) return false;
  fovea_nn_attention_init(&layer->attention, &layer->query, &layer->key, &layer->value, &layer->output);
  fovea_nn_block_init(&layer->block, &layer->attention, &layer->self_norm, &layer->up, &layer->down,
                      &layer->feed_norm);
  return true;
}

bool model_read(struct model *model, const char *path, struct failure *failure) {
  *model = (struct model){.dim = 0};
  bool read = safetensors_read(&model->file, path, failure) && find_sizes(model, failure);
  if (read) {
    model->layer = calloc((size_t)model->layers, sizeof *model->layer);
    model->kept = calloc((size_t)model->layers * KEPT_OF_LAYER + KEPT_OF_MODEL, sizeof *model->kept);
    read = (model->layer && model->kept) || refuse(failure, "no memory for the model");
  }
  read = read && read_embedding(model, failure);
  for (int i = 0; i < model->layers && read; i++) read = read_layer(model, i, failure);
  if (!read) model_free(model);
  return read;
}

void model_free(struct model *model) {
  for (size_t i = 0; i < model->kept_count; i++) free(model->kept[i]);
  free(model->kept);
  free(model->layer);
  safetensors_free(&model->file);
  *model = (struct model){.dim = 0};
}

void model_use_isa(struct model *model, const char *isa) {
  model->isa = isa;
}

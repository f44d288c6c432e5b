#include "model.h"

#include <stdio.h>

enum { NAME_SIZE = 96, FULL_NAME_SIZE = NAME_SIZE + 8, HIDDEN_LIMIT = 1 << 16 };

static bool take_matrix(const struct model *model, const char *name, int64_t rows, int64_t columns,
                        struct numbers *numbers, struct failure *failure) {
  return safetensors_take(&model->file, name, rows, columns, numbers, failure);
}

/* fovea_nn has biases, gammas and betas in f32. */
static bool take_floats(const struct model *model, const char *name, int64_t rows, int64_t columns,
                        const float **floats, struct failure *failure) {
  struct numbers numbers;
  if (!take_matrix(model, name, rows, columns, &numbers, failure)) return false;
  *floats = numbers.data;
  return numbers.type == FOVEA_F32 || refuse(failure, "%s: %s must be F32", model->file.path, name);
}

static bool take_linear(const struct model *model, const char *name, int64_t in, int64_t out,
                        fovea_nn_linear *linear, struct failure *failure) {
  char full[FULL_NAME_SIZE];
  struct numbers weights;
  snprintf(full, sizeof full, "%s.weight", name);
  if (!take_matrix(model, full, out, in, &weights, failure)) return false;
  fovea_nn_linear_init(linear, in, out, weights.data);
  linear->weight_type = weights.type;
  snprintf(full, sizeof full, "%s.bias", name);
  return take_floats(model, full, out, 0, &linear->bias, failure);
}

static bool take_norm(const struct model *model, const char *name, fovea_nn_norm *norm, struct failure *failure) {
  char full[FULL_NAME_SIZE];
  fovea_nn_norm_init(norm, FOVEA_NN_LAYER_NORM, model->dim);
  snprintf(full, sizeof full, "%s.weight", name);
  if (!take_floats(model, full, model->dim, 0, &norm->gamma, failure)) return false;
  snprintf(full, sizeof full, "%s.bias", name);
  return take_floats(model, full, model->dim, 0, &norm->beta, failure);
}

/* PyTorch has the weights of Q, K and V in one matrix (3 dim, dim), dim rows of each. */
static bool take_projections(const struct model *model, const char *name, struct model_layer *layer,
                             struct failure *failure) {
  const int64_t dim = model->dim;
  fovea_nn_linear *const linears[] = {&layer->query, &layer->key, &layer->value};
  char full[FULL_NAME_SIZE];
  struct numbers weights;
  const float *bias;
  snprintf(full, sizeof full, "%s_weight", name);
  if (!take_matrix(model, full, 3 * dim, dim, &weights, failure)) return false;
  snprintf(full, sizeof full, "%s_bias", name);
  if (!take_floats(model, full, 3 * dim, 0, &bias, failure)) return false;
  const int64_t bytes = dim * dim * (weights.type == FOVEA_F32 ? 4 : 2);
  for (int i = 0; i < 3; i++) {
    fovea_nn_linear_init(linears[i], dim, dim, (const char *)weights.data + i * bytes);
    linears[i]->weight_type = weights.type;
    linears[i]->bias = bias + i * dim;
  }
  return true;
}

static bool read_layer(struct model *model, int number, struct failure *failure) {
  struct model_layer *layer = &model->layer[number];
  const int64_t dim = model->dim, hidden = model->hidden_dim;
  char name[6][NAME_SIZE];
  static const char *const parts[] = {
      "self_attn.in_proj", "self_attn.out_proj", "linear1", "linear2", "norm1", "norm2"};
  for (int i = 0; i < 6; i++) snprintf(name[i], NAME_SIZE, "encoder.layers.%d.%s", number, parts[i]);
  if (!take_projections(model, name[0], layer, failure) ||
      !take_linear(model, name[1], dim, dim, &layer->output, failure) ||
      !take_linear(model, name[2], dim, hidden, &layer->up, failure) ||
      !take_linear(model, name[3], hidden, dim, &layer->down, failure) ||
      !take_norm(model, name[4], &layer->self_norm, failure) ||
      !take_norm(model, name[5], &layer->feed_norm, failure))
    return false;
  layer->up.activation = FOVEA_NN_ACTIVATION_GELU;
  fovea_nn_attention_init(&layer->attention, &layer->query, &layer->key, &layer->value, &layer->output);
  fovea_nn_block_init(&layer->block, &layer->attention, &layer->self_norm, &layer->up, &layer->down,
                      &layer->feed_norm);
  layer->block.norm_first = 1;
  return true;
}

/* The length of a vector, which must be from 1 to a limit. */
static bool find_length(const struct model *model, const char *name, int64_t limit, int64_t *length,
                        struct failure *failure) {
  const struct stored_tensor *tensor = safetensors_find(&model->file, name);
  if (!tensor) return refuse(failure, "%s: there is no tensor %s", model->file.path, name);
  *length = tensor->rank == 1 ? tensor->shape[0] : 0;
  return (*length >= 1 && *length <= limit) ||
         refuse(failure, "%s: %s is no vector of 1 to %lld numbers", model->file.path, name, (long long)limit);
}

static bool find_sizes(struct model *model, struct failure *failure) {
  char name[NAME_SIZE];
  if (!find_length(model, "class_token", MODEL_DIM_LIMIT, &model->dim, failure) ||
      !find_length(model, "encoder.layers.0.linear1.bias", HIDDEN_LIMIT, &model->hidden_dim, failure))
    return false;
  if (model->dim % MODEL_HEADS != 0)
    return refuse(failure, "%s: the dim %d is no multiple of %d, the number of heads", model->file.path,
                  (int)model->dim, MODEL_HEADS);
  for (;; model->layers++) {
    snprintf(name, sizeof name, "encoder.layers.%d.linear1.bias", (int)model->layers);
    if (!safetensors_find(&model->file, name)) return true;
    if (model->layers == MODEL_LAYER_LIMIT)
      return refuse(failure, "%s: it has more than %d layers", model->file.path, MODEL_LAYER_LIMIT);
  }
}

bool model_read(struct model *model, const char *path, struct failure *failure) {
  *model = (struct model){.dim = 0};
  bool read = safetensors_read(&model->file, path, failure) && find_sizes(model, failure) &&
              take_floats(model, "class_token", model->dim, 0, &model->class_token, failure) &&
              take_floats(model, "positions", TOKENS, model->dim, &model->positions, failure) &&
              take_linear(model, "patch", PATCH_PIXELS, model->dim, &model->patch, failure) &&
              take_linear(model, "head", model->dim, DIGITS, &model->head, failure) &&
              take_norm(model, "encoder.norm", &model->norm, failure);
  for (int i = 0; i < model->layers && read; i++) read = read_layer(model, i, failure);
  if (!read) model_free(model);
  return read;
}

void model_free(struct model *model) {
  safetensors_free(&model->file);
  *model = (struct model){.dim = 0};
}

void model_use_isa(struct model *model, const char *isa) {
  model->isa = isa;
}

#include "model.h"
#include "text.h"

#include <stdio.h>

enum { NAME_SIZE = 64, SIZE_LIMIT = 1 << 12 };

/* A matrix of any number of columns, which are counted. */
static bool count_columns(const struct model *model, const char *name, int64_t *columns, struct failure *failure) {
  const struct stored_tensor *tensor = safetensors_find(&model->file, name);
  if (!tensor) return refuse(failure, "%s: there is no tensor %s", model->file.path, name);
  if (tensor->rank != 2 || tensor->shape[1] < 1 || tensor->shape[1] > SIZE_LIMIT)
    return refuse(failure, "%s: %s is no matrix of 1 to %d columns", model->file.path, name, SIZE_LIMIT);
  *columns = tensor->shape[1];
  return true;
}

static bool find_sizes(struct model *model, struct failure *failure) {
  return count_columns(model, "letters.weight", &model->embedded, failure) &&
         count_columns(model, "symbols.weight", &model->fed, failure) &&
         count_columns(model, "writer.weight_hh", &model->state, failure) &&
         count_columns(model, "score.weight", &model->aligned, failure);
}

/* fovea_nn takes vectors as f32. */
static bool take_vector(const struct model *model, const char *name, int64_t count, const float **vector,
                        struct failure *failure) {
  struct numbers numbers;
  if (!safetensors_take(&model->file, name, count, 0, &numbers, failure)) return false;
  if (numbers.type != FOVEA_F32) return refuse(failure, "%s: %s must be F32", model->file.path, name);
  *vector = numbers.data;
  return true;
}

static bool take_table(const struct model *model, const char *name, int64_t count, int64_t dim,
                       fovea_nn_embedding *embedding, struct failure *failure) {
  struct numbers numbers;
  if (!safetensors_take(&model->file, name, count, dim, &numbers, failure)) return false;
  fovea_nn_embedding_init(embedding, dim, count, numbers.data);
  embedding->tokens.type = numbers.type;
  return true;
}

/* `prefix` and `suffix` surround the names' "weight" and "bias". */
static bool take_linear(const struct model *model, const char *prefix, const char *suffix, int64_t in, int64_t out,
                        fovea_nn_linear *linear, struct failure *failure) {
  char name[NAME_SIZE];
  struct numbers weights;
  snprintf(name, sizeof name, "%s.weight%s", prefix, suffix);
  if (!safetensors_take(&model->file, name, out, in, &weights, failure)) return false;
  fovea_nn_linear_init(linear, in, out, weights.data);
  linear->weight_type = weights.type;
  snprintf(name, sizeof name, "%s.bias%s", prefix, suffix);
  return take_vector(model, name, out, &linear->bias, failure);
}

static bool take_reader(struct model *model, struct failure *failure) {
  static const char *const inputs[DIRECTIONS] = {"_ih_l0", "_ih_l0_reverse"};
  static const char *const hiddens[DIRECTIONS] = {"_hh_l0", "_hh_l0_reverse"};
  const int64_t state = model->state;
  for (int i = 0; i < DIRECTIONS; i++) {
    if (!take_linear(model, "reader", inputs[i], model->embedded, 3 * state, &model->reader_input[i], failure) ||
        !take_linear(model, "reader", hiddens[i], state, 3 * state, &model->reader_hidden[i], failure))
      return false;
    fovea_nn_cell_init(&model->reader[i], NULL, &model->reader_hidden[i]);
  }
  return true;
}

static bool take_alignment(struct model *model, struct failure *failure) {
  const int64_t state = model->state, aligned = model->aligned;
  struct numbers score, key;
  if (!take_linear(model, "query", "", state, aligned, &model->query, failure) ||
      !safetensors_take(&model->file, "key.weight", aligned, 2 * state, &key, failure) ||
      !safetensors_take(&model->file, "score.weight", 1, aligned, &score, failure))
    return false;
  if (score.type != FOVEA_F32) return refuse(failure, "%s: score.weight must be F32", model->file.path);
  fovea_nn_linear_init(&model->key, 2 * state, aligned, key.data);
  model->key.weight_type = key.type;
  fovea_nn_additive_init(&model->alignment, aligned, score.data);
  model->alignment.query = &model->query;
  return true;
}

static bool take_writer(struct model *model, struct failure *failure) {
  const int64_t state = model->state;
  if (!take_linear(model, "writer", "_ih", 2 * state + model->fed, 3 * state, &model->writer_input, failure) ||
      !take_linear(model, "writer", "_hh", state, 3 * state, &model->writer_hidden, failure) ||
      !take_linear(model, "answer", "", 3 * state, SYMBOL_COUNT, &model->answer, failure))
    return false;
  fovea_nn_cell_init(&model->writer, &model->writer_input, &model->writer_hidden);
  return true;
}

bool model_read(struct model *model, const char *path, const char *isa, struct failure *failure) {
  *model = (struct model){.isa = isa};
  if (!safetensors_read(&model->file, path, failure)) return false;
  if (find_sizes(model, failure) &&
      take_table(model, "letters.weight", LETTER_COUNT, model->embedded, &model->letters, failure) &&
      take_table(model, "symbols.weight", SYMBOL_COUNT, model->fed, &model->symbols, failure) &&
      take_reader(model, failure) && take_alignment(model, failure) && take_writer(model, failure))
    return true;
  model_free(model);
  return false;
}

void model_free(struct model *model) {
  safetensors_free(&model->file);
}

#include "model.h"

#include <string.h>

enum { HEADER_NUMBERS = 7, HEADER_BYTES = HEADER_NUMBERS * 4 };

/* Larger than any size of a model; the product of three does not overflow. */
static const int64_t size_limit = 1 << 18;

static bool read_header(struct model *model, const char *path, bool *own_classifier, struct failure *failure) {
  static const char *const names[HEADER_NUMBERS] = {"dim",        "hidden_dim", "n_layers", "n_heads",
                                                    "n_kv_heads", "vocab_size", "seq_len"};
  int64_t *const fields[HEADER_NUMBERS] = {&model->dim,      &model->hidden_dim, &model->layers, &model->heads,
                                           &model->kv_heads, &model->vocabulary, &model->longest};
  int32_t header[HEADER_NUMBERS];
  if (model->file.size < HEADER_BYTES)
    return refuse(failure, "%s: %zu bytes are too few for a checkpoint", path, model->file.size);
  memcpy(header, model->file.bytes, HEADER_BYTES);
  for (int i = 0; i < HEADER_NUMBERS; i++) *fields[i] = header[i];
  *own_classifier = model->vocabulary < 0;
  if (*own_classifier) model->vocabulary = -model->vocabulary;
  for (int i = 0; i < HEADER_NUMBERS; i++)
    if (*fields[i] < 1 || *fields[i] > size_limit)
      return refuse(failure, "%s: its header has %s %d; is it a checkpoint of llama2.c, version 0?", path, names[i],
                    (int)header[i]);
  if (model->dim % model->heads != 0 || model->dim / model->heads % 2 != 0)
    return refuse(failure, "%s: dim %d is not an even number for each of %d heads", path, (int)model->dim,
                  (int)model->heads);
  if (model->heads % model->kv_heads != 0)
    return refuse(failure, "%s: %d kv heads do not divide %d heads", path, (int)model->kv_heads, (int)model->heads);
  model->head_dim = model->dim / model->heads;
  model->kv_dim = model->kv_heads * model->head_dim;
  return true;
}

/* Numbers one after another. */
struct cursor {
  const float *weights; /* NULL: only counted */
  int64_t count;        /* so far */
};

static const float *take(struct cursor *cursor, int64_t rows, int64_t columns, int64_t layers) {
  const float *taken = cursor->weights ? cursor->weights + cursor->count : NULL;
  cursor->count += rows * columns * layers;
  return taken;
}

/* Points the fields at the weights, in the order of the file. Returns how many numbers the file needs. */
static int64_t place(struct model *model, bool own_classifier, const float *weights) {
  struct cursor cursor = {weights, 0};
  const int64_t dim = model->dim, kv_dim = model->kv_dim, hidden = model->hidden_dim, layers = model->layers;
  model->embedding = take(&cursor, model->vocabulary, dim, 1);
  model->attention_norm = take(&cursor, 1, dim, layers);
  model->query = take(&cursor, dim, dim, layers);
  model->key = take(&cursor, kv_dim, dim, layers);
  model->value = take(&cursor, kv_dim, dim, layers);
  model->output = take(&cursor, dim, dim, layers);
  model->hidden_norm = take(&cursor, 1, dim, layers);
  model->gate = take(&cursor, hidden, dim, layers);
  model->down = take(&cursor, dim, hidden, layers);
  model->up = take(&cursor, hidden, dim, layers);
  model->final_norm = take(&cursor, 1, dim, 1);
  take(&cursor, model->longest, model->head_dim, 1); /* cosines and sines; fovea_rotary computes its own */
  model->classifier = own_classifier ? take(&cursor, model->vocabulary, dim, 1) : model->embedding;
  return cursor.count;
}

bool model_read(struct model *model, const char *path, struct failure *failure) {
  *model = (struct model){0};
  bool own_classifier = false;
  if (!file_read(&model->file, path, failure)) return false;
  if (!read_header(model, path, &own_classifier, failure)) {
    model_free(model);
    return false;
  }
  const int64_t needed = HEADER_BYTES + 4 * place(model, own_classifier, NULL);
  if ((uint64_t)needed != model->file.size) {
    refuse(failure, "%s: %zu bytes, where its header asks for %lld", path, model->file.size, (long long)needed);
    model_free(model);
    return false;
  }
  place(model, own_classifier, (const float *)(const void *)(model->file.bytes + HEADER_BYTES));
  return true;
}

void model_free(struct model *model) {
  file_free(&model->file);
}

#include "reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct reference {
  int32_t dim, hidden_dim, layers, heads, kv_heads, vocabulary, longest;
  int head_dim, kv_dim;
  double *embedding, *attention_norm, *wq, *wk, *wv, *wo, *hidden_norm, *w1, *w2, *w3, *final_norm, *classifier;
  double *keys, *values; /* [layer][position][kv_dim], of all positions so far */
  double *logits;
  int position, room; /* positions */
};

static double *read_doubles(FILE *file, int64_t count) {
  double *numbers = malloc((size_t)count * sizeof *numbers);
  for (int64_t i = 0; i < count; i++) {
    float number;
    if (fread(&number, sizeof number, 1, file) != 1) abort();
    numbers[i] = (double)number;
  }
  return numbers;
}

static void read_weights(struct reference *r, FILE *file, int shared) {
  const int64_t dim = r->dim, layers = r->layers, hidden = r->hidden_dim;
  r->embedding = read_doubles(file, r->vocabulary * dim);
  r->attention_norm = read_doubles(file, layers * dim);
  r->wq = read_doubles(file, layers * dim * dim);
  r->wk = read_doubles(file, layers * r->kv_dim * dim);
  r->wv = read_doubles(file, layers * r->kv_dim * dim);
  r->wo = read_doubles(file, layers * dim * dim);
  r->hidden_norm = read_doubles(file, layers * dim);
  r->w1 = read_doubles(file, layers * hidden * dim);
  r->w2 = read_doubles(file, layers * dim * hidden);
  r->w3 = read_doubles(file, layers * hidden * dim);
  r->final_norm = read_doubles(file, dim);
  free(read_doubles(file, (int64_t)r->longest * r->head_dim)); /* skips tables of cosines and sines */
  r->classifier = shared ? r->embedding : read_doubles(file, r->vocabulary * dim);
}

struct reference *reference_open(const char *checkpoint) {
  FILE *file = fopen(checkpoint, "rb");
  struct reference *r = calloc(1, sizeof *r);
  if (!file || !r || fread(r, 4, 7, file) != 7) {
    if (file) fclose(file);
    free(r);
    return NULL;
  }
  const int shared = r->vocabulary > 0;
  r->vocabulary = abs(r->vocabulary);
  r->head_dim = r->dim / r->heads;
  r->kv_dim = r->kv_heads * r->head_dim;
  r->room = 1024;
  read_weights(r, file, shared);
  fclose(file);
  const size_t cached = (size_t)r->layers * (size_t)r->room * (size_t)r->kv_dim;
  r->keys = malloc(cached * sizeof *r->keys);
  r->values = malloc(cached * sizeof *r->values);
  r->logits = malloc((size_t)r->vocabulary * sizeof *r->logits);
  return r;
}

void reference_close(struct reference *r) {
  if (r->classifier != r->embedding) free(r->classifier);
  double *const all[] = {r->embedding, r->attention_norm, r->wq,     r->wk,        r->wv,
                         r->wo,        r->hidden_norm,    r->w1,     r->w2,        r->w3,
                         r->keys,      r->values,         r->logits, r->final_norm};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) free(all[i]);
  free(r);
}

int reference_vocabulary(const struct reference *r) {
  return r->vocabulary;
}

static void multiply(double *to, const double *matrix, const double *vector, int rows, int columns) {
  for (int i = 0; i < rows; i++) {
    to[i] = 0;
    for (int j = 0; j < columns; j++) to[i] += matrix[i * columns + j] * vector[j];
  }
}

static void normalise(double *to, const double *from, const double *weights, int dim) {
  double mean = 0;
  for (int i = 0; i < dim; i++) mean += from[i] * from[i] / dim;
  for (int i = 0; i < dim; i++) to[i] = from[i] / sqrt(mean + 1e-5) * weights[i];
}

static void rotate(double *vector, int heads, int head_dim, int position) {
  for (int i = 0; i < heads * head_dim; i += 2) {
    const double angle = position * pow(10000, -(double)(i % head_dim) / head_dim);
    /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): the product before set them, heads * head_dim */
    const double x = vector[i], y = vector[i + 1];
    vector[i] = x * cos(angle) - y * sin(angle);
    vector[i + 1] = x * sin(angle) + y * cos(angle);
  }
}

/* to = softmax(q K^T / sqrt(head_dim)) V of one head, over positions first to last. */
static void attend(double *to, const double *q, const double *keys, const double *values, int first, int last,
                   int head_dim, int stride) {
  double weights[1024], highest = -INFINITY, sum = 0;
  for (int j = first; j <= last; j++) {
    weights[j] = 0;
    /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): as above */
    for (int d = 0; d < head_dim; d++) weights[j] += q[d] * keys[j * stride + d] / sqrt(head_dim);
    highest = fmax(highest, weights[j]);
  }
  for (int j = first; j <= last; j++) sum += weights[j] = exp(weights[j] - highest);
  for (int d = 0; d < head_dim; d++) {
    to[d] = 0;
    for (int j = first; j <= last; j++) to[d] += weights[j] / sum * values[j * stride + d];
  }
}

static void attention_layer(const struct reference *r, int layer, double *x, int window) {
  const int dim = r->dim, kv_dim = r->kv_dim, last = r->position;
  const int first = window > 0 && last >= window ? last - window + 1 : 0;
  double normed[512], q[512], heads[512], out[512];
  double *keys = r->keys + (int64_t)layer * r->room * kv_dim,
         *values = r->values + (int64_t)layer * r->room * kv_dim;
  normalise(normed, x, r->attention_norm + layer * dim, dim);
  multiply(q, r->wq + layer * dim * dim, normed, dim, dim);
  multiply(keys + last * kv_dim, r->wk + layer * kv_dim * dim, normed, kv_dim, dim);
  multiply(values + last * kv_dim, r->wv + layer * kv_dim * dim, normed, kv_dim, dim);
  rotate(q, r->heads, r->head_dim, last);
  rotate(keys + last * kv_dim, r->kv_heads, r->head_dim, last);
  for (int h = 0; h < r->heads; h++) {
    const int at = h / (r->heads / r->kv_heads) * r->head_dim;
    attend(heads + h * r->head_dim, q + h * r->head_dim, keys + at, values + at, first, last, r->head_dim, kv_dim);
  }
  multiply(out, r->wo + layer * dim * dim, heads, dim, dim);
  for (int i = 0; i < dim; i++) x[i] += out[i];
}

static void hidden_layer(const struct reference *r, int layer, double *x) {
  const int dim = r->dim, hidden = r->hidden_dim;
  double normed[512], gate[2048], up[2048], out[512];
  normalise(normed, x, r->hidden_norm + layer * dim, dim);
  multiply(gate, r->w1 + layer * hidden * dim, normed, hidden, dim);
  multiply(up, r->w3 + layer * hidden * dim, normed, hidden, dim);
  for (int i = 0; i < hidden; i++) gate[i] *= up[i] / (1 + exp(-gate[i]));
  multiply(out, r->w2 + layer * dim * hidden, gate, dim, hidden);
  for (int i = 0; i < dim; i++) x[i] += out[i];
}

const double *reference_next(struct reference *r, int token, int window) {
  double x[512], normed[512];
  if (r->dim > 512 || r->hidden_dim > 2048 || r->position == r->room) abort();
  for (int i = 0; i < r->dim; i++) x[i] = r->embedding[token * r->dim + i];
  for (int layer = 0; layer < r->layers; layer++) {
    attention_layer(r, layer, x, window);
    hidden_layer(r, layer, x);
  }
  normalise(normed, x, r->final_norm, r->dim);
  multiply(r->logits, r->classifier, normed, r->vocabulary, r->dim);
  r->position++;
  return r->logits;
}

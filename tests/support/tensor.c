#include "tensor.h"

#include <stdlib.h>
#include <string.h>

static const uint32_t untouched_bits = 0xffd5aa55;

static void extend(int64_t length, int64_t stride, int64_t *lowest, int64_t *highest) {
  const int64_t last = length > 0 ? (length - 1) * stride : 0;
  if (last < 0) *lowest += last;
  if (last > 0) *highest += last;
}

void tensor_create(struct tensor *tensor, int64_t batch, int64_t heads, int64_t rows, int64_t dim,
                   fovea_strides strides, enum guarded_edge edge) {
  int64_t lowest = 0, highest = dim;
  extend(batch, strides.batch, &lowest, &highest);
  extend(heads, strides.head, &lowest, &highest);
  extend(rows, strides.row, &lowest, &highest);
  const int empty = batch == 0 || heads == 0 || rows == 0;
  const size_t count = empty ? 0 : (size_t)(highest - lowest);
  *tensor = (struct tensor){batch, heads, rows, dim, strides, NULL, guarded_create(count * sizeof(float), edge)};
  tensor->data = (float *)(void *)tensor->memory.data - (empty ? 0 : lowest);
}

void tensor_destroy(struct tensor *tensor) {
  guarded_destroy(&tensor->memory);
}

float *tensor_row(const struct tensor *tensor, int64_t batch, int64_t head, int64_t row) {
  return tensor->data + batch * tensor->strides.batch + head * tensor->strides.head + row * tensor->strides.row;
}

/* Calls for every row, in the order of the indices. */
typedef void (*row_function)(void *context, float *row, int64_t dim);

static void for_each_row(const struct tensor *tensor, row_function visit, void *context) {
  for (int64_t b = 0; b < tensor->batch; b++)
    for (int64_t h = 0; h < tensor->heads; h++)
      for (int64_t i = 0; i < tensor->rows; i++) visit(context, tensor_row(tensor, b, h, i), tensor->dim);
}

struct filling {
  struct generator generator;
  float gain;
};

static void fill_row_random(void *context, float *row, int64_t dim) {
  struct filling *filling = context;
  for (int64_t d = 0; d < dim; d++) row[d] = filling->gain * generator_uniform(&filling->generator);
}

void tensor_fill_random(struct tensor *tensor, uint64_t seed, float gain) {
  struct filling filling = {{seed}, gain};
  for_each_row(tensor, fill_row_random, &filling);
}

static void fill_row_constant(void *context, float *row, int64_t dim) {
  for (int64_t d = 0; d < dim; d++) row[d] = *(const float *)context;
}

void tensor_fill_constant(struct tensor *tensor, float value) {
  for_each_row(tensor, fill_row_constant, &value);
}

static size_t words(const struct tensor *tensor) {
  return tensor->memory.size / sizeof untouched_bits;
}

void tensor_fill_untouched(struct tensor *tensor) {
  for (size_t i = 0; i < words(tensor); i++)
    memcpy(tensor->memory.data + i * sizeof untouched_bits, &untouched_bits, sizeof untouched_bits);
}

void tensor_copy_part(struct tensor *to, const struct tensor *from, int64_t batch, int64_t head, int64_t row) {
  for (int64_t b = 0; b < to->batch; b++)
    for (int64_t h = 0; h < to->heads; h++)
      for (int64_t i = 0; i < to->rows; i++)
        memcpy(tensor_row(to, b, h, i), tensor_row(from, batch + b, head + h, row + i),
               (size_t)to->dim * sizeof(float));
}

static int is_untouched(const struct tensor *tensor, const unsigned char *is_element) {
  for (size_t i = 0; i < words(tensor); i++) {
    if (is_element != NULL && is_element[i]) continue;
    if (memcmp(tensor->memory.data + i * sizeof untouched_bits, &untouched_bits, sizeof untouched_bits) != 0)
      return 0;
  }
  return guarded_slack_intact(&tensor->memory);
}

int tensor_is_untouched(const struct tensor *tensor) {
  return is_untouched(tensor, NULL);
}

struct marking {
  const float *start;
  unsigned char *is_element;
};

static void mark_row(void *context, float *row, int64_t dim) {
  const struct marking *marking = context;
  memset(marking->is_element + (row - marking->start), 1, (size_t)dim);
}

int tensor_gaps_untouched(const struct tensor *tensor) {
  struct marking marking = {(const float *)(const void *)tensor->memory.data, calloc(words(tensor) + 1, 1)};
  if (marking.is_element == NULL) abort();
  for_each_row(tensor, mark_row, &marking);
  const int untouched = is_untouched(tensor, marking.is_element);
  free(marking.is_element);
  return untouched;
}

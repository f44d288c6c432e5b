#include "tensor.h"

#include <stdlib.h>

/* Twice in an f32 number. In every type it is a NaN with a payload. */
static const uint16_t untouched_bits = 0xffd5;

static void extend(int64_t length, int64_t stride, int64_t *lowest, int64_t *highest) {
  const int64_t last = length > 0 ? (length - 1) * stride : 0;
  if (last < 0) *lowest += last;
  if (last > 0) *highest += last;
}

void tensor_create_of(fovea_type type, struct tensor *tensor, int64_t batch, int64_t heads, int64_t rows,
                      int64_t dim, fovea_strides strides, enum guarded_edge edge) {
  int64_t lowest = 0, highest = dim;
  const int empty = batch == 0 || heads == 0 || rows == 0;
  if (!empty) { /* strides of a tensor that is not there may be anything */
    extend(batch, strides.batch, &lowest, &highest);
    extend(heads, strides.head, &lowest, &highest);
    extend(rows, strides.row, &lowest, &highest);
  }
  const size_t count = empty ? 0 : (size_t)(highest - lowest);
  *tensor =
      (struct tensor){.batch = batch, .heads = heads, .rows = rows, .dim = dim, .strides = strides, .type = type};
  tensor->memory = guarded_create(count * sizeof(float), edge);
  tensor->data = (float *)(void *)tensor->memory.data - lowest;
  if (type == FOVEA_F32) return;
  tensor->storage = guarded_create(count * sizeof(uint16_t), edge);
  memset(tensor->storage.data, 0xff, tensor->storage.size); /* NaN in the gaps */
  tensor->stored = (uint16_t *)(void *)tensor->storage.data - lowest;
}

void tensor_create(struct tensor *tensor, int64_t batch, int64_t heads, int64_t rows, int64_t dim,
                   fovea_strides strides, enum guarded_edge edge) {
  tensor_create_of(FOVEA_F32, tensor, batch, heads, rows, dim, strides, edge);
}

void tensor_destroy(struct tensor *tensor) {
  guarded_destroy(&tensor->memory);
  guarded_destroy(&tensor->storage);
}

static int64_t offset_of(const struct tensor *tensor, int64_t batch, int64_t head, int64_t row) {
  return batch * tensor->strides.batch + head * tensor->strides.head + row * tensor->strides.row;
}

float *tensor_row(const struct tensor *tensor, int64_t batch, int64_t head, int64_t row) {
  return tensor->data + offset_of(tensor, batch, head, row);
}

/* Called for the offset of every row, in the order of the indices. */
typedef void (*row_function)(const struct tensor *tensor, int64_t offset, void *context);

static void for_each_row(const struct tensor *tensor, row_function visit, void *context) {
  for (int64_t b = 0; b < tensor->batch; b++)
    for (int64_t h = 0; h < tensor->heads; h++)
      for (int64_t i = 0; i < tensor->rows; i++) visit(tensor, offset_of(tensor, b, h, i), context);
}

void *tensor_pointer(const struct tensor *tensor) {
  return tensor->type == FOVEA_F32 ? (void *)tensor->data : tensor->stored;
}

static void store_row(const struct tensor *tensor, int64_t offset, void *context) {
  (void)context;
  numbers_store(tensor->type, tensor->stored + offset, tensor->data + offset, tensor->dim);
}

void tensor_store(const struct tensor *tensor) {
  if (tensor->type != FOVEA_F32) for_each_row(tensor, store_row, NULL);
}

static void load_row(const struct tensor *tensor, int64_t offset, void *context) {
  (void)context;
  numbers_load(tensor->type, tensor->stored + offset, tensor->data + offset, tensor->dim);
}

void tensor_load(const struct tensor *tensor) {
  if (tensor->type != FOVEA_F32) for_each_row(tensor, load_row, NULL);
}

/* The memory that the library reads and writes. */
static const struct guarded *storage_of(const struct tensor *tensor) {
  return tensor->type == FOVEA_F32 ? &tensor->memory : &tensor->storage;
}

void tensor_make_read_only(struct tensor *tensor) {
  tensor_store(tensor);
  guarded_make_read_only(storage_of(tensor));
}

struct filling {
  struct generator generator;
  float gain;
};

static void fill_row_random(const struct tensor *tensor, int64_t offset, void *context) {
  struct filling *filling = context;
  for (int64_t d = 0; d < tensor->dim; d++) {
    const float number = filling->gain * generator_uniform(&filling->generator);
    tensor->data[offset + d] = tensor->type == FOVEA_F32 ? number : rounded_number(tensor->type, number);
  }
}

void tensor_fill_random(struct tensor *tensor, uint64_t seed, float gain) {
  struct filling filling = {{seed}, gain};
  for_each_row(tensor, fill_row_random, &filling);
}

static void fill_row_constant(const struct tensor *tensor, int64_t offset, void *context) {
  for (int64_t d = 0; d < tensor->dim; d++) tensor->data[offset + d] = *(const float *)context;
}

void tensor_fill_constant(struct tensor *tensor, float value) {
  for_each_row(tensor, fill_row_constant, &value);
}

static size_t units(const struct guarded *storage) {
  return storage->size / sizeof untouched_bits;
}

void tensor_fill_untouched(struct tensor *tensor) {
  const struct guarded *storage = storage_of(tensor);
  for (size_t i = 0; i < units(storage); i++)
    memcpy(storage->data + i * sizeof untouched_bits, &untouched_bits, sizeof untouched_bits);
}

void tensor_copy_part(struct tensor *to, const struct tensor *from, int64_t batch, int64_t head, int64_t row) {
  for (int64_t b = 0; b < to->batch; b++)
    for (int64_t h = 0; h < to->heads; h++)
      for (int64_t i = 0; i < to->rows; i++) {
        float *numbers = tensor_row(to, b, h, i);
        memcpy(numbers, tensor_row(from, batch + b, head + h, row + i), (size_t)to->dim * sizeof(float));
        for (int64_t d = 0; d < to->dim && to->type != FOVEA_F32 && to->type != from->type; d++)
          numbers[d] = rounded_number(to->type, numbers[d]);
      }
}

static int is_untouched(const struct tensor *tensor, const unsigned char *is_element) {
  const struct guarded *storage = storage_of(tensor);
  for (size_t i = 0; i < units(storage); i++) {
    if (is_element != NULL && is_element[i]) continue;
    if (memcmp(storage->data + i * sizeof untouched_bits, &untouched_bits, sizeof untouched_bits) != 0) return 0;
  }
  return guarded_slack_intact(storage);
}

int tensor_is_untouched(const struct tensor *tensor) {
  return is_untouched(tensor, NULL);
}

/* The row's elements, counted from the storage's first. */
static void mark_row(const struct tensor *tensor, int64_t offset, void *context) {
  unsigned char *is_element = context;
  const size_t size = type_size(tensor->type);
  const unsigned char *row = (const unsigned char *)tensor_pointer(tensor) + offset * (int64_t)size;
  const size_t first = (size_t)(row - storage_of(tensor)->data) / sizeof untouched_bits;
  memset(is_element + first, 1, (size_t)tensor->dim * size / sizeof untouched_bits);
}

int tensor_gaps_untouched(const struct tensor *tensor) {
  unsigned char *is_element = calloc(units(storage_of(tensor)) + 1, 1);
  if (is_element == NULL) abort();
  for_each_row(tensor, mark_row, is_element);
  const int untouched = is_untouched(tensor, is_element);
  free(is_element);
  return untouched;
}

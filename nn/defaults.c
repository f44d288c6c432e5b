#include "defaults.h"

#include "../src/base/error.h"
#include "../src/base/resolve.h"

#include <string.h>

/* The sizes of the structs in the first version: a caller's struct is at least as large. */
#define FIRST_LINEAR      sizeof(fovea_nn_linear)
#define FIRST_LINEAR_ROWS sizeof(fovea_nn_linear_rows)
#define FIRST_ATTENTION   sizeof(fovea_nn_attention)
#define FIRST_TENSORS     sizeof(fovea_nn_attention_tensors)
#define FIRST_BLOCK       sizeof(fovea_nn_block)
#define FIRST_MAP         sizeof(fovea_nn_map)
#define FIRST_NORM        sizeof(fovea_nn_norm)
#define FIRST_NORM_ROWS   sizeof(fovea_nn_norm_rows)

void fovea_nn_linear_init_sized(fovea_nn_linear *linear, size_t struct_size, int64_t in, int64_t out,
                                const void *weights) {
  const fovea_nn_linear defaults = {
      .struct_size = struct_size, .in = in, .out = out, .weights = weights, .weight_stride = FOVEA_CONTIGUOUS};
  memcpy(linear, &defaults, struct_size < sizeof defaults ? struct_size : sizeof defaults);
}

void fovea_nn_linear_rows_init_sized(fovea_nn_linear_rows *rows, size_t struct_size, const fovea_nn_linear *linear,
                                     int64_t row_count, const void *x, void *y) {
  (void)linear; /* strides are those of the layer that runs */
  const fovea_nn_linear_rows defaults = {.struct_size = struct_size,
                                         .rows = row_count,
                                         .x = x,
                                         .y = y,
                                         .x_stride = FOVEA_CONTIGUOUS,
                                         .y_stride = FOVEA_CONTIGUOUS,
                                         .gate_stride = FOVEA_CONTIGUOUS,
                                         .residual_stride = FOVEA_CONTIGUOUS};
  memcpy(rows, &defaults, struct_size < sizeof defaults ? struct_size : sizeof defaults);
}

void fovea_nn_attention_init_sized(fovea_nn_attention *attention, size_t struct_size, const fovea_nn_linear *query,
                                   const fovea_nn_linear *key, const fovea_nn_linear *value,
                                   const fovea_nn_linear *output) {
  const fovea_nn_attention defaults = {
      .struct_size = struct_size, .query = query, .key = key, .value = value, .output = output};
  memcpy(attention, &defaults, struct_size < sizeof defaults ? struct_size : sizeof defaults);
}

void fovea_nn_attention_tensors_init_sized(fovea_nn_attention_tensors *tensors, size_t struct_size, const void *x,
                                           void *y) {
  const fovea_nn_attention_tensors defaults = {.struct_size = struct_size,
                                               .x = x,
                                               .y = y,
                                               .x_stride = FOVEA_CONTIGUOUS,
                                               .memory_stride = FOVEA_CONTIGUOUS,
                                               .memory_values_stride = FOVEA_CONTIGUOUS,
                                               .y_stride = FOVEA_CONTIGUOUS,
                                               .residual_stride = FOVEA_CONTIGUOUS};
  memcpy(tensors, &defaults, struct_size < sizeof defaults ? struct_size : sizeof defaults);
}

void fovea_nn_block_init_sized(fovea_nn_block *block, size_t struct_size, const fovea_nn_attention *self,
                               const fovea_nn_norm *self_norm, const fovea_nn_linear *up,
                               const fovea_nn_linear *down, const fovea_nn_norm *feed_norm) {
  const fovea_nn_block defaults = {.struct_size = struct_size,
                                   .self = self,
                                   .self_norm = self_norm,
                                   .up = up,
                                   .down = down,
                                   .feed_norm = feed_norm};
  memcpy(block, &defaults, struct_size < sizeof defaults ? struct_size : sizeof defaults);
}

fovea_status fovea_nn_check_size(const char *name, size_t given, size_t first, size_t known, fovea_error *error) {
  if (given >= first && given <= known) return FOVEA_OK;
  if (given < first) {
    return fovea_fail(error, FOVEA_ERROR_STRUCT_SIZE, "struct_size of %s is %u, less than %u: call its initialiser",
                      name, (uint64_t)given, (uint64_t)first);
  }
  return fovea_fail(
      error, FOVEA_ERROR_STRUCT_SIZE,
      "struct_size of %s is %u, more than this library's %u: the program was compiled for a newer one, "
      "or the struct was not initialised: call its initialiser",
      name, (uint64_t)given, (uint64_t)known);
}

fovea_status fovea_nn_check_allocator(const fovea_allocator *allocator, fovea_error *error) {
  if (!allocator->allocate == !allocator->release) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_NULL, "allocator.%s is NULL; set both functions or neither",
                    allocator->allocate ? "release" : "allocate");
}

fovea_status fovea_nn_read_linear(const fovea_nn_linear *given, fovea_nn_linear *linear, fovea_error *error) {
  if (!given) return fovea_fail(error, FOVEA_ERROR_NULL, "linear is NULL");
  const fovea_status status =
      fovea_nn_check_size("linear", given->struct_size, FIRST_LINEAR, sizeof *linear, error);
  if (status) return status;
  *linear = *given;
  fovea_resolve_stride(&linear->weight_stride, linear->layout == FOVEA_NN_WEIGHTS_IN_PANELS ? 0 : linear->in);
  return FOVEA_OK;
}

static void resolve_linear_rows(const fovea_nn_linear *linear, fovea_nn_linear_rows *rows) {
  fovea_resolve_stride(&rows->x_stride, linear->in);
  fovea_resolve_stride(&rows->y_stride, linear->out);
  fovea_resolve_stride(&rows->gate_stride, linear->out);
  fovea_resolve_stride(&rows->residual_stride, linear->out);
}

fovea_status fovea_nn_read_linear_rows(const fovea_nn_linear_rows *given, const fovea_nn_linear *linear,
                                       fovea_nn_linear_rows *rows, fovea_error *error) {
  if (!given) return fovea_fail(error, FOVEA_ERROR_NULL, "rows is NULL");
  const fovea_status status =
      fovea_nn_check_size("rows", given->struct_size, FIRST_LINEAR_ROWS, sizeof *rows, error);
  if (status) return status;
  *rows = *given;
  resolve_linear_rows(linear, rows);
  return FOVEA_OK;
}

fovea_status fovea_nn_read_attention(const fovea_nn_attention *given, fovea_nn_attention *attention,
                                     fovea_error *error) {
  if (!given) return fovea_fail(error, FOVEA_ERROR_NULL, "attention is NULL");
  const fovea_status status =
      fovea_nn_check_size("attention", given->struct_size, FIRST_ATTENTION, sizeof *attention, error);
  if (!status) *attention = *given;
  return status;
}

fovea_status fovea_nn_read_attention_tensors(const fovea_nn_attention_tensors *given,
                                             fovea_nn_attention_tensors *tensors, fovea_error *error) {
  if (!given) return fovea_fail(error, FOVEA_ERROR_NULL, "tensors is NULL");
  const fovea_status status =
      fovea_nn_check_size("tensors", given->struct_size, FIRST_TENSORS, sizeof *tensors, error);
  if (!status) *tensors = *given;
  return status;
}

void fovea_nn_map_init_sized(fovea_nn_map *map, size_t struct_size, int64_t rows, int64_t dim, const void *x,
                             void *y) {
  const fovea_nn_map defaults = {.struct_size = struct_size,
                                 .rows = rows,
                                 .dim = dim,
                                 .x = x,
                                 .y = y,
                                 .x_stride = FOVEA_CONTIGUOUS,
                                 .y_stride = FOVEA_CONTIGUOUS};
  memcpy(map, &defaults, struct_size < sizeof defaults ? struct_size : sizeof defaults);
}

fovea_status fovea_nn_read_map(const fovea_nn_map *given, fovea_nn_map *map, fovea_error *error) {
  if (!given) return fovea_fail(error, FOVEA_ERROR_NULL, "map is NULL");
  const fovea_status status = fovea_nn_check_size("map", given->struct_size, FIRST_MAP, sizeof *map, error);
  if (status) return status;
  *map = *given;
  fovea_resolve_stride(&map->x_stride, map->dim);
  fovea_resolve_stride(&map->y_stride, map->dim);
  return FOVEA_OK;
}

void fovea_nn_norm_init_sized(fovea_nn_norm *norm, size_t struct_size, fovea_nn_norm_kind kind, int64_t dim) {
  const fovea_nn_norm defaults = {.struct_size = struct_size, .dim = dim, .kind = kind, .eps = 1e-5};
  memcpy(norm, &defaults, struct_size < sizeof defaults ? struct_size : sizeof defaults);
}

void fovea_nn_norm_rows_init_sized(fovea_nn_norm_rows *rows, size_t struct_size, const fovea_nn_norm *norm,
                                   int64_t row_count, const void *x, void *y) {
  (void)norm; /* strides are those of the norm that runs */
  const fovea_nn_norm_rows defaults = {.struct_size = struct_size,
                                       .rows = row_count,
                                       .x = x,
                                       .y = y,
                                       .x_stride = FOVEA_CONTIGUOUS,
                                       .y_stride = FOVEA_CONTIGUOUS,
                                       .residual_stride = FOVEA_CONTIGUOUS,
                                       .sum_stride = FOVEA_CONTIGUOUS};
  memcpy(rows, &defaults, struct_size < sizeof defaults ? struct_size : sizeof defaults);
}

fovea_status fovea_nn_read_norm(const fovea_nn_norm *given, fovea_nn_norm *norm, fovea_error *error) {
  if (!given) return fovea_fail(error, FOVEA_ERROR_NULL, "norm is NULL");
  const fovea_status status = fovea_nn_check_size("norm", given->struct_size, FIRST_NORM, sizeof *norm, error);
  if (!status) *norm = *given;
  return status;
}

fovea_status fovea_nn_read_norm_rows(const fovea_nn_norm_rows *given, int64_t dim, fovea_nn_norm_rows *rows,
                                     fovea_error *error) {
  if (!given) return fovea_fail(error, FOVEA_ERROR_NULL, "rows is NULL");
  const fovea_status status = fovea_nn_check_size("rows", given->struct_size, FIRST_NORM_ROWS, sizeof *rows, error);
  if (status) return status;
  *rows = *given;
  fovea_resolve_stride(&rows->x_stride, dim);
  fovea_resolve_stride(&rows->y_stride, dim);
  fovea_resolve_stride(&rows->residual_stride, dim);
  fovea_resolve_stride(&rows->sum_stride, dim);
  return FOVEA_OK;
}

fovea_status fovea_nn_read_block(const fovea_nn_block *given, fovea_nn_block *block, fovea_error *error) {
  if (!given) return fovea_fail(error, FOVEA_ERROR_NULL, "block is NULL");
  const fovea_status status = fovea_nn_check_size("block", given->struct_size, FIRST_BLOCK, sizeof *block, error);
  if (!status) *block = *given;
  return status;
}

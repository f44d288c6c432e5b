#include "defaults.h"

#include "../src/base/error.h"
#include "../src/base/resolve.h"

#include <string.h>

void fovea_nn_linear_init_sized(fovea_nn_linear *linear, size_t struct_size, int64_t in, int64_t out,
                                const void *weights) {
  const fovea_nn_linear defaults = {
      .struct_size = struct_size, .in = in, .out = out, .weights = weights, .weight_stride = FOVEA_CONTIGUOUS};
  fovea_nn_write_defaults(linear, struct_size, &defaults, sizeof defaults);
}

void fovea_nn_linear_rows_init_sized(fovea_nn_linear_rows *rows, size_t struct_size, const fovea_nn_linear *linear,
                                     int64_t row_count, const void *x, void *y) {
  (void)linear; /* with the strides of the layer that runs */
  const fovea_nn_linear_rows defaults = {.struct_size = struct_size,
                                         .rows = row_count,
                                         .x = x,
                                         .y = y,
                                         .x_stride = FOVEA_CONTIGUOUS,
                                         .y_stride = FOVEA_CONTIGUOUS,
                                         .gate_stride = FOVEA_CONTIGUOUS,
                                         .residual_stride = FOVEA_CONTIGUOUS};
  fovea_nn_write_defaults(rows, struct_size, &defaults, sizeof defaults);
}

void fovea_nn_attention_init_sized(fovea_nn_attention *attention, size_t struct_size, const fovea_nn_linear *query,
                                   const fovea_nn_linear *key, const fovea_nn_linear *value,
                                   const fovea_nn_linear *output) {
  const fovea_nn_attention defaults = {
      .struct_size = struct_size, .query = query, .key = key, .value = value, .output = output};
  fovea_nn_write_defaults(attention, struct_size, &defaults, sizeof defaults);
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
  fovea_nn_write_defaults(tensors, struct_size, &defaults, sizeof defaults);
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
  fovea_nn_write_defaults(block, struct_size, &defaults, sizeof defaults);
}

static fovea_status check_size(const char *name, size_t given, size_t known, fovea_error *error) {
  if (given == known) return FOVEA_OK;
  return fovea_fail(
      error, FOVEA_ERROR_ARGUMENT,
      "%s.struct_size is %ju, and this library's is %ju: the program was compiled for another version, "
      "or the struct was not initialised: call its initialiser",
      name, (uint64_t)given, (uint64_t)known);
}

fovea_status fovea_nn_read_struct(const char *name, const void *given, void *copy, size_t size,
                                  fovea_error *error) {
  size_t struct_size;
  if (!given) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is NULL", name);
  memcpy(&struct_size, given, sizeof struct_size);
  const fovea_status status = check_size(name, struct_size, size, error);
  if (!status) memcpy(copy, given, size);
  return status;
}

fovea_status fovea_nn_read_linear(const char *name, const fovea_nn_linear *given, fovea_nn_linear *linear,
                                  fovea_error *error) {
  const fovea_status status = fovea_nn_read_struct(name, given, linear, sizeof *linear, error);
  if (status) return status;
  fovea_resolve_stride(&linear->weight_stride, linear->layout == FOVEA_NN_WEIGHTS_IN_ROWS ? linear->in : 0);
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
  const fovea_status status = fovea_nn_read_struct("rows", given, rows, sizeof *rows, error);
  if (status) return status;
  resolve_linear_rows(linear, rows);
  return FOVEA_OK;
}

fovea_status fovea_nn_read_attention(const char *name, const fovea_nn_attention *given,
                                     fovea_nn_attention *attention, fovea_error *error) {
  return fovea_nn_read_struct(name, given, attention, sizeof *attention, error);
}

fovea_status fovea_nn_read_attention_tensors(const fovea_nn_attention_tensors *given,
                                             fovea_nn_attention_tensors *tensors, fovea_error *error) {
  return fovea_nn_read_struct("tensors", given, tensors, sizeof *tensors, error);
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
  fovea_nn_write_defaults(map, struct_size, &defaults, sizeof defaults);
}

fovea_status fovea_nn_read_map(const fovea_nn_map *given, fovea_nn_map *map, fovea_error *error) {
  const fovea_status status = fovea_nn_read_struct("map", given, map, sizeof *map, error);
  if (status) return status;
  fovea_resolve_stride(&map->x_stride, map->dim);
  fovea_resolve_stride(&map->y_stride, map->dim);
  return FOVEA_OK;
}

void fovea_nn_norm_init_sized(fovea_nn_norm *norm, size_t struct_size, fovea_nn_norm_kind kind, int64_t dim) {
  const fovea_nn_norm defaults = {.struct_size = struct_size, .dim = dim, .kind = kind, .eps = 1e-5};
  fovea_nn_write_defaults(norm, struct_size, &defaults, sizeof defaults);
}

void fovea_nn_norm_rows_init_sized(fovea_nn_norm_rows *rows, size_t struct_size, const fovea_nn_norm *norm,
                                   int64_t row_count, const void *x, void *y) {
  (void)norm; /* with the strides of the norm that runs */
  const fovea_nn_norm_rows defaults = {.struct_size = struct_size,
                                       .rows = row_count,
                                       .x = x,
                                       .y = y,
                                       .x_stride = FOVEA_CONTIGUOUS,
                                       .y_stride = FOVEA_CONTIGUOUS,
                                       .residual_stride = FOVEA_CONTIGUOUS,
                                       .sum_stride = FOVEA_CONTIGUOUS};
  fovea_nn_write_defaults(rows, struct_size, &defaults, sizeof defaults);
}

fovea_status fovea_nn_read_norm(const char *name, const fovea_nn_norm *given, fovea_nn_norm *norm,
                                fovea_error *error) {
  return fovea_nn_read_struct(name, given, norm, sizeof *norm, error);
}

fovea_status fovea_nn_read_norm_rows(const fovea_nn_norm_rows *given, int64_t dim, fovea_nn_norm_rows *rows,
                                     fovea_error *error) {
  const fovea_status status = fovea_nn_read_struct("rows", given, rows, sizeof *rows, error);
  if (status) return status;
  fovea_resolve_stride(&rows->x_stride, dim);
  fovea_resolve_stride(&rows->y_stride, dim);
  fovea_resolve_stride(&rows->residual_stride, dim);
  fovea_resolve_stride(&rows->sum_stride, dim);
  return FOVEA_OK;
}

fovea_status fovea_nn_read_block(const fovea_nn_block *given, fovea_nn_block *block, fovea_error *error) {
  return fovea_nn_read_struct("block", given, block, sizeof *block, error);
}

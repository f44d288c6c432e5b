#include "../src/base/caller.h"
#include "../src/base/validate.h"
#include "choose_table.h"
#include "defaults.h"
#include "matrix.h"
#include "row_job.h"

typedef struct map_job {
  const fovea_nn_map *map;
  const fovea_nn_kernels *kernels;
  fovea_nn_activation activation;
} map_job;

static fovea_status check_map(const fovea_nn_map *map, fovea_error *error) {
  const fovea_bounded sizes[] = {{"rows", map->rows, 0, FOVEA_LENGTH_LIMIT}, {"dim", map->dim, 1, FOVEA_DIM_LIMIT}};
  const fovea_nn_matrix x = {"x", map->x, map->x_type, map->rows, map->dim, map->x_stride};
  const fovea_nn_matrix y = {"y", map->y, map->y_type, map->rows, map->dim, map->y_stride};
  fovea_status status = fovea_validate_bounds("map", sizes, 2, error);
  if (!status) status = fovea_nn_check_matrix(&x, 0, error);
  if (!status) status = fovea_nn_check_matrix(&y, 1, error);
  return status || fovea_nn_is_same(&x, &y) ? status : fovea_nn_check_apart(&y, &x, error);
}

/* Reads and checks what the caller hands in. */
static fovea_status prepare(const fovea_nn_map *given, fovea_nn_map *map, const fovea_execution *given_execution,
                            fovea_execution *execution, const fovea_nn_kernels **kernels, fovea_error *error) {
  fovea_status status = fovea_nn_read_map(given, map, error);
  if (!status) status = fovea_read_row_execution(given_execution, execution, error);
  if (!status) status = check_map(map, error);
  return status ? status : fovea_nn_dispatch(execution->isa, kernels, error);
}

static void activate(const void *data, int64_t first, int64_t count) {
  const map_job *job = data;
  const fovea_nn_map *map = job->map;
  const fovea_nn_activate_args args = {fovea_nn_rows_from(map->x, map->x_type, map->x_stride, first),
                                       fovea_nn_rows_from(map->y, map->y_type, map->y_stride, first), count,
                                       map->dim, job->activation};
  job->kernels->activate(&args);
}

/* Multiply-adds that take as long as one number. */
static int64_t work_of(fovea_nn_activation activation) {
  return activation < FOVEA_NN_ACTIVATION_GELU ? 8 : activation == FOVEA_NN_ACTIVATION_GELU ? 40 : 20;
}

fovea_status fovea_nn_activate(const fovea_nn_map *given, fovea_nn_activation activation,
                               const fovea_execution *given_execution, fovea_error *error) {
  const fovea_bounded kind = {"activation", (int)activation, 0, FOVEA_NN_ACTIVATIONS - 1};
  fovea_nn_map map;
  fovea_execution execution;
  const fovea_nn_kernels *kernels;
  fovea_status status = prepare(given, &map, given_execution, &execution, &kernels, error);
  if (!status) status = fovea_validate_bounds(NULL, &kind, 1, error);
  if (status) return status;
  const map_job data = {&map, kernels, activation};
  const fovea_nn_row_job job = {map.rows, map.dim, work_of(activation), &data, activate};
  fovea_nn_run_rows(&job, &execution);
  return FOVEA_OK;
}

static void softmax(const void *data, int64_t first, int64_t count) {
  const map_job *job = data;
  const fovea_nn_map *map = job->map;
  const fovea_nn_softmax_args args = {fovea_nn_rows_from(map->x, map->x_type, map->x_stride, first),
                                      fovea_nn_rows_from(map->y, map->y_type, map->y_stride, first), count,
                                      map->dim};
  job->kernels->softmax(&args);
}

fovea_status fovea_nn_softmax(const fovea_nn_map *given, const fovea_execution *given_execution,
                              fovea_error *error) {
  fovea_nn_map map;
  fovea_execution execution;
  const fovea_nn_kernels *kernels;
  const fovea_status status = prepare(given, &map, given_execution, &execution, &kernels, error);
  if (status) return status;
  const map_job data = {&map, kernels, FOVEA_NN_ACTIVATION_NONE};
  const fovea_nn_row_job job = {map.rows, map.dim, 25, &data, softmax};
  fovea_nn_run_rows(&job, &execution);
  return FOVEA_OK;
}

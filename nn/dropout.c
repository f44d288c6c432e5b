/* Dropout. What is dropped is decided piece by piece of a row, with x as f32 in a buffer. */
#include "../arch/float_state.h"
#include "../src/base/caller.h"
#include "../src/base/error.h"
#include "../src/base/philox.h"
#include "../src/base/resolve.h"
#include "../src/base/row_tasks.h"
#include "../src/base/types.h"
#include "../src/base/validate.h"
#include "choose_table.h"
#include "defaults.h"
#include "matrix.h"
#include "tasks.h"

enum { PIECE = 256 };
/* A random number costs as much as this many elements that are moved. */
static const double elements_of_number = 8;

typedef struct dropout_job {
  const fovea_nn_dropout_rows *rows;
  const fovea_nn_kernels *kernels;
  uint64_t threshold; /* the least number that is kept; 2^32: none is */
  float scale;
} dropout_job;

void fovea_nn_dropout_rows_init_sized(fovea_nn_dropout_rows *rows, size_t struct_size, int64_t row_count,
                                      int64_t dim, const void *x, void *y) {
  const fovea_nn_dropout_rows defaults = {.struct_size = struct_size,
                                          .rows = row_count,
                                          .dim = dim,
                                          .x = x,
                                          .y = y,
                                          .x_stride = FOVEA_CONTIGUOUS,
                                          .y_stride = FOVEA_CONTIGUOUS};
  fovea_nn_write_defaults(rows, struct_size, &defaults, sizeof defaults);
}

/* Sets the threshold and the scale, through volatiles so that they are computed in the float state of now. */
static void set_chance(dropout_job *job, float p) {
  volatile float chance = p, kept = 1.0f - chance, scale = kept > 0 ? 1.0f / kept : 1.0f;
  const float border = chance * 0x1p32f;
  job->threshold = (uint64_t)border;
  if ((float)job->threshold < border) job->threshold++;
  job->scale = scale;
}

static fovea_status check_rows(const fovea_nn_dropout_rows *r, fovea_error *error) {
  const fovea_bounded sizes[] = {{"rows", r->rows, 0, FOVEA_LENGTH_LIMIT},
                                 {"dim", r->dim, 1, FOVEA_DIM_LIMIT},
                                 {"first_row", r->first_row, 0, FOVEA_LENGTH_LIMIT}};
  const fovea_nn_matrix x = {"x", r->x, r->x_type, r->rows, r->dim, r->x_stride};
  const fovea_nn_matrix y = {"y", r->y, r->y_type, r->rows, r->dim, r->y_stride};
  int64_t elements;
  fovea_status status = fovea_validate_bounds(NULL, sizes, 3, error);
  if (status) return status;
  if (!(r->p >= 0 && r->p <= 1)) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "p is %g; it must be from 0 to 1", (double)r->p);
  }
  if (__builtin_mul_overflow(r->first_row + r->rows, r->dim, &elements) || elements > INT64_C(1) << 62) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "first_row %jd and rows %jd times dim %jd is more than 2^62",
                      r->first_row, r->rows, r->dim);
  }
  status = fovea_nn_check_matrix(&x, 0, error);
  if (!status) status = fovea_nn_check_matrix(&y, 1, error);
  return status || fovea_nn_is_same(&x, &y) ? status : fovea_nn_check_apart(&y, &x, error);
}

/* Sets numbers to zero whose random number is below the threshold. The first random number is of element
 * `index`. */
static void drop(const dropout_job *job, uint64_t index, float *numbers, int64_t count) {
  const uint64_t seed = job->rows->seed, stream = job->rows->stream;
  fovea_philox random = {{0}};
  for (int64_t i = 0; i < count; i++, index++) {
    if (i == 0 || index % 4 == 0) {
      const fovea_philox counter = {
          {(uint32_t)(index / 4), (uint32_t)(index / 4 >> 32), (uint32_t)stream, (uint32_t)(stream >> 32)}};
      random = fovea_philox_at(counter, (uint32_t)seed, (uint32_t)(seed >> 32));
    }
    if (random.word[index % 4] < job->threshold) numbers[i] = 0.0f;
  }
}

static void drop_row(const dropout_job *job, int64_t row) {
  const fovea_nn_dropout_rows *r = job->rows;
  const uint64_t index = (uint64_t)(r->first_row + row) * (uint64_t)r->dim;
  for (int64_t d = 0; d < r->dim; d += PIECE) {
    const int64_t count = r->dim - d < PIECE ? r->dim - d : PIECE;
    float numbers[PIECE];
    const fovea_widen_args widen = {
        fovea_element(r->x, r->x_type, row * r->x_stride + d), r->x_type, 0, 1, (int)count, numbers, PIECE};
    const fovea_nn_embed_args scale = {.count = count,
                                       .x = numbers,
                                       .scale = job->scale,
                                       .y = fovea_output_element(r->y, r->y_type, row * r->y_stride + d),
                                       .y_type = r->y_type};
    job->kernels->widen(&widen);
    if (job->threshold > 0) drop(job, index + (uint64_t)d, numbers, count);
    job->kernels->embed(&scale);
  }
}

static void drop_rows(const void *data, int64_t task, int worker) {
  const dropout_job *job = data;
  const int64_t first = task * FOVEA_TASK_ROWS, rest = job->rows->rows - first;
  const int64_t end = first + (rest < FOVEA_TASK_ROWS ? rest : FOVEA_TASK_ROWS);
  fovea_float_state caller = fovea_float_begin();
  (void)worker;
  for (int64_t row = first; row < end; row++) drop_row(job, row);
  fovea_float_end(caller);
}

static fovea_status read_rows(const fovea_nn_dropout_rows *given, fovea_nn_dropout_rows *rows, fovea_error *error) {
  const fovea_status status = fovea_nn_read_struct("rows", given, rows, sizeof *rows, error);
  if (status) return status;
  fovea_resolve_stride(&rows->x_stride, rows->dim);
  fovea_resolve_stride(&rows->y_stride, rows->dim);
  return FOVEA_OK;
}

fovea_status fovea_nn_dropout(const fovea_nn_dropout_rows *given, const fovea_execution *given_execution,
                              fovea_error *error) {
  fovea_nn_dropout_rows rows;
  fovea_execution execution;
  dropout_job job = {.rows = &rows};
  fovea_status status = read_rows(given, &rows, error);
  if (!status) status = fovea_read_row_execution(given_execution, &execution, error);
  if (status) return status;
  fovea_float_state caller = fovea_float_begin();
  status = check_rows(&rows, error);
  if (!status) set_chance(&job, rows.p);
  fovea_float_end(caller);
  if (!status) status = fovea_nn_dispatch(execution.isa, &job.kernels, error);
  if (status || rows.rows == 0) return status;
  const double elements = (double)rows.rows * (double)rows.dim * elements_of_number;
  fovea_nn_run_tasks(drop_rows, &job, fovea_row_tasks(rows.rows), elements * FOVEA_NN_WORK_TO_MOVE, INT_MAX,
                     &execution);
  return FOVEA_OK;
}

#include "norm.h"
#include "../arch/float_state.h"
#include "../src/base/caller.h"
#include "../src/base/error.h"
#include "../src/base/validate.h"
#include "choose_table.h"
#include "defaults.h"
#include "matrix.h"
#include "row_job.h"

typedef struct norm_job {
  const fovea_nn_norm *norm;
  const fovea_nn_norm_rows *rows;
  const fovea_nn_kernels *kernels;
  float eps;
} norm_job;

/* eps in f32. It goes through memory, which stays between the changes of the environment. */
static float rounded_eps(double eps) {
  volatile double given = eps;
  volatile float rounded = (float)given;
  return rounded;
}

static fovea_nn_matrix factors_of(const char *name, const float *factors, int64_t dim) {
  return (fovea_nn_matrix){name, factors, FOVEA_F32, factors ? 1 : 0, dim, 0};
}

static fovea_status check_norm(const fovea_nn_norm *norm, fovea_error *error) {
  const fovea_bounded dim = {"dim", norm->dim, 1, FOVEA_DIM_LIMIT};
  const fovea_bounded kind = {"kind", (int)norm->kind, 0, FOVEA_NN_RMS_NORM};
  const fovea_nn_matrix gamma = factors_of("gamma", norm->gamma, norm->dim);
  const fovea_nn_matrix beta = factors_of("beta", norm->beta, norm->dim);
  fovea_status status = fovea_validate_bounds(NULL, &dim, 1, error);
  if (!status) status = fovea_validate_bounds(NULL, &kind, 1, error);
  if (status) return status;
  if (!(norm->eps >= 0 && norm->eps <= 3.4e38)) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "eps is %g; it must be from 0 to 3.4e38", norm->eps);
  }
  if (norm->kind == FOVEA_NN_RMS_NORM && norm->beta) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "beta is set and would not be used: kind is FOVEA_NN_RMS_NORM");
  }
  status = fovea_nn_check_matrix(&gamma, 0, error);
  return status ? status : fovea_nn_check_matrix(&beta, 0, error);
}

fovea_status fovea_nn_check_norm(const char *name, const fovea_nn_norm *given, fovea_error *error) {
  fovea_nn_norm norm;
  const fovea_status status = fovea_nn_read_norm(name, given, &norm, error);
  if (status) return status;
  fovea_float_state caller = fovea_float_begin();
  const fovea_status checked = check_norm(&norm, error);
  fovea_float_end(caller);
  return fovea_fail_within(name, checked, error);
}

/* A tensor that is not there must not have settings. */
static fovea_status check_absent(const fovea_nn_matrix *matrix, fovea_error *error) {
  if (matrix->data || (matrix->type == FOVEA_F32 && matrix->stride == matrix->dim)) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s_%s is set and would not be used: %s is NULL", matrix->name,
                    matrix->type != FOVEA_F32 ? "type" : "stride", matrix->name);
}

/* An output may be an input itself, if it is read and written at the same places. */
static fovea_status check_place(const fovea_nn_matrix *output, const fovea_nn_matrix *input, fovea_error *error) {
  return fovea_nn_is_same(output, input) ? FOVEA_OK : fovea_nn_check_apart(output, input, error);
}

static fovea_status check_output(const fovea_nn_norm *norm, const fovea_nn_matrix *output, const fovea_nn_matrix *x,
                                 const fovea_nn_matrix *residual, fovea_error *error) {
  const fovea_nn_matrix gamma = factors_of("gamma", norm->gamma, norm->dim);
  const fovea_nn_matrix beta = factors_of("beta", norm->beta, norm->dim);
  fovea_status status = fovea_nn_check_matrix(output, 1, error);
  if (!status) status = check_place(output, x, error);
  if (!status && residual->data) status = check_place(output, residual, error);
  if (!status) status = fovea_nn_check_apart(output, &gamma, error);
  return status ? status : fovea_nn_check_apart(output, &beta, error);
}

static fovea_status check_rows(const fovea_nn_norm *norm, const fovea_nn_norm_rows *r, fovea_error *error) {
  const int64_t dim = norm->dim;
  const fovea_bounded size = {"rows", r->rows, 0, FOVEA_LENGTH_LIMIT};
  const fovea_nn_matrix x = {"x", r->x, r->x_type, r->rows, dim, r->x_stride};
  const fovea_nn_matrix y = {"y", r->y, r->y_type, r->rows, dim, r->y_stride};
  const fovea_nn_matrix residual = {"residual", r->residual, r->residual_type, r->rows, dim, r->residual_stride};
  const fovea_nn_matrix sum = {"sum", r->sum, r->sum_type, r->rows, dim, r->sum_stride};
  fovea_status status = fovea_validate_bounds(NULL, &size, 1, error);
  if (!status) status = check_absent(&residual, error);
  if (!status) status = check_absent(&sum, error);
  if (status) return status;
  if (r->sum && !r->residual) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "sum is set and would not be used: residual is NULL");
  }
  status = fovea_nn_check_matrix(&x, 0, error);
  if (!status && r->residual) status = fovea_nn_check_matrix(&residual, 0, error);
  if (!status) status = check_output(norm, &y, &x, &residual, error);
  if (status || !r->sum) return status;
  status = check_output(norm, &sum, &x, &residual, error);
  return status ? status : fovea_nn_check_apart(&sum, &y, error);
}

static void run_norm(const void *data, int64_t first, int64_t count) {
  const norm_job *job = data;
  const fovea_nn_norm_rows *r = job->rows;
  const fovea_nn_norm_args args = {
      .x = fovea_nn_rows_from(r->x, r->x_type, r->x_stride, first),
      .residual = fovea_nn_rows_from(r->residual, r->residual_type, r->residual_stride, first),
      .sum = fovea_nn_rows_from(r->sum, r->sum_type, r->sum_stride, first),
      .y = fovea_nn_rows_from(r->y, r->y_type, r->y_stride, first),
      .rows = count,
      .dim = job->norm->dim,
      .kind = job->norm->kind,
      .eps = job->eps,
      .gamma = job->norm->gamma,
      .beta = job->norm->beta,
  };
  job->kernels->norm(&args);
}

fovea_status fovea_nn_norm_run(const fovea_nn_norm *given, const fovea_nn_norm_rows *given_rows,
                               const fovea_execution *given_execution, fovea_error *error) {
  fovea_nn_norm norm;
  fovea_nn_norm_rows rows;
  fovea_execution execution;
  norm_job data = {.norm = &norm, .rows = &rows};
  fovea_status status = fovea_nn_read_norm("norm", given, &norm, error);
  if (!status) status = fovea_nn_read_norm_rows(given_rows, norm.dim, &rows, error);
  if (!status) status = fovea_read_row_execution(given_execution, &execution, error);
  if (status) return status;
  fovea_float_state caller = fovea_float_begin();
  status = check_norm(&norm, error);
  if (!status) data.eps = rounded_eps(norm.eps);
  fovea_float_end(caller);
  fovea_fail_within("norm", status, error);
  if (!status) status = check_rows(&norm, &rows, error);
  if (!status) status = fovea_nn_dispatch(execution.isa, &data.kernels, error);
  if (status) return status;
  const fovea_nn_row_job job = {rows.rows, norm.dim, 12, &data, run_norm};
  fovea_nn_run_rows(&job, &execution);
  return FOVEA_OK;
}

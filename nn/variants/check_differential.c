/* Everything that differential attention may be refused for, but for its attentions; its lambda. */
#include "../../arch/float_state.h"
#include "../../src/base/caller.h"
#include "../../src/base/error.h"
#include "../../src/base/types.h"
#include "../../src/base/validate.h"
#include "../attention.h"
#include "../choose_table.h"
#include "../defaults.h"
#include "../fields.h"
#include "../linear.h"
#include "differential.h"
#include "tensor.h"

#include <string.h>

void fovea_nn_differential_init_sized(fovea_nn_differential *differential, size_t struct_size, double lambda,
                                      double lambda_init) {
  const fovea_nn_differential defaults = {
      .struct_size = struct_size, .lambda = lambda, .lambda_init = lambda_init, .eps = 1e-5};
  fovea_nn_write_defaults(differential, struct_size, &defaults, sizeof defaults);
}

/* In f32. It goes through memory, which stays between the changes of the environment. */
static float rounded(double number) {
  volatile double given = number;
  volatile float result = (float)given;
  return result;
}

static int fits(double number) {
  return number >= -3.4e38 && number <= 3.4e38;
}

/* Numbers in f32; 0 if one of them is out of range, and then `name` and `value` are set. */
static int round_numbers(fovea_nn_differential_call *call, const char **name, double *value) {
  const fovea_nn_differential *d = &call->differential;
  const struct {
    const char *name;
    double value;
    int holds;
  } numbers[] = {{"lambda", d->lambda, fits(d->lambda)},
                 {"lambda_init", d->lambda_init, fits(d->lambda_init)},
                 {"eps", d->eps, fits(d->eps) && d->eps >= 0}};
  for (int i = 0; i < 3; i++) {
    *name = numbers[i].name;
    *value = numbers[i].value;
    if (!numbers[i].holds) return 0;
  }
  call->lambda = rounded(d->lambda);
  call->eps = rounded(d->eps);
  volatile float init = rounded(d->lambda_init), factor = 1.0f - init;
  call->factor = factor;
  return 1;
}

static fovea_status check_numbers(fovea_nn_differential_call *call, fovea_error *error) {
  const char *name;
  double value;
  const fovea_float_state caller = fovea_float_begin();
  const int holds = round_numbers(call, &name, &value);
  fovea_float_end(caller);
  if (holds) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "differential.%s is %g; it must be from %s to 3.4e38", name, value,
                    strcmp(name, "eps") == 0 ? "0" : "-3.4e38");
}

static fovea_status check_tensors(const fovea_nn_differential_call *call, fovea_error *error) {
  const fovea_problem *p = &call->problem;
  const fovea_nn_tensor o = {"o",      call->first.o, fovea_type_bits(p->o_type), call->batch, p->heads, p->q_len,
                             p->v_dim, p->o_strides};
  const fovea_nn_tensor gamma = {"gamma",
                                 call->differential.gamma,
                                 fovea_type_bits(FOVEA_F32),
                                 1,
                                 1,
                                 call->differential.gamma ? 1 : 0,
                                 p->v_dim,
                                 {0, 0, 0}};
  const char *unused = call->second.o ? "second.o" : call->second.lse ? "second.lse" : NULL;
  if (call->first.lse) unused = "first.lse";
  if (unused) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s is set and would not be used: the result is first.o", unused);
  }
  fovea_status status = fovea_nn_check_tensor(&o, 1, error);
  if (!status) status = fovea_nn_check_tensor(&gamma, 0, error);
  return status ? status : fovea_nn_check_tensors_apart(&o, &gamma, error);
}

/* Rows of O that sequences own: of a packed batch they follow each other. */
static fovea_status find_rows(fovea_nn_differential_call *call, fovea_error *error) {
  const fovea_problem *p = &call->problem;
  call->batch = p->cu_seqlens_q ? 1 : p->batch;
  call->row_begin = 0;
  call->row_end = p->q_len;
  if (!p->cu_seqlens_q) return FOVEA_OK;
  const fovea_status status =
      fovea_validate_cumulative("cu_seqlens_q", p->cu_seqlens_q, p->batch, p->q_len, "q_len", error);
  if (status) return status;
  call->row_begin = p->cu_seqlens_q[0];
  call->row_end = p->cu_seqlens_q[p->batch];
  return FOVEA_OK;
}

fovea_status fovea_nn_check_differential(const fovea_nn_differential *differential, const fovea_problem *problem,
                                         const fovea_tensors *first, const fovea_tensors *second,
                                         const fovea_execution *execution, fovea_nn_differential_call *call,
                                         fovea_error *error) {
  static const char why[] = "differential attention writes O only";
  const uint64_t known = fovea_features_of_layer(FOVEA_LAYER_DIFFERENTIAL);
  fovea_status status =
      fovea_nn_read_struct("differential", differential, &call->differential, sizeof call->differential, error);
  if (!status) status = fovea_copy_problem(problem, &call->problem, error);
  if (!status) status = fovea_read_execution(execution, &call->execution, error);
  if (!status && first) status = fovea_read_tensors(first, &call->first, error);
  if (!status && first) status = fovea_read_tensors(second, &call->second, error);
  if (status) return status;
  const fovea_problem *p = &call->problem;
  status = fovea_nn_check_sizes(p, error);
  const fovea_bounded type = fovea_bounded_type("o_type", p->o_type);
  if (!status) status = fovea_validate_bounds("problem", &type, 1, error);
  if (!status) status = fovea_nn_refuse_fields(p, known, why, error);
  if (!status) fovea_resolve_problem(&call->problem);
  if (!status) status = check_numbers(call, error);
  if (!status) status = find_rows(call, error);
  if (!status && first) status = check_tensors(call, error);
  if (status) return status;
  call->inner = *p;
  call->inner.o_type = FOVEA_F32;
  call->inner.o_strides = (fovea_strides){p->heads * p->q_len * p->v_dim, p->q_len * p->v_dim, p->v_dim};
  return fovea_nn_dispatch(call->execution.isa, &call->kernels, error);
}

static fovea_status multiply(int64_t dim, const float *q, const float *k, float *product, fovea_error *error) {
  fovea_nn_linear linear;
  fovea_nn_linear_rows rows;
  fovea_execution execution;
  fovea_nn_linear_init(&linear, dim, 1, k);
  fovea_nn_linear_rows_init(&rows, &linear, 1, q, product);
  fovea_execution_init(&execution);
  execution.threads = 1;
  return fovea_nn_run_linear(&linear, &rows, &execution, error);
}

fovea_status fovea_nn_differential_lambda(int64_t dim, const float *q1, const float *k1, const float *q2,
                                          const float *k2, double lambda_init, float *lambda, fovea_error *error) {
  const fovea_nn_kernels *kernels;
  fovea_nn_lambda_args args = {.lambda = lambda};
  const struct {
    const char *name;
    const void *data;
  } vectors[] = {{"q1", q1}, {"k1", k1}, {"q2", q2}, {"k2", k2}, {"lambda", lambda}};
  for (int i = 0; i < 5; i++) {
    if (!vectors[i].data) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is NULL", vectors[i].name);
  }
  const fovea_nn_tensor result = {"lambda", lambda, fovea_type_bits(FOVEA_F32), 1, 1, 1, 1, {0, 0, 0}};
  fovea_status status = fovea_nn_check_tensor(&result, 1, error);
  if (!status) status = multiply(dim, q1, k1, &args.products[0], error);
  if (!status) status = multiply(dim, q2, k2, &args.products[1], error);
  if (!status) status = fovea_nn_dispatch(NULL, &kernels, error);
  if (status) return status;
  const fovea_float_state caller = fovea_float_begin();
  const int holds = fits(lambda_init);
  if (holds) {
    args.init = rounded(lambda_init);
    kernels->lambda(&args);
  }
  fovea_float_end(caller);
  if (holds) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "lambda_init is %g; it must be from -3.4e38 to 3.4e38",
                    lambda_init);
}

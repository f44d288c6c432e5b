/* Everything that LSH attention may be refused for; initialisers. */
#include "../../arch/float_state.h"
#include "../../src/base/caller.h"
#include "../../src/base/error.h"
#include "../../src/base/resolve.h"
#include "../../src/base/shapes.h"
#include "../../src/base/types.h"
#include "../../src/base/validate.h"
#include "../choose_table.h"
#include "../defaults.h"
#include "reformer.h"

#include <float.h>
#include <math.h>

enum { SIZE_LIMIT = 1024, BUCKET_LIMIT = 1 << 20, LENGTH_LIMIT = 1 << 30 };

/* Bytes of a group of chunks, which stay in the L2 cache, and the most chunks. */
enum { GROUP_BYTES = 393216, GROUP_CHUNKS = 64 };

void fovea_nn_lsh_init_sized(fovea_nn_lsh *lsh, size_t struct_size, int64_t rounds, int64_t bucket_size,
                             int64_t buckets, int64_t dim) {
  (void)dim; /* the scale follows from the dim of the tensors */
  const fovea_nn_lsh defaults = {.struct_size = struct_size,
                                 .rounds = rounds,
                                 .bucket_size = bucket_size,
                                 .buckets = buckets,
                                 .scale = FOVEA_DEFAULT_NUMBER,
                                 .eps = 1e-30};
  fovea_nn_write_defaults(lsh, struct_size, &defaults, sizeof defaults);
}

int64_t fovea_nn_lsh_columns(const fovea_nn_lsh *lsh) {
  if (!lsh) return 0;
  if (lsh->bucket_factors[0] == 0) return lsh->buckets / 2;
  return lsh->bucket_factors[0] / 2 + lsh->bucket_factors[1] / 2;
}

void fovea_nn_lsh_tensors_init_sized(fovea_nn_lsh_tensors *tensors, size_t struct_size, const fovea_nn_lsh *lsh,
                                     int64_t batch, int64_t heads, int64_t length, int64_t dim, const void *x,
                                     const void *v, void *y, const float *rotations) {
  (void)lsh; /* with the strides of what runs */
  const fovea_nn_lsh_tensors defaults = {.struct_size = struct_size,
                                         .batch = batch,
                                         .heads = heads,
                                         .length = length,
                                         .dim = dim,
                                         .v_dim = 0,
                                         .x = x,
                                         .v = v,
                                         .y = y,
                                         .x_strides = FOVEA_UNSET_STRIDES,
                                         .v_strides = FOVEA_UNSET_STRIDES,
                                         .y_strides = FOVEA_UNSET_STRIDES,
                                         .rotations = rotations,
                                         .rotation_strides = FOVEA_UNSET_STRIDES};
  fovea_nn_write_defaults(tensors, struct_size, &defaults, sizeof defaults);
}

static void resolve(fovea_nn_lsh *l, fovea_nn_lsh_tensors *t) {
  const int64_t columns = fovea_wrapped_product(l->rounds, fovea_nn_lsh_columns(l));
  if (t->v_dim == 0) t->v_dim = t->dim;
  fovea_resolve_scale(&l->scale, t->dim);
  fovea_resolve_strides(&t->x_strides, fovea_contiguous_strides(t->heads, t->length, t->dim));
  fovea_resolve_strides(&t->v_strides, fovea_contiguous_strides(t->heads, t->length, t->v_dim));
  fovea_resolve_strides(&t->y_strides, fovea_contiguous_strides(t->heads, t->length, t->v_dim));
  fovea_resolve_strides(&t->rotation_strides, (fovea_strides){0, 0, columns});
}

static fovea_status read_arguments(const fovea_nn_lsh *lsh, const fovea_nn_lsh_tensors *tensors,
                                   fovea_nn_lsh_call *call, fovea_error *error) {
  fovea_status status = fovea_nn_read_struct("lsh", lsh, &call->lsh, sizeof call->lsh, error);
  if (!status) status = fovea_nn_read_struct("tensors", tensors, &call->tensors, sizeof call->tensors, error);
  if (!status) resolve(&call->lsh, &call->tensors);
  return status;
}

static fovea_status check_buckets(const fovea_nn_lsh *l, fovea_error *error) {
  const int64_t a = l->bucket_factors[0], b = l->bucket_factors[1];
  if (l->buckets % 2 != 0) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "lsh.buckets is %jd; it must be even", l->buckets);
  }
  if (a == 0 && b == 0) return FOVEA_OK;
  if (a >= 2 && b >= 2 && a % 2 == 0 && b % 2 == 0 && a <= l->buckets && b <= l->buckets && a * b == l->buckets)
    return FOVEA_OK;
  return fovea_fail(
      error, FOVEA_ERROR_ARGUMENT,
      "lsh.bucket_factors are %jd and %jd; they must be even, and their product buckets, which is %jd", a, b,
      l->buckets);
}

static fovea_status check_sizes(const fovea_nn_lsh *l, const fovea_nn_lsh_tensors *t, fovea_error *error) {
  const fovea_bounded settings[] = {{"rounds", l->rounds, 1, FOVEA_NN_LSH_ROUNDS},
                                    {"bucket_size", l->bucket_size, 1, SIZE_LIMIT},
                                    {"buckets", l->buckets, 2, BUCKET_LIMIT}};
  const fovea_bounded rules[] = {
      {"causal", l->causal, 0, 1}, {"once", l->once, 0, 1}, {"ring", (int)l->ring, 0, FOVEA_NN_LSH_WITHIN_ROUND}};
  const fovea_bounded sizes[] = {{"batch", t->batch, 1, LENGTH_LIMIT},
                                 {"heads", t->heads, 1, LENGTH_LIMIT},
                                 {"length", t->length, 0, LENGTH_LIMIT},
                                 {"dim", t->dim, 1, LENGTH_LIMIT},
                                 {"v_dim", t->v_dim, 1, LENGTH_LIMIT}};
  const fovea_bounded types[] = {fovea_bounded_type("x_type", t->x_type), fovea_bounded_type("v_type", t->v_type),
                                 fovea_bounded_type("y_type", t->y_type)};
  fovea_status status = fovea_validate_bounds("lsh", settings, 3, error);
  if (!status) status = fovea_validate_bounds("lsh", rules, 3, error);
  if (!status) status = check_buckets(l, error);
  if (!status) status = fovea_validate_bounds("tensors", sizes, 5, error);
  if (!status) status = fovea_validate_bounds("tensors", types, 3, error);
  return status;
}

/* The keys that attention gets have a mean square of 1, and so a length of sqrt(dim). */
static fovea_status check_numbers(fovea_nn_lsh_call *call, fovea_error *error) {
  const double scale = call->lsh.scale, eps = call->lsh.eps;
  const int finite = scale >= -DBL_MAX && scale <= DBL_MAX, in_range = eps >= 1e-30 && eps <= 1;
  if (!finite) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "lsh.scale is %g; it must be finite", scale);
  if (!in_range) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "lsh.eps is %g; it must be from 1e-30 to 1", eps);
  call->scale = scale / sqrt((double)call->tensors.dim);
  call->eps = (float)eps;
  return FOVEA_OK;
}

enum { X, V, ROTATIONS, LENGTHS, INPUTS, Y = INPUTS, BUCKETS, SHAPES };

static fovea_status check_tensors(const fovea_nn_lsh_call *call, fovea_error *error) {
  const fovea_nn_lsh *l = &call->lsh;
  const fovea_nn_lsh_tensors *t = &call->tensors;
  const fovea_strides none = {0, 0, 0}, numbers = fovea_contiguous_strides(t->heads, l->rounds, t->length);
  const int int32_bits = 32;
  const fovea_shape shapes[SHAPES] = {
      fovea_make_shape("x", t->batch, t->heads, t->length, t->dim, t->x_strides, fovea_type_bits(t->x_type)),
      fovea_make_shape("v", t->batch, t->heads, t->length, t->v_dim, t->v_strides, fovea_type_bits(t->v_type)),
      fovea_make_shape("rotations", t->batch, t->heads, t->dim, l->rounds * call->columns, t->rotation_strides,
                       int32_bits),
      fovea_make_shape("lens", 1, 1, t->lens ? 1 : 0, t->batch, none, 2 * int32_bits),
      fovea_make_shape("y", t->batch, t->heads, t->length, t->v_dim, t->y_strides, fovea_type_bits(t->y_type)),
      fovea_make_shape("bucket_numbers", t->batch, t->heads, t->bucket_numbers ? l->rounds : 0, t->length, numbers,
                       2 * int32_bits),
  };
  const void *pointers[SHAPES] = {t->x, t->v, t->rotations, t->lens, t->y, t->bucket_numbers};
  fovea_reach reaches[SHAPES];
  fovea_status status = FOVEA_OK;
  for (int i = 0; i < SHAPES && !status; i++) {
    reaches[i] = (fovea_reach){shapes[i].name, 0, 0, 1};
    if (fovea_shape_is_empty(&shapes[i])) continue;
    status = fovea_validate_strides(&shapes[i], i >= INPUTS, &reaches[i], error);
    if (!status) status = fovea_validate_pointer(&reaches[i], pointers[i], error);
  }
  for (int i = INPUTS; i < SHAPES && !status; i++) {
    for (int j = 0; j < i && !status; j++) {
      if (fovea_shape_is_empty(&shapes[i]) || fovea_shape_is_empty(&shapes[j])) continue;
      status = fovea_validate_apart(&reaches[i], pointers[i], &reaches[j], pointers[j], error);
    }
  }
  return status;
}

/* The list's pointer was checked. */
static fovea_status check_lengths(const fovea_nn_lsh_tensors *t, fovea_error *error) {
  for (int64_t b = 0; t->lens && b < t->batch; b++) {
    if (t->lens[b] >= 0 && t->lens[b] <= t->length) continue;
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "lens[%jd] is %jd; it must be from 0 to length, which is %jd", b,
                      t->lens[b], t->length);
  }
  return FOVEA_OK;
}

/* Groups of about equal size. */
static void choose_groups(fovea_nn_lsh_call *call) {
  const fovea_nn_lsh_tensors *t = &call->tensors;
  const int64_t m = call->lsh.bucket_size, chunks = t->length > 0 ? (t->length - 1) / m + 1 : 1;
  const int64_t chunk_bytes = m * (8 * t->dim + 4 * t->v_dim + 2 * m);
  int64_t most = GROUP_BYTES / chunk_bytes;
  most = most < 1 ? 1 : most > GROUP_CHUNKS ? GROUP_CHUNKS : most;
  call->groups = (chunks - 1) / most + 1;
  call->group = (chunks - 1) / call->groups + 1;
}

fovea_status fovea_nn_check_lsh(const fovea_nn_lsh *lsh, const fovea_nn_lsh_tensors *tensors,
                                const fovea_execution *execution, fovea_nn_lsh_call *call, fovea_error *error) {
  fovea_status status = read_arguments(lsh, tensors, call, error);
  if (!status) status = fovea_read_execution(execution, &call->execution, error);
  if (!status) status = check_sizes(&call->lsh, &call->tensors, error);
  if (status) return status;
  const fovea_float_state caller = fovea_float_begin();
  status = check_numbers(call, error);
  fovea_float_end(caller);
  call->columns = fovea_nn_lsh_columns(&call->lsh);
  if (!status) status = check_tensors(call, error);
  if (!status) status = check_lengths(&call->tensors, error);
  if (!status) status = fovea_nn_dispatch(call->execution.isa, &call->kernels, error);
  if (!status) choose_groups(call);
  return status;
}

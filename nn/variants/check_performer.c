/* Performer attention: initialisers, and everything that a call may be refused for. */
#include "../../arch/float_state.h"
#include "../../src/base/caller.h"
#include "../../src/base/error.h"
#include "../../src/base/resolve.h"
#include "../../src/base/types.h"
#include "../../src/base/validate.h"
#include "../choose_table.h"
#include "../defaults.h"
#include "performer.h"
#include "tensor.h"

#include <math.h>

void fovea_nn_performer_init_sized(fovea_nn_performer *performer, size_t struct_size,
                                   fovea_nn_performer_kernel kernel, int64_t dim, int64_t features,
                                   const float *projection) {
  const fovea_nn_performer defaults = {.struct_size = struct_size,
                                       .kernel = kernel,
                                       .dim = dim,
                                       .features = features,
                                       .projection = projection,
                                       .projection_stride = FOVEA_CONTIGUOUS,
                                       .eps = kernel == FOVEA_NN_PERFORMER_RELU ? 1e-3 : 1e-4,
                                       .scale = FOVEA_DEFAULT_NUMBER};
  fovea_nn_write_defaults(performer, struct_size, &defaults, sizeof defaults);
}

void fovea_nn_performer_rows_init_sized(fovea_nn_performer_rows *rows, size_t struct_size,
                                        const fovea_nn_performer *performer, int64_t batch, int64_t heads,
                                        int64_t row_count, const void *x, void *y) {
  (void)performer; /* with the strides of what runs */
  const fovea_nn_performer_rows defaults = {.struct_size = struct_size,
                                            .batch = batch,
                                            .heads = heads,
                                            .rows = row_count,
                                            .x = x,
                                            .y = y,
                                            .x_strides = FOVEA_UNSET_STRIDES,
                                            .y_strides = FOVEA_UNSET_STRIDES};
  fovea_nn_write_defaults(rows, struct_size, &defaults, sizeof defaults);
}

void fovea_nn_performer_tensors_init_sized(fovea_nn_performer_tensors *tensors, size_t struct_size,
                                           const fovea_nn_performer *performer, int64_t batch, int64_t heads,
                                           int64_t kv_heads, int64_t q_len, int64_t kv_len, int64_t v_dim,
                                           const void *q, const void *k, const void *v, void *o) {
  (void)performer; /* with the strides of what runs */
  const fovea_nn_performer_tensors defaults = {.struct_size = struct_size,
                                               .batch = batch,
                                               .heads = heads,
                                               .kv_heads = kv_heads,
                                               .q_len = q_len,
                                               .kv_len = kv_len,
                                               .v_dim = v_dim,
                                               .q = q,
                                               .k = k,
                                               .v = v,
                                               .o = o,
                                               .q_strides = FOVEA_UNSET_STRIDES,
                                               .k_strides = FOVEA_UNSET_STRIDES,
                                               .v_strides = FOVEA_UNSET_STRIDES,
                                               .o_strides = FOVEA_UNSET_STRIDES};
  fovea_nn_write_defaults(tensors, struct_size, &defaults, sizeof defaults);
}

int64_t fovea_nn_performer_state_numbers(int64_t features, int64_t v_dim) {
  int64_t numbers;
  if (features < 1 || v_dim < 1 || features > FOVEA_DIM_LIMIT || v_dim > FOVEA_DIM_LIMIT) return 0;
  if (__builtin_mul_overflow(features, v_dim + 1, &numbers)) return 0;
  return numbers > INT64_C(1) << 57 ? 0 : numbers;
}

/* ---- Performers -------------------------------------------------------------------------------------------- */

static fovea_status check_kinds(const fovea_nn_performer *p, fovea_error *error) {
  const fovea_bounded sizes[] = {{"dim", p->dim, 1, FOVEA_DIM_LIMIT},
                                 {"features", p->features, 1, FOVEA_DIM_LIMIT}};
  const fovea_bounded kinds[] = {{"kernel", (int)p->kernel, 0, FOVEA_NN_PERFORMER_RELU},
                                 {"stabiliser", (int)p->stabiliser, 0, FOVEA_NN_STABILISER_MAX},
                                 {"causal", p->causal, 0, 1}};
  fovea_status status = fovea_validate_bounds("performer", sizes, 2, error);
  if (!status) status = fovea_validate_bounds("performer", kinds, 3, error);
  if (status) return status;
  int64_t numbers;
  if (__builtin_mul_overflow(p->dim, p->features, &numbers) || numbers > INT64_C(1) << 57) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "performer.features is %jd; times dim, which is %jd, it must be at most 2^57", p->features,
                      p->dim);
  }
  if (p->stabiliser == FOVEA_NN_STABILISER_NONE) return FOVEA_OK;
  if (p->kernel == FOVEA_NN_PERFORMER_RELU) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED,
                      "performer.stabiliser is set and would not be used: kernel is FOVEA_NN_PERFORMER_RELU");
  }
  if (!p->causal) return FOVEA_OK;
  return fovea_fail(
      error, FOVEA_ERROR_ARGUMENT,
      "performer.stabiliser is FOVEA_NN_STABILISER_MAX, and causal is set: rows would depend on later keys");
}

/* Rounds the constants, in the float state of the contract. Volatile, so that nothing is computed elsewhere. */
static fovea_status make_constants(const fovea_nn_performer *p, fovea_nn_feature_map *map, fovea_error *error) {
  volatile double scale = p->scale, eps = p->eps, features = (double)p->features;
  volatile float root, least, ratio;
  const fovea_float_state caller = fovea_float_begin();
  const int scale_holds = scale > 0 && scale - scale == 0;
  const int eps_holds = eps >= 0 && eps <= 0x1.fffffep127;
  root = scale_holds ? (float)sqrt(scale) : 0;
  least = eps_holds ? (float)eps : 0;
  ratio = (float)(1 / sqrt(features));
  const int root_holds = root > 0 && root - root == 0;
  fovea_float_end(caller);
  map->scale = root;
  map->eps = least;
  map->ratio = ratio;
  if (!scale_holds || !root_holds) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "performer.scale is %g; it must be finite and above 0, and its square root an f32", p->scale);
  }
  if (eps_holds) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "performer.eps is %g; it must be from 0 to the largest f32",
                    p->eps);
}

static int64_t padded(int64_t size, int64_t step) {
  return fovea_nn_ceil(size, step) * step;
}

static fovea_status read_performer(const fovea_nn_performer *given, fovea_nn_performer_call *call,
                                   fovea_error *error) {
  fovea_nn_performer *p = &call->performer;
  fovea_nn_feature_map *map = &call->map;
  fovea_status status = fovea_nn_read_struct("performer", given, p, sizeof *p, error);
  if (status) return status;
  fovea_resolve_stride(&p->projection_stride, p->dim);
  fovea_resolve_scale(&p->scale, p->dim);
  *map = (fovea_nn_feature_map){.projection = p->projection, .stride = p->projection_stride, .dim = p->dim};
  status = check_kinds(p, error);
  if (!status) status = make_constants(p, map, error);
  if (status) return status;
  map->features = p->features;
  map->row_stride = padded(p->dim, FOVEA_NN_PANEL);
  map->feature_stride = padded(p->features, FOVEA_NN_PANEL) + FOVEA_NN_PANEL;
  map->pieces = fovea_nn_ceil(p->dim, FOVEA_DOT_PIECE);
  map->groups = fovea_nn_ceil(p->features, FOVEA_NN_OUTS);
  map->relu = p->kernel == FOVEA_NN_PERFORMER_RELU;
  map->stabilised = p->stabiliser == FOVEA_NN_STABILISER_MAX;
  return FOVEA_OK;
}

/* ---- Tensors ----------------------------------------------------------------------------------------------- */

/* Checks tensors, which from number `inputs` on are outputs. */
static fovea_status check_tensors(const fovea_nn_tensor *list, int count, int inputs, fovea_error *error) {
  fovea_status status = FOVEA_OK;
  for (int i = 0; i < count && !status; i++) status = fovea_nn_check_tensor(&list[i], i >= inputs, error);
  for (int i = inputs; i < count && !status; i++) {
    for (int j = 0; j < i && !status; j++) {
      status = fovea_nn_check_tensors_apart(&list[i], &list[j], error);
    }
  }
  return status;
}

static fovea_nn_tensor list_of(const char *name, const void *data, int bits, int64_t count) {
  return (fovea_nn_tensor){name, data, bits, 1, 1, data ? 1 : 0, count, {0, 0, 0}};
}

static fovea_nn_tensor projection_of(const fovea_nn_performer *p) {
  return (fovea_nn_tensor){"projection", p->projection, fovea_type_bits(FOVEA_F32),  1, 1,
                           p->features,  p->dim,        {0, 0, p->projection_stride}};
}

static fovea_status check_lens(const char *name, const int64_t *lens, int64_t batch, int64_t most,
                               fovea_error *error) {
  for (int64_t i = 0; lens && i < batch; i++) {
    if (lens[i] >= 0 && lens[i] <= most) continue;
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s[%jd] is %jd; it must be from 0 to %jd", name, i, lens[i],
                      most);
  }
  return FOVEA_OK;
}

/* ---- Calls ------------------------------------------------------------------------------------------------- */

static fovea_status check_sizes(const fovea_nn_performer *p, const fovea_nn_performer_tensors *t,
                                fovea_error *error) {
  const fovea_bounded sizes[] = {
      {"batch", t->batch, 1, FOVEA_LENGTH_LIMIT},       {"heads", t->heads, 1, FOVEA_LENGTH_LIMIT},
      {"kv_heads", t->kv_heads, 1, FOVEA_LENGTH_LIMIT}, {"q_len", t->q_len, 0, FOVEA_LENGTH_LIMIT},
      {"kv_len", t->kv_len, 0, FOVEA_LENGTH_LIMIT},     {"v_dim", t->v_dim, 1, FOVEA_DIM_LIMIT}};
  const fovea_bounded types[] = {fovea_bounded_type("q_type", t->q_type), fovea_bounded_type("k_type", t->k_type),
                                 fovea_bounded_type("v_type", t->v_type), fovea_bounded_type("o_type", t->o_type)};
  fovea_status status = fovea_validate_bounds("tensors", sizes, 6, error);
  if (!status) status = fovea_validate_bounds("tensors", types, 4, error);
  if (status) return status;
  if (t->heads % t->kv_heads != 0) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "tensors.kv_heads is %jd; it must divide heads, which is %jd",
                      t->kv_heads, t->heads);
  }
  if (p->causal && t->q_len != t->kv_len) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "tensors.q_len is %jd, and kv_len is %jd; with causal they must be equal", t->q_len,
                      t->kv_len);
  }
  if (!p->causal && t->state) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "state is set and would not be used: causal is 0");
  }
  if (fovea_nn_performer_state_numbers(p->features, t->v_dim) == 0) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "tensors.v_dim is %jd; times features, which is %jd, it must be at most 2^57", t->v_dim,
                      p->features);
  }
  return FOVEA_OK;
}

fovea_status fovea_nn_check_performer(const fovea_nn_performer *performer,
                                      const fovea_nn_performer_tensors *tensors, const fovea_execution *execution,
                                      fovea_nn_performer_call *call, fovea_error *error) {
  const fovea_nn_performer *p = &call->performer;
  fovea_nn_performer_tensors *t = &call->tensors;
  fovea_status status = read_performer(performer, call, error);
  if (status) return status;
  status = fovea_nn_read_struct("tensors", tensors, t, sizeof *t, error);
  if (status) return status;
  fovea_resolve_strides(&t->q_strides, fovea_contiguous_strides(t->heads, t->q_len, p->dim));
  fovea_resolve_strides(&t->k_strides, fovea_contiguous_strides(t->kv_heads, t->kv_len, p->dim));
  fovea_resolve_strides(&t->v_strides, fovea_contiguous_strides(t->kv_heads, t->kv_len, t->v_dim));
  fovea_resolve_strides(&t->o_strides, fovea_contiguous_strides(t->heads, t->q_len, t->v_dim));
  status = fovea_read_execution(execution, &call->execution, error);
  if (!status) status = fovea_nn_dispatch(call->execution.isa, &call->map.kernels, error);
  if (!status) status = check_sizes(p, t, error);
  if (status) return status;
  const int bits = fovea_type_bits(FOVEA_F32);
  const int64_t numbers = fovea_nn_performer_state_numbers(p->features, t->v_dim);
  const fovea_nn_tensor list[] = {
      {"q", t->q, fovea_type_bits(t->q_type), t->batch, t->heads, t->q_len, p->dim, t->q_strides},
      {"k", t->k, fovea_type_bits(t->k_type), t->batch, t->kv_heads, t->kv_len, p->dim, t->k_strides},
      {"v", t->v, fovea_type_bits(t->v_type), t->batch, t->kv_heads, t->kv_len, t->v_dim, t->v_strides},
      projection_of(p),
      list_of("kv_lens", t->kv_lens, 2 * bits, t->batch),
      {"o", t->o, fovea_type_bits(t->o_type), t->batch, t->heads, t->q_len, t->v_dim, t->o_strides},
      {"state", t->state, bits, t->batch, t->kv_heads, t->state ? 1 : 0, numbers,
       fovea_contiguous_strides(t->kv_heads, 1, numbers)}};
  status = check_tensors(list, 7, 5, error);
  return status ? status : check_lens("kv_lens", t->kv_lens, t->batch, t->kv_len, error);
}

static fovea_status check_row_sizes(const fovea_nn_performer *p, const fovea_nn_performer_rows *r,
                                    fovea_error *error) {
  const fovea_bounded sizes[] = {{"batch", r->batch, 1, FOVEA_LENGTH_LIMIT},
                                 {"heads", r->heads, 1, FOVEA_LENGTH_LIMIT},
                                 {"rows", r->rows, 0, FOVEA_LENGTH_LIMIT}};
  const fovea_bounded types[] = {
      fovea_bounded_type("x_type", r->x_type), fovea_bounded_type("y_type", r->y_type), {"keys", r->keys, 0, 1}};
  fovea_status status = fovea_validate_bounds("rows", sizes, 3, error);
  if (!status) status = fovea_validate_bounds("rows", types, 3, error);
  if (status || !r->keys || p->stabiliser != FOVEA_NN_STABILISER_NONE) return status;
  return fovea_fail(error, FOVEA_ERROR_UNUSED,
                    "rows.keys is set and would not be used: stabiliser is FOVEA_NN_STABILISER_NONE");
}

fovea_status fovea_nn_check_performer_rows(const fovea_nn_performer *performer, const fovea_nn_performer_rows *rows,
                                           const fovea_execution *execution, fovea_nn_performer_call *call,
                                           fovea_error *error) {
  const fovea_nn_performer *p = &call->performer;
  fovea_nn_performer_rows *r = &call->rows;
  fovea_status status = read_performer(performer, call, error);
  if (status) return status;
  status = fovea_nn_read_struct("rows", rows, r, sizeof *r, error);
  if (status) return status;
  fovea_resolve_strides(&r->x_strides, fovea_contiguous_strides(r->heads, r->rows, p->dim));
  fovea_resolve_strides(&r->y_strides, fovea_contiguous_strides(r->heads, r->rows, p->features));
  status = fovea_read_execution(execution, &call->execution, error);
  if (!status) status = fovea_nn_dispatch(call->execution.isa, &call->map.kernels, error);
  if (!status) status = check_row_sizes(p, r, error);
  if (status) return status;
  const fovea_nn_tensor list[] = {
      {"x", r->x, fovea_type_bits(r->x_type), r->batch, r->heads, r->rows, p->dim, r->x_strides},
      projection_of(p),
      list_of("lens", r->lens, 2 * fovea_type_bits(FOVEA_F32), r->batch),
      {"y", r->y, fovea_type_bits(r->y_type), r->batch, r->heads, r->rows, p->features, r->y_strides}};
  status = check_tensors(list, 4, 3, error);
  return status ? status : check_lens("lens", r->lens, r->batch, r->rows, error);
}

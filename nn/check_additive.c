/* Everything that additive attention may be refused for. */
#include "../arch/float_state.h"
#include "../src/base/caller.h"
#include "../src/base/claim.h"
#include "../src/base/error.h"
#include "../src/base/resolve.h"
#include "../src/base/types.h"
#include "../src/base/validate.h"
#include "additive.h"
#include "choose_table.h"
#include "defaults.h"
#include "linear.h"
#include "matrix.h"

#include <string.h>

static fovea_strides contiguous(int64_t rows, int64_t dim) {
  return (fovea_strides){fovea_wrapped_product(rows, dim), 0, dim};
}

void fovea_nn_additive_init_sized(fovea_nn_additive *additive, size_t struct_size, int64_t dim, const float *w) {
  const fovea_nn_additive defaults = {.struct_size = struct_size, .dim = dim, .w = w};
  fovea_nn_write_defaults(additive, struct_size, &defaults, sizeof defaults);
}

void fovea_nn_additive_tensors_init_sized(fovea_nn_additive_tensors *tensors, size_t struct_size,
                                          const fovea_nn_additive *additive, int64_t batch, int64_t q_len,
                                          int64_t kv_len, int64_t v_dim, const void *q, const void *k,
                                          const void *v, void *o) {
  (void)additive; /* with the strides of what runs */
  const fovea_nn_additive_tensors defaults = {
      .struct_size = struct_size,
      .batch = batch,
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
      .o_strides = FOVEA_UNSET_STRIDES,
      .weight_strides = FOVEA_UNSET_STRIDES,
      .mask_strides = {FOVEA_CONTIGUOUS, FOVEA_CONTIGUOUS, FOVEA_CONTIGUOUS, FOVEA_CONTIGUOUS}};
  fovea_nn_write_defaults(tensors, struct_size, &defaults, sizeof defaults);
}

/* Strides of what a layer takes, or of what is projected already. */
static void resolve(fovea_nn_additive_call *call) {
  const fovea_nn_additive *a = &call->additive;
  fovea_nn_additive_tensors *t = &call->tensors;
  const fovea_strides pairs = contiguous(t->q_len, t->kv_len);
  fovea_resolve_strides(&t->q_strides, contiguous(t->q_len, a->query ? call->query.in : a->dim));
  fovea_resolve_strides(&t->k_strides, contiguous(t->kv_len, a->key ? call->key.in : a->dim));
  fovea_resolve_strides(&t->v_strides, contiguous(t->kv_len, t->v_dim));
  fovea_resolve_strides(&t->o_strides, contiguous(t->q_len, t->v_dim));
  fovea_resolve_strides(&t->weight_strides, pairs);
  fovea_resolve_stride(&t->mask_strides.batch, pairs.batch);
  fovea_resolve_stride(&t->mask_strides.head, 0);
  fovea_resolve_stride(&t->mask_strides.row, pairs.row);
  fovea_resolve_stride(&t->mask_strides.key, 1);
}

/* A layer of the caller's, or none. */
static fovea_status read_layer(const char *name, const fovea_nn_linear **layer, int64_t dim, fovea_nn_linear *copy,
                               fovea_error *error) {
  if (!*layer) return FOVEA_OK;
  fovea_status status = fovea_nn_read_linear(name, *layer, copy, error);
  if (!status) status = fovea_nn_check_linear(name, copy, error);
  if (status) return status;
  *layer = copy;
  if (copy->out == dim) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s.out is %jd; dim is %jd", name, copy->out, dim);
}

static fovea_status read_arguments(const fovea_nn_additive *additive, const fovea_nn_additive_tensors *tensors,
                                   fovea_nn_additive_call *call, fovea_error *error) {
  fovea_status status = fovea_nn_read_struct("additive", additive, &call->additive, sizeof call->additive, error);
  if (!status) status = fovea_nn_read_struct("tensors", tensors, &call->tensors, sizeof call->tensors, error);
  if (status) return status;
  const fovea_bounded dim = {"dim", additive->dim, 1, FOVEA_DIM_LIMIT};
  status = fovea_validate_bounds(NULL, &dim, 1, error);
  if (!status) status = read_layer("query", &call->additive.query, additive->dim, &call->query, error);
  if (!status) status = read_layer("key", &call->additive.key, additive->dim, &call->key, error);
  if (!status) resolve(call);
  return status;
}

static fovea_status check_sizes(const fovea_nn_additive_tensors *t, fovea_error *error) {
  const fovea_bounded sizes[] = {{"batch", t->batch, 1, FOVEA_LENGTH_LIMIT},
                                 {"q_len", t->q_len, 0, FOVEA_LENGTH_LIMIT},
                                 {"kv_len", t->kv_len, 0, FOVEA_LENGTH_LIMIT},
                                 {"v_dim", t->v_dim, 1, FOVEA_DIM_LIMIT}};
  const fovea_bounded types[] = {fovea_bounded_type("q_type", t->q_type), fovea_bounded_type("k_type", t->k_type),
                                 fovea_bounded_type("v_type", t->v_type), fovea_bounded_type("o_type", t->o_type)};
  const fovea_status status = fovea_validate_bounds("tensors", sizes, 4, error);
  return status ? status : fovea_validate_bounds("tensors", types, 4, error);
}

static fovea_status check_unused(const fovea_nn_additive_call *call, fovea_error *error) {
  const fovea_nn_additive_tensors *t = &call->tensors;
  const fovea_strides plain = contiguous(t->q_len, t->kv_len), weights = t->weight_strides;
  if (!call->additive.query && t->q_type != FOVEA_F32) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "q_type is not FOVEA_F32, but there is no query layer");
  }
  if (!call->additive.key && t->k_type != FOVEA_F32) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "k_type is not FOVEA_F32, but there is no key layer");
  }
  if (!t->weights && (weights.batch != plain.batch || weights.row != plain.row)) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED,
                      "weight_strides is set and would not be used: there are no weights");
  }
  if (t->mask && t->mask_type == FOVEA_MASK_NONE) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "mask is set and would not be used: mask_type is FOVEA_MASK_NONE");
  }
  return FOVEA_OK;
}

static fovea_status check_activation(fovea_nn_additive_call *call, fovea_error *error) {
  const fovea_nn_additive *a = &call->additive;
  const fovea_bounded activation = {"activation", (int)a->activation, 0, FOVEA_NN_ADDITIVE_ACTIVATION_LEAKY_RELU};
  const fovea_status status = fovea_validate_bounds("additive", &activation, 1, error);
  if (status) return status;
  call->leaky = a->activation == FOVEA_NN_ADDITIVE_ACTIVATION_LEAKY_RELU;
  const fovea_float_state caller = fovea_float_begin();
  const int unset = a->leaky_slope == 0, holds = a->leaky_slope >= 0 && a->leaky_slope < 1;
  call->slope = holds ? (float)a->leaky_slope : 0;
  fovea_float_end(caller);
  if (!call->leaky && !unset) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED,
                      "leaky_slope is %g and would not be used: activation is FOVEA_NN_ADDITIVE_ACTIVATION_TANH",
                      a->leaky_slope);
  }
  if (holds) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "leaky_slope is %g; it must be at least 0 and below 1",
                    a->leaky_slope);
}

/* Edges have room for positions of 32 bits. */
static fovea_status check_edges(const fovea_nn_additive_tensors *t, fovea_error *error) {
  if (!t->edge_starts) {
    if (!t->edge_keys) return FOVEA_OK;
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "edge_keys is set and would not be used: edge_starts is NULL");
  }
  const fovea_bounded length = {"kv_len", t->kv_len, 0, INT32_MAX};
  fovea_status status = fovea_validate_bounds("tensors", &length, 1, error);
  if (status) return status;
  if ((uintptr_t)t->edge_starts % sizeof(int64_t) || (uintptr_t)t->edge_keys % sizeof(int64_t)) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is not aligned to 8 bytes",
                      (uintptr_t)t->edge_starts % sizeof(int64_t) ? "edge_starts" : "edge_keys");
  }
  for (int64_t i = 0; i <= t->q_len; i++) {
    const int64_t before = i > 0 ? t->edge_starts[i - 1] : 0;
    if (t->edge_starts[i] >= before) continue;
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "edge_starts[%jd] is %jd; it must be at least %jd", i,
                      t->edge_starts[i], before);
  }
  const int64_t end = t->edge_starts[t->q_len];
  if (!t->edge_keys && end > t->edge_starts[0]) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "edge_keys is NULL");
  for (int64_t i = t->edge_starts[0]; i < end; i++) {
    if (t->edge_keys[i] >= -1 && t->edge_keys[i] < t->kv_len) continue;
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "edge_keys[%jd] is %jd; it must be from -1 to %jd", i,
                      t->edge_keys[i], t->kv_len - 1);
  }
  return FOVEA_OK;
}

static fovea_status check_mask(const fovea_nn_additive_tensors *t, fovea_error *error) {
  const fovea_mask_strides s = t->mask_strides;
  const int bits = t->mask_type == FOVEA_MASK_BITS;
  if (t->mask_type == FOVEA_MASK_NONE) return FOVEA_OK;
  if (!bits && t->mask_type != FOVEA_MASK_BOOL) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "mask_type is %jd; additive attention takes FOVEA_MASK_BOOL and FOVEA_MASK_BITS",
                      (int64_t)t->mask_type);
  }
  if (s.key != 0 && s.key != 1) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "mask_strides.key is %jd; it must be 1, or 0 to repeat one key",
                      s.key);
  }
  if (bits && (s.batch % 8 != 0 || s.row % 8 != 0)) {
    const int64_t other = s.batch % 8 ? s.batch : s.row;
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "mask_strides.%s is %jd; in a mask of bits it must be a multiple of 8",
                      s.batch % 8 ? "batch" : "row", other);
  }
  return s.head == 0 ? FOVEA_OK
                     : fovea_fail(error, FOVEA_ERROR_UNUSED,
                                  "mask_strides.head is %jd and would not be used: there are no heads", s.head);
}

/* A tensor (batch, rows, dim). */
typedef struct tensor {
  const char *name;
  const void *data;
  int bits;
  int64_t batch, rows, dim;
  fovea_strides strides;
} tensor;

static fovea_status check_tensor(const tensor *t, int is_output, fovea_error *error) {
  const char *name = fovea_nn_singular(t->name);
  const fovea_shape shape = fovea_make_shape(name, t->batch, 1, t->rows, t->dim, t->strides, t->bits);
  fovea_reach reach;
  if (t->strides.head != 0) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s_strides.head is %jd and would not be used: there are no heads",
                      name, t->strides.head);
  }
  if (t->rows == 0 || t->dim == 0) return FOVEA_OK;
  const fovea_status status = fovea_validate_strides(&shape, is_output, &reach, error);
  reach.name = t->name;
  return status ? status : fovea_validate_pointer(&reach, t->data, error);
}

static fovea_status check_apart(const tensor *output, const tensor *other, fovea_error *error) {
  if (output->rows == 0 || output->dim == 0 || other->rows == 0 || other->dim == 0) return FOVEA_OK;
  const fovea_claim a = fovea_claim_rows(output->data, output->bits, output->batch, output->strides.batch,
                                         output->rows, output->strides.row, output->dim);
  const fovea_claim b = fovea_claim_rows(other->data, other->bits, other->batch, other->strides.batch, other->rows,
                                         other->strides.row, other->dim);
  return fovea_claims_overlap(&a, &b)
             ? fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s shares memory with %s", output->name, other->name)
             : FOVEA_OK;
}

enum { QUERIES, KEYS, VALUES, W, MASK, LENS, STARTS, EDGES, INPUTS, O = INPUTS, WEIGHTS, TENSORS };

static void list_tensors(const fovea_nn_additive_call *call, tensor list[TENSORS]) {
  const fovea_nn_additive_tensors *t = &call->tensors;
  const fovea_nn_additive *a = &call->additive;
  const fovea_strides mask = {t->mask_strides.batch, 0, t->mask_strides.row};
  const int64_t b = t->batch, q = t->q_len, k = t->kv_len, mask_keys = t->mask_strides.key == 0 && k > 0 ? 1 : k;
  const fovea_strides none = {0, 0, 0};
  const int float_bits = fovea_type_bits(FOVEA_F32);
  const int64_t first = t->edge_starts ? t->edge_starts[0] : 0,
                edges = t->edge_starts ? t->edge_starts[q] - first : 0;
  const tensor all[TENSORS] = {
      {"q", t->q, fovea_type_bits(t->q_type), b, q, a->query ? a->query->in : a->dim, t->q_strides},
      {"k", t->k, fovea_type_bits(t->k_type), b, k, a->key ? a->key->in : a->dim, t->k_strides},
      {"v", t->v, fovea_type_bits(t->v_type), b, k, t->v_dim, t->v_strides},
      {"w", a->w, float_bits, 1, 1, a->dim, none},
      {"mask", t->mask, fovea_mask_type_bits(t->mask_type), b, t->mask_type ? q : 0, mask_keys, mask},
      {"kv_lens", t->kv_lens, 2 * float_bits, 1, t->kv_lens ? 1 : 0, b, none},
      {"edge_starts", t->edge_starts, 2 * float_bits, 1, t->edge_starts ? 1 : 0, q + 1, none},
      {"edge_keys", edges > 0 ? t->edge_keys + first : NULL, 2 * float_bits, 1, edges > 0, edges, none},
      {"o", t->o, fovea_type_bits(t->o_type), b, q, t->v_dim, t->o_strides},
      {"weights", t->weights, float_bits, b, t->weights ? q : 0, k, t->weight_strides}};
  memcpy(list, all, sizeof all);
}

/* Layers, as far as they are there, must be apart from the outputs as well. */
static fovea_status check_apart_from_layers(const fovea_nn_additive_call *call, const tensor *output,
                                            fovea_error *error) {
  const fovea_nn_linear *layers[] = {call->additive.query, call->additive.key};
  for (int i = 0; i < 2; i++) {
    if (!layers[i] || output->rows == 0 || output->dim == 0) continue;
    const fovea_nn_matrix weights = fovea_nn_weights_of(layers[i]), bias = fovea_nn_bias_of(layers[i]);
    const fovea_strides row = {0, 0, weights.stride};
    const tensor others[] = {
        {"weights of a layer", weights.data, fovea_type_bits(weights.type), 1, weights.rows, weights.dim, row},
        {"bias of a layer", bias.data, fovea_type_bits(bias.type), 1, bias.rows, bias.dim, {0, 0, 0}}};
    for (int j = 0; j < 2; j++) {
      const fovea_status status = check_apart(output, &others[j], error);
      if (status) return status;
    }
  }
  return FOVEA_OK;
}

static fovea_status check_tensors(const fovea_nn_additive_call *call, fovea_error *error) {
  tensor list[TENSORS];
  fovea_status status = FOVEA_OK;
  list_tensors(call, list);
  for (int i = 0; i < TENSORS && !status; i++) status = check_tensor(&list[i], i >= INPUTS, error);
  for (int i = INPUTS; i < TENSORS && !status; i++) {
    for (int j = 0; j < i && !status; j++) status = check_apart(&list[i], &list[j], error);
    if (!status) status = check_apart_from_layers(call, &list[i], error);
  }
  return status;
}

fovea_status fovea_nn_check_additive(const fovea_nn_additive *additive, const fovea_nn_additive_tensors *tensors,
                                     const fovea_execution *execution, fovea_nn_additive_call *call,
                                     fovea_error *error) {
  fovea_status status = read_arguments(additive, tensors, call, error);
  if (!status) status = fovea_read_execution(execution, &call->execution, error);
  if (!status) status = check_sizes(&call->tensors, error);
  if (!status) status = check_unused(call, error);
  if (!status) status = check_activation(call, error);
  if (!status) status = check_mask(&call->tensors, error);
  if (!status) status = check_edges(&call->tensors, error);
  if (!status) status = check_tensors(call, error);
  return status ? status : fovea_nn_dispatch(call->execution.isa, &call->kernels, error);
}

/* Everything that Linformer may be refused for. */
#include "../../src/base/caller.h"
#include "../../src/base/error.h"
#include "../../src/base/resolve.h"
#include "../../src/base/types.h"
#include "../../src/base/validate.h"
#include "../attention.h"
#include "../choose_table.h"
#include "../defaults.h"
#include "../fields.h"
#include "../linear.h"
#include "linformer.h"
#include "tensor.h"

void fovea_nn_linformer_init_sized(fovea_nn_linformer *linformer, size_t struct_size, int64_t max_len, int64_t k,
                                   const void *key_projection) {
  const fovea_nn_linformer defaults = {.struct_size = struct_size,
                                       .max_len = max_len,
                                       .k = k,
                                       .key_projection = key_projection,
                                       .projection_row = FOVEA_CONTIGUOUS};
  fovea_nn_write_defaults(linformer, struct_size, &defaults, sizeof defaults);
}

static fovea_status read_arguments(const fovea_nn_linformer *linformer, const fovea_problem *problem,
                                   fovea_nn_linformer_call *call, fovea_error *error) {
  fovea_status status =
      fovea_nn_read_struct("linformer", linformer, &call->linformer, sizeof call->linformer, error);
  if (!status) status = fovea_copy_problem(problem, &call->problem, error);
  if (status) return status;
  fovea_resolve_stride(&call->linformer.projection_row, linformer->k);
  return FOVEA_OK;
}

static fovea_status check_lengths(const fovea_problem *p, fovea_error *error) {
  for (int64_t b = 0; p->kv_lens && b < p->batch; b++) {
    if (p->kv_lens[b] >= 0 && p->kv_lens[b] <= p->kv_len) continue;
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "kv_lens[%jd] is %jd; it must be from 0 to kv_len %jd", b,
                      p->kv_lens[b], p->kv_len);
  }
  return FOVEA_OK;
}

static fovea_status check_sizes(fovea_nn_linformer_call *call, fovea_error *error) {
  static const char why[] = "projected keys have no positions";
  static const char outputs[] = "Linformer writes O and LSE only";
  const uint64_t known = fovea_features_of_layer(FOVEA_LAYER_LINFORMER),
                 results = fovea_features_with(FOVEA_TRAIT_RESULT);
  const fovea_nn_linformer *l = &call->linformer;
  const fovea_problem *p = &call->problem;
  const fovea_bounded sizes[] = {{"max_len", l->max_len, 1, FOVEA_LENGTH_LIMIT}, {"k", l->k, 1, INT32_MAX}};
  const fovea_bounded type = fovea_bounded_type("type", l->type);
  fovea_status status = fovea_validate_bounds("linformer", sizes, 2, error);
  if (!status) status = fovea_validate_bounds("linformer", &type, 1, error);
  if (!status) status = fovea_nn_check_sizes(p, error);
  if (status) return status;
  const fovea_bounded dims[] = {{"qk_dim", p->qk_dim, 1, INT32_MAX - 16},
                                {"v_dim", p->v_dim, 1, INT32_MAX - 16},
                                {"kv_len", p->kv_len, 0, l->max_len}};
  const fovea_bounded types[] = {fovea_bounded_type("k_type", p->k_type), fovea_bounded_type("v_type", p->v_type)};
  status = fovea_validate_bounds("problem", dims, 3, error);
  if (!status) status = fovea_validate_bounds("problem", types, 2, error);
  if (!status) status = fovea_nn_refuse_fields(p, known | results, why, error);
  if (!status) status = fovea_nn_refuse_fields(p, known, outputs, error);
  if (!status) fovea_resolve_problem(&call->problem);
  return status ? status : check_lengths(p, error);
}

enum { KEYS, VALUES, E, F, INPUTS };

/* The caller's tensors that attention over the projected keys does not know. */
static fovea_status check_tensors(const fovea_nn_linformer_call *call, fovea_error *error) {
  const fovea_nn_linformer *l = &call->linformer;
  const fovea_problem *p = &call->problem;
  const fovea_tensors *t = &call->tensors;
  const int64_t b = p->batch, heads = l->projection_head == 0 ? 1 : p->kv_heads, n = p->kv_len;
  const fovea_strides projection = {0, l->projection_head, l->projection_row};
  const fovea_nn_tensor inputs[INPUTS] = {
      {"k", t->k, fovea_type_bits(p->k_type), b, p->kv_heads, n, p->qk_dim, p->k_strides},
      {"v", t->v, fovea_type_bits(p->v_type), b, p->kv_heads, n, p->v_dim, p->v_strides},
      {"key_projection", l->key_projection, fovea_type_bits(l->type), 1, heads, n, l->k, projection},
      {"value_projection", l->value_projection ? l->value_projection : l->key_projection, fovea_type_bits(l->type),
       1, heads, n, l->k, projection}};
  const fovea_nn_tensor outputs[] = {
      {"o", t->o, fovea_type_bits(p->o_type), b, p->heads, p->q_len, p->v_dim, p->o_strides},
      {"lse", t->lse, fovea_type_bits(FOVEA_F32), b, p->heads, t->lse ? p->q_len : 0, 1, p->lse_strides}};
  fovea_status status = FOVEA_OK;
  for (int i = 0; i < INPUTS && !status; i++) status = fovea_nn_check_tensor(&inputs[i], 0, error);
  for (int o = 0; o < 2 && !status; o++) {
    for (int i = 0; i < INPUTS && !status; i++)
      status = fovea_nn_check_tensors_apart(&outputs[o], &inputs[i], error);
  }
  return status;
}

static int64_t whole_vectors(int64_t dim) {
  return (dim + 15) / 16 * 16;
}

/* Attention over k keys, all of them visible to all rows. */
static void make_inner(fovea_nn_linformer_call *call) {
  const fovea_problem *p = &call->problem;
  const int64_t k = call->linformer.k;
  fovea_problem *inner = &call->inner;
  *inner = *p;
  call->dims[0] = whole_vectors(p->qk_dim);
  call->dims[1] = whole_vectors(p->v_dim);
  call->projected = whole_vectors(k);
  inner->kv_len = k;
  inner->kv_lens = NULL;
  inner->keys.end = FOVEA_UNLIMITED;
  inner->k_type = inner->v_type = FOVEA_F32;
  inner->k_strides = (fovea_strides){p->kv_heads * k * call->dims[0], k * call->dims[0], call->dims[0]};
  inner->v_strides = (fovea_strides){p->kv_heads * k * call->dims[1], k * call->dims[1], call->dims[1]};
  call->spans = (p->kv_len + FOVEA_SPAN_KEYS - 1) / FOVEA_SPAN_KEYS;
  if (call->spans == 0) call->spans = 1;
}

fovea_status fovea_nn_check_linformer(const fovea_nn_linformer *linformer, const fovea_problem *problem,
                                      const fovea_tensors *tensors, const fovea_execution *execution,
                                      fovea_nn_linformer_call *call, fovea_error *error) {
  fovea_problem sized;
  fovea_status status = read_arguments(linformer, problem, call, error);
  if (!status) status = fovea_read_execution(execution, &call->execution, error);
  if (!status && tensors) status = fovea_read_tensors(tensors, &call->tensors, error);
  if (!status) status = check_sizes(call, error);
  if (status) return status;
  sized = call->problem;
  sized.kv_len = call->linformer.k > sized.kv_len ? call->linformer.k : sized.kv_len;
  status = fovea_nn_check_sizes(&sized, error); /* k takes the place of the length */
  if (!status && tensors) status = check_tensors(call, error);
  if (status) return status;
  make_inner(call);
  return fovea_nn_dispatch(call->execution.isa, &call->kernels, error);
}

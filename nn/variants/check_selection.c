/* Everything that a selection of keys may be refused for. */
#include "../../src/base/caller.h"
#include "../../src/base/error.h"
#include "../../src/base/resolve.h"
#include "../../src/base/types.h"
#include "../../src/base/validate.h"
#include "../choose_table.h"
#include "../defaults.h"
#include "selection.h"
#include "tensor.h"

void fovea_nn_selection_init_sized(fovea_nn_selection *selection, size_t struct_size, int64_t batch, int64_t heads,
                                   int64_t q_len, int64_t kv_len, int64_t dim, int64_t top_k, const void *q,
                                   const void *k, const float *weights, int64_t *keys) {
  const fovea_nn_selection defaults = {.struct_size = struct_size,
                                       .batch = batch,
                                       .heads = heads,
                                       .q_len = q_len,
                                       .kv_len = kv_len,
                                       .dim = dim,
                                       .top_k = top_k,
                                       .q = q,
                                       .k = k,
                                       .weights = weights,
                                       .keys = keys,
                                       .q_strides = FOVEA_UNSET_STRIDES,
                                       .k_strides = FOVEA_UNSET_STRIDES,
                                       .weight_strides = FOVEA_UNSET_STRIDES,
                                       .causal = 1,
                                       .offset = FOVEA_OFFSET_BOTTOM_RIGHT};
  fovea_nn_write_defaults(selection, struct_size, &defaults, sizeof defaults);
}

static void resolve(fovea_nn_selection *s) {
  const fovea_strides keys = {fovea_wrapped_product(s->kv_len, s->dim), 0, s->dim};
  const fovea_strides weights = {fovea_wrapped_product(s->q_len, s->heads), 0, s->heads};
  fovea_resolve_strides(&s->q_strides, fovea_contiguous_strides(s->heads, s->q_len, s->dim));
  fovea_resolve_strides(&s->k_strides, keys);
  fovea_resolve_strides(&s->weight_strides, weights);
}

static fovea_status check_sizes(const fovea_nn_selection *s, fovea_error *error) {
  const fovea_bounded sizes[] = {{"batch", s->batch, 1, FOVEA_LENGTH_LIMIT},
                                 {"heads", s->heads, 1, 1 << 16},
                                 {"q_len", s->q_len, 0, FOVEA_LENGTH_LIMIT},
                                 {"kv_len", s->kv_len, 0, INT32_MAX},
                                 {"dim", s->dim, 1, 1 << 20},
                                 {"top_k", s->top_k, 1, FOVEA_TOP_K_LIMIT}};
  const fovea_bounded types[] = {fovea_bounded_type("q_type", s->q_type), fovea_bounded_type("k_type", s->k_type)};
  const fovea_bounded causal = {"causal", s->causal, 0, 1};
  fovea_status status = fovea_validate_bounds("selection", sizes, 6, error);
  if (!status) status = fovea_validate_bounds("selection", types, 2, error);
  if (!status) status = fovea_validate_bounds("selection", &causal, 1, error);
  if (status) return status;
  int64_t rows, numbers;
  if (__builtin_mul_overflow(s->batch, s->q_len, &rows) || __builtin_mul_overflow(rows, s->top_k, &numbers) ||
      numbers > INT64_C(1) << 57) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "batch %jd times q_len %jd times top_k %jd is more than 2^57",
                      s->batch, s->q_len, s->top_k);
  }
  return FOVEA_OK;
}

/* Rows that would lie before all keys by an offset that nobody set. Without keys no row sees any. */
static fovea_status check_own_key(const fovea_nn_selection *s, int64_t b, fovea_error *error) {
  const int64_t keys = s->kv_lens ? s->kv_lens[b] : s->kv_len;
  if (!s->causal || s->offsets || s->offset != FOVEA_OFFSET_BOTTOM_RIGHT || keys >= s->q_len || keys == 0)
    return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                    "offset is %jd by default, since batch element %jd has q length %jd and kv length %jd, and "
                    "causal depends on it; "
                    "set offset or offsets: 0 if rows after the keys are padding",
                    keys - s->q_len, b, s->q_len, keys);
}

static fovea_status check_element(const char *name, const int64_t *list, int64_t i, int64_t least, int64_t most,
                                  fovea_error *error) {
  if (!list || (list[i] >= least && list[i] <= most)) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "selection.%s[%jd] is %jd; it must be from %jd to %jd", name, i,
                    list[i], least, most);
}

static fovea_status check_rules(const fovea_nn_selection *s, fovea_error *error) {
  const int has_offset = s->offset != FOVEA_OFFSET_BOTTOM_RIGHT;
  const fovea_bounded offset = {"offset", has_offset ? s->offset : 0, -FOVEA_LENGTH_LIMIT, FOVEA_LENGTH_LIMIT};
  if (!s->causal && (has_offset || s->offsets)) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s is set and would not be used: causal is 0",
                      has_offset ? "offset" : "offsets");
  }
  if (has_offset && s->offsets) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "offset is set and would not be used: offsets is not NULL");
  }
  fovea_status status = fovea_validate_bounds("selection", &offset, 1, error);
  for (int64_t b = 0; (s->offsets || s->kv_lens) && b < s->batch && !status; b++) {
    status = check_element("offsets", s->offsets, b, -FOVEA_LENGTH_LIMIT, FOVEA_LENGTH_LIMIT, error);
    if (!status) status = check_element("kv_lens", s->kv_lens, b, 0, s->kv_len, error);
  }
  /* Without a list all batch elements are alike, and there may be very many. */
  for (int64_t b = 0; b < (s->kv_lens ? s->batch : 1) && !status; b++) status = check_own_key(s, b, error);
  return status;
}

static fovea_status check_tensors(const fovea_nn_selection *s, fovea_error *error) {
  const int float_bits = fovea_type_bits(FOVEA_F32), key_bits = 64;
  const int64_t offsets = s->offsets ? s->batch : 0, lens = s->kv_lens ? s->batch : 0;
  const fovea_strides none = {0, 0, 0}, keys = {s->q_len * s->top_k, 0, s->top_k};
  const fovea_nn_tensor out = {"keys", s->keys, key_bits, s->batch, 1, s->q_len, s->top_k, keys};
  const fovea_nn_tensor inputs[] = {
      {"q", s->q, fovea_type_bits(s->q_type), s->batch, s->heads, s->q_len, s->dim, s->q_strides},
      {"k", s->k, fovea_type_bits(s->k_type), s->batch, 1, s->q_len > 0 ? s->kv_len : 0, s->dim, s->k_strides},
      {"weights", s->weights, float_bits, s->batch, 1, s->q_len, s->heads, s->weight_strides},
      {"offsets", s->offsets, key_bits, 1, 1, 1, offsets, none},
      {"kv_lens", s->kv_lens, key_bits, 1, 1, 1, lens, none}};
  if (s->k_strides.head != 0 || s->weight_strides.head != 0) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s_strides.head is set and would not be used",
                      s->k_strides.head ? "k" : "weight");
  }
  fovea_status status = fovea_nn_check_tensor(&out, 1, error);
  for (int i = 0; i < 5 && !status; i++) {
    status = fovea_nn_check_tensor(&inputs[i], 0, error);
    if (!status) status = fovea_nn_check_tensors_apart(&out, &inputs[i], error);
  }
  return status;
}

fovea_status fovea_nn_check_selection(const fovea_nn_selection *selection, const fovea_execution *execution,
                                      fovea_nn_selection_call *call, fovea_error *error) {
  fovea_status status =
      fovea_nn_read_struct("selection", selection, &call->selection, sizeof call->selection, error);
  if (!status) status = fovea_read_execution(execution, &call->execution, error);
  if (status) return status;
  resolve(&call->selection);
  status = check_sizes(&call->selection, error);
  if (!status) status = check_tensors(&call->selection, error);
  if (!status) status = check_rules(&call->selection, error); /* reads lists whose pointers were checked */
  return status ? status : fovea_nn_dispatch(call->execution.isa, &call->kernels, error);
}

/* Everything that linear attention may be refused for. */
#include "../../arch/float_state.h"
#include "../../src/base/caller.h"
#include "../../src/base/error.h"
#include "../../src/base/resolve.h"
#include "../../src/base/types.h"
#include "../../src/base/validate.h"
#include "../choose_table.h"
#include "../defaults.h"
#include "linear_attention.h"
#include "tensor.h"

#include <string.h>

/* Sizes that make no sense are refused later. */
static int64_t product(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a * (uint64_t)b);
}

void fovea_nn_linear_attention_init_sized(fovea_nn_linear_attention *attention, size_t struct_size,
                                          fovea_nn_update_rule rule, int64_t heads, int64_t k_dim, int64_t v_dim) {
  const fovea_nn_linear_attention defaults = {.struct_size = struct_size,
                                              .rule = rule,
                                              .heads = heads,
                                              .k_dim = k_dim,
                                              .v_dim = v_dim,
                                              .q_heads = 0,
                                              .k_heads = 0,
                                              .scale = FOVEA_DEFAULT_NUMBER,
                                              .unit_eps = 1e-6};
  fovea_nn_write_defaults(attention, struct_size, &defaults, sizeof defaults);
}

static int64_t output_heads(const fovea_nn_linear_attention *a) {
  return a->q_heads > a->heads ? a->q_heads : a->heads;
}

static int64_t decay_dim(const fovea_nn_linear_attention *a) {
  return a->per_dim ? a->k_dim : 1;
}

void fovea_nn_linear_attention_tensors_init_sized(fovea_nn_linear_attention_tensors *tensors, size_t struct_size,
                                                  const fovea_nn_linear_attention *attention, int64_t batch,
                                                  int64_t tokens, const void *q, const void *k, const void *v,
                                                  void *o) {
  (void)attention; /* with the strides of what runs */
  const fovea_nn_linear_attention_tensors defaults = {.struct_size = struct_size,
                                                      .batch = batch,
                                                      .tokens = tokens,
                                                      .q = q,
                                                      .k = k,
                                                      .v = v,
                                                      .o = o,
                                                      .q_strides = FOVEA_UNSET_STRIDES,
                                                      .k_strides = FOVEA_UNSET_STRIDES,
                                                      .v_strides = FOVEA_UNSET_STRIDES,
                                                      .o_strides = FOVEA_UNSET_STRIDES,
                                                      .decay_strides = FOVEA_UNSET_STRIDES,
                                                      .beta_strides = FOVEA_UNSET_STRIDES,
                                                      .past_strides = FOVEA_UNSET_STRIDES,
                                                      .present_strides = FOVEA_UNSET_STRIDES};
  fovea_nn_write_defaults(tensors, struct_size, &defaults, sizeof defaults);
}

static void resolve(fovea_nn_linear_attention *a, fovea_nn_linear_attention_tensors *t) {
  if (a->q_heads == 0) a->q_heads = a->heads;
  if (a->k_heads == 0) a->k_heads = a->heads;
  fovea_resolve_scale(&a->scale, a->k_dim);
  fovea_resolve_strides(&t->q_strides, fovea_contiguous_strides(a->q_heads, t->tokens, a->k_dim));
  fovea_resolve_strides(&t->k_strides, fovea_contiguous_strides(a->k_heads, t->tokens, a->k_dim));
  fovea_resolve_strides(&t->v_strides, fovea_contiguous_strides(a->heads, t->tokens, a->v_dim));
  fovea_resolve_strides(&t->o_strides, fovea_contiguous_strides(output_heads(a), t->tokens, a->v_dim));
  fovea_resolve_strides(&t->decay_strides, fovea_contiguous_strides(a->heads, t->tokens, decay_dim(a)));
  fovea_resolve_strides(&t->beta_strides, fovea_contiguous_strides(a->heads, t->tokens, 1));
  fovea_resolve_strides(&t->past_strides, fovea_contiguous_strides(a->heads, a->k_dim, a->v_dim));
  fovea_resolve_strides(&t->present_strides, fovea_contiguous_strides(a->heads, a->k_dim, a->v_dim));
}

static fovea_status read_arguments(const fovea_nn_linear_attention *attention,
                                   const fovea_nn_linear_attention_tensors *tensors,
                                   fovea_nn_linear_attention_call *call, fovea_error *error) {
  fovea_status status =
      fovea_nn_read_struct("attention", attention, &call->attention, sizeof call->attention, error);
  if (!status) status = fovea_nn_read_struct("tensors", tensors, &call->tensors, sizeof call->tensors, error);
  if (!status) resolve(&call->attention, &call->tensors);
  return status;
}

static fovea_status check_sizes(const fovea_nn_linear_attention_call *call, fovea_error *error) {
  const fovea_nn_linear_attention *a = &call->attention;
  const fovea_nn_linear_attention_tensors *t = &call->tensors;
  const fovea_bounded rule = {"rule", (int)a->rule, 0, FOVEA_NN_UPDATE_GATED_DELTA};
  const fovea_bounded sizes[] = {{"heads", a->heads, 1, FOVEA_LENGTH_LIMIT},
                                 {"q_heads", a->q_heads, 1, FOVEA_LENGTH_LIMIT},
                                 {"k_heads", a->k_heads, 1, FOVEA_LENGTH_LIMIT},
                                 {"k_dim", a->k_dim, 1, FOVEA_DIM_LIMIT},
                                 {"v_dim", a->v_dim, 1, FOVEA_DIM_LIMIT},
                                 {"per_dim", a->per_dim, 0, 1},
                                 {"unit", a->unit, 0, 1}};
  const fovea_bounded lengths[] = {{"batch", t->batch, 1, FOVEA_LENGTH_LIMIT},
                                   {"tokens", t->tokens, 0, FOVEA_LENGTH_LIMIT}};
  const fovea_bounded types[] = {
      fovea_bounded_type("q_type", t->q_type),         fovea_bounded_type("k_type", t->k_type),
      fovea_bounded_type("v_type", t->v_type),         fovea_bounded_type("o_type", t->o_type),
      fovea_bounded_type("decay_type", t->decay_type), fovea_bounded_type("beta_type", t->beta_type)};
  fovea_status status = fovea_validate_bounds("attention", &rule, 1, error);
  if (!status) status = fovea_validate_bounds("attention", sizes, 7, error);
  if (!status) status = fovea_validate_bounds("tensors", lengths, 2, error);
  return status ? status : fovea_validate_bounds("tensors", types, 6, error);
}

static fovea_status check_heads(const fovea_nn_linear_attention *a, fovea_error *error) {
  if (a->heads % a->k_heads != 0) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "k_heads is %jd; it must divide heads, which is %jd", a->k_heads,
                      a->heads);
  }
  if (a->heads % a->q_heads != 0 && a->q_heads % a->heads != 0) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "q_heads is %jd; it must divide heads, or be a multiple of it: %jd", a->q_heads, a->heads);
  }
  if (output_heads(a) / a->heads > INT32_MAX / 64) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "q_heads is %jd; it may be at most %jd times heads", a->q_heads,
                      (int64_t)(INT32_MAX / 64));
  }
  return FOVEA_OK;
}

/* The numbers of the description in f32. They go through memory, which stays between the changes of the
 * environment. */
static fovea_status check_numbers(fovea_nn_linear_attention_call *call, fovea_error *error) {
  const fovea_nn_linear_attention *a = &call->attention;
  volatile double scale = a->scale, eps = a->unit_eps;
  volatile float rounded_scale = 0, rounded_eps = 0;
  const fovea_float_state caller = fovea_float_begin();
  const int scale_holds = scale >= -3.4e38 && scale <= 3.4e38, eps_holds = eps >= 0 && eps <= 3.4e38;
  const int eps_is_set = eps != 1e-6;
  if (scale_holds) rounded_scale = (float)scale;
  if (eps_holds) rounded_eps = (float)eps;
  fovea_float_end(caller);
  call->scale = rounded_scale;
  call->unit_eps = rounded_eps;
  if (!scale_holds) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "scale is %g; it must be from -3.4e38 to 3.4e38", a->scale);
  }
  if (!eps_holds) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "unit_eps is %g; it must be from 0 to 3.4e38", a->unit_eps);
  }
  if (eps_is_set && !a->unit) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "unit_eps is %g and would not be used: unit is 0", a->unit_eps);
  }
  return FOVEA_OK;
}

static fovea_status check_lengths(fovea_nn_linear_attention_call *call, fovea_error *error) {
  const fovea_nn_linear_attention_tensors *t = &call->tensors;
  call->token_batch = t->cu_seqlens ? 1 : t->batch;
  if (t->cu_seqlens && t->token_lens) {
    return fovea_fail(
        error, FOVEA_ERROR_ARGUMENT,
        "cu_seqlens is given together with token_lens, the lengths for padding; one of them must be NULL");
  }
  const fovea_reach lens = {"token_lens", 0, 1, _Alignof(int64_t)},
                    packed = {"cu_seqlens", 0, 1, _Alignof(int32_t)};
  fovea_status status = t->token_lens ? fovea_validate_pointer(&lens, t->token_lens, error) : FOVEA_OK;
  if (!status && t->cu_seqlens) status = fovea_validate_pointer(&packed, t->cu_seqlens, error);
  if (status) return status;
  for (int64_t b = 0; t->token_lens && b < t->batch; b++) {
    if (t->token_lens[b] >= 0 && t->token_lens[b] <= t->tokens) continue;
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "token_lens[%jd] is %jd; it must be from 0 to %jd", b,
                      t->token_lens[b], t->tokens);
  }
  return fovea_validate_cumulative("cu_seqlens", t->cu_seqlens, t->batch, t->tokens, "tokens", error);
}

/* A tensor (batch, heads, rows, dim) as checks see it. */
typedef struct tensor {
  const char *name;
  const void *data;
  fovea_type type;
  int64_t batch, heads, rows, dim;
  fovea_strides strides;
  int absent; /* NULL is allowed, and then the type and strides are the default */
} tensor;

enum { Q, K, V, DECAY, FACTORS, BETA, SKIP, PAST, LENS, CUMULATIVE, INPUTS, O = INPUTS, PRESENT, TENSORS };

static void list_tensors(const fovea_nn_linear_attention_call *call, tensor list[TENSORS]) {
  const fovea_nn_linear_attention *a = &call->attention;
  const fovea_nn_linear_attention_tensors *t = &call->tensors;
  const fovea_strides none = {0, 0, 0};
  const int64_t n = t->tokens, h = a->heads;
  const int64_t b = call->token_batch;
  const tensor all[TENSORS] = {
      {"q", t->q, t->q_type, b, a->q_heads, n, a->k_dim, t->q_strides, 0},
      {"k", t->k, t->k_type, b, a->k_heads, n, a->k_dim, t->k_strides, 0},
      {"v", t->v, t->v_type, b, h, n, a->v_dim, t->v_strides, 0},
      {"decay", t->decay, t->decay_type, b, h, n, decay_dim(a), t->decay_strides, !t->decay},
      {"decay_factors", t->decay_factors, FOVEA_F32, 1, 1, 1, h, none, !t->decay_factors},
      {"beta", t->beta, t->beta_type, b, h, n, 1, t->beta_strides, !t->beta},
      {"skip", t->skip, FOVEA_F32, 1, 1, 1, h, none, !t->skip},
      {"past", t->past, FOVEA_F32, t->batch, h, a->k_dim, a->v_dim, t->past_strides, !t->past},
      {"token_lens", t->token_lens, FOVEA_F32, 1, 1, 1, 2 * t->batch, none, !t->token_lens}, /* two words each */
      {"cu_seqlens", t->cu_seqlens, FOVEA_F32, 1, 1, 1, t->batch + 1, none, !t->cu_seqlens},
      {"o", t->o, t->o_type, b, output_heads(a), n, a->v_dim, t->o_strides, 0},
      {"present", t->present, FOVEA_F32, t->batch, h, a->k_dim, a->v_dim, t->present_strides, !t->present}};
  memcpy(list, all, sizeof all);
}

static int same_strides(fovea_strides a, fovea_strides b) {
  return a.batch == b.batch && a.head == b.head && a.row == b.row;
}

/* Whether the strides are default ones, of any number of rows: a caller may set `tokens` later. */
static int are_default(const tensor *t) {
  const fovea_strides s = t->strides;
  return (s.batch == 0 && s.head == 0 && s.row == 0) || (s.row == t->dim && s.batch == product(t->heads, s.head));
}

/* A tensor that is not there must not have settings. */
static fovea_status check_absent(const tensor *t, fovea_error *error) {
  if (t->type == FOVEA_F32 && are_default(t)) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s_%s is set and would not be used: %s is NULL", t->name,
                    t->type != FOVEA_F32 ? "type" : "strides", t->name);
}

static fovea_status check_rule(const fovea_nn_linear_attention_call *call, fovea_error *error) {
  const fovea_nn_linear_attention_tensors *t = &call->tensors;
  const char *rule = call->is_delta ? "FOVEA_NN_UPDATE_DELTA" : "FOVEA_NN_UPDATE_LINEAR";
  if (call->is_gated) {
    if (t->decay || t->tokens == 0) return FOVEA_OK;
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "decay is NULL, but the rule has a decay");
  }
  if (t->decay || t->decay_factors) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s is set and would not be used: rule is %s",
                      t->decay ? "decay" : "decay_factors", rule);
  }
  if (call->attention.per_dim) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "per_dim is set and would not be used: rule is %s", rule);
  }
  return FOVEA_OK;
}

static fovea_shape shape_of(const tensor *t) {
  return fovea_make_shape(t->name, t->batch, t->heads, t->rows, t->dim, t->strides, fovea_type_bits(t->type));
}

/* The state may be written where it was read. */
static int may_share(const fovea_nn_linear_attention_tensors *t, int output, int input) {
  return output == PRESENT && input == PAST && t->past == t->present &&
         same_strides(t->past_strides, t->present_strides);
}

static fovea_status check_apart(const tensor *output, const tensor *other, fovea_error *error) {
  const fovea_nn_tensor a = {output->name,  output->data,   fovea_type_bits(output->type),
                             output->batch, output->heads,  output->rows,
                             output->dim,   output->strides};
  const fovea_nn_tensor b = {other->name,  other->data,   fovea_type_bits(other->type),
                             other->batch, other->heads,  other->rows,
                             other->dim,   other->strides};
  return fovea_nn_check_tensors_apart(&a, &b, error);
}

static fovea_status check_tensors(const fovea_nn_linear_attention_call *call, fovea_error *error) {
  tensor list[TENSORS];
  fovea_reach reach[TENSORS];
  fovea_status status = FOVEA_OK;
  list_tensors(call, list);
  for (int i = 0; i < TENSORS && !status; i++) {
    const fovea_shape shape = shape_of(&list[i]);
    if (list[i].absent) {
      status = check_absent(&list[i], error);
    } else if (list[i].rows > 0) {
      status = fovea_validate_strides(&shape, i >= INPUTS, &reach[i], error);
      if (!status) status = fovea_validate_pointer(&reach[i], list[i].data, error);
    }
  }
  for (int i = INPUTS; i < TENSORS && !status; i++) {
    if (list[i].absent || list[i].rows == 0) continue;
    for (int j = 0; j < i && !status; j++) {
      if (list[j].absent || list[j].rows == 0 || may_share(&call->tensors, i, j)) continue;
      status = check_apart(&list[i], &list[j], error);
    }
  }
  return status;
}

/* A stride along an axis with one place is never used, and may be any number: it becomes 0, so that no address is
 * computed with it. */
static void drop_stride(fovea_strides *strides, int64_t batch, int64_t heads, int64_t rows) {
  if (batch <= 1) strides->batch = 0;
  if (heads <= 1) strides->head = 0;
  if (rows <= 1) strides->row = 0;
}

static void drop_strides(fovea_nn_linear_attention_call *call) {
  const fovea_nn_linear_attention *a = &call->attention;
  fovea_nn_linear_attention_tensors *t = &call->tensors;
  const int64_t batch = call->token_batch;
  drop_stride(&t->q_strides, batch, a->q_heads, t->tokens);
  drop_stride(&t->k_strides, batch, a->k_heads, t->tokens);
  drop_stride(&t->v_strides, batch, a->heads, t->tokens);
  drop_stride(&t->o_strides, batch, output_heads(a), t->tokens);
  drop_stride(&t->decay_strides, batch, a->heads, t->tokens);
  drop_stride(&t->beta_strides, batch, a->heads, t->tokens);
  drop_stride(&t->past_strides, t->batch, a->heads, a->k_dim);
  drop_stride(&t->present_strides, t->batch, a->heads, a->k_dim);
}

fovea_status fovea_nn_check_linear_attention(const fovea_nn_linear_attention *attention,
                                             const fovea_nn_linear_attention_tensors *tensors,
                                             const fovea_execution *execution, fovea_nn_linear_attention_call *call,
                                             fovea_error *error) {
  fovea_status status = read_arguments(attention, tensors, call, error);
  if (!status) status = fovea_read_execution(execution, &call->execution, error);
  if (!status) status = check_sizes(call, error);
  if (!status) status = check_heads(&call->attention, error);
  if (!status) status = check_lengths(call, error);
  if (!status) status = check_numbers(call, error);
  if (status) return status;
  const fovea_nn_update_rule rule = call->attention.rule;
  call->is_gated = rule == FOVEA_NN_UPDATE_GATED || rule == FOVEA_NN_UPDATE_GATED_DELTA;
  call->is_delta = rule == FOVEA_NN_UPDATE_DELTA || rule == FOVEA_NN_UPDATE_GATED_DELTA;
  status = check_rule(call, error);
  if (!status) status = check_tensors(call, error);
  if (!status) drop_strides(call);
  return status ? status : fovea_nn_dispatch(call->execution.isa, &call->kernels, error);
}

/* Everything that a layer of attention may be refused for. */
#include "../src/base/caller.h"
#include "../src/base/error.h"
#include "../src/base/resolve.h"
#include "../src/base/validate.h"
#include "attention.h"
#include "average.h"
#include "defaults.h"
#include "fields.h"
#include "layer_parts.h"
#include "layer_scratch.h"
#include "linear.h"
#include "positions.h"
#include "scores.h"

/* The most numbers of a projection. */
#define MOST_NUMBERS (UINT64_C(1) << 57)

/* The sizes of a problem before anything is computed from them; a plan checks the rest. */
fovea_status fovea_nn_check_sizes(const fovea_problem *p, fovea_error *error) {
  const fovea_bounded sizes[] = {
      {"batch", p->batch, 1, FOVEA_LENGTH_LIMIT},       {"heads", p->heads, 1, FOVEA_LENGTH_LIMIT},
      {"kv_heads", p->kv_heads, 1, FOVEA_LENGTH_LIMIT}, {"q_len", p->q_len, 0, FOVEA_LENGTH_LIMIT},
      {"kv_len", p->kv_len, 0, FOVEA_LENGTH_LIMIT},     {"qk_dim", p->qk_dim, 1, FOVEA_DIM_LIMIT},
      {"v_dim", p->v_dim, 1, FOVEA_DIM_LIMIT}};
  const fovea_status status = fovea_validate_bounds(NULL, sizes, sizeof sizes / sizeof sizes[0], error);
  if (status) return status;
  const int64_t length = (p->q_len > p->kv_len ? p->q_len : p->kv_len) + 1;
  const int64_t heads = p->heads > p->kv_heads ? p->heads : p->kv_heads;
  const int64_t dim = p->qk_dim > p->v_dim ? p->qk_dim : p->v_dim;
  const uint64_t rows = fovea_nn_product((uint64_t)p->batch, (uint64_t)length);
  const uint64_t width = fovea_nn_product((uint64_t)heads, (uint64_t)dim);
  if (fovea_nn_product(rows, width) < MOST_NUMBERS) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                    "batch %jd, heads %jd and the lengths make projections of more than 2^57 numbers", p->batch,
                    p->heads);
}

/* A layer must have sizes that fit the heads. */
static fovea_status check_size(const char *name, const char *what, int64_t size, int64_t heads, int64_t dim,
                               const char *of, fovea_error *error) {
  if (size == heads * dim) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s.%s is %jd; the problem's %s are %jd times %jd", name, what,
                    size, of, heads, dim);
}

static fovea_status check_layers(const fovea_nn_attention *a, const fovea_problem *p, fovea_error *error) {
  fovea_status status = fovea_nn_check_layer("query", a->query, error);
  if (!status) status = fovea_nn_check_layer("output", a->output, error);
  if (status) return status;
  if ((!a->key || !a->value) && (a->key || a->value || !p->cache.segmented)) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is NULL", a->key ? "value" : "key");
  }
  status = check_size("query", "out", a->query->out, p->heads, p->qk_dim, "heads and qk_dim", error);
  if (!status) status = check_size("output", "in", a->output->in, p->heads, p->v_dim, "heads and v_dim", error);
  if (status || !a->key) return status;
  status = fovea_nn_check_layer("key", a->key, error);
  if (!status) status = fovea_nn_check_layer("value", a->value, error);
  if (!status) status = check_size("key", "out", a->key->out, p->kv_heads, p->qk_dim, "kv_heads and qk_dim", error);
  if (status) return status;
  return check_size("value", "out", a->value->out, p->kv_heads, p->v_dim, "kv_heads and v_dim", error);
}

fovea_status fovea_nn_read_attention_problem(const fovea_problem *given, fovea_nn_attention_call *call,
                                             fovea_error *error) {
  fovea_problem *p = &call->problem;
  const uint64_t known = fovea_features_of_layer(FOVEA_LAYER_ATTENTION);
  fovea_status status = fovea_copy_problem(given, p, error);
  if (!status) status = fovea_nn_check_sizes(p, error);
  if (!status) status = fovea_nn_refuse_fields(p, known, "a layer of attention has its own", error);
  if (status) return status;
  call->score_strides = p->scores.strides;
  fovea_resolve_problem(p);
  return FOVEA_OK;
}

/* The rows of the longest batch element. */
static int64_t most_rows(const fovea_problem *p) {
  int64_t most = 0;
  for (int64_t b = 0; b < p->batch; b++) {
    const int64_t rows = p->q_lens         ? p->q_lens[b]
                         : p->cu_seqlens_q ? p->cu_seqlens_q[b + 1] - (int64_t)p->cu_seqlens_q[b]
                                           : p->q_len;
    if (rows > most) most = rows;
  }
  return most;
}

/* All rows see the key of the bias: it lies before the keys that a mask has, and no rule may hide it. Lists of
 * keys' lengths do not count it. */
static fovea_status check_bias(const fovea_nn_attention *a, const fovea_problem *p, fovea_error *error) {
  const char *other;
  if (!a->bias_key && !a->bias_value) return FOVEA_OK;
  if (!a->bias_key || !a->bias_value) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is NULL; they are given both or neither",
                      a->bias_key ? "bias_value" : "bias_key");
  }
  other = fovea_nn_other_field(p, fovea_features_of_layer(FOVEA_LAYER_BIASED));
  if (p->cu_seqlens_kv) other = "cu_seqlens_kv";
  if (p->kv_lens) other = "kv_lens";
  if (p->offsets) other = "offsets";
  if (p->mask.begin != 0 || p->mask.begins) other = "mask.begin";
  if (a->rotary) other = "rotary";
  const int set = p->offset != FOVEA_OFFSET_BOTTOM_RIGHT;
  if (p->causal && set && p->offset < -1) other = "causal, and rows whose own key lies before all keys";
  if (p->causal && !set && most_rows(p) > p->kv_len)
    other = "causal and more rows than keys; set q_lens if rows are padding, or offset";
  return other ? fovea_fail(error, FOVEA_ERROR_UNUSED, "bias_key is given together with %s", other) : FOVEA_OK;
}

/* A type or a stride of a tensor that is NULL. */
static const char *unused_layout(const fovea_nn_attention_tensors *t) {
  const struct {
    const void *data;
    fovea_type type;
    int64_t stride;
    const char *type_name, *stride_name;
  } tensors[] = {{t->memory, t->memory_type, t->memory_stride, "memory_type", "memory_stride"},
                 {t->memory_values, t->memory_values_type, t->memory_values_stride, "memory_values_type",
                  "memory_values_stride"},
                 {t->residual, t->residual_type, t->residual_stride, "residual_type", "residual_stride"}};
  for (int i = 0; i < 3; i++) {
    if (tensors[i].data) continue;
    if (tensors[i].type != FOVEA_F32) return tensors[i].type_name;
    if (tensors[i].stride != FOVEA_CONTIGUOUS) return tensors[i].stride_name;
  }
  return NULL;
}

/* Settings that no step would use. */
static fovea_status check_settings(const fovea_nn_attention *a, const fovea_problem *p,
                                   const fovea_nn_attention_tensors *t, fovea_error *error) {
  const char *unused = unused_layout(t), *why = "the tensor is NULL";
  const fovea_bounded flag = {"rows_first", t->rows_first, 0, 1};
  if (t->memory && p->cache.segmented)
    unused = "memory", why = "cache.segmented is 1, so keys come from x and from the caches";
  if (t->memory_values && !t->memory) unused = "memory_values", why = "memory is NULL";
  if (t->memory_positions && !a->rotary) unused = "memory_positions", why = "there is no rotary";
  if (t->memory_positions && !t->memory) unused = "memory_positions", why = "memory is NULL";
  if (t->cache.sequences && !p->cache.segmented) unused = "cache.sequences", why = "cache.segmented is 0";
  if (t->cache.layer != 0 && !p->cache.segmented) unused = "cache.layer", why = "cache.segmented is 0";
  if (t->rows_first && (p->cu_seqlens_q || p->cu_seqlens_kv)) unused = "rows_first", why = "the batch is packed";
  if (unused) return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s is set and would not be used: %s", unused, why);
  const fovea_status status =
      fovea_nn_refuse_unused_positions(t->first_position, t->first_positions, t->rotary_positions,
                                       a->rotary != NULL, p->cache.segmented && a->key, error);
  return status ? status : fovea_validate_bounds(NULL, &flag, 1, error);
}

/* Without a memory, keys and values are made of x: as many rows, as wide. */
static fovea_status check_tensors(const fovea_nn_attention *a, const fovea_problem *p,
                                  const fovea_nn_attention_tensors *t, fovea_error *error) {
  if (!a->key) return FOVEA_OK;
  if (!t->memory && a->key->in != a->query->in) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "key.in is %jd and query.in is %jd: they differ, but memory is NULL", a->key->in,
                      a->query->in);
  }
  if (!t->memory_values && a->value->in != a->key->in) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "value.in is %jd and key.in is %jd: they differ, but memory_values is NULL", a->value->in,
                      a->key->in);
  }
  if (t->memory || p->cache.segmented) return FOVEA_OK;
  if (p->q_len != p->kv_len) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "q_len is %jd and kv_len is %jd: they differ, but memory is NULL", p->q_len, p->kv_len);
  }
  if (!p->cu_seqlens_q == !p->cu_seqlens_kv) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                    "%s is NULL, but not the other list of lengths, and memory is NULL",
                    p->cu_seqlens_q ? "cu_seqlens_kv" : "cu_seqlens_q");
}

static fovea_strides strides_of(const fovea_nn_heads *heads, int64_t batch, int64_t length, int rows_first) {
  const int64_t width = heads->heads * heads->dim;
  if (rows_first) return (fovea_strides){width, heads->dim, batch * width};
  return (fovea_strides){length * width, heads->dim, width};
}

/* The key of the bias comes first, so that the others are at positions 1 and after. */
static void make_room_for_bias(fovea_problem *p) {
  p->kv_len++;
  if (p->keys.end != FOVEA_UNLIMITED) p->keys.end = p->kv_len;
  if (p->offset != FOVEA_OFFSET_BOTTOM_RIGHT) p->offset++;
  if (p->mask.type) p->mask.begin = 1;
}

void fovea_nn_place_heads(fovea_problem *p, int rows_first, fovea_nn_attention_call *call) {
  if (call->attention.bias_key) make_room_for_bias(p);
  const int64_t new_rows = p->cache.segmented ? p->q_len : p->kv_len; /* keys and values of a batch element */
  const int64_t rows = p->cu_seqlens_q ? p->q_len : p->batch * p->q_len;
  const int packed_keys = p->cache.segmented ? p->cu_seqlens_q != NULL : p->cu_seqlens_kv != NULL;
  const int64_t key_rows = packed_keys ? new_rows : p->batch * new_rows;
  call->q = (fovea_nn_heads){rows, p->heads, p->qk_dim, NULL};
  call->o = (fovea_nn_heads){rows, p->heads, p->v_dim, NULL};
  call->k = (fovea_nn_heads){key_rows, p->kv_heads, p->qk_dim, NULL};
  call->v = (fovea_nn_heads){key_rows, p->kv_heads, p->v_dim, NULL};
  p->q_strides = strides_of(&call->q, p->batch, p->q_len, rows_first);
  p->o_strides = strides_of(&call->o, p->batch, p->q_len, rows_first);
  p->k_strides = strides_of(&call->k, p->batch, new_rows, rows_first);
  p->v_strides = strides_of(&call->v, p->batch, new_rows, rows_first);
  fovea_nn_place_scores(call);
}

static void complete(fovea_nn_attention_tensors *t, const fovea_nn_attention *a) {
  const int64_t key_in = a->key ? a->key->in : 0, value_in = a->value ? a->value->in : 0;
  if (!t->memory) {
    t->memory = t->x;
    t->memory_type = t->x_type;
    t->memory_stride = t->x_stride;
  }
  if (!t->memory_values) {
    t->memory_values = t->memory;
    t->memory_values_type = t->memory_type;
    t->memory_values_stride = t->memory_stride;
  }
  fovea_resolve_stride(&t->x_stride, a->query->in);
  fovea_resolve_stride(&t->memory_stride, key_in);
  fovea_resolve_stride(&t->memory_values_stride, value_in);
  fovea_resolve_stride(&t->y_stride, a->output->out);
  fovea_resolve_stride(&t->residual_stride, a->output->out);
}

static fovea_nn_matrix memory_of(const fovea_nn_attention_call *call, int values) {
  const fovea_nn_attention_tensors *t = &call->tensors;
  const fovea_nn_attention *a = &call->attention;
  if (values)
    return (fovea_nn_matrix){"memory_values",   t->memory_values, t->memory_values_type,
                             call->memory_rows, a->value->in,     t->memory_values_stride};
  return (fovea_nn_matrix){"memory", t->memory, t->memory_type, call->memory_rows, a->key->in, t->memory_stride};
}

static fovea_status check_memory(const fovea_nn_attention_call *call, fovea_error *error) {
  if (call->from_rows || !call->attention.key) return FOVEA_OK;
  const fovea_nn_matrix keys = memory_of(call, 0), values = memory_of(call, 1);
  const fovea_status status = fovea_nn_check_matrix(&keys, 0, error);
  return status ? status : fovea_nn_check_matrix(&values, 0, error);
}

/* Queries, and keys without a memory, are at the positions of the rows; keys of a memory are counted. */
static fovea_status check_rotary(const fovea_nn_attention_call *call, fovea_error *error) {
  const fovea_nn_attention_tensors *t = &call->tensors;
  const fovea_problem *p = &call->problem;
  const fovea_rotary *rotary = call->attention.rotary;
  const fovea_nn_positions rows = {.batch = p->batch,
                                   .length = p->q_len,
                                   .cu_seqlens = p->cu_seqlens_q,
                                   .first = t->first_position,
                                   .firsts = t->first_positions,
                                   .rotary = t->rotary_positions};
  const fovea_nn_positions keys = {.batch = p->batch,
                                   .length = p->kv_len,
                                   .cu_seqlens = p->cu_seqlens_kv,
                                   .rotary = t->memory_positions,
                                   .rotary_name = "memory_positions"};
  if (!rotary) return FOVEA_OK;
  const fovea_status status = fovea_nn_check_rotary(rotary, p->qk_dim, &rows, error);
  if (status || call->from_rows || p->cache.segmented) return status;
  return fovea_nn_check_rotary(rotary, p->qk_dim, &keys, error);
}

fovea_status fovea_nn_check_read_places(const fovea_nn_attention_call *call, fovea_error *error) {
  const fovea_nn_attention_tensors *t = &call->tensors;
  const fovea_nn_matrix written[] = {{"y", t->y, t->y_type, call->q.rows, call->attention.output->out, t->y_stride},
                                     fovea_nn_scratch_of(call->execution.scratch, call->execution.scratch_size)};
  fovea_nn_matrix parts[FOVEA_NN_ATTENTION_PARTS];
  const int count = fovea_nn_add_positions(call, parts, fovea_nn_add_attention(&call->attention, parts, 0));
  fovea_status status = FOVEA_OK;
  for (int i = 0; i < 2 && !status; i++) {
    if (!written[i].data) continue;
    status = fovea_nn_check_matrix(&written[i], 0, error);
    for (int j = 0; j < count && !status; j++) status = fovea_nn_check_apart(&written[i], &parts[j], error);
  }
  return status;
}

/* What outputs must lie apart from. What is not there, or is checked by the step that takes it, has no data. */
static fovea_status check_output_places(const fovea_nn_attention_call *call, fovea_error *error) {
  const fovea_nn_attention *a = &call->attention;
  const fovea_nn_attention_tensors *t = &call->tensors;
  const int64_t rows = call->q.rows, out = a->output->out;
  fovea_nn_matrix parts[FOVEA_NN_ATTENTION_PARTS];
  const int with_memory = !call->from_rows && a->key;
  const int count = fovea_nn_add_positions(call, parts, fovea_nn_add_attention(a, parts, 0));
  const fovea_nn_matrix none = {"memory", NULL, FOVEA_F32, 0, 0, 0};
  const fovea_nn_matrix tensors[] = {
      {"x", t->x, t->x_type, rows, a->query->in, t->x_stride},
      with_memory ? memory_of(call, 0) : none,
      with_memory ? memory_of(call, 1) : none,
      {"residual", t->residual, t->residual_type, rows, out, t->residual_stride},
      {"y", t->y, t->y_type, rows, out, t->y_stride},
      {"sink", t->sink, FOVEA_F32, 1, call->problem.heads, 0},
  };
  const fovea_nn_matrix scratch = fovea_nn_scratch_of(call->execution.scratch, call->execution.scratch_size);
  fovea_status status = fovea_nn_check_outputs_apart(call->outputs, &scratch, 1, error);
  for (int i = 0; i < 6 && !status; i++) {
    if (!tensors[i].data) continue;
    status = fovea_nn_check_matrix(&tensors[i], 0, error);
    if (!status) status = fovea_nn_check_outputs_apart(call->outputs, &tensors[i], 1, error);
  }
  if (!status) status = fovea_nn_check_outputs_apart(call->outputs, parts, count, error);
  if (!status) status = fovea_nn_check_averages(call, error);
  return status;
}

fovea_status fovea_nn_check_attention(const fovea_nn_attention *attention, const fovea_problem *problem,
                                      const fovea_nn_attention_tensors *tensors, const fovea_execution *execution,
                                      fovea_nn_attention_call *call, fovea_error *error) {
  fovea_nn_attention *a = &call->attention;
  fovea_status status = fovea_nn_read_attention("attention", attention, a, error);
  if (!status) status = fovea_nn_read_attention_problem(problem, call, error);
  if (!status) status = fovea_nn_read_attention_tensors(tensors, &call->tensors, error);
  if (!status) status = fovea_read_execution(execution, &call->execution, error);
  if (!status) status = check_layers(a, &call->problem, error);
  if (!status) status = check_bias(a, &call->problem, error);
  if (!status) status = check_settings(a, &call->problem, &call->tensors, error);
  if (!status) status = check_tensors(a, &call->problem, &call->tensors, error);
  if (status) return status;
  call->from_rows = call->tensors.memory == NULL;
  call->memory_rows =
      call->problem.cu_seqlens_kv ? call->problem.kv_len : call->problem.batch * call->problem.kv_len;
  complete(&call->tensors, a);
  status = check_memory(call, error);
  if (!status) status = check_rotary(call, error);
  if (status) return status;
  fovea_nn_place_heads(&call->problem, call->tensors.rows_first, call);
  status = fovea_nn_check_outputs(call, error);
  return status || !fovea_nn_has_outputs(call->outputs) ? status : check_output_places(call, error);
}

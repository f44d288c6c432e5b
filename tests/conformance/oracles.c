/* Other libraries' attention modules as calls into the library. The projections around the attention, of tokens to
 * Q, K and V and of O to the output, are computed here in double precision. */
#include "call.h"

#include <math.h>
#include <string.h>

static const float *floats(const struct array *array) {
  return array ? array->data : NULL;
}

float *call_project(struct call *call, const struct array *tokens, const float *weight, const float *bias,
                    int64_t out, int64_t spare) {
  const int64_t batches = tokens->shape[0], rows = tokens->shape[1], in = tokens->shape[2];
  float *projected = call_memory(call, batches * (rows + spare) * out, sizeof *projected);
  for (int64_t batch = 0; batch < batches; batch++)
    for (int64_t row = 0; row < rows; row++)
      for (int64_t i = 0; i < out; i++) {
        const float *token = floats(tokens) + (batch * rows + row) * in;
        double sum = bias ? (double)bias[i] : 0.0;
        for (int64_t j = 0; j < in; j++) sum += (double)token[j] * (double)weight[i * in + j];
        projected[(batch * (rows + spare) + row) * out + i] = (float)sum;
      }
  return projected;
}

void call_describe(struct call *call, const struct array *tokens, int64_t heads, int64_t kv_heads, int64_t keys,
                   int64_t dim) {
  fovea_problem *problem = &call->problem;
  const int64_t rows = tokens->shape[1];
  fovea_problem_init(problem, tokens->shape[0], heads, kv_heads, rows, keys, dim, dim);
  problem->q_strides = problem->o_strides = fovea_strides_rows_before_heads(rows, heads, dim);
  problem->k_strides = problem->v_strides = fovea_strides_rows_before_heads(keys, kv_heads, dim);
}

/* torch's masks are over (rows, keys), or over (batch, keys) for padding. In a mask of bools, true hides a key. */
static void take_torch_mask(struct call *call, const struct array *mask, bool padding) {
  fovea_problem *problem = &call->problem;
  const int64_t batch = padding ? mask->shape[0] : 1, rows = padding ? 1 : mask->shape[0], keys = mask->shape[1];
  problem->mask.type = mask->element == ELEMENT_BOOL ? FOVEA_MASK_BOOL : FOVEA_MASK_F32;
  problem->mask.strides = fovea_mask_layout(problem->mask.type, batch, 1, rows, keys);
  call->tensors.mask = mask->data;
  if (mask->element != ELEMENT_BOOL) return;
  unsigned char *seen = call_memory(call, mask->count, 1);
  for (int64_t i = 0; i < mask->count; i++) seen[i] = !((const unsigned char *)mask->data)[i];
  call->tensors.mask = seen;
}

/* bias_k and bias_v of torch.nn.MultiheadAttention: one more key for every batch element. */
static void append_key(float *projected, const float *key, int64_t batches, int64_t keys, int64_t width) {
  for (int64_t batch = 0; batch < batches; batch++)
    for (int64_t i = 0; i < width; i++) projected[((batch + 1) * keys - 1) * width + i] = key[i];
}

bool prepare_multi_head(const struct test_case *test, struct call *call) {
  const struct array *query = case_input(test, "query"), *key = case_input(test, "key"),
                     *value = case_input(test, "value"), *mask = case_input(test, "attn_mask"),
                     *padding = case_input(test, "key_padding_mask"), *bias_k = case_input(test, "bias_k"),
                     *bias_v = case_input(test, "bias_v");
  const int64_t width = query->shape[2], heads = (int64_t)case_number(test, "num_heads", 1);
  if (case_number(test, "add_zero_attn", 0) != 0) return CALL_REFUSED(call, "add_zero_attn is not known");
  if ((mask && padding) || (bias_k && (mask || padding)))
    return CALL_REFUSED(call, "attn_mask, key_padding_mask and bias_k are not combined here");
  const float *weight = floats(case_input(test, "in_proj_weight")),
              *bias = floats(case_input(test, "in_proj_bias"));
  const int64_t spare = bias_k ? 1 : 0, keys = key->shape[1] + spare;
  const float *q = call_project(call, query, weight, bias, width, 0);
  float *k = call_project(call, key, weight + width * width, bias ? bias + width : NULL, width, spare);
  float *v = call_project(call, value, weight + 2 * width * width, bias ? bias + 2 * width : NULL, width, spare);
  if (bias_k) {
    append_key(k, floats(bias_k), key->shape[0], keys, width);
    append_key(v, floats(bias_v), key->shape[0], keys, width);
    call_note(call, "bias_k and bias_v as one more key");
  }
  call_describe(call, query, heads, heads, keys, width / heads);
  fovea_tensors_init(&call->tensors, q, k, v, NULL, NULL);
  if (mask) take_torch_mask(call, mask, false);
  if (padding) take_torch_mask(call, padding, true);
  call->expected = case_output(test, "y");
  call->out_weight = case_input(test, "out_proj_weight");
  call->out_bias = case_input(test, "out_proj_bias");
  return true;
}

/* Linformer sums up the keys and values of all positions in a fixed number of them: (batch, rows, width) becomes
 * (batch, keys, width), by weights (rows, keys). */
static float *sum_up(struct call *call, const float *tokens, int64_t batches, int64_t rows, int64_t width,
                     const struct array *weights) {
  const int64_t keys = weights->shape[1];
  float *sums = call_memory(call, batches * keys * width, sizeof *sums);
  for (int64_t batch = 0; batch < batches; batch++)
    for (int64_t key = 0; key < keys; key++)
      for (int64_t i = 0; i < width; i++) {
        double sum = 0.0;
        for (int64_t row = 0; row < rows; row++)
          sum += (double)floats(weights)[row * keys + key] * (double)tokens[(batch * rows + row) * width + i];
        sums[(batch * keys + key) * width + i] = (float)sum;
      }
  return sums;
}

bool prepare_linformer(const struct test_case *test, struct call *call) {
  const struct array *x = case_input(test, "x"), *k_weight = case_input(test, "to_k_weight"),
                     *v_weight = case_input(test, "to_v_weight"), *k_sums = case_input(test, "proj_k"),
                     *v_sums = case_input(test, "proj_v");
  const int64_t batches = x->shape[0], rows = x->shape[1], width = x->shape[2], kv_width = k_weight->shape[0];
  const int64_t heads = (int64_t)case_number(test, "num_heads", 1), dim = width / heads;
  const float *q = call_project(call, x, floats(case_input(test, "to_q_weight")), NULL, width, 0);
  const float *k = call_project(call, x, floats(k_weight), NULL, kv_width, 0);
  const float *v = v_weight ? call_project(call, x, floats(v_weight), NULL, kv_width, 0) : k;
  k = sum_up(call, k, batches, rows, kv_width, k_sums);
  v = sum_up(call, v, batches, rows, kv_width, v_sums ? v_sums : k_sums);
  call_describe(call, x, heads, kv_width / dim, k_sums->shape[1], dim);
  fovea_tensors_init(&call->tensors, q, k, v, NULL, NULL);
  call->expected = case_output(test, "y");
  call->out_weight = case_input(test, "to_out_weight");
  call->out_bias = case_input(test, "to_out_bias");
  return true;
}

static float *narrowed(struct call *call, const struct array *array) {
  float *numbers = call_memory(call, array->count, sizeof *numbers);
  for (int64_t i = 0; i < array->count; i++) numbers[i] = (float)((const double *)array->data)[i];
  return numbers;
}

/* Products of features that are not negative are weights, divided by their sum: ReLU changes none of them. */
static bool prepare_features(const struct test_case *test, struct call *call) {
  const struct array *q = case_output(test, "q_features"), *k = case_output(test, "k_features");
  const struct array *v = case_input(test, "v");
  fovea_problem_init(&call->problem, q->shape[0], q->shape[1], k->shape[1], q->shape[2], k->shape[2], q->shape[3],
                     v->shape[3]);
  call->problem.scale = 1.0;
  call->problem.normaliser.kind = FOVEA_NORMALISER_RELU;
  call->problem.normaliser.divisor = FOVEA_DIVISOR_SUM;
  fovea_tensors_init(&call->tensors, narrowed(call, q), narrowed(call, k), v->data, NULL, NULL);
  call->expected = case_output(test, "y");
  call_note(call, "attention over the features of Q and K, with ReLU instead of the softmax");
  return call->expected != NULL;
}

/* Performer approximates. Its cases also have the exact answer; the answer by ReLU's features is compared
 * itself. */
bool prepare_performer(const struct test_case *test, struct call *call) {
  const struct array *q = case_input(test, "q"), *k = case_input(test, "k"), *v = case_input(test, "v");
  if (strstr(test->name, "relu") != NULL) return prepare_features(test, call);
  fovea_problem_init(&call->problem, q->shape[0], q->shape[1], k->shape[1], q->shape[2], k->shape[2], q->shape[3],
                     v->shape[3]);
  fovea_tensors_init(&call->tensors, q->data, k->data, v->data, NULL, NULL);
  call->expected = case_output(test, "exact_softmax");
  call_note(call, "only exact_softmax is compared, not its approximation");
  return call->expected != NULL;
}

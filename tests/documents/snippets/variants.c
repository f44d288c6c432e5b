#include "around.h"

static void linear_attention(void) {
  const fovea_error error = {.text = ""}; /* the page passes none */
  const int64_t tokens = 5;
  const float *q = numbers_of(tokens * 16 * 128), *k = numbers_of(tokens * 16 * 128),
              *v = numbers_of(tokens * 32 * 128);
  const float *beta = numbers_of(32 * tokens);
  float *o = numbers_of(tokens * 32 * 128), *decay = numbers_of(32 * tokens),
        *state = malloc(32 * 128 * 128 * sizeof(float));
  for (int64_t i = 0; i < 32 * tokens; i++) decay[i] = -fabsf(decay[i]);
  /* snippet 1 */
  computed(o, tokens * 32 * 128);
  computed(state, 32 * 128 * 128);
}

static void performer_attention(void) {
  const int64_t batch = 2, heads = 3, length = 20;
  const int64_t all = batch * heads * length * 64;
  fovea_status status = FOVEA_OK;
  fovea_error error = {.text = ""};
  const float *q = numbers_of(all), *k = numbers_of(all), *v = numbers_of(all);
  float *o = numbers_of(all);
  /* snippet 2 */
  computed(o, all);
}

static void longformer_layer(void) {
  enum { batch = 1, heads = 2, dim = heads * 64 };
  fovea_status status = FOVEA_OK;
  fovea_error error = {.text = ""};
  fovea_execution execution;
  fovea_execution_init(&execution);
  fovea_nn_linear query, key, value, global_query, global_key, global_value, output;
  fovea_nn_linear *const all[] = {&query, &key, &value, &global_query, &global_key, &global_value, &output};
  for (int i = 0; i < 7; i++) linear_layer(all[i], dim, dim);
  int8_t *states = malloc(batch * 4096);
  states[0] = 1;
  memset(states + 4000, -1, 96);
  const float *x = numbers_of(batch * 4096 * dim);
  float *y = numbers_of(batch * 4096 * dim);
  /* snippet 3 */
  computed(y, batch * 4000 * dim);
  fovea_nn_longformer_destroy(longformer);
}

static void bigbird_blocks(void) {
  fovea_status status = FOVEA_OK;
  fovea_error error = {.text = ""};
  fovea_problem problem;
  fovea_tensors tensors;
  const int64_t all = 12 * 4096 * 4;
  float *o = numbers_of(all);
  fovea_problem_init(&problem, 1, 12, 12, 4096, 4096, 4, 4);
  fovea_tensors_init(&tensors, numbers_of(all), numbers_of(all), numbers_of(all), o, NULL);
  /* snippet 4 */
  worked(fovea_attend(&problem, &tensors, NULL, &error), error.text, __LINE__);
  computed(o, all);
  fovea_pattern_destroy(pattern);
}

static void lsh_attention(void) {
  const int64_t batch = 1, heads = 2, length = 512, dim = 16, buckets = length / 64;
  fovea_status status = FOVEA_OK;
  fovea_error error = {.text = ""};
  fovea_execution execution;
  fovea_execution_init(&execution);
  const int64_t all = batch * heads * length * dim;
  const float *qk = numbers_of(all), *v = numbers_of(all), *rotations = numbers_of(dim * 4 * (buckets / 2));
  float *y = numbers_of(all);
  /* snippet 5 */
  computed(y, all);
}

static void selected_keys(void) {
  const int64_t rows = 4, keys = 2100;
  fovea_error error = {.text = ""};
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_pattern_options options;
  fovea_pattern *pattern;
  const float *index_q = numbers_of(64 * rows * 128), *index_k = numbers_of(keys * 128),
              *index_weights = numbers_of(rows * 64);
  int64_t *lists = guarded(sizeof(int64_t), (size_t)(rows * 2048) * sizeof(int64_t));
  float *o = numbers_of(rows * 16);
  fovea_problem_init(&problem, 1, 1, 1, rows, keys, 16, 16);
  fovea_tensors_init(&tensors, numbers_of(rows * 16), numbers_of(keys * 16), numbers_of(keys * 16), o, NULL);
  /* snippet 6 */
  worked(fovea_attend(&problem, &tensors, NULL, &error), error.text, __LINE__);
  computed(o, rows * 16);
  fovea_pattern_destroy(pattern);
}

static void linformer_attention(void) {
  const int64_t max_len = 300, rows = 280, dim = 16;
  fovea_error error = {.text = ""};
  fovea_problem problem;
  fovea_tensors tensors;
  const float *e = weights_of(max_len * 256), *f = weights_of(max_len * 256);
  float *o = numbers_of(rows * dim);
  fovea_problem_init(&problem, 1, 1, 1, rows, rows, dim, dim);
  fovea_tensors_init(&tensors, numbers_of(rows * dim), numbers_of(rows * dim), numbers_of(rows * dim), o, NULL);
  /* snippet 7 */
  computed(o, rows * dim);
}

static void latent_attention(void) {
  const int64_t batch = 1, new_rows = 2, keys = 5, hidden = 64;
  fovea_error error = {.text = ""};
  fovea_problem problem;
  fovea_nn_linear q_a, q_b, kv_a, kv_b, o;
  fovea_nn_norm q_norm, kv_norm;
  fovea_rotary rotary;
  linear_layer(&q_a, hidden, 48);
  linear_layer(&q_b, 48, 128 * (128 + 64));
  linear_layer(&kv_a, hidden, 512 + 64);
  linear_layer(&kv_b, 512, 128 * (128 + 128));
  linear_layer(&o, 128 * 128, hidden);
  fovea_nn_norm_init(&q_norm, FOVEA_NN_RMS_NORM, 48);
  fovea_nn_norm_init(&kv_norm, FOVEA_NN_RMS_NORM, 512);
  fovea_rotary_init(&rotary, FOVEA_ROTARY_INTERLEAVED, 64);
  fovea_nn_latent of_form;
  fovea_nn_latent_init(&of_form, 128, 512, 128, 64, 128);
  of_form.q_a_proj = &q_a, of_form.q_a_layernorm = &q_norm, of_form.q_b_proj = &q_b;
  of_form.kv_a_proj = &kv_a, of_form.kv_a_layernorm = &kv_norm, of_form.kv_b_proj = &kv_b, of_form.o_proj = &o;
  int64_t elements = 0;
  worked(fovea_nn_latent_absorbed_elements(&of_form, &elements, &error), error.text, __LINE__);
  float *absorbed = malloc((size_t)elements * sizeof(float));
  worked(fovea_nn_latent_absorb(&of_form, absorbed, &error), error.text, __LINE__);
  const int64_t row = 512 + 64;
  float *cache = numbers_of(keys * row), *y = numbers_of(new_rows * hidden);
  fovea_segment segment = {.rows = keys, .k = cache, .v = cache, .k_row = row, .v_row = row};
  const fovea_sequence sequence = fovea_sequence_of(&segment, 1), *sequences = &sequence;
  fovea_nn_latent_tensors tensors;
  fovea_nn_latent_tensors_init(&tensors, numbers_of(new_rows * hidden), y);
  /* snippet 8 */
  computed(y, new_rows * hidden);
}

static void differential_attention(void) {
  const int64_t heads = 2, rows = 10, dim = 16, v_dim = 32;
  const double lambda_init = 0.2;
  fovea_error error = {.text = ""};
  fovea_problem problem;
  fovea_tensors first, second;
  const float *lambda_q1 = weights_of(dim), *lambda_k1 = weights_of(dim), *lambda_q2 = weights_of(dim);
  const float *lambda_k2 = weights_of(dim), *subln = numbers_of(v_dim);
  const float *q = numbers_of(rows * 2 * heads * dim), *k = numbers_of(rows * 2 * heads * dim);
  const float *v = numbers_of(rows * heads * v_dim);
  float *o = numbers_of(rows * heads * v_dim);
  fovea_problem_init(&problem, 1, heads, heads, rows, rows, dim, v_dim);
  problem.q_strides = problem.k_strides = fovea_strides_rows_before_heads(rows, 2 * heads, dim);
  problem.v_strides = problem.o_strides = fovea_strides_rows_before_heads(rows, heads, v_dim);
  /* snippet 9 */
  computed(o, rows * heads * v_dim);
}

static void graph_attention(void) {
  enum { nodes = 4, heads = 2, dim = 8 };
  const int64_t edge_starts[nodes + 1] = {0, 2, 3, 6, 8}, edge_sources[8] = {0, 1, 1, 0, 2, 3, 3, 1};
  fovea_status status = FOVEA_OK;
  fovea_error error = {.text = ""};
  const float *att_dst = numbers_of(heads * dim), *att_src = numbers_of(heads * dim),
              *bias = numbers_of(heads * dim);
  const float *projected = numbers_of(nodes * heads * dim);
  float *y = numbers_of(nodes * heads * dim), *weights = numbers_of(8 * heads);
  /* snippet 10 */
  computed(y, nodes * heads * dim);
  computed(weights, 8 * heads);
}

int main(void) {
  linear_attention();
  performer_attention();
  longformer_layer();
  bigbird_blocks();
  lsh_attention();
  selected_keys();
  linformer_attention();
  latent_attention();
  differential_attention();
  graph_attention();
  return 0;
}

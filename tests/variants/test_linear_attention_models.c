/* Linear attention as models have it: Gated DeltaNet and Mamba-2 in float64, and ONNX's own cases. */
#include "conformance/case.h"
#include "support/check.h"
#include "support/generator.h"

#include <fovea/linear_attention.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The formulas in double, with the same formulas of absolute values, which bound what roundings do: each of about
 * `steps` roundings adds at most 2^-24 of them. */
struct model {
  double state[40 * 72], size[40 * 72];
};

static double absolute(double x) {
  return x < 0 ? -x : x;
}

static void model_token(struct model *m, int64_t k_dim, int64_t v_dim, const double *g, const double *k,
                        const double *v, double beta, int is_delta) {
  for (int64_t c = 0; c < v_dim; c++) {
    double r = 0, r_size = 0;
    for (int64_t d = 0; d < k_dim; d++) {
      m->state[d * v_dim + c] *= g[d];
      m->size[d * v_dim + c] *= g[d];
      r += k[d] * m->state[d * v_dim + c];
      r_size += absolute(k[d]) * m->size[d * v_dim + c];
    }
    const double u = beta * (is_delta ? v[c] - r : v[c]);
    const double u_size = absolute(beta) * (is_delta ? absolute(v[c]) + r_size : absolute(v[c]));
    for (int64_t d = 0; d < k_dim; d++) {
      m->state[d * v_dim + c] += k[d] * u;
      m->size[d * v_dim + c] += absolute(k[d]) * u_size;
    }
  }
}

static void assert_near(double actual, double expected, double size, double steps) {
  if (absolute(actual - expected) > steps * 0x1p-24 * size + 1e-30)
    fail_msg("%g is not near %g: %g > %g", actual, expected, absolute(actual - expected), steps * 0x1p-24 * size);
}

/* Gated DeltaNet as Qwen3-Next has it: fewer heads of q and k, each row of length 1, one decay for a token of a
 * head. A rounding of one step goes on to all later ones, so the bound grows with the tokens. */
static void test_gated_deltanet(void **state) {
  enum { TOKENS = 6, K = 40, V = 72, HEADS = 4, KEYS = 2 };
  (void)state;
  struct generator generator = {98};
  static struct model m;
  float q[KEYS][TOKENS][K], k[KEYS][TOKENS][K], v[HEADS][TOKENS][V], o[HEADS][TOKENS][V];
  float decay[HEADS][TOKENS], beta[HEADS][TOKENS];
  for (int i = 0; i < KEYS * TOKENS * K; i++) (&q[0][0][0])[i] = generator_uniform(&generator);
  for (int i = 0; i < KEYS * TOKENS * K; i++) (&k[0][0][0])[i] = generator_uniform(&generator);
  for (int i = 0; i < HEADS * TOKENS * V; i++) (&v[0][0][0])[i] = generator_uniform(&generator);
  for (int i = 0; i < HEADS * TOKENS; i++) (&decay[0][0])[i] = -fabsf(generator_uniform(&generator));
  for (int i = 0; i < HEADS * TOKENS; i++) (&beta[0][0])[i] = fabsf(generator_uniform(&generator));
  fovea_nn_linear_attention a;
  fovea_nn_linear_attention_tensors t;
  fovea_nn_linear_attention_init(&a, FOVEA_NN_UPDATE_GATED_DELTA, HEADS, K, V);
  a.q_heads = a.k_heads = KEYS;
  a.unit = 1;
  fovea_nn_linear_attention_tensors_init(&t, &a, 1, TOKENS, q, k, v, o);
  t.decay = decay;
  t.beta = beta;
  assert_int_equal(fovea_nn_linear_attention_run(&a, &t, NULL, NULL), FOVEA_OK);
  for (int h = 0; h < HEADS; h++) {
    const int kh = h / (HEADS / KEYS);
    memset(&m, 0, sizeof m);
    for (int i = 0; i < TOKENS; i++) {
      double g[K], key[K], query[K], value[V], key_squares = 1e-6, query_squares = 1e-6;
      for (int d = 0; d < K; d++) key_squares += (double)k[kh][i][d] * (double)k[kh][i][d];
      for (int d = 0; d < K; d++) query_squares += (double)q[kh][i][d] * (double)q[kh][i][d];
      for (int d = 0; d < K; d++) {
        g[d] = exp((double)decay[h][i]);
        key[d] = (double)k[kh][i][d] / sqrt(key_squares);
        query[d] = (double)q[kh][i][d] / sqrt(query_squares);
      }
      for (int c = 0; c < V; c++) value[c] = (double)v[h][i][c];
      model_token(&m, K, V, g, key, value, (double)beta[h][i], 1);
      for (int c = 0; c < V; c++) {
        double sum = 0, size = 0;
        for (int d = 0; d < K; d++) sum += query[d] * m.state[d * V + c];
        for (int d = 0; d < K; d++) size += absolute(query[d]) * m.size[d * V + c];
        assert_near((double)o[h][i][c], sum / sqrt(K), size / sqrt(K), (i + 2) * (K + 30));
      }
    }
  }
}

/* Mamba-2's recurrence in its own words: h of (head_dim, state_dim), dt and A, B and C in groups, D. */
static void test_mamba(void **state) {
  enum { TOKENS = 20, N = 32, P = 48, HEADS = 6, GROUPS = 2 };
  (void)state;
  struct generator generator = {99};
  static double h[P][N], size[P][N];
  static float x[TOKENS][HEADS][P], B[TOKENS][GROUPS][N], C[TOKENS][GROUPS][N], dt[TOKENS][HEADS],
      y[TOKENS][HEADS][P];
  float A[HEADS], D[HEADS];
  for (int i = 0; i < TOKENS * HEADS * P; i++) (&x[0][0][0])[i] = generator_uniform(&generator);
  for (int i = 0; i < TOKENS * GROUPS * N; i++) (&B[0][0][0])[i] = generator_uniform(&generator);
  for (int i = 0; i < TOKENS * GROUPS * N; i++) (&C[0][0][0])[i] = generator_uniform(&generator);
  for (int i = 0; i < TOKENS * HEADS; i++) (&dt[0][0])[i] = 0.1f * fabsf(generator_uniform(&generator));
  for (int i = 0; i < HEADS; i++) A[i] = -1 - (float)i;
  for (int i = 0; i < HEADS; i++) D[i] = generator_uniform(&generator);
  fovea_nn_linear_attention a;
  fovea_nn_linear_attention_tensors t;
  fovea_nn_linear_attention_init(&a, FOVEA_NN_UPDATE_GATED, HEADS, N, P);
  a.q_heads = a.k_heads = GROUPS;
  a.scale = 1;
  fovea_nn_linear_attention_tensors_init(&t, &a, 1, TOKENS, C, B, x, y);
  t.q_strides = t.k_strides = (fovea_strides){TOKENS * GROUPS * N, N, GROUPS * N};
  t.v_strides = t.o_strides = (fovea_strides){TOKENS * HEADS * P, P, HEADS * P};
  t.decay = t.beta = dt;
  t.decay_strides = t.beta_strides = (fovea_strides){TOKENS * HEADS, 1, HEADS};
  t.decay_factors = A;
  t.skip = D;
  assert_int_equal(fovea_nn_linear_attention_run(&a, &t, NULL, NULL), FOVEA_OK);
  for (int head = 0; head < HEADS; head++) {
    const int group = head / (HEADS / GROUPS);
    memset(h, 0, sizeof h);
    memset(size, 0, sizeof size);
    for (int i = 0; i < TOKENS; i++) {
      const double step = (double)dt[i][head], decay = exp(step * (double)A[head]);
      for (int p = 0; p < P; p++) {
        const double value = (double)x[i][head][p];
        double sum = (double)D[head] * value, sum_size = absolute(sum);
        for (int n = 0; n < N; n++) {
          const double added = step * (double)B[i][group][n] * value;
          h[p][n] = decay * h[p][n] + added;
          size[p][n] = decay * size[p][n] + absolute(added);
          sum += (double)C[i][group][n] * h[p][n];
          sum_size += absolute((double)C[i][group][n]) * size[p][n];
        }
        assert_near((double)y[i][head][p], sum, sum_size, 4 * (i + 1) + N + 10);
      }
    }
  }
}

static float *numbers(int64_t count) {
  float *all = calloc((size_t)count + 1, sizeof *all);
  assert_non_null(all);
  return all;
}

/* ---- ONNX's cases ------------------------------------------------------------------------------------------ */

enum { ONNX_Q, ONNX_K, ONNX_V, ONNX_PAST, ONNX_DECAY, ONNX_BETA };

/* The strides of (batch, tokens, heads * dim). */
static fovea_strides packed(int64_t tokens, int64_t heads, int64_t dim) {
  return (fovea_strides){tokens * heads * dim, dim, heads * dim};
}

static int differs(const float *actual, const struct array *expected) {
  int found = 0;
  for (int64_t i = 0; i < expected->count; i++) {
    const float wanted = ((const float *)expected->data)[i];
    found |= !(fabsf(actual[i] - wanted) <= 1e-6f + 2e-6f * fabsf(wanted));
  }
  return found;
}

static void assert_case(const struct test_case *test, fovea_nn_update_rule rule) {
  const struct array *in = test->inputs;
  const int64_t q_heads = (int64_t)case_number(test, "q_num_heads", 0);
  const int64_t heads = (int64_t)case_number(test, "kv_num_heads", 0);
  const int64_t batch = in[0].shape[0], tokens = in[0].shape[1];
  const int64_t k_dim = in[ONNX_Q].shape[2] / q_heads, v_dim = in[ONNX_V].shape[2] / heads;
  const struct array *decay = case_input(test, "decay"), *beta = case_input(test, "beta"),
                     *past = case_input(test, "past_state");
  float *o = numbers(test->outputs[0].count), *present = numbers(test->outputs[1].count);
  fovea_nn_linear_attention a;
  fovea_nn_linear_attention_tensors t;
  fovea_nn_linear_attention_init(&a, rule, heads, k_dim, v_dim);
  a.q_heads = q_heads;
  a.per_dim = decay && decay->shape[2] != heads;
  fovea_nn_linear_attention_tensors_init(&t, &a, batch, tokens, in[ONNX_Q].data, in[ONNX_K].data, in[ONNX_V].data,
                                         o);
  t.q_strides = packed(tokens, q_heads, k_dim);
  t.k_strides = packed(tokens, heads, k_dim);
  t.v_strides = packed(tokens, heads, v_dim);
  t.o_strides = packed(tokens, q_heads, v_dim);
  if (decay) {
    t.decay = decay->data;
    t.decay_strides = packed(tokens, heads, a.per_dim ? k_dim : 1);
  }
  if (beta) {
    t.beta = beta->data;
    t.beta_strides = beta->shape[2] == 1 ? (fovea_strides){tokens, 0, 1} : packed(tokens, heads, 1);
  }
  t.past = past ? past->data : NULL;
  t.present = present;
  assert_int_equal(fovea_nn_linear_attention_run(&a, &t, NULL, NULL), FOVEA_OK);
  if (differs(o, &test->outputs[0]) || differs(present, &test->outputs[1])) fail_msg("%s differs", test->name);
  free(o);
  free(present);
}

/* The reader of cases keeps no strings, so the rules are written down here. */
static void test_onnx(void **state) {
  static const struct {
    const char *name;
    fovea_nn_update_rule rule;
  } cases[] = {
      {"decode_step", FOVEA_NN_UPDATE_GATED_DELTA},      {"delta", FOVEA_NN_UPDATE_DELTA},
      {"gated_delta", FOVEA_NN_UPDATE_GATED_DELTA},      {"gated_delta_beta_scalar", FOVEA_NN_UPDATE_GATED_DELTA},
      {"gated_delta_gqa", FOVEA_NN_UPDATE_GATED_DELTA},  {"gated_delta_mqa", FOVEA_NN_UPDATE_GATED_DELTA},
      {"gated_per_head_decay", FOVEA_NN_UPDATE_GATED},   {"linear", FOVEA_NN_UPDATE_LINEAR},
      {"linear_t1_no_past", FOVEA_NN_UPDATE_LINEAR},     {"no_past_explicit_zeros", FOVEA_NN_UPDATE_GATED_DELTA},
      {"prefill_with_past", FOVEA_NN_UPDATE_GATED_DELTA}};
  const char *root = getenv("FOVEA_CONFORMANCE_DIR");
  (void)state;
  if (!root) skip();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char directory[3000], name[100], error[500];
    struct test_case test;
    snprintf(directory, sizeof directory, "%s/onnx", root);
    snprintf(name, sizeof name, "linear_attention_%s", cases[i].name);
    if (!case_read(&test, directory, name, error, sizeof error)) fail_msg("%s: %s", name, error);
    assert_case(&test, cases[i].rule);
    case_free(&test);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gated_deltanet),
      cmocka_unit_test(test_mamba),
      cmocka_unit_test(test_onnx),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

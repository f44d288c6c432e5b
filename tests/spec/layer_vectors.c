/* Vectors of layers. */
#include "contract.h"
#include "modes/contract_modes.h"
#include "nn/contract_functions.h"
#include "nn/contract_nn.h"
#include "nn/contract_norm.h"
#include "nn/contract_recurrent.h"
#include "nn/contract_rows.h"
#include "support/generator.h"
#include "variants/contract_linear_attention.h"
#include "vectors.h"

#include <math.h>

enum { MOST = 4096 };

static void fill(struct generator *generator, float *numbers, int64_t count) {
  for (int64_t i = 0; i < count; i++) numbers[i] = 2 * generator_uniform(generator);
}

/* L1: bias, activation, gate and residual in turn, in exact mode or in bf16 mode. */
static void write_linear(const char *name, int bf16, int64_t in, const char *activation, fovea_nn_activation act,
                         int gated) {
  enum { ROWS = 3, OUT = 5, COUNT = ROWS * OUT };
  static float x[MOST], w[MOST], bias[OUT], gate[COUNT], residual[COUNT], y[COUNT];
  struct generator generator = {(uint64_t)in};
  fill(&generator, x, ROWS * in);
  fill(&generator, w, OUT * in);
  fill(&generator, bias, OUT);
  fill(&generator, gate, COUNT);
  fill(&generator, residual, COUNT);
  for (int i = 0; i < COUNT; i++) {
    const float *row = x + i / OUT * in, *weights = w + i % OUT * in;
    const float r = bf16 ? contract_mode_dot_bf16(row, weights, in) : contract_nn_dot(row, weights, in);
    y[i] = contract_nn_activation(r + bias[i % OUT], act);
    if (gated) y[i] = y[i] * gate[i];
    y[i] = y[i] + residual[i];
  }
  vector_begin(name, "linear", bf16 ? "L1 16" : "L1");
  vector_word("mode", bf16 ? "bf16" : "exact");
  vector_word("activation", activation);
  vector_numbers(INPUT, "x", FOVEA_F32, x, ROWS, in);
  vector_numbers(INPUT, "w", FOVEA_F32, w, OUT, in);
  vector_numbers(INPUT, "bias", FOVEA_F32, bias, OUT, 0);
  if (gated) vector_numbers(INPUT, "gate", FOVEA_F32, gate, ROWS, OUT);
  vector_numbers(INPUT, "residual", FOVEA_F32, residual, ROWS, OUT);
  vector_numbers(EXPECTED, "y", FOVEA_F32, y, ROWS, OUT);
  vector_end();
}

static void write_norm(const char *name, fovea_nn_norm_kind kind, int64_t dim, int gamma, int beta) {
  enum { ROWS = 3 };
  static float x[MOST], y[MOST], scale[MOST], shift[MOST];
  struct generator generator = {(uint64_t)dim + 7};
  fill(&generator, x, ROWS * dim);
  fill(&generator, scale, dim);
  fill(&generator, shift, dim);
  for (int64_t i = 0; i < dim; i++) x[i] *= 0x1p-20f; /* eps matters */
  for (int64_t i = 0; i < ROWS; i++)
    contract_norm(kind, x + i * dim, dim, (float)1e-5, gamma ? scale : NULL, beta ? shift : NULL, y + i * dim);
  vector_begin(name, "norm", "L3");
  vector_word("kind", kind == FOVEA_NN_LAYER_NORM ? "layer_norm" : "rms_norm");
  vector_double("eps", 1e-5);
  vector_numbers(INPUT, "x", FOVEA_F32, x, ROWS, dim);
  if (gamma) vector_numbers(INPUT, "gamma", FOVEA_F32, scale, dim, 0);
  if (beta) vector_numbers(INPUT, "beta", FOVEA_F32, shift, dim, 0);
  vector_numbers(EXPECTED, "y", FOVEA_F32, y, ROWS, dim);
  vector_end();
}

static void write_softmax(void) {
  enum { ROWS = 5, DIM = 37 };
  float x[ROWS * DIM], y[ROWS * DIM];
  struct generator generator = {5};
  fill(&generator, x, ROWS * DIM);
  for (int i = 0; i < DIM; i++) x[DIM + i] = -INFINITY;
  x[2 * DIM + 3] = NAN;
  x[3 * DIM + 3] = INFINITY;
  x[4 * DIM + 3] = -INFINITY;
  for (int i = 0; i < ROWS; i++) contract_softmax(x + i * DIM, DIM, y + i * DIM);
  vector_begin("softmax", "softmax", "L4");
  vector_numbers(INPUT, "x", FOVEA_F32, x, ROWS, DIM);
  vector_numbers(EXPECTED, "y", FOVEA_F32, y, ROWS, DIM);
  vector_end();
}

static void write_buckets(const char *name, int both, int64_t buckets, int64_t max_distance) {
  enum { COUNT = 301 };
  int64_t d[COUNT], bucket[COUNT];
  for (int i = 0; i < COUNT; i++) {
    d[i] = i - COUNT / 2;
    bucket[i] = contract_t5_bucket(d[i], both, buckets, max_distance);
  }
  vector_begin(name, "buckets", "L6");
  vector_integer("both", both);
  vector_integer("buckets", buckets);
  vector_integer("max_distance", max_distance);
  vector_array(INPUT, "d", ARRAY_I64, d, COUNT, 0);
  vector_array(EXPECTED, "bucket", ARRAY_I64, bucket, COUNT, 0);
  vector_end();
}

static void write_dropout(void) {
  enum { COUNT = 61 };
  const uint64_t seed = UINT64_C(0x123456789abcdef0), stream = UINT64_C(0x0fedcba987654321);
  const float p = 0.3f;
  int64_t numbers[COUNT];
  float x[COUNT], y[COUNT];
  struct generator generator = {9};
  fill(&generator, x, COUNT);
  for (int i = 0; i < COUNT; i++) {
    numbers[i] = contract_random(seed, stream, (uint64_t)i);
    y[i] = contract_dropout(x[i], p, (uint32_t)numbers[i]);
  }
  vector_begin("dropout", "dropout", "L8");
  vector_integer("seed", (int64_t)seed);
  vector_integer("stream", (int64_t)stream);
  vector_double("p", (double)p);
  vector_numbers(INPUT, "x", FOVEA_F32, x, COUNT, 0);
  vector_array(EXPECTED, "random", ARRAY_I64, numbers, COUNT, 0);
  vector_numbers(EXPECTED, "y", FOVEA_F32, y, COUNT, 0);
  vector_end();
}

/* r of every row and key. */
static void write_additive(const char *name, double slope) {
  enum { ROWS = 3, KEYS = 4, DIM = 37 };
  float q[ROWS * DIM], k[KEYS * DIM], w[DIM], r[ROWS * KEYS];
  struct generator generator = {11};
  fill(&generator, q, ROWS * DIM);
  fill(&generator, k, KEYS * DIM);
  fill(&generator, w, DIM);
  for (int i = 0; i < ROWS * KEYS; i++)
    r[i] = contract_additive(q + i / KEYS * DIM, k + i % KEYS * DIM, w, DIM, slope == 0 ? -1 : (float)slope);
  vector_begin(name, "additive", "L10");
  if (slope != 0) vector_double("leaky_slope", slope);
  vector_numbers(INPUT, "q", FOVEA_F32, q, ROWS, DIM);
  vector_numbers(INPUT, "k", FOVEA_F32, k, KEYS, DIM);
  vector_numbers(INPUT, "w", FOVEA_F32, w, DIM, 0);
  vector_numbers(EXPECTED, "r", FOVEA_F32, r, ROWS, KEYS);
  vector_end();
}

/* I and J have the gates of one row after the other. */
static void write_cells(void) {
  enum { DIM = 40 };
  float input[4 * DIM], hidden[4 * DIM], state[DIM], y[DIM], new_c[DIM];
  struct generator generator = {13};
  fill(&generator, input, 4 * DIM);
  fill(&generator, hidden, 4 * DIM);
  fill(&generator, state, DIM);
  contract_gru(input, hidden, state, DIM, y);
  vector_begin("gru", "gru", "L11");
  vector_numbers(INPUT, "input", FOVEA_F32, input, 3, DIM);
  vector_numbers(INPUT, "hidden", FOVEA_F32, hidden, 3, DIM);
  vector_numbers(INPUT, "state", FOVEA_F32, state, DIM, 0);
  vector_numbers(EXPECTED, "y", FOVEA_F32, y, DIM, 0);
  vector_end();
  contract_lstm(input, hidden, state, DIM, y, new_c);
  vector_begin("lstm", "lstm", "L11");
  vector_numbers(INPUT, "input", FOVEA_F32, input, 4, DIM);
  vector_numbers(INPUT, "hidden", FOVEA_F32, hidden, 4, DIM);
  vector_numbers(INPUT, "state", FOVEA_F32, state, DIM, 0);
  vector_numbers(EXPECTED, "y", FOVEA_F32, y, DIM, 0);
  vector_numbers(EXPECTED, "new_c", FOVEA_F32, new_c, DIM, 0);
  vector_end();
}

static void write_linear_attention(const char *name, int gated, int delta, int per_dim, int unit, int64_t k_dim) {
  enum { TOKENS = 6, V_DIM = 3 };
  static float q[MOST], k[MOST], decay[MOST], state[MOST];
  float v[TOKENS * V_DIM], o[TOKENS * V_DIM], beta[TOKENS], factor = 0.5f, skip = 0.25f;
  struct generator generator = {(uint64_t)k_dim + 17};
  fill(&generator, q, TOKENS * k_dim);
  fill(&generator, k, TOKENS * k_dim);
  fill(&generator, v, TOKENS * V_DIM);
  fill(&generator, beta, TOKENS);
  fill(&generator, state, k_dim * V_DIM);
  fill(&generator, decay, TOKENS * k_dim);
  for (int64_t i = 0; i < TOKENS * k_dim; i++) decay[i] = -fabsf(decay[i]);
  vector_begin(name, "linear_attention", "L14 L2");
  vector_integer("gated", gated);
  vector_integer("delta", delta);
  vector_integer("unit", unit);
  vector_double("scale", 0.3);
  vector_double("unit_eps", 1e-6);
  vector_numbers(INPUT, "q", FOVEA_F32, q, TOKENS, k_dim);
  vector_numbers(INPUT, "k", FOVEA_F32, k, TOKENS, k_dim);
  vector_numbers(INPUT, "v", FOVEA_F32, v, TOKENS, V_DIM);
  vector_numbers(INPUT, "state", FOVEA_F32, state, k_dim, V_DIM);
  if (gated) vector_numbers(INPUT, "decay", FOVEA_F32, decay, TOKENS, per_dim ? k_dim : 1);
  if (gated) vector_numbers(INPUT, "factor", FOVEA_F32, &factor, 1, 0);
  if (delta) vector_numbers(INPUT, "beta", FOVEA_F32, beta, TOKENS, 0);
  if (delta) vector_numbers(INPUT, "skip", FOVEA_F32, &skip, 1, 0);
  const struct contract_linear head = {.tokens = TOKENS,
                                       .reads = 1,
                                       .k_dim = k_dim,
                                       .v_dim = V_DIM,
                                       .is_gated = gated,
                                       .is_delta = delta,
                                       .per_dim = per_dim,
                                       .unit = unit,
                                       .scale = (float)0.3,
                                       .eps = (float)1e-6,
                                       .q = q,
                                       .k = k,
                                       .v = v,
                                       .decay = decay,
                                       .factor = gated ? &factor : NULL,
                                       .beta = delta ? beta : NULL,
                                       .skip = delta ? &skip : NULL};
  contract_linear_head(&head, state, o);
  vector_numbers(EXPECTED, "o", FOVEA_F32, o, TOKENS, V_DIM);
  vector_numbers(EXPECTED, "new_state", FOVEA_F32, state, k_dim, V_DIM);
  vector_end();
}

void write_layers(void) {
  write_linear("linear", 0, 5, "none", FOVEA_NN_ACTIVATION_NONE, 0);
  write_linear("linear_pieces", 0, 300, "relu", FOVEA_NN_ACTIVATION_RELU, 1);
  write_linear("linear_gelu", 0, 17, "gelu", FOVEA_NN_ACTIVATION_GELU, 1);
  write_linear("linear_bf16", 1, 70, "silu", FOVEA_NN_ACTIVATION_SILU, 1);
  write_norm("layer_norm", FOVEA_NN_LAYER_NORM, 37, 1, 1);
  write_norm("layer_norm_without_beta", FOVEA_NN_LAYER_NORM, 20, 1, 0);
  write_norm("rms_norm", FOVEA_NN_RMS_NORM, 37, 1, 0);
  write_norm("rms_norm_beta", FOVEA_NN_RMS_NORM, 5, 0, 1);
  write_softmax();
  write_buckets("buckets_both_directions", 1, 32, 128);
  write_buckets("buckets_one_direction", 0, 12, 64);
  write_dropout();
  write_additive("additive", 0);
  write_additive("additive_leaky", 0.2);
  write_cells();
  write_linear_attention("linear_attention", 0, 0, 0, 0, 4);
  write_linear_attention("linear_attention_gated", 1, 0, 1, 0, 130);
  write_linear_attention("linear_attention_gated_delta", 1, 1, 0, 1, 18);
}

/* Vectors of what models are made of: embedding, multi-head attention, layers of encoders, decoders and streams. */
#include "inputs.h"
#include "nn/contract_norm.h"
#include "nn/expected_model.h"
#include "vectors.h"

#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 8, HEADS = 3, QK_DIM = 4, V_DIM = 3, HIDDEN = 10, ROWS = 5, KEYS = 6 };

static fovea_nn_linear linear(const char *prefix, const char *name, int64_t in, int64_t out,
                              fovea_nn_activation activation) {
  char bias[32];
  snprintf(bias, sizeof bias, "%s_bias", name);
  fovea_nn_linear layer = {.in = in, .out = out, .activation = activation};
  layer.weights = input(prefix, name, out, in);
  layer.bias = input(prefix, bias, out, 0);
  return layer;
}

void write_embeddings(void) {
  enum { COUNT = ROWS * WIDTH };
  for (int with = 0; with < 2; with++) {
    float y[COUNT];
    inputs_begin(31);
    vector_begin(with ? "embedding_types" : "embedding", "embedding", "L7");
    vector_double("scale", with ? 0.3 : 2.8284271247461903);
    const float *tokens = input("", "tokens", ROWS, WIDTH), *positions = input("", "positions", ROWS, WIDTH);
    const float *types = with ? input("", "types", ROWS, WIDTH) : NULL;
    for (int i = 0; i < COUNT; i++) {
      y[i] = tokens[i] * (float)(with ? 0.3 : 2.8284271247461903);
      if (types) y[i] = y[i] + types[i];
      y[i] = y[i] + positions[i];
    }
    vector_numbers(EXPECTED, "y", FOVEA_F32, y, ROWS, WIDTH);
    vector_end();
  }
}

/* ---- Attention --------------------------------------------------------------------------------------------------- */

struct heads {
  fovea_nn_linear linears[4];
  fovea_nn_attention attention;
};

static void make_heads(struct heads *h, const char *prefix, int64_t kv_heads, int with_bias,
                       const fovea_rotary *rotary) {
  h->linears[0] = linear(prefix, "query", WIDTH, HEADS * QK_DIM, FOVEA_NN_ACTIVATION_NONE);
  h->linears[1] = linear(prefix, "key", WIDTH, kv_heads * QK_DIM, FOVEA_NN_ACTIVATION_NONE);
  h->linears[2] = linear(prefix, "value", WIDTH, kv_heads * V_DIM, FOVEA_NN_ACTIVATION_NONE);
  h->linears[3] = linear(prefix, "output", HEADS * V_DIM, WIDTH, FOVEA_NN_ACTIVATION_NONE);
  h->attention = (fovea_nn_attention){.query = &h->linears[0],
                                      .key = &h->linears[1],
                                      .value = &h->linears[2],
                                      .output = &h->linears[3],
                                      .rotary = rotary};
  if (with_bias) h->attention.bias_key = input(prefix, "bias_key", kv_heads * QK_DIM, 0);
  if (with_bias) h->attention.bias_value = input(prefix, "bias_value", kv_heads * V_DIM, 0);
}

static fovea_problem problem_of(int64_t kv_heads, int64_t rows, int64_t keys, int causal) {
  return (fovea_problem){.batch = 1,
                         .heads = HEADS,
                         .kv_heads = kv_heads,
                         .q_len = rows,
                         .kv_len = keys,
                         .qk_dim = QK_DIM,
                         .v_dim = V_DIM,
                         .scale = FOVEA_DEFAULT_NUMBER,
                         .causal = causal,
                         .window_left = FOVEA_UNLIMITED,
                         .window_right = FOVEA_UNLIMITED};
}

static void write_rules(const fovea_problem *p, int64_t offset) {
  vector_integer("heads", p->heads);
  vector_integer("kv_heads", p->kv_heads);
  vector_integer("offset", offset);
  if (p->causal) vector_integer("causal", 1);
  if (p->window_left != FOVEA_UNLIMITED) vector_integer("window_left", p->window_left);
  if (p->window_right != FOVEA_UNLIMITED) vector_integer("window_right", p->window_right);
}

/* Rotary embedding and a residual; or over a memory, with a bias of keys and values. */
static void write_heads(const char *name, int over_memory) {
  const int64_t kv_heads = over_memory ? HEADS : 1, keys = over_memory ? KEYS : ROWS;
  const fovea_problem problem = problem_of(kv_heads, ROWS, keys, !over_memory);
  const fovea_rotary rotary = {.dims = QK_DIM, .base = 10000};
  const fovea_nn_attention_tensors tensors = {.first_position = 0};
  struct heads heads;
  inputs_begin(41);
  vector_begin(name, "multi_head", over_memory ? "L9 L1" : "L9 L1 12");
  write_rules(&problem, over_memory ? 1 : 0);
  if (!over_memory) vector_double("base", rotary.base);
  const float *x = input("", "x", ROWS, WIDTH), *memory = over_memory ? input("", "memory", KEYS, WIDTH) : NULL;
  const float *residual = over_memory ? NULL : input("", "residual", ROWS, WIDTH);
  make_heads(&heads, "", kv_heads, over_memory, over_memory ? NULL : &rotary);
  float scores[ROWS * (KEYS + 1)];
  float *y = expected_attention_scores(&heads.attention, &problem, &tensors, x, memory, residual, scores);
  vector_numbers(EXPECTED, "y", FOVEA_F32, y, ROWS, WIDTH);
  vector_numbers(EXPECTED, "scores", FOVEA_F32, scores, ROWS, keys + over_memory);
  vector_end();
  free(y);
}

void write_multi_head(void) {
  write_heads("multi_head", 0);
  write_heads("multi_head_bias", 1);
}

/* ---- Layers ------------------------------------------------------------------------------------------------------ */

enum { MOST_LAYERS = 2 };

struct layer {
  struct heads self, cross;
  fovea_nn_linear up, gate, down;
  fovea_nn_norm norms[3];
  fovea_nn_block block;
};

static fovea_nn_norm norm(const char *prefix, const char *part, fovea_nn_norm_kind kind) {
  char gamma[32], beta[32];
  snprintf(gamma, sizeof gamma, "%s_gamma", part);
  snprintf(beta, sizeof beta, "%s_beta", part);
  fovea_nn_norm n = {.dim = WIDTH, .kind = kind, .eps = 1e-5};
  n.gamma = input(prefix, gamma, WIDTH, 0);
  if (kind == FOVEA_NN_LAYER_NORM) n.beta = input(prefix, beta, WIDTH, 0);
  return n;
}

struct model {
  const char *name, *clauses;
  int layers, norm_first, with_cross, with_gate, causal;
  fovea_nn_norm_kind norms;
  const char *activation;
  fovea_nn_activation act;
  int64_t window_left, window_right;
};

static void make_layer(struct layer *l, int index, const struct model *m) {
  char prefix[16], self[24], cross[24];
  snprintf(prefix, sizeof prefix, "%d_", index);
  snprintf(self, sizeof self, "%d_self_", index);
  snprintf(cross, sizeof cross, "%d_cross_", index);
  make_heads(&l->self, self, HEADS, 0, NULL);
  l->norms[0] = norm(prefix, "self", m->norms);
  if (m->with_cross) make_heads(&l->cross, cross, HEADS, 0, NULL);
  if (m->with_cross) l->norms[1] = norm(prefix, "cross", m->norms);
  l->up = linear(prefix, "up", WIDTH, HIDDEN, m->act);
  if (m->with_gate) l->gate = linear(prefix, "gate", WIDTH, HIDDEN, FOVEA_NN_ACTIVATION_NONE);
  l->down = linear(prefix, "down", HIDDEN, WIDTH, FOVEA_NN_ACTIVATION_NONE);
  l->norms[2] = norm(prefix, "feed", m->norms);
  l->block = (fovea_nn_block){.self = &l->self.attention,
                              .cross = m->with_cross ? &l->cross.attention : NULL,
                              .up = &l->up,
                              .down = &l->down,
                              .gate = m->with_gate ? &l->gate : NULL,
                              .self_norm = &l->norms[0],
                              .cross_norm = &l->norms[1],
                              .feed_norm = &l->norms[2],
                              .norm_first = m->norm_first};
}

static void begin_model(const struct model *m, const fovea_problem *problem) {
  vector_begin(m->name, "encoder", m->clauses);
  vector_integer("layers", m->layers);
  vector_integer("norm_first", m->norm_first);
  vector_word("kind", m->norms == FOVEA_NN_LAYER_NORM ? "layer_norm" : "rms_norm");
  vector_double("eps", 1e-5);
  vector_word("activation", m->activation);
  write_rules(problem, 0);
}

static void write_model(const struct model *m) {
  static struct layer layers[MOST_LAYERS];
  fovea_problem self = problem_of(HEADS, ROWS, ROWS, m->causal), cross = problem_of(HEADS, ROWS, KEYS, 0);
  self.window_left = m->window_left;
  self.window_right = m->window_right;
  inputs_begin(51);
  begin_model(m, &self);
  const float *x = input("", "x", ROWS, WIDTH), *memory = m->with_cross ? input("", "memory", KEYS, WIDTH) : NULL;
  float *y = expected_numbers(x, FOVEA_F32, ROWS * WIDTH);
  const fovea_nn_attention_tensors self_tensors = {.first_position = 0}, cross_tensors = {.memory = memory};
  const fovea_nn_attending attending = {&self, &self_tensors}, over_memory = {&cross, &cross_tensors};
  for (int i = 0; i < m->layers; i++) {
    make_layer(&layers[i], i, m);
    float *next = expected_block(&layers[i].block, &attending, &over_memory, y);
    free(y);
    y = next;
  }
  vector_numbers(EXPECTED, "y", FOVEA_F32, y, ROWS, WIDTH);
  vector_end();
  free(y);
}

void write_models(void) {
  static const struct model models[] = {
      {"encoder_norm_first", "L12 L9 L3 L1", 2, 1, 0, 1, 0, FOVEA_NN_RMS_NORM, "silu", FOVEA_NN_ACTIVATION_SILU,
       FOVEA_UNLIMITED, FOVEA_UNLIMITED},
      {"decoder", "L12 L9 L3 L1", 1, 0, 1, 0, 1, FOVEA_NN_LAYER_NORM, "gelu", FOVEA_NN_ACTIVATION_GELU,
       FOVEA_UNLIMITED, FOVEA_UNLIMITED},
  };
  for (size_t i = 0; i < sizeof models / sizeof *models; i++) write_model(&models[i]);
}

void write_streams(void) {
  static const struct model stream = {
      "stream", "L13 L12", 2, 0, 0, 0, 0, FOVEA_NN_LAYER_NORM, "relu", FOVEA_NN_ACTIVATION_RELU, 2, 1};
  write_model(&stream);
}

/* ---- Stacks ------------------------------------------------------------------------------------------------------ */

/* Rows through a norm that is no part of a layer. */
static void settle(const fovea_nn_norm *n, const float *x, float *y) {
  for (int i = 0; i < ROWS; i++)
    contract_norm(n->kind, x + i * WIDTH, WIDTH, (float)n->eps, n->gamma, n->beta, y + i * WIDTH);
}

/* A decoder of one layer: embedding, its norm, the layer, the last norm, logits. */
void write_stack(void) {
  enum { TOKENS = 3 };
  static const struct model m = {
      "stack",         "L12 L7 L3 L9 L1", 1, 1, 0, 0, 1, FOVEA_NN_RMS_NORM, "none", FOVEA_NN_ACTIVATION_NONE,
      FOVEA_UNLIMITED, FOVEA_UNLIMITED};
  static struct layer layer;
  const double scale = 2.8284271247461903;
  const fovea_problem problem = problem_of(HEADS, ROWS, ROWS, 1);
  const fovea_nn_attention_tensors tensors = {.first_position = 0};
  const fovea_nn_attending attending = {&problem, &tensors};
  float x[ROWS * WIDTH], normed[ROWS * WIDTH];
  inputs_begin(61);
  begin_model(&m, &problem);
  vector_double("embedding_scale", scale);
  const float *tokens = input("", "tokens", ROWS, WIDTH), *positions = input("", "positions", ROWS, WIDTH);
  const fovea_nn_norm embedding = norm("", "embedding", m.norms), last = norm("", "last", m.norms);
  const fovea_nn_linear head = {.weights = input("", "head", TOKENS, WIDTH), .in = WIDTH, .out = TOKENS};
  make_layer(&layer, 0, &m);
  for (int i = 0; i < ROWS * WIDTH; i++) {
    x[i] = tokens[i] * (float)scale;
    x[i] = x[i] + positions[i];
  }
  settle(&embedding, x, normed);
  float *rows = expected_block(&layer.block, &attending, NULL, normed);
  settle(&last, rows, x);
  float *logits = expected_linear(&head, x, ROWS, NULL, NULL);
  vector_numbers(EXPECTED, "y", FOVEA_F32, x, ROWS, WIDTH);
  vector_numbers(EXPECTED, "logits", FOVEA_F32, logits, ROWS, TOKENS);
  vector_end();
  free(rows);
  free(logits);
}

#include "variants/latent_model.h"

#include "contract.h"
#include "contract_rotary.h"
#include "nn/contract_nn.h"
#include "nn/contract_norm.h"
#include "support/check.h"
#include "support/execution.h"
#include "support/trial.h"
#include "support/types.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

float *numbers(struct generator *g, int64_t count, float gain) {
  float *all = malloc((size_t)(count + 1) * sizeof *all);
  assert_non_null(all);
  for (int64_t i = 0; i < count; i++) all[i] = gain * generator_uniform(g);
  return all;
}

static void make_kv_b(struct model *m) {
  const struct shape *s = &m->shape;
  const int64_t count = s->heads * (s->nope + s->v) * s->rank;
  fovea_nn_linear_init(&m->kv_b_proj, s->rank, s->heads * (s->nope + s->v), m->kv_b);
  m->kv_b_halves = malloc((size_t)count * sizeof *m->kv_b_halves);
  assert_non_null(m->kv_b_halves);
  if (s->weight_type == FOVEA_F32) return;
  for (int64_t i = 0; i < count; i++) m->kv_b[i] = rounded_number(s->weight_type, m->kv_b[i]);
  numbers_store(s->weight_type, m->kv_b_halves, m->kv_b, count);
  m->kv_b_proj.weights = m->kv_b_halves;
  m->kv_b_proj.weight_type = s->weight_type;
}

void make(struct model *m, const struct shape *s, uint64_t seed) {
  struct generator g = {seed};
  const int64_t dim = s->nope + s->rope, q_in = s->q_rank ? s->q_rank : s->in;
  m->shape = *s;
  m->q_a = numbers(&g, s->q_rank * s->in, 0.5f);
  m->q_b = numbers(&g, s->heads * dim * q_in, 0.5f);
  m->kv_a = numbers(&g, (s->rank + s->rope) * s->in, 0.5f);
  m->kv_b = numbers(&g, s->heads * (s->nope + s->v) * s->rank, 0.3f);
  m->o = numbers(&g, s->in * s->heads * s->v, 0.5f);
  m->q_gamma = numbers(&g, q_in, 1);
  m->kv_gamma = numbers(&g, s->rank, 1);
  m->o_bias = numbers(&g, s->in, 1);
  m->x = numbers(&g, 3 * ROWS * s->in, 1);
  fovea_nn_linear_init(&m->q_a_proj, s->in, s->q_rank, m->q_a);
  fovea_nn_linear_init(&m->q_b_proj, q_in, s->heads * dim, m->q_b);
  fovea_nn_linear_init(&m->kv_a_proj, s->in, s->rank + s->rope, m->kv_a);
  fovea_nn_linear_init(&m->o_proj, s->heads * s->v, s->in, m->o);
  m->o_proj.bias = m->o_bias;
  make_kv_b(m);
  fovea_nn_norm_init(&m->q_norm, FOVEA_NN_RMS_NORM, q_in);
  fovea_nn_norm_init(&m->kv_norm, FOVEA_NN_RMS_NORM, s->rank);
  m->q_norm.gamma = m->q_gamma;
  m->kv_norm.gamma = m->kv_gamma;
  m->q_norm.eps = m->kv_norm.eps = 1e-6;
  fovea_rotary_init(&m->rotary, FOVEA_ROTARY_INTERLEAVED, s->rope);
  fovea_nn_latent_init(&m->latent, s->heads, s->rank, s->nope, s->rope, s->v);
  m->latent.q_b_proj = &m->q_b_proj;
  m->latent.kv_a_proj = &m->kv_a_proj;
  m->latent.kv_b_proj = &m->kv_b_proj;
  m->latent.o_proj = &m->o_proj;
  if (s->q_rank) m->latent.q_a_proj = &m->q_a_proj;
  if (s->norms && s->q_rank) m->latent.q_a_layernorm = &m->q_norm;
  if (s->norms) m->latent.kv_a_layernorm = &m->kv_norm;
  if (s->rope) m->latent.rotary = &m->rotary;
  int64_t elements = 0;
  assert_int_equal(fovea_nn_latent_absorbed_elements(&m->latent, &elements, NULL), FOVEA_OK);
  assert_true(elements >= s->heads * (s->nope + s->v) * s->rank);
  m->absorbed = malloc((size_t)elements * type_size(s->weight_type));
  assert_non_null(m->absorbed);
  assert_int_equal(fovea_nn_latent_absorb(&m->latent, m->absorbed, NULL), FOVEA_OK);
}

void destroy(struct model *m) {
  void *const all[] = {m->q_a,      m->q_b,    m->kv_a, m->kv_b,        m->o,       m->q_gamma,
                       m->kv_gamma, m->o_bias, m->x,    m->kv_b_halves, m->absorbed};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) free(all[i]);
}

void choose(struct model *m, fovea_nn_latent_form form) {
  m->latent.form = form;
  m->latent.absorbed = form == FOVEA_NN_LATENT_ABSORBED ? m->absorbed : NULL;
}

/* ---- The clause ---------------------------------------------------------------------------------------------- */

static void layer(const float *w, const float *bias, const float *x, int64_t in, int64_t out, float *y) {
  for (int64_t o = 0; o < out; o++) {
    y[o] = contract_nn_dot(x, w + o * in, in);
    if (bias) y[o] = y[o] + bias[o];
  }
}

/* What calls write between their steps. */
static void settle(float *x, int64_t count) {
  for (int64_t i = 0; i < count; i++) x[i] = contract_nn_result(x[i]);
}

static void rotate(const struct shape *s, float *x, int64_t position) {
  struct fraction turns[64];
  contract_turns(10000, NULL, s->rope / 2, turns);
  for (int64_t i = 0; i < s->rope / 2; i++) {
    float cosine, sine;
    contract_angle(turns[i], position, &cosine, &sine);
    contract_rotate_pair(&x[2 * i], &x[2 * i + 1], cosine, sine);
  }
  settle(x, s->rope);
}

void contract_latent(const struct model *m, const float *x, int64_t position, fovea_type type, float *row) {
  const struct shape *s = &m->shape;
  float *c = malloc((size_t)(s->rank + s->rope) * sizeof *c);
  assert_non_null(c);
  layer(m->kv_a, NULL, x, s->in, s->rank + s->rope, c);
  settle(c, s->rank + s->rope);
  memcpy(row, c, (size_t)(s->rank + s->rope) * sizeof *row);
  if (s->norms) contract_norm(FOVEA_NN_RMS_NORM, c, s->rank, 1e-6f, m->kv_gamma, NULL, row);
  settle(row, s->rank);
  rotate(s, row + s->rank, position);
  for (int64_t i = 0; i < s->rank + s->rope; i++) row[i] = rounded_number(type, row[i]);
  free(c);
}

void contract_queries(const struct model *m, const float *x, int64_t position, float *q) {
  const struct shape *s = &m->shape;
  const int64_t dim = s->nope + s->rope;
  float *down = malloc((size_t)(2 * s->q_rank + 1) * sizeof *down), *normed = down + s->q_rank;
  assert_non_null(down);
  if (s->q_rank) {
    layer(m->q_a, NULL, x, s->in, s->q_rank, down);
    settle(down, s->q_rank);
    memcpy(normed, down, (size_t)s->q_rank * sizeof *down);
    if (s->norms) contract_norm(FOVEA_NN_RMS_NORM, down, s->q_rank, 1e-6f, m->q_gamma, NULL, normed);
    settle(normed, s->q_rank);
    layer(m->q_b, NULL, normed, s->q_rank, s->heads * dim, q);
  } else {
    layer(m->q_b, NULL, x, s->in, s->heads * dim, q);
  }
  settle(q, s->heads * dim);
  for (int64_t h = 0; h < s->heads; h++) rotate(s, q + h * dim + s->nope, position);
  free(down);
}

struct seen {
  int64_t own, end;
};

static int sees(const void *rules, int64_t position) {
  const struct seen *seen = rules;
  return position <= seen->own && position < seen->end;
}

/* Attention of one head; `latents` has the cached rows of positions 0 to end - 1. */
static void contract_head(const struct model *m, int64_t h, const float *q, const float *latents, struct seen seen,
                          double scale, float *o) {
  const struct shape *s = &m->shape;
  const int64_t width = s->rank + s->rope, dim = s->nope + s->rope;
  const float *w = m->kv_b + h * (s->nope + s->v) * s->rank, *w_v = w + s->nope * s->rank;
  float lse, *k = malloc((size_t)(seen.end * dim + seen.end * s->v + 2 * width + s->nope + 1) * sizeof *k);
  float *v = k + seen.end * dim, *absorbed = v + seen.end * s->v, *sums = absorbed + width, *column = sums + width;
  assert_non_null(k);
  if (m->latent.form == FOVEA_NN_LATENT_EXPANDED) {
    for (int64_t p = 0; p < seen.end; p++) {
      layer(w, NULL, latents + p * width, s->rank, s->nope, k + p * dim);
      layer(w_v, NULL, latents + p * width, s->rank, s->v, v + p * s->v);
      memcpy(k + p * dim + s->nope, latents + p * width + s->rank, (size_t)s->rope * sizeof *k);
    }
    const struct contract_row row = {.q = q,
                                     .k = k,
                                     .v = v,
                                     .k_stride = dim,
                                     .v_stride = s->v,
                                     .qk_dim = dim,
                                     .v_dim = s->v,
                                     .positions = seen.end,
                                     .scale = scale,
                                     .sees = sees,
                                     .rules = &seen};
    contract_row(&row, o, &lse);
  } else {
    for (int64_t r = 0; r < s->rank; r++) {
      for (int64_t d = 0; d < s->nope; d++) column[d] = w[d * s->rank + r];
      absorbed[r] = contract_nn_result(contract_nn_dot(q, column, s->nope));
    }
    memcpy(absorbed + s->rank, q + s->nope, (size_t)s->rope * sizeof *q);
    const struct contract_row row = {.q = absorbed,
                                     .k = latents,
                                     .v = latents,
                                     .k_stride = width,
                                     .v_stride = width,
                                     .qk_dim = width,
                                     .v_dim = s->rank,
                                     .positions = seen.end,
                                     .scale = scale,
                                     .sees = sees,
                                     .rules = &seen};
    contract_row(&row, sums, &lse);
    settle(sums, s->rank);
    layer(w_v, NULL, sums, s->rank, s->v, o);
  }
  settle(o, s->v);
  free(k);
}

/* The output row at position `own` of a batch element whose rows x are at positions 0 to end - 1. */
static void contract_output(const struct model *m, const float *latents, const float *x, int64_t own, int64_t end,
                            double scale, float *y) {
  const struct shape *s = &m->shape;
  const int64_t dim = s->nope + s->rope;
  float *q = malloc((size_t)(s->heads * (dim + s->v)) * sizeof *q), *o = q + s->heads * dim;
  assert_non_null(q);
  contract_queries(m, x + own * s->in, own, q);
  for (int64_t h = 0; h < s->heads; h++)
    contract_head(m, h, q + h * dim, latents, (struct seen){own, end}, scale, o + h * s->v);
  layer(m->o, m->o_bias, o, s->heads * s->v, s->in, y);
  free(q);
}

float *expect(const struct model *m, const float *x, int64_t length, fovea_type type, double scale) {
  const struct shape *s = &m->shape;
  const int64_t width = s->rank + s->rope;
  float *latents = malloc((size_t)(length * width + 1) * sizeof *latents),
        *y = malloc((size_t)(length * s->in + 1) * sizeof *y);
  assert_true(latents && y);
  for (int64_t p = 0; p < length; p++) contract_latent(m, x + p * s->in, p, type, latents + p * width);
  for (int64_t p = 0; p < length; p++) contract_output(m, latents, x, p, length, scale, y + p * s->in);
  settle(y, length * s->in);
  free(latents);
  return y;
}

void assert_same(const float *actual, const float *expected, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    if (bits_of(actual[i]) != bits_of(expected[i]))
      fail_msg("number %d is %a, not %a", (int)i, (double)actual[i], (double)expected[i]);
}

/* ---- Calls --------------------------------------------------------------------------------------------------- */

fovea_problem problem_of(const struct model *m, int64_t batch, int64_t rows, int64_t keys) {
  const struct shape *s = &m->shape;
  fovea_problem p;
  fovea_problem_init(&p, batch, s->heads, s->heads, rows, keys, s->nope + s->rope, s->v);
  fovea_problem_resolve(&p, NULL);
  p.causal = 1;
  p.scale *= 1.25;
  return p;
}

float *run_prompt(struct model *m, int64_t batch, int64_t rows, const char *isa, const fovea_execution *execution) {
  const struct shape *s = &m->shape;
  fovea_problem p = problem_of(m, batch, rows, rows);
  fovea_nn_latent_tensors t;
  fovea_error error = {0};
  float *y = malloc((size_t)(batch * rows * s->in + 1) * sizeof *y);
  assert_non_null(y);
  fovea_execution on_set = *on_isa(isa);
  if (execution) on_set = *execution;
  on_set.isa = isa;
  fovea_nn_latent_tensors_init(&t, m->x, y);
  if (fovea_nn_latent_run(&m->latent, &p, &t, &on_set, &error)) fail_msg("%s", error.text);
  return y;
}

const struct shape shapes[SHAPES] = {
    {3, 20, 12, 8, 10, 24, 18, 1, FOVEA_F32},  {1, 1, 1, 2, 1, 3, 0, 1, FOVEA_F32},
    {2, 140, 130, 4, 17, 20, 0, 0, FOVEA_F32}, {4, 33, 16, 0, 24, 19, 7, 1, FOVEA_BF16},
    {2, 31, 15, 6, 9, 40, 21, 0, FOVEA_F16},   {1, 2, 3, 2, 4, 5, 6, 1, FOVEA_BF16},
};
size_t cache_size(const struct shape *s, fovea_type type) {
  return (size_t)(24 * 8 * LAYERS * (s->rank + s->rope)) * type_size(type);
}

void make_cache(struct cache *c, const struct shape *s, fovea_type type, int with_v) {
  fovea_pages_init(&c->pages, 24, 8, 1, s->rank + s->rope, s->rank, type, FOVEA_KEYS_IN_ROWS);
  c->pages.layers = LAYERS;
  c->memory = malloc(cache_size(s, type));
  assert_non_null(c->memory);
  memset(c->memory, 0xff, cache_size(s, type)); /* NaN */
  c->pages.k = c->pages.v = c->memory;
  c->pages.v_strides = c->pages.k_strides;
  c->pages.v_layer = c->pages.k_layer;
  for (int i = 0; i < 24; i++) c->tables[i] = (int32_t)(i * 5 % 24);
  for (int64_t b = 0; b < 3; b++) {
    fovea_error error = {0};
    if (fovea_cache_paged(&c->pages, c->tables + 8 * b, 8, 0, 64, c->segments + 8 * b, 8, &c->sequences[b], &error))
      fail_msg("%s", error.text);
    for (int64_t i = 0; i < c->sequences[b].count && !with_v; i++) c->segments[8 * b + i].v = NULL;
  }
}

void run_chunk(struct model *m, const struct cache *c, int64_t entry, int64_t first, int64_t end, float *y) {
  const struct shape *s = &m->shape;
  fovea_problem p = problem_of(m, 1, end - first, end);
  fovea_nn_latent_tensors t;
  fovea_error error = {0};
  p.cache.segmented = 1;
  fovea_nn_latent_tensors_init(&t, m->x + (entry * ROWS + first) * s->in, y + first * s->in);
  t.cache.sequences = &c->sequences[entry];
  t.cache.layer = LAYER;
  t.first_position = first;
  if (fovea_nn_latent_run(&m->latent, &p, &t, NULL, &error)) fail_msg("%s", error.text);
}

/* Multi-head latent attention: both forms, bit for bit, against the clause in plain C, for sizes, layers with and
 * without norms, types, lengths and instruction sets; a prompt at once, in chunks and in steps; caches in pages;
 * entries alone; threads; the distance between the forms; refusals. */
#include "contract.h"
#include "contract_rotary.h"
#include "nn/contract_nn.h"
#include "nn/contract_norm.h"
#include "support/check.h"
#include "support/executors.h"
#include "support/generator.h"
#include "support/guarded.h"
#include "support/trial.h"
#include "support/types.h"

#include <fovea/latent_attention.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 40, LAYERS = 2, LAYER = 1 };

struct shape {
  int64_t heads, rank, nope, rope, v, in, q_rank; /* q_rank 0: no q_a_proj */
  int norms;
  fovea_type weight_type; /* of kv_b_proj */
};

struct model {
  struct shape shape;
  float *q_a, *q_b, *kv_a, *kv_b, *o, *q_gamma, *kv_gamma, *o_bias, *x;
  uint16_t *kv_b_halves;
  void *absorbed;
  fovea_nn_linear q_a_proj, q_b_proj, kv_a_proj, kv_b_proj, o_proj;
  fovea_nn_norm q_norm, kv_norm;
  fovea_rotary rotary;
  fovea_nn_latent latent;
};

static float *numbers(struct generator *g, int64_t count, float gain) {
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

/* In place, since layers point to each other. */
static void make(struct model *m, const struct shape *s, uint64_t seed) {
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
  const int64_t elements = fovea_nn_latent_absorbed_elements(&m->latent);
  assert_true(elements >= s->heads * (s->nope + s->v) * s->rank);
  m->absorbed = malloc((size_t)elements * type_size(s->weight_type));
  assert_non_null(m->absorbed);
  assert_int_equal(fovea_nn_latent_absorb(&m->latent, m->absorbed, NULL), FOVEA_OK);
}

static void destroy(struct model *m) {
  void *const all[] = {m->q_a,      m->q_b,    m->kv_a, m->kv_b,        m->o,       m->q_gamma,
                       m->kv_gamma, m->o_bias, m->x,    m->kv_b_halves, m->absorbed};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) free(all[i]);
}

static void choose(struct model *m, fovea_nn_latent_form form) {
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

/* The row that the cache of this type holds. */
static void contract_latent(const struct model *m, const float *x, int64_t position, fovea_type type, float *row) {
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

static void contract_queries(const struct model *m, const float *x, int64_t position, float *q) {
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

/* One output row of an entry whose rows x are at positions 0 to end - 1: that of position `own`. */
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

/* All rows of an entry. */
static float *expect(const struct model *m, const float *x, int64_t length, fovea_type type, double scale) {
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

static void assert_same(const float *actual, const float *expected, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    if (bits_of(actual[i]) != bits_of(expected[i]))
      fail_msg("number %d is %a, not %a", (int)i, (double)actual[i], (double)expected[i]);
}

/* ---- Calls --------------------------------------------------------------------------------------------------- */

static fovea_problem problem_of(const struct model *m, int64_t batch, int64_t rows, int64_t keys) {
  const struct shape *s = &m->shape;
  fovea_problem p;
  fovea_problem_init(&p, batch, s->heads, s->heads, rows, keys, s->nope + s->rope, s->v);
  fovea_problem_resolve(&p, NULL);
  p.causal = 1;
  p.scale *= 1.25;
  return p;
}

/* A prompt without caches. */
static float *run_prompt(struct model *m, int64_t batch, int64_t rows, const char *isa,
                         const fovea_execution *execution) {
  const struct shape *s = &m->shape;
  fovea_problem p = problem_of(m, batch, rows, rows);
  fovea_nn_latent_tensors t;
  fovea_error error = {0};
  float *y = malloc((size_t)(batch * rows * s->in + 1) * sizeof *y);
  assert_non_null(y);
  p.isa = isa;
  m->q_a_proj.isa = m->q_b_proj.isa = m->kv_a_proj.isa = m->kv_b_proj.isa = m->o_proj.isa = isa;
  m->q_norm.isa = m->kv_norm.isa = m->rotary.isa = isa;
  fovea_nn_latent_tensors_init(&t, m->x, y);
  if (fovea_nn_latent_run(&m->latent, &p, &t, execution, &error)) fail_msg("%s", error.text);
  return y;
}

static const struct shape shapes[] = {
    {3, 20, 12, 8, 10, 24, 18, 1, FOVEA_F32},  {1, 1, 1, 2, 1, 3, 0, 1, FOVEA_F32},
    {2, 140, 130, 4, 17, 20, 0, 0, FOVEA_F32}, {4, 33, 16, 0, 24, 19, 7, 1, FOVEA_BF16},
    {2, 31, 15, 6, 9, 40, 21, 0, FOVEA_F16},   {1, 2, 3, 2, 4, 5, 6, 1, FOVEA_BF16},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static void test_prompts(void **state) {
  (void)state;
  for (int i = 0; i < SHAPES; i++)
    for (int form = 0; form < 2; form++) {
      struct model m;
      make(&m, &shapes[i], 10 + (uint64_t)i);
      choose(&m, (fovea_nn_latent_form)form);
      const int64_t rows = USUAL_OR_LONG(9, ROWS), batch = 2;
      const double scale = problem_of(&m, 1, 1, 1).scale;
      for (const char *const *isa = whole_isas_for(NULL); *isa; isa++) {
        float *y = run_prompt(&m, batch, rows, *isa, NULL);
        for (int64_t b = 0; b < batch; b++) {
          float *expected = expect(&m, m.x + b * rows * m.shape.in, rows, FOVEA_F32, scale);
          assert_same(y + b * rows * m.shape.in, expected, rows * m.shape.in);
          free(expected);
        }
        free(y);
      }
      destroy(&m);
    }
}

/* Caches in pages of 8 rows, pages in any order, in two layers, of which the second is used. */
struct cache {
  fovea_pages pages;
  void *memory;
  int32_t tables[3 * 8];
  fovea_segment segments[3 * 8];
  fovea_sequence sequences[3];
};

static size_t cache_size(const struct shape *s, fovea_type type) {
  return (size_t)(24 * 8 * LAYERS * (s->rank + s->rope)) * type_size(type);
}

static void make_cache(struct cache *c, const struct shape *s, fovea_type type, int with_v) {
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

/* Rows `first` to `end` - 1 of one entry of a batch into and over its cache. */
static void run_chunk(struct model *m, const struct cache *c, int64_t entry, int64_t first, int64_t end, float *y) {
  const struct shape *s = &m->shape;
  fovea_problem p = problem_of(m, 1, end - first, end);
  fovea_nn_latent_tensors t;
  fovea_error error = {0};
  p.segmented = 1;
  fovea_nn_latent_tensors_init(&t, m->x + (entry * ROWS + first) * s->in, y + first * s->in);
  t.sequences = &c->sequences[entry];
  t.layer = LAYER;
  t.first_position = first;
  if (fovea_nn_latent_run(&m->latent, &p, &t, NULL, &error)) fail_msg("%s", error.text);
}

/* At once, in chunks and in steps: the bits of the clause. */
static void test_chunks(void **state) {
  static const int64_t cuts[][6] = {{0, ROWS}, {0, 7, 8, 9, 25, ROWS}, {0, 1, 2, 3, 39, ROWS}};
  (void)state;
  for (int i = 0; i < SHAPES; i++)
    for (int form = 0; form < 2; form++)
      for (int type = 0; type < 3; type++) {
        struct model m;
        make(&m, &shapes[i], 30 + (uint64_t)i);
        choose(&m, (fovea_nn_latent_form)form);
        float *expected =
            expect(&m, m.x + ROWS * m.shape.in, ROWS, (fovea_type)type, problem_of(&m, 1, 1, 1).scale);
        float *y = malloc((size_t)(ROWS * m.shape.in) * sizeof *y);
        assert_non_null(y);
        for (int n = 0; n < USUAL_OR_LONG(2, 3); n++) {
          struct cache c;
          make_cache(&c, &m.shape, (fovea_type)type, n == 1);
          for (int j = 0; cuts[n][j] < ROWS; j++) run_chunk(&m, &c, 1, cuts[n][j], cuts[n][j + 1], y);
          assert_same(y, expected, ROWS * m.shape.in);
          free(c.memory);
        }
        free(expected);
        free(y);
        destroy(&m);
      }
}

/* Rows in the cache from place 0 on that are rotated from 1,000 on have the bits of a prompt at position 1,000. */
static void test_rotary_positions(void **state) {
  (void)state;
  for (int form = 0; form < 2; form++) {
    struct model m;
    struct cache c;
    int64_t positions[ROWS];
    fovea_nn_latent_tensors t;
    fovea_error error = {0};
    make(&m, &shapes[0], 50);
    choose(&m, (fovea_nn_latent_form)form);
    make_cache(&c, &m.shape, FOVEA_F32, 1);
    float *y = malloc((size_t)(2 * ROWS * m.shape.in) * sizeof *y), *expected = y + ROWS * m.shape.in;
    assert_non_null(y);
    assert_true(m.shape.rope > 0);
    for (int i = 0; i < ROWS; i++) positions[i] = 1000 + i;
    fovea_problem p = problem_of(&m, 1, ROWS, ROWS);
    fovea_nn_latent_tensors_init(&t, m.x, expected);
    t.first_position = 1000;
    if (fovea_nn_latent_run(&m.latent, &p, &t, NULL, &error)) fail_msg("%s", error.text);
    p.segmented = 1;
    t.y = y;
    t.sequences = &c.sequences[0];
    t.layer = LAYER;
    t.first_position = 0;
    t.rotary_positions = positions;
    if (fovea_nn_latent_run(&m.latent, &p, &t, NULL, &error)) fail_msg("%s", error.text);
    assert_same(y, expected, ROWS * m.shape.in);
    m.latent.rotary = NULL;
    assert_int_equal(fovea_nn_latent_run(&m.latent, &p, &t, NULL, &error), FOVEA_ERROR_UNUSED);
    assert_non_null(strstr(error.text, "rotary_positions is set"));
    free(y);
    free(c.memory);
    destroy(&m);
  }
}

/* Three entries of different lengths, one call: each has the bits that it has alone. Packed rows, and padded ones.
 */
static void test_batches(void **state) {
  const int64_t before[3] = {10, 0, 25}, new_rows[3] = {3, 20, 15};
  (void)state;
  for (int form = 0; form < 2; form++)
    for (int packed = 0; packed < 2; packed++) {
      struct model m;
      struct cache c;
      fovea_nn_latent_tensors t;
      const int64_t most = 20;
      int64_t kv_lens[3], offsets[3];
      int32_t starts[4] = {2, 5, 25, 40};
      make(&m, &shapes[0], 50);
      choose(&m, (fovea_nn_latent_form)form);
      make_cache(&c, &m.shape, FOVEA_F32, 0);
      const int64_t in = m.shape.in, rows = packed ? 43 : 3 * most;
      float *x = calloc((size_t)(rows * in), sizeof *x), *y = malloc((size_t)(rows * in) * sizeof *y),
            *alone = malloc((size_t)(ROWS * in) * sizeof *alone);
      assert_true(x && y && alone);
      for (int64_t b = 0; b < 3; b++) {
        float *to = x + (packed ? starts[b] : b * most) * in;
        if (before[b] > 0) run_chunk(&m, &c, b, 0, before[b], alone);
        memcpy(to, m.x + (b * ROWS + before[b]) * in, (size_t)(new_rows[b] * in) * sizeof *to);
        kv_lens[b] = before[b] + new_rows[b];
        offsets[b] = before[b];
      }
      fovea_problem p = problem_of(&m, 3, packed ? rows : most, 40);
      p.segmented = 1;
      p.kv_lens = kv_lens;
      p.offsets = offsets;
      if (packed) p.cu_seqlens_q = starts;
      if (!packed) p.q_lens = new_rows;
      fovea_nn_latent_tensors_init(&t, x, y);
      t.sequences = c.sequences;
      t.layer = LAYER;
      t.first_positions = before;
      fovea_error error = {0};
      if (fovea_nn_latent_run(&m.latent, &p, &t, NULL, &error)) fail_msg("%s", error.text);
      for (int64_t b = 0; b < 3; b++) {
        float *expected = expect(&m, m.x + b * ROWS * in, kv_lens[b], FOVEA_F32, p.scale);
        assert_same(y + (packed ? starts[b] : b * most) * in, expected + before[b] * in, new_rows[b] * in);
        free(expected);
      }
      free(x);
      free(y);
      free(alone);
      free(c.memory);
      destroy(&m);
    }
}

static void test_threads(void **state) {
  const struct shape s = {8, 64, 32, 16, 32, 64, 48, 1, FOVEA_F32};
  (void)state;
  for (int form = 0; form < 2; form++) {
    struct model m;
    fovea_execution execution;
    make(&m, &s, 70);
    choose(&m, (fovea_nn_latent_form)form);
    float *expected = run_prompt(&m, 3, ROWS, NULL, NULL);
    fovea_execution_init(&execution);
    for (execution.threads = 1; execution.threads <= 5; execution.threads += 2) {
      float *y = run_prompt(&m, 3, ROWS, NULL, &execution);
      assert_same(y, expected, 3 * ROWS * s.in);
      free(y);
    }
    execution.threads = 3;
    for (int order = 0; order < TASK_ORDERS; order++) {
      struct executor executor = {(enum task_order)order, 0};
      execution.parallel_for = threads_for;
      execution.parallel_context = &executor;
      float *y = run_prompt(&m, 3, ROWS, NULL, &execution);
      assert_same(y, expected, 3 * ROWS * s.in);
      free(y);
    }
    execution.parallel_for = NULL;
    execution.parallel_context = NULL;
    const fovea_problem p = problem_of(&m, 3, ROWS, ROWS);
    struct guarded scratch = guarded_create(fovea_nn_latent_scratch_size(&m.latent, &p, NULL, 3), GUARD_AT_END);
    execution.scratch = scratch.data;
    execution.scratch_size = scratch.size;
    float *y = run_prompt(&m, 3, ROWS, NULL, &execution);
    assert_same(y, expected, 3 * ROWS * s.in);
    free(y);
    guarded_destroy(&scratch);
    free(expected);
    destroy(&m);
  }
}

/* Roundings on the way of a product in a dot product. */
static double depth(int64_t dims) {
  return (double)((dims < 128 ? dims : 128) + (dims + 127) / 128 - 1);
}

/* The bound of clause L20 for one head of one row, from numbers of the contract in double, for each of its outputs.
 */
static void bound_head(const struct model *m, int64_t h, const float *q, const float *latents, int64_t own,
                       double scale, double *bounds, double *sizes) {
  const struct shape *s = &m->shape;
  const int64_t width = s->rank + s->rope;
  const float *w = m->kv_b + h * (s->nope + s->v) * s->rank, *w_v = w + s->nope * s->rank;
  const double n = depth(s->rank) + depth(s->nope) + depth(s->nope + s->rope) + depth(width);
  double score[ROWS], largest = -1e300, most = 0, sum = 0;
  for (int64_t j = 0; j <= own; j++) {
    const float *c = latents + j * width;
    double size = 0;
    score[j] = 0;
    for (int64_t d = 0; d < s->nope + s->rope; d++)
      for (int64_t r = 0; r < (d < s->nope ? s->rank : 1); r++) {
        const double k = d < s->nope ? (double)w[d * s->rank + r] * (double)c[r] : (double)c[s->rank + d - s->nope];
        score[j] += scale * (double)q[d] * k;
        size += fabs(scale * (double)q[d] * k);
      }
    most = fmax(most, size);
    largest = fmax(largest, score[j]);
  }
  for (int64_t j = 0; j <= own; j++) sum += exp(score[j] - largest);
  for (int64_t e = 0; e < s->v; e++) {
    double size = 0;
    for (int64_t j = 0; j <= own; j++)
      for (int64_t r = 0; r < s->rank; r++)
        size += exp(score[j] - largest) / sum * fabs((double)w_v[e * s->rank + r] * (double)latents[j * width + r]);
    sizes[e] = size;
    bounds[e] = (2 * n * most + 2 * 16 * (2 + most) + 2 * depth(s->rank)) * 0x1p-24 * size;
  }
}

/* The forms differ by no more than clause L20 says, and by the roundings of o_proj. */
/* Padding in front of a prompt: kv_begins has the bits of a mask that hides it, in both forms, whatever it holds.
 */
static void test_padding(void **state) {
  (void)state;
  enum { PADDING = 5 };
  static const int64_t begins[2] = {0, PADDING};
  unsigned char mask[2][ROWS];
  for (int b = 0; b < 2; b++)
    for (int64_t i = 0; i < ROWS; i++) mask[b][i] = i >= begins[b];
  for (int i = 0; i < 2 * SHAPES; i++) {
    struct model m;
    make(&m, &shapes[i / 2], 70 + (uint64_t)i);
    choose(&m, (fovea_nn_latent_form)(i % 2));
    const int64_t in = m.shape.in;
    float *y[2];
    for (int way = 0; way < 2; way++) {
      fovea_problem p = problem_of(&m, 2, ROWS, ROWS);
      fovea_nn_latent_tensors t;
      fovea_error error = {0};
      y[way] = malloc((size_t)(2 * ROWS * in) * sizeof **y);
      assert_non_null(y[way]);
      fovea_nn_latent_tensors_init(&t, m.x, y[way]);
      if (way == 0) {
        p.kv_begins = begins;
        for (int64_t d = 0; d < PADDING * in; d++) m.x[ROWS * in + d] = NAN;
      } else {
        p.mask_type = FOVEA_MASK_BOOL;
        p.mask_strides = (fovea_mask_strides){ROWS, 0, 0, 1};
        t.mask = mask;
        for (int64_t d = 0; d < PADDING * in; d++) m.x[ROWS * in + d] = 0;
      }
      if (fovea_nn_latent_run(&m.latent, &p, &t, NULL, &error)) fail_msg("%s", error.text);
    }
    assert_memory_equal(y[0], y[1], (size_t)(ROWS * in) * sizeof **y);
    assert_memory_equal(y[0] + (ROWS + PADDING) * in, y[1] + (ROWS + PADDING) * in,
                        (size_t)((ROWS - PADDING) * in) * sizeof **y);
    free(y[0]);
    free(y[1]);
    destroy(&m);
  }
}

static void test_forms(void **state) {
  (void)state;
  for (int i = 0; i < SHAPES; i++) {
    struct model m;
    make(&m, &shapes[i], 90 + (uint64_t)i);
    const struct shape *s = &m.shape;
    const int64_t width = s->rank + s->rope, dim = s->nope + s->rope, outs = s->heads * s->v;
    const double scale = problem_of(&m, 1, 1, 1).scale;
    float *y[2], *latents = numbers(&(struct generator){1}, ROWS * width, 1),
                 *q = numbers(&(struct generator){1}, s->heads * dim, 1);
    double *bounds = malloc((size_t)(2 * outs) * sizeof *bounds);
    assert_non_null(bounds);
    for (int form = 0; form < 2; form++) {
      choose(&m, (fovea_nn_latent_form)form);
      y[form] = run_prompt(&m, 1, ROWS, NULL, NULL);
    }
    for (int64_t p = 0; p < ROWS; p++) contract_latent(&m, m.x + p * s->in, p, FOVEA_F32, latents + p * width);
    for (int64_t p = 0; p < ROWS; p += USUAL_OR_LONG(13, 3)) {
      contract_queries(&m, m.x + p * s->in, p, q);
      for (int64_t h = 0; h < s->heads; h++)
        bound_head(&m, h, q + h * dim, latents, p, scale, bounds + h * s->v, bounds + outs + h * s->v);
      for (int64_t o = 0; o < s->in; o++) {
        const float a = y[0][p * s->in + o], b = y[1][p * s->in + o];
        double bound = 0, size = fabs((double)m.o_bias[o]);
        for (int64_t e = 0; e < outs; e++) {
          const double weight = fabs((double)m.o[o * outs + e]);
          bound += weight * bounds[e];
          size += weight * (bounds[outs + e] + bounds[e]);
        }
        bound += 2 * (depth(outs) + 1) * 0x1p-24 * size;
        if (!(fabs((double)a - (double)b) <= bound))
          fail_msg("row %d output %d: %g and %g", (int)p, (int)o, (double)a, (double)b);
      }
    }
    free(y[0]);
    free(y[1]);
    free(latents);
    free(q);
    free(bounds);
    destroy(&m);
  }
}

#define REFUSES(change, status, text_part)                                                                         \
  do {                                                                                                             \
    fovea_nn_latent latent = m.latent;                                                                             \
    fovea_nn_linear q_b = m.q_b_proj, kv_b = m.kv_b_proj;                                                          \
    fovea_problem p = problem_of(&m, 1, 4, 4);                                                                     \
    fovea_nn_latent_tensors t;                                                                                     \
    fovea_error error = {0};                                                                                       \
    latent.q_b_proj = &q_b;                                                                                        \
    latent.kv_b_proj = &kv_b;                                                                                      \
    fovea_nn_latent_tensors_init(&t, m.x, y);                                                                      \
    change;                                                                                                        \
    assert_int_equal(fovea_nn_latent_run(&latent, &p, &t, NULL, &error), status);                                  \
    if (!strstr(error.text, text_part)) fail_msg("\"%s\" lacks \"%s\"", error.text, text_part);                    \
    for (int j = 0; j < 4 * 24; j++) assert_true(y[j] == 7);                                                       \
  } while (0)

static void test_refusals(void **state) {
  struct model m;
  struct cache c;
  float y[4 * 24];
  const int64_t begins[1] = {0};
  (void)state;
  make(&m, &shapes[0], 5);
  make_cache(&c, &m.shape, FOVEA_F32, 1);
  for (int j = 0; j < 4 * 24; j++) y[j] = 7;
  REFUSES(latent.struct_size = 8, FOVEA_ERROR_STRUCT_SIZE, "latent");
  REFUSES(latent.q_b_proj = NULL, FOVEA_ERROR_NULL, "q_b_proj is NULL");
  REFUSES(latent.kv_b_proj = NULL, FOVEA_ERROR_NULL, "kv_b_proj is NULL");
  REFUSES(q_b.out++, FOVEA_ERROR_SIZE, "out of q_b_proj is 61; it must be 60");
  REFUSES(kv_b.bias = y, FOVEA_ERROR_UNUSED, "bias of kv_b_proj");
  REFUSES(latent.qk_rope_head_dim = 7, FOVEA_ERROR_SIZE, "qk_rope_head_dim is 7");
  REFUSES(latent.form = FOVEA_NN_LATENT_ABSORBED, FOVEA_ERROR_NULL, "absorbed is NULL");
  REFUSES(latent.absorbed = y, FOVEA_ERROR_UNUSED, "absorbed is set");
  REFUSES(latent.q_a_proj = NULL, FOVEA_ERROR_UNUSED, "q_a_layernorm");
  REFUSES(p.heads = 6, FOVEA_ERROR_SIZE, "heads is 6");
  REFUSES(p = problem_of(&m, 1, 4, 5), FOVEA_ERROR_SIZE, "kv_len of the problem is 5; it must be 4");
  REFUSES(p.top_k = 2, FOVEA_ERROR_UNUSED, "top_k");
  REFUSES(p.q_type = FOVEA_F16, FOVEA_ERROR_UNUSED, "q_type of the problem is set");
  REFUSES(p.segmented = 1, FOVEA_ERROR_NULL, "sequences is NULL");
  REFUSES((p.segmented = 1, p.kv_begins = begins, t.sequences = c.sequences), FOVEA_ERROR_UNUSED, "kv_begins");
  REFUSES(t.sequences = c.sequences, FOVEA_ERROR_UNUSED, "sequences is set");
  REFUSES(p.scales = FOVEA_SCALES_PER_HEAD, FOVEA_ERROR_UNUSED, "scales of the problem is set");
  REFUSES(t.layer = 1, FOVEA_ERROR_UNUSED, "layer is set");
  REFUSES(t.x = NULL, FOVEA_ERROR_NULL, "x is NULL");
  REFUSES(t.y = NULL, FOVEA_ERROR_NULL, "y is NULL");
  REFUSES((p.segmented = 1, t.sequences = c.sequences, t.layer = 2), FOVEA_ERROR_SEGMENTS, "layer");
  /* What only attention refuses has not changed the caches. */
  const size_t size = cache_size(&m.shape, FOVEA_F32);
  unsigned char *before = malloc(size);
  assert_non_null(before);
  memcpy(before, c.memory, size);
  for (int absorbed = 0; absorbed < 2; absorbed++) {
    if (absorbed) m.latent.form = FOVEA_NN_LATENT_ABSORBED, m.latent.absorbed = m.absorbed;
    REFUSES((p.segmented = 1, t.sequences = c.sequences, p.mask_type = FOVEA_MASK_BOOL), FOVEA_ERROR_NULL, "mask");
    REFUSES((p.segmented = 1, t.sequences = c.sequences, p.sink = FOVEA_SINK_PER_HEAD), FOVEA_ERROR_NULL, "sinks");
    assert_memory_equal(c.memory, before, size);
  }
  free(before);
  m.latent.form = FOVEA_NN_LATENT_EXPANDED, m.latent.absorbed = NULL;
  c.segments[0].kv_heads = 2;
  REFUSES((p.segmented = 1, t.sequences = c.sequences), FOVEA_ERROR_SEGMENTS,
          "sequences[0].segments[0].kv_heads is 2; a latent cache has 1");
  c.segments[0].kv_heads = 0; /* not known */
  c.segments[0].qk_dim++;
  REFUSES((p.segmented = 1, t.sequences = c.sequences), FOVEA_ERROR_SEGMENTS,
          "sequences[0].segments[0].qk_dim is ");
  c.segments[0].qk_dim--;
  c.segments[0].v = y;
  REFUSES((p.segmented = 1, t.sequences = c.sequences), FOVEA_ERROR_UNUSED, "v of sequences[0] segment 0");
  assert_int_equal(fovea_nn_latent_absorb(&m.latent, NULL, NULL), FOVEA_ERROR_NULL);
  assert_int_equal(fovea_nn_latent_absorb(NULL, y, NULL), FOVEA_ERROR_NULL);
  free(c.memory);
  destroy(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_prompts), cmocka_unit_test(test_chunks),   cmocka_unit_test(test_rotary_positions),
      cmocka_unit_test(test_batches), cmocka_unit_test(test_threads),  cmocka_unit_test(test_forms),
      cmocka_unit_test(test_padding), cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Vectors of latent attention, put together from the clauses that it is made of. */
#include "contract.h"
#include "contract_rotary.h"
#include "inputs.h"
#include "nn/contract_nn.h"
#include "nn/contract_norm.h"
#include "vectors.h"

#include <string.h>

enum { IN = 3, HEADS = 2, RANK = 3, NOPE = 2, ROPE = 4, VALUE = 2, TOKENS = 4, Q_RANK = 3 };
enum { DIM = NOPE + ROPE, WIDE = RANK + ROPE };

/* What all heads share: their queries, the cached rows, and the weights that lead from these to keys and values. */
struct latent {
  float q[TOKENS * HEADS * DIM], cached[TOKENS * WIDE];
  const float *kv_b;
};

static void linear(const float *x, const float *w, int64_t rows, int64_t in, int64_t out, float *y) {
  for (int64_t i = 0; i < rows * out; i++)
    y[i] = contract_nn_result(contract_nn_dot(x + i / out * in, w + i % out * in, in));
}

static void normalise(float *x, int64_t dim, const float *gamma) {
  float y[RANK > Q_RANK ? RANK : Q_RANK];
  contract_norm(FOVEA_NN_RMS_NORM, x, dim, (float)1e-6, gamma, NULL, y);
  memcpy(x, y, (size_t)dim * sizeof *x);
}

/* Pairs are neighbours. */
static void turn(float *x, int64_t position) {
  struct fraction turns[ROPE / 2];
  contract_turns(10000, NULL, ROPE / 2, turns);
  for (int i = 0; i < ROPE / 2; i++) {
    float cosine, sine;
    contract_angle(turns[i], position, &cosine, &sine);
    contract_rotate_pair(x + 2 * i, x + 2 * i + 1, cosine, sine);
  }
}

static int sees_until(const void *rules, int64_t position) {
  return position <= *(const int64_t *)rules;
}

static void expand(const struct latent *l, const float *w, float *k, float *v) {
  for (int p = 0; p < TOKENS; p++) {
    const float *cached = l->cached + p * WIDE;
    linear(cached, w, 1, RANK, NOPE, k + p * DIM);
    linear(cached, w + NOPE * RANK, 1, RANK, VALUE, v + p * VALUE);
    memcpy(k + p * DIM + NOPE, cached + RANK, ROPE * sizeof *k);
  }
}

/* The query of a head, for rows as they are cached. */
static void absorb(const float *q, const float *w, float *wide) {
  for (int r = 0; r < RANK; r++) {
    float column[NOPE];
    for (int d = 0; d < NOPE; d++) column[d] = w[d * RANK + r];
    wide[r] = contract_nn_result(contract_nn_dot(q, column, NOPE));
  }
  memcpy(wide + RANK, q + NOPE, ROPE * sizeof *wide);
}

static void write_head(const struct latent *l, int64_t h, int64_t own, int is_absorbed, float *o) {
  const float *q = l->q + (own * HEADS + h) * DIM, *w = l->kv_b + h * (NOPE + VALUE) * RANK;
  float k[TOKENS * DIM], v[TOKENS * VALUE], wide[WIDE], sums[RANK], lse;
  struct contract_row row = {.q = q,
                             .k = k,
                             .v = v,
                             .k_stride = DIM,
                             .v_stride = VALUE,
                             .qk_dim = DIM,
                             .v_dim = VALUE,
                             .positions = TOKENS,
                             .scale = 0.6,
                             .sees = sees_until,
                             .rules = &own};
  if (!is_absorbed) {
    expand(l, w, k, v);
    contract_row(&row, o, &lse);
    return;
  }
  absorb(q, w, wide);
  row.q = wide;
  row.k = row.v = l->cached;
  row.k_stride = row.v_stride = row.qk_dim = WIDE;
  row.v_dim = RANK;
  contract_row(&row, sums, &lse);
  linear(sums, w + NOPE * RANK, 1, RANK, VALUE, o);
}

static void write_parameters(const char *name, int is_absorbed, fovea_type cache) {
  vector_begin(name, "latent", "L20 L1 L3 12 3");
  vector_integer("heads", HEADS);
  vector_integer("rank", RANK);
  vector_integer("nope", NOPE);
  vector_integer("rope", ROPE);
  vector_integer("absorbed", is_absorbed);
  vector_word("cache", cache == FOVEA_F16 ? "f16" : "f32");
  vector_double("eps", 1e-6);
  vector_double("scale", 0.6);
  vector_double("base", 10000);
  vector_integer("causal", 1);
  vector_integer("offset", 0);
}

/* `with_a`: queries go through two layers. */
static void write_one(const char *name, int is_absorbed, fovea_type cache, int with_a) {
  struct latent l;
  float a[TOKENS * Q_RANK], o[TOKENS * HEADS * VALUE], y[TOKENS * IN];
  inputs_begin(89);
  write_parameters(name, is_absorbed, cache);
  const float *x = input("", "x", TOKENS, IN), *q_a = with_a ? input("", "q_a", Q_RANK, IN) : NULL;
  const float *q_gamma = with_a ? input("", "q_gamma", Q_RANK, 0) : NULL;
  const float *q_b = input("", "q_b", HEADS * DIM, with_a ? Q_RANK : IN), *kv_a = input("", "kv_a", WIDE, IN);
  const float *kv_gamma = input("", "kv_gamma", RANK, 0);
  l.kv_b = input("", "kv_b", HEADS * (NOPE + VALUE), RANK);
  if (with_a) linear(x, q_a, TOKENS, IN, Q_RANK, a);
  for (int i = 0; i < TOKENS && with_a; i++) normalise(a + i * Q_RANK, Q_RANK, q_gamma);
  linear(with_a ? a : x, q_b, TOKENS, with_a ? Q_RANK : IN, HEADS * DIM, l.q);
  for (int i = 0; i < TOKENS * HEADS; i++) turn(l.q + i * DIM + NOPE, i / HEADS);
  linear(x, kv_a, TOKENS, IN, WIDE, l.cached);
  for (int i = 0; i < TOKENS; i++) {
    normalise(l.cached + i * WIDE, RANK, kv_gamma);
    turn(l.cached + i * WIDE + RANK, i);
  }
  for (int i = 0; i < TOKENS * WIDE; i++) l.cached[i] = rounded_number(cache, l.cached[i]);
  for (int i = 0; i < TOKENS * HEADS; i++) write_head(&l, i % HEADS, i / HEADS, is_absorbed, o + i * VALUE);
  linear(o, input("", "o", IN, HEADS * VALUE), TOKENS, HEADS * VALUE, IN, y);
  vector_numbers(EXPECTED, "y", FOVEA_F32, y, TOKENS, IN);
  vector_end();
}

void write_latent(void) {
  write_one("latent", 0, FOVEA_F32, 1);
  write_one("latent_absorbed", 1, FOVEA_F16, 0);
}

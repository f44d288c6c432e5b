#include "contract_recurrent.h"

#include "../contract.h"
#include "contract_functions.h"

#include <math.h>

static float activated(float x, float slope) {
  return slope < 0 ? contract_tanh(x) : x > 0 ? x : x * slope;
}

float contract_additive(const float *q, const float *k, const float *w, int64_t dim, float slope) {
  float sum[16] = {0};
  for (int64_t d = 0; d < dim; d++) sum[d % 16] = fmaf(w[d], activated(q[d] + k[d], slope), sum[d % 16]);
  for (int half = 8; half > 0; half /= 2)
    for (int i = 0; i < half; i++) sum[i] = sum[i] + sum[i + half];
  return sum[0];
}

/* The largest score and the sum of weights of some keys; `any`: whether there is a state. */
struct state {
  int any;
  float m, l;
};

struct scores {
  const float *r;
  const unsigned char *seen;
  int64_t count;
};

static float reference_of(float m) {
  return m == -INFINITY ? 0 : m;
}

static float score_of(float r) {
  return r * 0x1.715476p+0f;
}

static struct state block_state(const struct scores *scores, int64_t first) {
  struct state state = {0, -INFINITY, 0};
  float sum[16] = {0};
  const int64_t end = first + 128 < scores->count ? first + 128 : scores->count;
  for (int64_t j = first; j < end; j++) {
    const float s = score_of(scores->r[j]);
    if (!scores->seen[j]) continue;
    if (s > state.m) state.m = s;
    if (isnan(s) || s > -INFINITY) state.any = 1;
  }
  if (!state.any) return state;
  for (int64_t j = first; j < end; j++)
    if (scores->seen[j]) sum[j % 16] += contract_exp2(score_of(scores->r[j]) - reference_of(state.m));
  for (int half = 8; half > 0; half /= 2)
    for (int i = 0; i < half; i++) sum[i] = sum[i] + sum[i + half];
  state.l = sum[0];
  return state;
}

static struct state merged(struct state left, struct state right) {
  if (!left.any || !right.any) return left.any ? left : right;
  const float m = fmaxf(left.m, right.m), reference = reference_of(m);
  const float a = contract_exp2(left.m - reference), b = contract_exp2(right.m - reference);
  return (struct state){1, m, fmaf(right.l, b, left.l * a)};
}

/* Blocks of a span in ascending order; larger nodes by halves. */
static struct state node_state(const struct scores *scores, int64_t first, int64_t keys) {
  struct state state = {0, -INFINITY, 0};
  if (first >= scores->count) return state;
  if (keys > 2048) {
    state = node_state(scores, first, keys / 2);
    return merged(state, node_state(scores, first + keys / 2, keys / 2));
  }
  for (int64_t j = first; j < first + keys; j += 128) state = merged(state, block_state(scores, j));
  return state;
}

void contract_weights(const float *r, const unsigned char *seen, int64_t count, float *weights) {
  const struct scores scores = {r, seen, count};
  int64_t keys = 2048;
  while (keys < count) keys *= 2;
  const struct state state = node_state(&scores, 0, keys);
  for (int64_t j = 0; j < count; j++) {
    const float weight = contract_exp2(score_of(r[j]) - reference_of(state.m)) * (1 / state.l);
    weights[j] = seen[j] && state.any ? weight : 0;
  }
}

/* 1 / (1 + e^-x), by SiLU's divisor. */
float contract_sigmoid(float x) {
  const float w = x < -110 ? -110 : x > 32 ? 32 : x;
  return x != x ? x : 1 / contract_one_and_exp(w) * 0x1p-32f;
}

void contract_gru(const float *x, const float *products, const float *h, int64_t dim, float *y) {
  for (int64_t d = 0; d < dim; d++) {
    const float r = contract_sigmoid(x[d] + products[d]);
    const float z = contract_sigmoid(x[dim + d] + products[dim + d]);
    const float n = contract_tanh(fmaf(r, products[2 * dim + d], x[2 * dim + d]));
    y[d] = fmaf(z, h[d] - n, n);
  }
}

void contract_lstm(const float *x, const float *products, const float *c, int64_t dim, float *y, float *new_c) {
  for (int64_t d = 0; d < dim; d++) {
    const float i = contract_sigmoid(x[d] + products[d]);
    const float f = contract_sigmoid(x[dim + d] + products[dim + d]);
    const float g = contract_tanh(x[2 * dim + d] + products[2 * dim + d]);
    const float o = contract_sigmoid(x[3 * dim + d] + products[3 * dim + d]);
    const float cell = fmaf(f, c[d], i * g);
    new_c[d] = cell;
    y[d] = o * contract_tanh(cell);
  }
}

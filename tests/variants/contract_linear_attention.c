#include "variants/contract_linear_attention.h"

#include "nn/contract_functions.h"
#include "nn/contract_nn.h"

#include <math.h>
#include <stdlib.h>

/* Of x^2: sum i has the numbers at i mod 16. */
static float squares(const float *x, int64_t dim) {
  float sums[16] = {0};
  for (int64_t d = 0; d < dim; d++) sums[d % 16] = fmaf(x[d], x[d], sums[d % 16]);
  for (int half = 8; half > 0; half /= 2)
    for (int i = 0; i < half; i++) sums[i] = sums[i] + sums[i + half];
  return sums[0];
}

static void make_row(const struct contract_linear *h, const float *from, float *to) {
  const float inverse = h->unit ? 1.0f / sqrtf(squares(from, h->k_dim) + h->eps) : 1.0f;
  for (int64_t d = 0; d < h->k_dim; d++) to[d] = h->unit ? from[d] * inverse : from[d];
}

/* The sum over dims of x times a column of the state. */
static float column_sum(const struct contract_linear *h, const float *x, const float *state, int64_t column) {
  float sum = 0;
  for (int64_t first = 0; first < h->k_dim; first += 128) {
    float piece = 0;
    for (int64_t d = first; d < h->k_dim && d < first + 128; d++)
      piece = fmaf(x[d], state[d * h->v_dim + column], piece);
    sum = first == 0 ? piece : sum + piece;
  }
  return sum;
}

static float kept(const struct contract_linear *h, int64_t token, int64_t d) {
  const float x = h->per_dim ? h->decay[token * h->k_dim + d] : h->decay[token];
  return contract_exp(h->factor ? x * *h->factor : x);
}

static void take_token(const struct contract_linear *h, int64_t token, const float *k, float *state) {
  for (int64_t d = 0; d < h->k_dim && h->is_gated; d++) {
    const float g = kept(h, token, d);
    for (int64_t c = 0; c < h->v_dim; c++) state[d * h->v_dim + c] *= g;
  }
  for (int64_t c = 0; c < h->v_dim; c++) {
    float u = h->v[token * h->v_dim + c];
    if (h->is_delta) u = u - column_sum(h, k, state, c);
    if (h->beta) u = h->beta[token] * u;
    for (int64_t d = 0; d < h->k_dim; d++) state[d * h->v_dim + c] = fmaf(k[d], u, state[d * h->v_dim + c]);
  }
}

void contract_linear_head(const struct contract_linear *h, float *state, float *o) {
  float *row = malloc((size_t)h->k_dim * sizeof *row);
  if (!row) abort();
  for (int64_t t = 0; t < h->tokens; t++) {
    make_row(h, h->k + t * h->k_dim, row);
    take_token(h, t, row, state);
    for (int64_t r = 0; r < h->reads; r++) {
      make_row(h, h->q + (t * h->reads + r) * h->k_dim, row);
      for (int64_t c = 0; c < h->v_dim; c++) {
        float y = h->scale * column_sum(h, row, state, c);
        if (h->skip) y = fmaf(*h->skip, h->v[t * h->v_dim + c], y);
        o[(t * h->reads + r) * h->v_dim + c] = contract_nn_result(y);
      }
    }
  }
  for (int64_t i = 0; i < h->k_dim * h->v_dim; i++) state[i] = contract_nn_result(state[i]);
  free(row);
}

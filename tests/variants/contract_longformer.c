#include "contract_longformer.h"

#include "contract.h"
#include "nn/contract_nn.h"

#include <stdlib.h>

/* The states of a batch element, and who asks. */
struct row_rules {
  const int8_t *states;
  int64_t row, window;
};

static int sees(const void *rules, int64_t key) {
  const struct row_rules *r = rules;
  if (r->states[r->row] == -1 || r->states[key] == -1) return 0;
  if (r->states[r->row] == 1 || r->states[key] == 1) return 1;
  return key >= r->row - r->window && key <= r->row + r->window;
}

static float *linear(const float *x, int64_t rows, int64_t in, const float *weights, const float *bias,
                     int64_t out) {
  float *y = malloc((size_t)(rows * out + 1) * sizeof *y);
  if (!y) abort();
  for (int64_t i = 0; i < rows * out; i++) {
    const float sum = contract_nn_dot(x + i / out * in, weights + i % out * in, in);
    y[i] = contract_nn_result(bias ? sum + bias[i % out] : sum);
  }
  return y;
}

void contract_longformer(const struct contract_longformer *l, float *y) {
  const int64_t rows = l->batch * l->length, qk = l->heads * l->qk_dim, v = l->heads * l->v_dim;
  const int64_t widths[6] = {qk, qk, v, qk, qk, v};
  float *projected[6], *o = calloc((size_t)(rows * v + 1), sizeof *o), lse;
  if (!o) abort();
  for (int i = 0; i < 6; i++) projected[i] = linear(l->x, rows, l->in, l->weights[i], l->biases[i], widths[i]);
  for (int64_t b = 0; b < l->batch; b++)
    for (int64_t i = 0; i < l->length; i++)
      for (int64_t h = 0; h < l->heads; h++) {
        const struct row_rules rules = {l->states + b * l->length, i, l->window};
        const int first = rules.states[i] == 1 ? 3 : 0;
        const struct contract_row row = {.q = projected[first] + (b * l->length + i) * qk + h * l->qk_dim,
                                         .k = projected[first + 1] + b * l->length * qk + h * l->qk_dim,
                                         .v = projected[first + 2] + b * l->length * v + h * l->v_dim,
                                         .k_stride = qk,
                                         .v_stride = v,
                                         .qk_dim = l->qk_dim,
                                         .v_dim = l->v_dim,
                                         .positions = l->length,
                                         .scale = l->scale,
                                         .sees = sees,
                                         .rules = &rules};
        contract_row(&row, o + (b * l->length + i) * v + h * l->v_dim, &lse);
      }
  if (l->weights[6]) {
    float *out = linear(o, rows, v, l->weights[6], l->biases[6], l->out);
    for (int64_t i = 0; i < rows * l->out; i++) y[i] = out[i];
    free(out);
  } else {
    for (int64_t i = 0; i < rows * v; i++) y[i] = o[i];
  }
  for (int i = 0; i < 6; i++) free(projected[i]);
  free(o);
}

int contract_bigbird_sees(int64_t blocks, int64_t i, int64_t j) {
  const int64_t distance = i < j ? j - i : i - j;
  return i == 0 || i == blocks - 1 || j == 0 || j == blocks - 1 || distance <= 1;
}

int contract_bigbird_may_draw(int64_t blocks, int64_t i, int64_t j) {
  if (contract_bigbird_sees(blocks, i, j)) return 0;
  return !(i == 1 && j == blocks - 2) && !(i == blocks - 2 && j == 1);
}

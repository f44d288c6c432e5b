#include "contract_graph.h"

#include "contract.h"
#include "nn/contract_nn.h"

#include <math.h>
#include <stdlib.h>

static float leaky(float x, float slope) {
  return x > 0 ? x : x * slope;
}

/* Sixteen sums by index mod 16, then halves to halves. */
static float folded(float sums[16]) {
  for (int half = 8; half > 0; half /= 2)
    for (int i = 0; i < half; i++) sums[i] = sums[i] + sums[i + half];
  return sums[0];
}

static float dot(const float *x, const float *y, int64_t dim) {
  float sums[16] = {0};
  for (int64_t d = 0; d < dim; d++) sums[d % 16] = fmaf(x[d], y[d], sums[d % 16]);
  return folded(sums);
}

/* The score of an edge, for one head. Places: where its numbers begin in q, in k and in e. */
static float score(const struct contract_graph *g, int64_t head, int64_t to, int64_t from, int64_t edge) {
  const float *q = g->q + to, *k = g->k + from, *e = g->e ? g->e + edge : NULL;
  float sums[16] = {0};
  if (g->kind == FOVEA_NN_GRAPH_GAT) {
    float x = dot(g->a_to + head * g->dim, q, g->dim) + dot(g->a_from + head * g->dim, k, g->dim);
    if (e) x = x + dot(g->a_edge + head * g->dim, e, g->dim);
    return leaky(x, g->slope);
  }
  for (int64_t d = 0; d < g->dim; d++) {
    const float key = e ? k[d] + e[d] : k[d];
    const float with = g->kind == FOVEA_NN_GRAPH_GATV2 ? g->a[head * g->dim + d] : q[d];
    const float x = g->kind == FOVEA_NN_GRAPH_GATV2 ? leaky(q[d] + key, g->slope) : key;
    sums[d % 16] = fmaf(with, x, sums[d % 16]);
  }
  return folded(sums);
}

static int sees(const void *sources, int64_t position) {
  return ((const int64_t *)sources)[position] >= 0;
}

/* One head of a node. */
static void compute_head(const struct contract_graph *g, int64_t node, int64_t head, float *o, float *lse,
                         float *weights) {
  const int64_t first = g->starts[node], count = g->starts[node + 1] - first, width = g->heads * g->dim;
  float *r = malloc((size_t)(count + 1) * sizeof *r),
        *values = malloc((size_t)(count * g->dim + 1) * sizeof *values);
  float *row_weights = malloc((size_t)(count + 1) * sizeof *row_weights);
  const float one = 1;
  if (!r || !values || !row_weights) abort();
  for (int64_t j = 0; j < count; j++) {
    const int64_t source = g->sources[first + j], edge = (first + j) * width + head * g->dim;
    r[j] = 0;
    if (source < 0) continue;
    r[j] = score(g, head, node * width + head * g->dim, source * width + head * g->dim, edge);
    for (int64_t d = 0; d < g->dim; d++) {
      const float value = (g->kind == FOVEA_NN_GRAPH_TRANSFORMER ? g->v : g->k)[source * width + head * g->dim + d];
      values[j * g->dim + d] = g->kind == FOVEA_NN_GRAPH_TRANSFORMER && g->e ? value + g->e[edge + d] : value;
    }
  }
  const struct contract_row row = {.q = &one,
                                   .k = r,
                                   .v = values,
                                   .k_stride = 1,
                                   .v_stride = g->dim,
                                   .qk_dim = 1,
                                   .v_dim = g->dim,
                                   .positions = count,
                                   .scale = g->kind == FOVEA_NN_GRAPH_TRANSFORMER ? g->scale : 1,
                                   .sees = sees,
                                   .rules = g->sources + first};
  contract_row(&row, o, lse);
  contract_row_weights(&row, row_weights);
  for (int64_t j = 0; j < count; j++) weights[(first + j) * g->heads + head] = row_weights[j];
  free(r);
  free(values);
  free(row_weights);
}

void contract_graph(const struct contract_graph *g, float *y, float *lse, float *weights) {
  float *o = malloc((size_t)(g->heads * g->dim) * sizeof *o);
  if (!o) abort();
  for (int64_t node = 0; node < g->nodes; node++) {
    for (int64_t head = 0; head < g->heads; head++)
      compute_head(g, node, head, o + head * g->dim, lse + node * g->heads + head, weights);
    const int64_t numbers = g->average ? g->dim : g->heads * g->dim;
    for (int64_t d = 0; d < numbers; d++) {
      float x = o[d];
      for (int64_t head = 1; g->average && head < g->heads; head++) x = x + o[head * g->dim + d];
      if (g->average) x = x / (float)g->heads;
      if (g->bias) x = x + g->bias[d];
      y[node * numbers + d] = contract_nn_result(x);
    }
  }
  free(o);
}

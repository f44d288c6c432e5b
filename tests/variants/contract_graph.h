/* docs/numerics.md, clause L22, number by number in plain C. Shares no code with the library. */
#ifndef FOVEA_TESTS_VARIANTS_CONTRACT_GRAPH_H
#define FOVEA_TESTS_VARIANTS_CONTRACT_GRAPH_H

#include <fovea/graph_attention.h>

/* Everything is f32 and contiguous: q (nodes, heads, dim), k and v (sources, heads, dim), e (edges, heads, dim). */
struct contract_graph {
  fovea_nn_graph_kind kind;
  int64_t heads, dim, nodes;
  double scale;
  float slope;
  const float *a_to, *a_from, *a_edge, *a, *bias;
  int average;
  const int64_t *starts, *sources;
  const float *q, *k, *v, *e; /* e: NULL: none */
};

/* Writes y, lse (nodes, heads) and weights (edges, heads), in f32, from the edges of the first node on. */
void contract_graph(const struct contract_graph *graph, float *y, float *lse, float *weights);

#endif

/* Vectors of graph attention: each kind of layer, with features of edges. */
#include "inputs.h"
#include "variants/contract_graph.h"
#include "vectors.h"

enum { NODES = 3, EDGES = 7, MOST = 64 };

/* A node without edges, an edge without a source, an edge that is there twice. */
static const int64_t starts[NODES + 1] = {0, 3, 3, 7}, sources[EDGES] = {0, 2, -1, 1, 1, 0, 2};

static void write_one(const char *name, const char *kind, struct contract_graph g) {
  const int64_t width = g.heads * g.dim, out = g.average ? g.dim : width;
  float y[MOST], lse[MOST], weights[MOST] = {0};
  inputs_begin(83);
  vector_begin(name, "graph", "L22 3");
  vector_word("kind", kind);
  vector_integer("heads", g.heads);
  vector_integer("average", g.average);
  vector_double("leaky_slope", 0.2);
  vector_double("scale", g.kind == FOVEA_NN_GRAPH_TRANSFORMER ? g.scale : 1);
  vector_array(INPUT, "starts", ARRAY_I64, starts, NODES + 1, 0);
  vector_array(INPUT, "sources", ARRAY_I64, sources, EDGES, 0);
  g.q = input("", "q", NODES, width);
  g.k = input("", "k", NODES, width);
  g.v = input("", "v", NODES, width);
  float *e = drawn(EDGES * width);
  for (int64_t i = 0; i < EDGES * width; i++) e[i] = 1.7f * e[i]; /* sums with k and q are not exact */
  vector_numbers(INPUT, "e", FOVEA_F32, e, EDGES, width);
  g.e = e;
  if (g.kind == FOVEA_NN_GRAPH_GATV2) g.a = input("", "a", width, 0);
  if (g.kind == FOVEA_NN_GRAPH_GAT) {
    g.a_to = input("", "a_to", width, 0);
    g.a_from = input("", "a_from", width, 0);
    g.a_edge = input("", "a_edge", width, 0);
  }
  if (g.kind != FOVEA_NN_GRAPH_TRANSFORMER) g.bias = input("", "bias", out, 0);
  contract_graph(&g, y, lse, weights);
  vector_numbers(EXPECTED, "y", FOVEA_F32, y, NODES, out);
  vector_numbers(EXPECTED, "lse", FOVEA_F32, lse, NODES, g.heads);
  vector_numbers(EXPECTED, "weights", FOVEA_F32, weights, EDGES, g.heads);
  vector_end();
}

void write_graphs(void) {
  struct contract_graph g = {.kind = FOVEA_NN_GRAPH_TRANSFORMER,
                             .heads = 1,
                             .dim = 17,
                             .nodes = NODES,
                             .scale = 0.6,
                             .slope = (float)0.2,
                             .starts = starts,
                             .sources = sources};
  write_one("graph_transformer", "transformer", g);
  g.kind = FOVEA_NN_GRAPH_GAT;
  g.heads = 3;
  g.dim = 2;
  g.average = 1;
  write_one("graph_gat", "gat", g);
  g.kind = FOVEA_NN_GRAPH_GATV2;
  g.average = 0;
  write_one("graph_gatv2", "gatv2", g);
}

/* Attention over the edges of a graph: TransformerConv, GAT, GATv2, with features of edges.
 *
 * Part of fovea_nn, with the rules of nn.h. docs/numerics.md, L22, states the arithmetic. */
#ifndef FOVEA_GRAPH_ATTENTION_H
#define FOVEA_GRAPH_ATTENTION_H

#include <fovea/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The score r of an edge from node j to node i, for one head. q, k, v and e are the numbers of the head: q of i, k
 * and v of j, e of the edge, if edges have features (else 0). The output of a head is the sum of the values of the
 * node's edges, weighted by the softmax of their scores.
 *
 *   TRANSFORMER   r = scale q . (k + e), values v + e (Shi et al., 2021; TransformerConv of PyTorch Geometric)
 *   GAT           r = LeakyReLU(a_to . q + a_from . k + a_edge . e), values k (Velickovic et al., 2018)
 *   GATV2         r = a . LeakyReLU(q + k + e), values k (Brody et al., 2022) */
typedef enum fovea_nn_graph_kind {
  FOVEA_NN_GRAPH_TRANSFORMER = 0,
  FOVEA_NN_GRAPH_GAT = 1,
  FOVEA_NN_GRAPH_GATV2 = 2
} fovea_nn_graph_kind;

/* A layer of graph attention. Nodes come projected: by fovea_nn_linear_run() with heads * dim outputs. For GAT, q
 * and k are W h of the same W; for GATv2, q = W_r h and k = W_l h. Prepare it with fovea_nn_graph_init(). */
typedef struct fovea_nn_graph {
  size_t struct_size;       /* set by fovea_nn_graph_init() */
  fovea_nn_graph_kind kind; /* of scores and values */
  int64_t heads, dim; /* at least 1; heads at most 2^20. All of q, k, v and e have `dim` numbers in each head */

  double
      scale; /* TRANSFORMER; default FOVEA_DEFAULT_NUMBER: 1 / sqrt(dim). Not finite as f32: FOVEA_ERROR_ARGUMENT */
  double leaky_slope; /* GAT, GATV2: from 0 to below 1; default 0.2. TRANSFORMER: 0 */

  /* (heads, dim) numbers each, NULL (default) where they are not used. GAT: a_to and a_from, PyTorch Geometric's
   * att_dst and att_src, and with features of edges a_edge. GATV2: a. */
  const float *a_to, *a_from, *a_edge, *a;

  /* Makes e of what edges have: any linear layer with heads * dim outputs. NULL (default): edges have heads * dim
   * numbers already, or none. Edges are projected a part at a time, so that scratch never has more than 4096
   * edges, or the edges of one node, if there are more. */
  const fovea_nn_linear *edge;

  /* 1: the output is the mean of the heads, (nodes, dim). Default 0: (nodes, heads, dim). */
  int average_heads;
  const float *bias; /* added to each output: heads * dim numbers, or `dim` of a mean. NULL (default): none */
} fovea_nn_graph;

/* Sets these fields, and the others to their defaults. Callers in C use fovea_nn_graph_init(). */
FOVEA_NN_API void fovea_nn_graph_init_sized(fovea_nn_graph *graph, size_t struct_size, fovea_nn_graph_kind kind,
                                            int64_t heads, int64_t dim);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_graph_init(fovea_nn_graph *graph, fovea_nn_graph_kind kind, int64_t heads,
                                       int64_t dim) {
  fovea_nn_graph_init_sized(graph, sizeof *graph, kind, heads, dim);
}

/* The nodes and edges. Of strides, row and head are used; `batch` is not, and is 0. Several graphs are one graph
 * whose parts have no edge between them: a node's output depends on its own edges only, and keeps its bits. */
typedef struct fovea_nn_graph_tensors {
  size_t struct_size; /* set by fovea_nn_graph_tensors_init() */
  int64_t nodes;      /* that edges end at; at least 0 */
  int64_t sources;    /* that edges begin at, at least 0: `nodes`, if they are the same */

  /* The edges as a CSR matrix by destination, as fovea_nn_additive_tensors has them: the edges that end at node i
   * begin at nodes edge_sources[edge_starts[i]] to edge_sources[edge_starts[i + 1] - 1]. edge_starts has nodes + 1
   * numbers that do not decrease. An edge that is there twice counts twice, since its features may differ. A
   * source of -1 is an edge that is not there. There are no self loops but the ones in the list: for GAT, add one
   * to each node. A node without edges gets zeros (and the bias).
   *
   * The order of a node's edges changes its last bits; nothing else does. */
  const int64_t *edge_starts, *edge_sources;

  const void *q; /* (nodes, heads, dim) */
  const void *k; /* (sources, heads, dim) */
  const void *v; /* TRANSFORMER: (sources, heads, dim). Else NULL (default) */
  void *y;       /* (nodes, heads, dim), or of a mean (nodes, dim); apart from all else */
  fovea_type q_type, k_type, v_type, y_type;                /* default FOVEA_F32 */
  fovea_strides q_strides, k_strides, v_strides, y_strides; /* default: contiguous, heads side by side */

  /* Features of edges, row i for edge i of edge_sources: (edges, heads, dim), or with the layer `edge` (edges, in).
   * NULL (default): none. */
  const void *features;
  fovea_type feature_type;       /* default FOVEA_F32 */
  fovea_strides feature_strides; /* default: contiguous. With the layer, head is 0 */

  /* The weights of the edges, (edges, heads), 0 for an edge that is not there: rows edge_starts[0] to
   * edge_starts[nodes] - 1 are written. NULL (default): not wanted. */
  float *weights;
  int64_t weight_stride; /* elements from edge to edge; default: heads */

  /* ln of the sum of e^r of the node's edges, (nodes, heads), contiguous; -Inf without edges. NULL (default): not
   * wanted. */
  float *lse;
} fovea_nn_graph_tensors;

/* Sets these fields, and the others to their defaults, with the strides of what `graph` takes. Callers in C use
 * fovea_nn_graph_tensors_init(). */
FOVEA_NN_API void fovea_nn_graph_tensors_init_sized(fovea_nn_graph_tensors *tensors, size_t struct_size,
                                                    const fovea_nn_graph *graph, int64_t nodes, int64_t sources,
                                                    const int64_t *edge_starts, const int64_t *edge_sources,
                                                    const void *q, const void *k, void *y);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_graph_tensors_init(fovea_nn_graph_tensors *tensors, const fovea_nn_graph *graph,
                                               int64_t nodes, int64_t sources, const int64_t *edge_starts,
                                               const int64_t *edge_sources, const void *q, const void *k, void *y) {
  fovea_nn_graph_tensors_init_sized(tensors, sizeof *tensors, graph, nodes, sources, edge_starts, edge_sources, q,
                                    k, y);
}

/* Computes the layer, in time O((edges + nodes) * heads * dim), and with the layer `edge` O(edges * in * heads *
 * dim) more. The edges of one node are one task. NaN in a source reaches only the nodes that it has an edge to;
 * what no edge names is not read by the sums.
 *
 * PyTorch Geometric adds 1e-16 to the sum of weights, which is at least 1: that changes no f32.
 *
 * Needs scratch (fovea_nn_graph_scratch_size()), from `execution` or else allocated once by its allocator. A
 * call that fails has written nothing. FOVEA_ERROR_ARGUMENT if edges are out of range; other errors as in nn.h. */
FOVEA_NN_API fovea_status fovea_nn_graph_run(const fovea_nn_graph *graph, const fovea_nn_graph_tensors *tensors,
                                             const fovea_execution *execution, fovea_error *error);

/* Sets *size to the bytes of scratch, as fovea_nn_attention_scratch_size() does. It follows from heads, dim, the
 * largest number of edges of a node, for GAT from the number of nodes, and with the layer `edge` or scores of GAT
 * from features also from edges: it reads the lists of edges. */
FOVEA_NN_API fovea_status fovea_nn_graph_scratch_size(const fovea_nn_graph *graph,
                                                      const fovea_nn_graph_tensors *tensors,
                                                      const fovea_execution *execution, size_t *size,
                                                      fovea_error *error);

#ifdef __cplusplus
}
#endif

#endif

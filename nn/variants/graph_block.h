/* Edges of some whole nodes, or some of one, on their way through a worker's memory. */
#ifndef FOVEA_NN_VARIANTS_GRAPH_BLOCK_H
#define FOVEA_NN_VARIANTS_GRAPH_BLOCK_H

#include "../layer_scratch.h"
#include "graph.h"

/* Numbers after a list that kernels may read. */
enum { FOVEA_NN_GRAPH_MARGIN = 16 };

/* What a worker needs. Lists have FOVEA_NN_GRAPH_MARGIN numbers more. */
typedef struct fovea_nn_graph_memory {
  float *scores, *weights, *edge_sums, *shares; /* [edge][padded] */
  float *maxima, *sums;                         /* [node][padded] */
  float *outputs;                               /* [node][output_stride] */
  float *states;                                /* of a node with more edges than a block, one after the other */
  float *rows, *queries; /* [edge][width], [node][width]: rows as f32, if they have to be made */
} fovea_nn_graph_memory;

typedef struct fovea_nn_graph_layout {
  fovea_nn_scratch all;               /* of the call */
  size_t to, from, features, workers; /* begins of its parts */
  fovea_nn_scratch worker;
  size_t weights, edge_sums, shares, maxima, sums, outputs; /* begins of its parts; scores begin at 0 */
  size_t states, rows, queries;
} fovea_nn_graph_layout;

/* The nodes of a job, and what is computed for them before. */
typedef struct fovea_nn_graph_job {
  const fovea_nn_graph_call *call;
  const fovea_nn_graph_layout *layout;
  char *memory;
  int64_t first, end;
  const void *features; /* of edge `first_feature`; NULL: there are none */
  fovea_type feature_type;
  fovea_strides feature_strides;
  int64_t first_feature;
  /* Of a job that computes scores of nodes: of the sources or the others. */
  int of_sources;
} fovea_nn_graph_job;

/* Whole nodes, or a block of one. */
typedef struct fovea_nn_graph_block {
  const fovea_nn_graph_job *job;
  const fovea_nn_graph_memory *memory;
  int64_t node; /* the first one */
  int nodes, edges;
  int64_t edge; /* the first one */
  int starts[FOVEA_NN_GRAPH_NODES + 1];
  const float *queries[FOVEA_NN_GRAPH_EDGES], *keys[FOVEA_NN_GRAPH_EDGES]; /* of each edge */
  const void *rows[FOVEA_NN_GRAPH_EDGES], *added[FOVEA_NN_GRAPH_EDGES];
} fovea_nn_graph_block;

/* Floats from node to node of the outputs of states, and of a whole state. */
static inline int64_t fovea_nn_graph_output_stride(const fovea_nn_graph_call *call) {
  return (call->width + FOVEA_NN_GRAPH_MARGIN - 1) / FOVEA_NN_GRAPH_MARGIN * FOVEA_NN_GRAPH_MARGIN +
         FOVEA_NN_GRAPH_MARGIN;
}

static inline int64_t fovea_nn_graph_state_numbers(const fovea_nn_graph_call *call) {
  return fovea_nn_graph_output_stride(call) + 2 * (call->padded + FOVEA_NN_GRAPH_MARGIN);
}

/* Whether rows of this type and these strides are contiguous f32 rows already. */
static inline int fovea_nn_graph_is_plain(const fovea_nn_graph_call *call, fovea_type type, fovea_strides strides) {
  return type == FOVEA_F32 && (call->graph.heads == 1 || strides.head == call->graph.dim);
}

/* Makes f32 rows of `rows`, and adds the rows of `added` to them, if there are any. */
void fovea_nn_graph_make_rows(const fovea_nn_graph_call *call, const fovea_nn_graph_job *job,
                              const void *const *rows, fovea_type type, fovea_strides strides,
                              const void *const *added, int count, float *to);

/* Sets block->keys to contiguous f32 rows, NULL where there is no edge. `with_features`: they are added. */
void fovea_nn_graph_take_rows(fovea_nn_graph_block *block, const void *data, fovea_type type, fovea_strides strides,
                              int with_features);

/* Computes the scores of the block's edges; -Inf where there is no edge. */
void fovea_nn_graph_score(fovea_nn_graph_block *block);

/* Writes the results of a block's nodes, or of one node with more edges than a block. */
void fovea_nn_graph_run_nodes(fovea_nn_graph_block *block);
void fovea_nn_graph_run_node(fovea_nn_graph_block *block);

#endif

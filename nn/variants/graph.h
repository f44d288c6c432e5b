/* Graph attention that was read and checked. */
#ifndef FOVEA_NN_VARIANTS_GRAPH_H
#define FOVEA_NN_VARIANTS_GRAPH_H

#include "../../arch/nn_kernels.h"

#include <fovea/graph_attention.h>

/* Edges that are projected at a time, unless one node has more; nodes of a task, and of a call of a kernel. */
enum { FOVEA_NN_GRAPH_PART = 4096, FOVEA_NN_GRAPH_TASK = 64, FOVEA_NN_GRAPH_NODES = 32 };

typedef struct fovea_nn_graph_call {
  fovea_nn_graph graph; /* its layer is the copy below, or NULL */
  fovea_nn_linear edge;
  fovea_nn_graph_tensors tensors;
  fovea_execution execution;
  const fovea_nn_kernels *kernels;
  float slope, factor; /* of LeakyReLU; that makes scores units of log2 */
  int64_t width;       /* heads * dim */
  int64_t padded;      /* heads, rounded up to a power of two */
  int64_t most;        /* edges of a node */
  int64_t part;        /* the most edges that are projected at a time */
} fovea_nn_graph_call;

/* The first node after the nodes that are computed together with node `first`, if edges are projected. */
int64_t fovea_nn_graph_part_end(const fovea_nn_graph_tensors *tensors, int64_t first);

/* Reads and checks all that the caller gave. */
fovea_status fovea_nn_check_graph(const fovea_nn_graph *graph, const fovea_nn_graph_tensors *tensors,
                                  const fovea_execution *execution, fovea_nn_graph_call *call, fovea_error *error);

#endif

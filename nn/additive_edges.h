/* Additive attention of rows that see the keys of their edges only. */
#ifndef FOVEA_NN_ADDITIVE_EDGES_H
#define FOVEA_NN_ADDITIVE_EDGES_H

#include "additive.h"

/* The tensors of the call as the scores want them: projected. */
typedef struct fovea_nn_edges {
  const fovea_nn_additive_call *call;
  fovea_nn_projected queries, keys;
  char *memory; /* of the workers, fovea_nn_edges_bytes() each */
} fovea_nn_edges;

/* The scratch of one worker. */
uint64_t fovea_nn_edges_bytes(const fovea_nn_additive_call *call);

/* Writes o, and weights if they are wanted. */
void fovea_nn_run_edges(const fovea_nn_edges *edges, const fovea_execution *execution, int workers);

#endif

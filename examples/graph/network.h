/* Two layers of graph attention (GAT; Velickovic et al., 2018): heads side by side and ELU after the first, their
 * mean after the second. */
#ifndef GRAPH_NETWORK_H
#define GRAPH_NETWORK_H

#include "club.h"

#include <fovea/graph_attention.h>

enum { WIDTH_LIMIT = 1024 };

struct network_layer {
  fovea_nn_linear linear;
  fovea_nn_graph graph;
};

struct network {
  struct safetensors file;
  int64_t nodes, heads;
  struct network_layer first, second;
};

/* What comes out. */
struct answers {
  float *logits;         /* (nodes, PARTS) */
  float *first, *second; /* (edges, heads): the weights of the layers */
};

/* Reads the tensors that train.py writes, by the names of PyTorch Geometric; sizes follow from their shapes. `path`
 * is kept. */
bool network_read(struct network *network, const char *path, struct failure *failure);
void network_free(struct network *network);

/* The network over the nodes of a club; each node has a number of its own as its only feature. isa: NULL is the
 * best. threads: 0 is all. Free the answers, also after a failure. */
bool network_run(struct network *network, const struct club *club, const char *isa, int threads,
                 struct answers *answers, struct failure *failure);
void answers_free(struct answers *answers);

/* Which part a node is put in. */
int answer_of(const struct answers *answers, int64_t node);

#endif

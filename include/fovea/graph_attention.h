/* Attention over the edges of a graph: TransformerConv, GAT, GATv2, with features of edges.
 *
 * Part of fovea_nn, with the rules of nn.h. docs/numerics.md states the arithmetic. */
#ifndef FOVEA_GRAPH_ATTENTION_H
#define FOVEA_GRAPH_ATTENTION_H

#include <fovea/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
}
#endif

#endif

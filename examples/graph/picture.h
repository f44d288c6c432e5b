/* The graph as SVG: nodes in the colour of their answer, edges as thick as the weights of attention. */
#ifndef GRAPH_PICTURE_H
#define GRAPH_PICTURE_H

#include "network.h"

/* `weights` are the weights of a layer: (edges, heads). */
bool picture_write(const struct club *club, const struct answers *answers, const float *weights, int64_t heads,
                   const char *path, struct failure *failure);

#endif

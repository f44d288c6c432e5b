/* A graph whose nodes belong to one of two parts, as train.py stores it. */
#ifndef GRAPH_CLUB_H
#define GRAPH_CLUB_H

#include "../minilm/safetensors.h"

enum { NODE_LIMIT = 4096, EDGE_LIMIT = 1 << 20, PARTS = 2 };

struct club {
  struct safetensors file;
  int64_t nodes, edges;
  const int64_t *edge_starts, *edge_sources; /* by destination, self loops among them */
  const unsigned char *parts;                /* of each node: 0 or 1 */
  const unsigned char *labelled;             /* 1: the part was known in training */
  const float *places;                       /* (nodes, 2): where nodes are drawn, from -1 to 1 */
};

/* Checks all of it. `path` is kept. */
bool club_read(struct club *club, const char *path, struct failure *failure);
void club_free(struct club *club);

#endif

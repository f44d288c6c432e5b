/* What the kernels of the group LISTS take. */
#ifndef FOVEA_ARCH_ARGS_LISTS_H
#define FOVEA_ARCH_ARGS_LISTS_H

#include "core.h"

/* The most states of a row that wait to be merged: one for each level of the tree, and the current block's. */
#define FOVEA_GATHER_DEPTH 24

/* The states of one row that wait, the last one above the others. */
typedef struct fovea_gather_stack {
  int depth;
  float maxima[FOVEA_GATHER_DEPTH], sums[FOVEA_GATHER_DEPTH];
  float *outputs[FOVEA_GATHER_DEPTH]; /* [dim], rounded up to a multiple of 16 */
  int64_t spans[FOVEA_GATHER_DEPTH];  /* the last span of each */
  int heights[FOVEA_GATHER_DEPTH];    /* of the node in which it will merge with the one before it */
} fovea_gather_stack;

/* Takes one row through more of its keys, in ascending order: up to FOVEA_BLOCK_KEYS of them, and all that it sees
 * of a block. `last`: merges all that waits into the first state of the stack then. */
typedef struct fovea_gather_args {
  const float *scores; /* one for each key */
  const int32_t *keys; /* positions */
  const void *const *values;
  fovea_type type;
  int64_t dim;
  int key_count;
  int last;
  fovea_gather_stack *stack;
} fovea_gather_args;

#endif

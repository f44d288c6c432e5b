/* What the kernels of the group TERMS take that the core has no use for: sums of Shaw's values. Other normalisers take
 * the arguments of the softmax. */
#ifndef FOVEA_ARCH_ARGS_TERMS_H
#define FOVEA_ARCH_ARGS_TERMS_H

#include "core.h"

/* Sums the weights of a block's keys by their distance d from the row's own key, for Shaw's values: sums[i][row]
 * are the sums of distance first + i, where the lowest and the highest distance have all keys beyond them, too, in
 * ascending order. Every key has one of the distances. Zeros have either sign. Vector v has the keys key_begin[v]
 * to key_end[v] - 1 of the block. */
typedef struct fovea_shaw_sums_args {
  const float *weights; /* the block's first key */
  fovea_vector_range vectors;
  const int *key_begin;
  const int *key_end;
  const int32_t *own; /* [row]: the own key, counted from the block's first key */
  int distance;       /* d is from -distance to distance, at least 1 */
  int first, count;
  float *sums;
} fovea_shaw_sums_args;

#endif

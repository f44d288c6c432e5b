/* Causal attention of a sequence over itself, whose rows and keys are split over the ranks of MPI_COMM_WORLD. */
#ifndef FOVEA_EXAMPLES_RING_H
#define FOVEA_EXAMPLES_RING_H

#include <fovea/fovea.h>

/* The sequence is cut into 2 * ranks blocks, at multiples of `cut` keys. Rank r has two blocks, and their Q, K and V:
 * its low one is block r, its high one block 2 * ranks - 1 - r. So all ranks have about the same number of pairs of a
 * row and a key that it sees. If `cut` is FOVEA_SPAN_KEYS or a multiple, the result has the bits of one process.
 * A short sequence has empty blocks. */
typedef struct ring_layout {
  int ranks, rank; /* of MPI_COMM_WORLD */
  int heads, kv_heads, dim;
  int64_t keys, cut; /* keys: of the whole sequence, which has as many rows */
} ring_layout;

/* What one rank has; index 0 is the low block, 1 the high one. All is contiguous. */
typedef struct ring_tensors {
  const float *q[2]; /* (heads, rows of the block, dim) */
  float *kv;         /* K (kv_heads, rows, dim) and V of the low block, then of the high one; only read */
  float *o[2];       /* (heads, rows, dim) */
  float *lse[2];     /* (heads, rows) */
} ring_tensors;

/* What one rank did. */
typedef struct ring_work {
  int64_t pairs; /* of a row and a key that it sees, in one head */
  int64_t bytes; /* sent */
} ring_work;

/* The positions of a rank's low (0) or high (1) block. */
fovea_range ring_block(const ring_layout *ring, int rank, int side);

/* The keys and values of a block, together, in floats. */
int64_t ring_kv_floats(const ring_layout *ring, fovea_range block);

/* Every rank calls it, with the same sizes. The keys and values of a rank are at most INT_MAX floats, which is as much
 * as a message of MPI can be. If a call of Fovea fails, or there is no memory, it prints why and ends all ranks. */
ring_work ring_attend(const ring_layout *ring, const ring_tensors *tensors);

#endif

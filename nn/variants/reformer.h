/* LSH attention (Reformer) that was read and checked, and what its steps share. */
#ifndef FOVEA_NN_VARIANTS_REFORMER_H
#define FOVEA_NN_VARIANTS_REFORMER_H

#include "../../arch/nn_kernels.h"
#include "../layer_scratch.h"

#include <fovea/sparse_attention.h>

/* Rows that are hashed together. */
enum { FOVEA_NN_LSH_HASH_ROWS = 64 };

/* In place of the position of a row, where a chunk has none. */
#define FOVEA_NN_LSH_NONE INT32_MAX

typedef struct fovea_nn_lsh_call {
  fovea_nn_lsh lsh;
  fovea_nn_lsh_tensors tensors;
  fovea_execution execution;
  const fovea_nn_kernels *kernels;
  int64_t columns; /* of R, for a round */
  float eps;
  double scale;          /* of x . key, where the mean square of a key is 1 */
  int64_t group, groups; /* chunks that are computed together; groups of a round of the longest batch element */
} fovea_nn_lsh_call;

/* Numbers of a head (a pair of a batch element and a head) in a piece of heads that are computed together, in
 * scratch.
 *   keys     [row][dim]
 *   order    [round][slot] the row of each slot, or NONE
 *   places   [round][row] its bucket, then its slot
 *   states   [round][slot][v_dim + 2] */
typedef struct fovea_nn_lsh_piece {
  const fovea_nn_lsh_call *call;
  int64_t first, count; /* heads, counted over all batch elements */
  int64_t slots;        /* of a round: whole groups of chunks */
  const float *panels;  /* R of each round, of each batch element and head that has its own */
  int64_t panel_elements;
  const fovea_plan *plan; /* of a group of chunks */
  float *keys, *states;
  int32_t *order, *places;
  char *workers; /* scratch of worker 0 */
  size_t worker_size;
} fovea_nn_lsh_piece;

/* Where the parts of a worker's scratch begin: products with R; counts of buckets; rows, keys, values, positions
 * and mask of a group, and attention's own, which the layer of products has before. */
typedef struct fovea_nn_lsh_worker {
  float *products;
  int32_t *counts, *positions;
  char *x, *v;
  float *keys;
  unsigned char *mask;
  void *run;
  size_t run_size;
} fovea_nn_lsh_worker;

/* The batch element of a head of a piece, and its rows. */
static inline int64_t fovea_nn_lsh_entry(const fovea_nn_lsh_piece *piece, int64_t head) {
  return (piece->first + head) / piece->call->tensors.heads;
}
static inline int64_t fovea_nn_lsh_length(const fovea_nn_lsh_piece *piece, int64_t head) {
  const fovea_nn_lsh_tensors *t = &piece->call->tensors;
  return t->lens ? t->lens[fovea_nn_lsh_entry(piece, head)] : t->length;
}
/* The element of a tensor with all indices 0 but for the batch element and the head. */
static inline int64_t fovea_nn_lsh_offset(const fovea_nn_lsh_piece *piece, int64_t head, fovea_strides strides) {
  const int64_t heads = piece->call->tensors.heads;
  return (piece->first + head) / heads * strides.batch + (piece->first + head) % heads * strides.head;
}

/* The scratch of a worker, of which at least `run` bytes are attention's (reformer_memory.c). */
fovea_nn_scratch fovea_nn_lsh_worker_scratch(const fovea_nn_lsh_call *call, uint64_t run);
fovea_nn_lsh_worker fovea_nn_lsh_worker_at(const fovea_nn_lsh_piece *piece, int worker);

fovea_status fovea_nn_check_lsh(const fovea_nn_lsh *lsh, const fovea_nn_lsh_tensors *tensors,
                                const fovea_execution *execution, fovea_nn_lsh_call *call, fovea_error *error);

/* The steps, as tasks of `data`, a piece. */
int64_t fovea_nn_lsh_row_blocks(const fovea_nn_lsh_call *call);
void fovea_nn_lsh_hash_task(const void *data, int64_t task, int worker);  /* head, block of rows */
void fovea_nn_lsh_sort_task(const void *data, int64_t task, int worker);  /* head, round */
void fovea_nn_lsh_chunk_task(const void *data, int64_t task, int worker); /* head, round, group of chunks */
void fovea_nn_lsh_merge_task(const void *data, int64_t task, int worker); /* head, block of rows */

/* Attention of a group: rows, keys and values of each chunk, keys of the chunk before first. */
fovea_problem fovea_nn_lsh_problem(const fovea_nn_lsh_call *call);

#endif

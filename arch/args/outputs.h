/* What the kernels of the group OUTPUTS take: scores, keys with the largest scores, sums of columns, entropy. */
#ifndef FOVEA_ARCH_ARGS_OUTPUTS_H
#define FOVEA_ARCH_ARGS_OUTPUTS_H

#include "core.h"

/* Copies the scores of keys key_begin to key_end - 1 of the block to the caller's rows, transposed. A vector has
 * the scores of keys seen_begin[vector] to seen_end[vector] - 1; other keys get -Inf. */
typedef struct fovea_keep_args {
  const float *scores; /* the block's first key */
  float *const *rows;  /* row_count pointers to the number of key_begin; NULL: the row is not wanted */
  int row_count;
  int key_begin, key_end;
  const int *seen_begin, *seen_end;
} fovea_keep_args;

/* Candidates for the keys with the largest scores of a row, in the order of positions: the keys so far whose score
 * is above the threshold, or NaN. Above a threshold other than -Inf there are at least as many as are wanted. There
 * is room for FOVEA_TOP_ROOM(k) candidates. */
typedef struct fovea_top_list {
  float *scores;
  int32_t *keys;
  int count;
  float threshold;
} fovea_top_list;

/* With this many candidates a list is shortened, to k and about an eighth more. Then there is room for a block, and
 * for a vector after it. */
#define FOVEA_TOP_MOST(k) ((k) + ((k) < 64 ? 128 : (k) > 512 ? 1024 : 2 * (k)))
#define FOVEA_TOP_ROOM(k) ((FOVEA_TOP_MOST(k) + FOVEA_BLOCK_KEYS + 47) / 16 * 16)
/* To sort a list takes room for it twice, with an eighth more than k and the last vector. */
#define FOVEA_TOP_SORTED(k) (2 * ((k) + (k) / 8 + 32))

/* Adds the keys of a block to the lists of rows. */
typedef struct fovea_top_filter_args {
  const float *scores; /* [row][row_stride] */
  int64_t row_stride;
  int row_count;
  int key_count;       /* up to FOVEA_BLOCK_KEYS; the rows have whole vectors, with -Inf after the last key */
  int32_t first;       /* position of the first key */
  const int32_t *keys; /* of one row: positions of all keys; NULL: they follow the first */
  fovea_top_list *lists;
  int k;
} fovea_top_filter_args;

/* Writes k positions in descending order of scores, and scores in natural units; -1 and -Inf where there are
 * fewer. */
typedef struct fovea_top_finish_args {
  fovea_top_list *list;
  int k;
  uint64_t *order; /* FOVEA_TOP_SORTED(k) numbers of scratch */
  int64_t *keys;
  float *scores; /* NULL: not wanted */
} fovea_top_finish_args;

/* Merges the sums e of a block's scores into the sums of the rows, before softmax() or decode_softmax(): the scores
 * are not weights yet, and row_max and row_sum are of the keys before the block. */
typedef struct fovea_spread_args {
  const float *scores; /* as in fovea_softmax_args, or in fovea_decode_softmax_args */
  const float *maxima; /* of the block; not used in decoding */
  const float *row_max;
  const float *row_sum;
  float *row_spread;
  int first; /* as in fovea_softmax_args */
  fovea_vector_range vectors;
  const int *key_begin; /* [vector]; in decoding of all rows */
  const int *key_end;
  int row_count; /* in decoding */
} fovea_spread_args;

/* Adds the weights of a row to sums of keys, key_count keys in whole vectors. */
typedef struct fovea_column_args {
  const float *scores; /* in units of log2 */
  int key_count;
  float reference, inverse;
  float *sums;
} fovea_column_args;

/* The same for one vector of rows of a tile, whose sums lie key by key. */
typedef struct fovea_column_tile_args {
  const float *scores; /* of key 0 and the vector */
  int key_begin, key_end;
  const float *references, *inverses; /* one for each lane */
  const float *counted;               /* one for each lane: 0 if the lane is left out */
  float *sums;                        /* of key 0: [key][FOVEA_WEIGHT_SUMS], from the first row's sum on */
} fovea_column_tile_args;

#endif

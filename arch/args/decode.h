/* What the kernels of the group DECODE take.
 *
 * A tile that is decoded has too few rows to fill vectors, so keys lie in the lanes. Scores and weights are
 * x[row][FOVEA_BLOCK_KEYS], outputs x[row][dim]. Each key and each value has a pointer of its own, so all kinds of
 * cache look the same. Pointers are given for a multiple of FOVEA_PANEL_ROWS keys. Pointers beyond the wanted keys
 * point at any row that may be read, and decode_adjust() hides their scores. */
#ifndef FOVEA_ARCH_ARGS_DECODE_H
#define FOVEA_ARCH_ARGS_DECODE_H

#include "../codes.h"
#include "core.h"

/* scores[row][key] = fl(q.k * c) for key_count keys, rounded up to whole vectors. */
typedef struct fovea_decode_score_args {
  const float *queries; /* [row][query_stride]; four floats beyond the dim are readable */
  int64_t query_stride;
  int row_count;
  const void *const *keys; /* one pointer a key: its first dim. In panels, dims are FOVEA_PANEL_ROWS keys apart; in
                            * int8 words of four dims */
  const void *const *prefetch; /* one pointer a key: rows to prefetch. Equal to keys: none */
  int panels;                  /* 1: the keys lie in panels */
  fovea_coded_keys coded;      /* keys with a format: `type` is not used; in panels, pointers lead to words */
  fovea_type type;
  int64_t dim;
  int key_count;
  float c;
  /* In int8: of each row, of each key from the first on, and in place of c, of each row, or NULL. */
  const float *query_scales, *query_starts, *key_scales, *row_scales;
  float *scores; /* the first key's */
} fovea_decode_score_args;

/* As fovea_adjust_args: applies all terms, and sets the scores of keys that a row does not see to -Inf. The keys of
 * padding pointers are not visible. */
typedef struct fovea_decode_adjust_args {
  float *scores; /* the block's first key */
  int row_count;
  int key_begin, key_end; /* keys of the block whose scores were computed; whole vectors */
  const fovea_score_terms *terms;
  const fovea_tile_terms *tile_terms; /* NULL: none */
  const fovea_mask_tile *mask;        /* NULL: there is none */
  const int32_t *seen_from;           /* one for each row, counted from the block's first key */
  const int32_t *seen_to;
} fovea_decode_adjust_args;

/* As fovea_softmax_args. Arrays of one number for each row have FOVEA_DECODE_ROWS_LIMIT elements. */
typedef struct fovea_decode_softmax_args {
  float *scores; /* the block's first key */
  int row_count;
  int key_begin, key_end; /* whole vectors */
  float *block_max;       /* returned */
  float *block_sum;       /* returned */
  float *row_max;
  float *row_sum;
  float *old_part;
  float *new_part;
  int first;
  const fovea_weighting *weighting; /* for decode_normalise() only */
  const float *value_scales;        /* in int8: of the block's values, by load_scales() */
} fovea_decode_softmax_args;

/* As fovea_value_args: adds weights[row][key] * values[key][dim], for key_count keys in ascending order. */
typedef struct fovea_decode_value_args {
  const float *weights; /* the first key's */
  int row_count;
  const void *const *values;   /* one pointer a key */
  const void *const *prefetch; /* as in fovea_decode_score_args */
  fovea_coded_keys coded;      /* as in fovea_decode_score_args */
  fovea_type type;
  int64_t dim;
  int key_count;
  int flags;             /* FOVEA_VALUE_* */
  float *partial;        /* [row][output_stride] */
  float *output;         /* [row][output_stride] */
  int64_t output_stride; /* a multiple of 16, at least the dim */
  const float *old_part;
  const float *new_part;
  const float *block_sum; /* in int8 */
} fovea_decode_value_args;

#endif

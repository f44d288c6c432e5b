/* Arguments of the operations that variants of attention need; nn_kernels.h has the table. docs/numerics.md, L14 to
 * L22, fixes their arithmetic to the bit. */
#ifndef FOVEA_ARCH_VARIANT_KERNELS_H
#define FOVEA_ARCH_VARIANT_KERNELS_H

#include "kernels.h"

/* A tensor of rows. */
typedef struct fovea_nn_rows {
  void *data; /* the first element; NULL: there is none */
  fovea_type type;
  int64_t stride;
} fovea_nn_rows;
/* ---- Performer ---------------------------------------------------------------------------------------------- */

/* x = x * scale in place, and halves[row] = half the sum of the squares. */
typedef struct fovea_nn_halves_args {
  float *x;
  int64_t stride, rows, dim;
  float scale;
  float *halves;
} fovea_nn_halves_args;

/* features(): y = the features of products with the projection. `halves` and `maxima` are of each row; if
 * `by_column`, halves are of each column, and there is one maximum. Writes whole vectors, at most to the next
 * multiple of 16 columns.
 * maxima(): y[row] = the larger of y[row] and the row's products. */
typedef struct fovea_nn_features_args {
  const float *products; /* rows of FOVEA_NN_OUTS */
  int rows, columns;
  const float *halves, *maxima; /* of ReLU: not used */
  int relu, by_column;
  float eps, ratio;
  float *y;
  int64_t stride;
} fovea_nn_features_args;

/* totals[row] = the sum of the row, or, if `begun`, totals[row] + this sum. */
typedef struct fovea_nn_totals_args {
  const float *x;
  int64_t stride, dim;
  int rows, begun;
  float *totals;
} fovea_nn_totals_args;

/* inverses[row] = 1 / (query . totals), or -1 if that product counts as 0. With keys, totals += key first, row by
 * row. */
typedef struct fovea_nn_inverses_args {
  const float *queries, *keys; /* rows of `dim` features; keys may be NULL */
  int64_t stride, dim;
  int rows;
  float *totals, *inverses;
} fovea_nn_inverses_args;

/* y = sums * inverse, of rows; zeros if the inverse is negative. */
typedef struct fovea_nn_quotients_args {
  const float *sums; /* rows of FOVEA_NN_OUTS */
  const float *inverses;
  int rows, columns;
  fovea_nn_rows y;
} fovea_nn_quotients_args;

/* For each row, one after the other: state += key value^T, then sums[row] = query . state, or, if `begun`,
 * sums[row] + this. */
typedef struct fovea_nn_prefix_args {
  const float *queries, *keys; /* rows of features */
  int64_t stride;
  const float *values; /* panel[row][column] of FOVEA_NN_PANEL columns */
  float *state;        /* panel[feature][column] */
  int64_t value_panel, state_panel;
  int rows, features, panels; /* up to FOVEA_BLOCK_KEYS, FOVEA_DOT_PIECE, FOVEA_NN_PANELS */
  int begun;
  float *sums; /* rows of FOVEA_NN_OUTS */
} fovea_nn_prefix_args;

/* ---- Linear attention --------------------------------------------------------------------------------------- */

/* Columns of the state of linear attention come in steps of this. */
#define FOVEA_NN_STATE_STEP 16
/* The most columns of a tile of a state: with 128 dims it takes two thirds of a cache of 48 KB. */
#define FOVEA_NN_STATE_COLUMNS 64

/* Tokens of one head through the recurrence of linear attention, for a tile of the columns of its state
 * (docs/numerics.md, L14). Rows of q, k and decay have the same stride. */
typedef struct fovea_nn_recurrence_args {
  int tokens;        /* at least 1 */
  int reads;         /* queries of each token, at least 1 */
  int columns;       /* a multiple of FOVEA_NN_STATE_STEP up to FOVEA_NN_STATE_COLUMNS */
  int64_t dim;       /* of q and k */
  int64_t stride;    /* floats from row to row of q, k and decay, at least dim */
  const float *q;    /* row t * reads + r: query r of token t */
  const float *k;    /* row t */
  const float *keep; /* row t: what the dims of the state are multiplied by; NULL: they stay */
  const float *v;    /* row t: what is added to the state, or with the delta rule v; rows of v_stride */
  int64_t v_stride;
  int delta;
  const float *beta;    /* with the delta rule, one for each token; NULL: 1 */
  float *state;         /* dim rows of state_stride: the old state becomes the new one */
  int64_t state_stride; /* at least columns */
  float *o;             /* row t * reads + r, rows of o_stride: sums of q times the new state */
  int64_t o_stride;
  const fovea_fetch_row *fetch; /* memory that is prefetched meanwhile, with about so many cache lines */
  int fetch_count;
  int64_t fetch_lines;
} fovea_nn_recurrence_args;

/* keep[token] = exp(fl(x * factor)): rows of `dim`, or one number for each token that all its dims get. */
typedef struct fovea_nn_decay_args {
  const void *x;
  fovea_type type;
  int64_t stride; /* elements from token to token */
  int tokens;
  int per_dim; /* 0: x has one number for each token */
  int64_t dim;
  const float *factor; /* NULL: 1 */
  float *keep;         /* rows of keep_stride, at least dim rounded up to 16: whole vectors are written */
  int64_t keep_stride;
} fovea_nn_decay_args;

/* Rows of f32 divided by their length, in place: x * fl(1 / fl(sqrt(fl(sum of x^2 + eps)))). */
typedef struct fovea_nn_unit_args {
  float *x;
  int64_t stride;
  int rows;
  int64_t dim;
  float eps;
} fovea_nn_unit_args;

/* y = fl(scale * sums), and fma(skip, v, that) if there is a skip. */
typedef struct fovea_nn_read_args {
  const float *sums; /* rows of sum_stride: whole vectors are read */
  int64_t sum_stride;
  int rows;
  int64_t dim;
  float scale, skip;
  fovea_nn_rows v; /* data NULL: no skip */
  fovea_nn_rows y;
} fovea_nn_read_args;

/* ---- LSH attention ------------------------------------------------------------------------------------------ */

/* The bucket of each row: the index of the largest of its products and their negatives, of equal ones the first;
 * the first NaN, if there is one. Stored, or, with a `step`, added `step` times. */
typedef struct fovea_nn_lsh_hash_args {
  const float *products;
  int64_t stride; /* from row to row */
  int rows;
  int32_t count; /* products of a row */
  int32_t step;  /* 0: stored */
  int32_t *buckets;
} fovea_nn_lsh_hash_args;

/* The most rounds of hashing. */
#define FOVEA_NN_LSH_ROUNDS 64

/* y = the merged and finished states of each row, one of each round, or v if there are none. */
typedef struct fovea_nn_lsh_merge_args {
  const float *states;   /* each `dim` numbers of output, the maximum, the sum */
  int64_t round_stride;  /* states from round to round */
  const int32_t *places; /* of the state of each row in a round */
  int64_t place_stride;  /* from round to round */
  int rounds;
  int64_t rows, dim;
  fovea_nn_rows v, y;
} fovea_nn_lsh_merge_args;

/* ---- Linformer, differential attention, selected keys ------------------------------------------------------- */

/* sums[j][d] = the sum over positions p, ascending, of left[p][j] * right[p][d], one chain of FMAs from +0; or, if
 * `begun`, sums + that. Whole vectors of sums are written, so sum_stride is at least right_count rounded up to
 * 16. */
typedef struct fovea_nn_outer_args {
  const float *left, *right;         /* of the first position */
  int64_t left_stride, right_stride; /* from position to position */
  int positions;
  int left_count, right_count;
  int begun;
  float *sums;
  int64_t sum_stride;
} fovea_nn_outer_args;

/* y = RMSNorm(first - lambda * second) * gamma * factor, row by row. */
typedef struct fovea_nn_differ_args {
  const float *first, *second; /* (rows, dim), contiguous */
  int64_t rows, dim;
  float lambda, eps, factor;
  const float *gamma; /* NULL: none */
  fovea_nn_rows y;
} fovea_nn_differ_args;

/* lambda = e^products[0] - e^products[1] + init. */
typedef struct fovea_nn_lambda_args {
  float products[2], init;
  float *lambda;
} fovea_nn_lambda_args;

/* scores[row][key] = the sum over heads, ascending, of weights[row][head] * relu(products[row][head][key]), one
 * chain of FMAs from +0, of FOVEA_NN_OUTS keys. */
typedef struct fovea_nn_index_args {
  const float *products; /* rows of FOVEA_NN_OUTS, the heads of a row side by side */
  const float *weights;
  int64_t weight_stride;
  int rows;
  int64_t heads;
  float *scores;
  int64_t score_stride;
} fovea_nn_index_args;

/* ---- Graph attention ---------------------------------------------------------------------------------------- */

/* The most edges of a call: the edges of a block. A call has the edges of some whole nodes, or some of one. What
 * belongs to heads (scores, maxima, sums) lies edge by edge or node by node, `padded` numbers each: as many as
 * there are heads, rounded up to a power of two. All lists of it have room for 16 numbers more, and numbers of
 * padding are any. */
#define FOVEA_NN_GRAPH_EDGES FOVEA_BLOCK_KEYS

/* to[i] = the heads of rows[i], side by side, + the heads of added[i], as f32. NULL rows are passed over. */
typedef struct fovea_nn_graph_rows_args {
  const void *const *rows, *const *added; /* added: NULL: nothing is added */
  fovea_type type, added_type;
  int64_t head_stride, added_head_stride;
  int count;
  int64_t heads, dim;
  float *to;
  int64_t to_stride;
} fovea_nn_graph_rows_args;

/* scores = factor * (q . k), or factor * (a . LeakyReLU(q + k)). Rows are contiguous. */
typedef struct fovea_nn_graph_scores_args {
  const float *const *queries, *const *keys; /* of each edge */
  int count;
  int64_t heads, dim, padded;
  const float *a; /* NULL: q . k */
  float slope, factor;
  float *scores;
} fovea_nn_graph_scores_args;

/* scores = factor * LeakyReLU(to + from + edge). */
typedef struct fovea_nn_graph_sums_args {
  const float *const *to, *const *from; /* of each edge, `padded` numbers */
  const float *edges;                   /* [edge][padded]; NULL: none */
  int count;
  int64_t padded;
  float slope, factor;
  float *scores;
} fovea_nn_graph_sums_args;

/* Weights of the edges of each node, powers of 2 of the scores less their maximum, and their sums. */
typedef struct fovea_nn_graph_weights_args {
  const int *starts; /* of the edges of each node, and where they end */
  int nodes;
  int64_t padded;
  const float *scores;
  float *weights, *maxima, *sums;
} fovea_nn_graph_weights_args;

/* outputs = the sums of weights * values of each node. */
typedef struct fovea_nn_graph_values_args {
  const int *starts;
  int nodes;
  int64_t heads, dim, padded;
  const float *const *values; /* of each edge, contiguous; NULL: not there */
  const float *weights;
  float *outputs; /* rows of output_stride */
  int64_t output_stride;
} fovea_nn_graph_values_args;

/* What a node has over some of its edges. */
typedef struct fovea_nn_graph_state {
  float *maxima, *sums, *outputs;
} fovea_nn_graph_state;

/* The state `left` over the edges of both. */
typedef struct fovea_nn_graph_merge_args {
  fovea_nn_graph_state left, right;
  int64_t heads, dim, padded;
} fovea_nn_graph_merge_args;

/* Results from the states of nodes: maxima and sums of `padded` numbers, outputs of output_stride. */
typedef struct fovea_nn_graph_finish_args {
  fovea_nn_graph_state states;
  int nodes;
  int64_t heads, dim, padded, output_stride;
  int average;
  const float *bias; /* NULL: none */
  void *y;
  fovea_type type;
  int64_t head_stride, row_stride;
  float *lse; /* NULL: not wanted */
} fovea_nn_graph_finish_args;

/* Divides the weights of edges of a node by their sum: shares = 2^(scores - maxima) / sums. */
typedef struct fovea_nn_graph_shares_args {
  const float *scores, *maxima, *sums;
  int count;
  int64_t padded;
  float *shares; /* [edge][padded] */
} fovea_nn_graph_shares_args;

#endif

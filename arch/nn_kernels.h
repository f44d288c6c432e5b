/* The border between nn/ and the instruction sets, as kernels.h is that of src/. docs/numerics.md, part "Layers",
 * fixes the arithmetic of every operation to the bit. */
#ifndef FOVEA_ARCH_NN_KERNELS_H
#define FOVEA_ARCH_NN_KERNELS_H

#include "../include/fovea/nn.h"
#include "kernels.h"

/* How many activations there are. */
enum { FOVEA_NN_ACTIVATIONS = FOVEA_NN_ELU + 1 };

/* Outputs of a panel of weights: panel[dim / together][output][dim % together]. */
#define FOVEA_NN_PANEL FOVEA_PANEL_ROWS
/* Panels, and outputs, that are computed together. */
#define FOVEA_NN_PANELS 4
#define FOVEA_NN_OUTS   (FOVEA_NN_PANELS * FOVEA_NN_PANEL)

/* Copies dims of up to FOVEA_NN_PANELS panels of weights as f32: to[panel][dim][output], FOVEA_DOT_PIECE dims each.
 * Outputs that do not exist become zeros. */
typedef struct fovea_nn_widen_args {
  const void *weights; /* dim 0 of the first output: of its row, or of its panel */
  fovea_type type;
  int in_panels;
  int64_t stride; /* elements from row to row, or from panel to panel */
  int64_t dim;    /* the first dim, a multiple of FOVEA_DOT_PIECE */
  int dims, outs;
  float *to;
} fovea_nn_widen_args;

/* Rows for which panels of 16 bits are widened in registers. More rows share a copy as f32. */
#define FOVEA_NN_FEW_ROWS 4

/* sums[row][out] = the dot products of one piece of dims, or, if `begun`, sums + these. */
typedef struct fovea_nn_dot_args {
  const void *x; /* the first dim of the first row: f32, for pairs bf16 */
  int64_t x_stride;
  int rows;
  const void *weights;  /* panels: the first dim. f32, for dot_few() of `type`, for pairs bf16 */
  int64_t panel_stride; /* elements */
  fovea_type type;      /* of weights: FOVEA_F16 or FOVEA_BF16 for dot_few(), else not used */
  int panels;
  int dims; /* up to FOVEA_DOT_PIECE */
  int begun;
  float *sums; /* rows of FOVEA_NN_OUTS */
} fovea_nn_dot_args;

typedef void fovea_nn_dot_function(const fovea_nn_dot_args *args);

/* A tensor of rows. */
typedef struct fovea_nn_rows {
  void *data; /* the first element; NULL: there is none */
  fovea_type type;
  int64_t stride;
} fovea_nn_rows;

/* y = act(sums + bias) * gate + residual, each step if it is there. */
typedef struct fovea_nn_finish_args {
  const float *sums; /* rows of FOVEA_NN_OUTS */
  int rows, outs;
  const float *bias; /* of the first output; NULL: none */
  fovea_nn_activation activation;
  fovea_nn_rows gate, residual, y;
} fovea_nn_finish_args;

/* y = fl(x * scale) + each addend, of one row. */
typedef struct fovea_nn_embed_args {
  int64_t count;
  const void *x;
  fovea_type x_type;
  float scale;
  const void *addends[2]; /* in this order; NULL: none */
  fovea_type addend_types[2];
  void *y; /* it may be x, if the types are the same */
  fovea_type y_type;
} fovea_nn_embed_args;

/* y = act(x), for rows of `dim`. y may be x. */
typedef struct fovea_nn_activate_args {
  fovea_nn_rows x, y;
  int64_t rows, dim;
  fovea_nn_activation activation;
} fovea_nn_activate_args;

/* y = norm(x + residual), for rows of `dim`; sum = x + residual. y and sum may be x or residual. */
typedef struct fovea_nn_norm_args {
  fovea_nn_rows x, residual, sum, y; /* residual, sum: if they are there */
  int64_t rows, dim;
  fovea_nn_norm_kind kind;
  float eps;
  const float *gamma, *beta; /* NULL: none */
} fovea_nn_norm_args;

/* y = softmax(x), for rows of `dim`. y may be x. */
typedef struct fovea_nn_softmax_args {
  fovea_nn_rows x, y;
  int64_t rows, dim;
} fovea_nn_softmax_args;

/* scores[row][key] = w . act(query + key), at least the least finite number. */
typedef struct fovea_nn_additive_args {
  const float *queries; /* projected, of the first row, with the bias */
  const float *keys;    /* projected, of the first key */
  /* In place of `keys`: a pointer to each key. NULL: none. */
  const float *const *key_rows;
  int64_t query_stride, key_stride;
  int row_count, key_count;
  const float *w;
  int64_t dim;
  float *scores;
  int64_t score_stride;
  int leaky; /* 0: act is tanh; 1: LeakyReLU */
  float slope;
} fovea_nn_additive_args;

/* y = output / sum, of one row; zeros if the sum is 0. */
typedef struct fovea_nn_divide_args {
  const float *output; /* whole vectors */
  float sum;
  int64_t dim;
  fovea_nn_rows y;
} fovea_nn_divide_args;

/* The weights of a row from its scores, of which -Inf are hidden, and from its state over all keys. */
typedef struct fovea_nn_weights_args {
  const float *scores;
  const float *nodes; /* of the row's state: each ends with m and l */
  int64_t node_count, node_numbers;
  int64_t seen; /* keys with a score; the others have no weight */
  int64_t key_count;
  float *weights;
} fovea_nn_weights_args;

/* y = the average of the heads' numbers: their sum in ascending order, divided by their count. */
typedef struct fovea_nn_average_args {
  const float *first; /* head 0 */
  int64_t head_stride, heads;
  int64_t count;
  float *y;
} fovea_nn_average_args;

/* The gates of a recurrent cell. Gate g of number d is element g * dim + d of a row of both products. */
typedef struct fovea_nn_gates_args {
  fovea_nn_rows x, h;
  int64_t rows, dim;
  fovea_nn_rows state; /* the old one: GRU h, LSTM c */
  fovea_nn_rows y;     /* the new h */
  fovea_nn_rows cell;  /* LSTM: the new c */
} fovea_nn_gates_args;

/* Random features (Performer). x = x * scale in place, and halves[row] = half the sum of the squares. */
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
/* sums[j][d] = the sum over positions p, ascending, of left[p][j] * right[p][d], one chain of FMAs from +0; or, if
 * `begun`, sums + that. Whole vectors of sums are written, so sum_stride is at least right_count rounded up to 16.
 */
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
/* ---- Graph attention ---- */

/* The most edges of a call: those of a block. A call has the edges of some whole nodes, or some of one. What
 * belongs to heads (scores, maxima, sums) lies edge by edge or node by node, `padded` numbers each: as many as
 * there are heads, rounded up to a power of two. All lists of it have room for 16 numbers more, and those of
 * padding are any. */
#define FOVEA_NN_GRAPH_EDGES FOVEA_BLOCK_KEYS

/* to[i] = the heads of rows[i], side by side, + those of added[i], as f32. NULL rows are passed over. */
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

typedef struct fovea_nn_kernels {
  const char *name; /* of the instruction set */
  int row_step;     /* rows of a register tile: blocks of rows are multiples of it */
  void (*widen)(const fovea_widen_args *args);
  void (*widen_weights)(const fovea_nn_widen_args *args);
  fovea_nn_dot_function *dot;
  fovea_nn_dot_function *dot_few; /* up to FOVEA_NN_FEW_ROWS rows, panels of 16 bits */
  void (*finish)(const fovea_nn_finish_args *args);
  void (*embed)(const fovea_nn_embed_args *args);
  void (*activate)(const fovea_nn_activate_args *args);
  void (*norm)(const fovea_nn_norm_args *args);
  void (*softmax)(const fovea_nn_softmax_args *args);
  void (*additive)(const fovea_nn_additive_args *args);
  void (*weights)(const fovea_nn_weights_args *args);
  void (*gather)(const fovea_gather_args *args); /* of f32 */
  void (*divide)(const fovea_nn_divide_args *args);
  void (*average)(const fovea_nn_average_args *args);
  void (*gru)(const fovea_nn_gates_args *args);
  void (*lstm)(const fovea_nn_gates_args *args);
  void (*halves)(const fovea_nn_halves_args *args);
  void (*features)(const fovea_nn_features_args *args);
  void (*maxima)(const fovea_nn_features_args *args);
  void (*totals)(const fovea_nn_totals_args *args);
  void (*inverses)(const fovea_nn_inverses_args *args);
  void (*quotients)(const fovea_nn_quotients_args *args);
  void (*prefix)(const fovea_nn_prefix_args *args);
  void (*recurrence)(const fovea_nn_recurrence_args *args);
  void (*decay)(const fovea_nn_decay_args *args);
  void (*unit)(const fovea_nn_unit_args *args);
  void (*read_state)(const fovea_nn_read_args *args);
  void (*lsh_hash)(const fovea_nn_lsh_hash_args *args);
  void (*lsh_merge)(const fovea_nn_lsh_merge_args *args);
  void (*outer)(const fovea_nn_outer_args *args);
  void (*differ)(const fovea_nn_differ_args *args);
  void (*lambda)(const fovea_nn_lambda_args *args);
  void (*index)(const fovea_nn_index_args *args);
  void (*top_filter)(const fovea_top_filter_args *args);
  void (*top_select)(fovea_top_list *list, int k);
  void (*top_finish)(const fovea_top_finish_args *args);
  void (*graph_rows)(const fovea_nn_graph_rows_args *args);
  void (*graph_scores)(const fovea_nn_graph_scores_args *args);
  void (*graph_sums)(const fovea_nn_graph_sums_args *args);
  void (*graph_weights)(const fovea_nn_graph_weights_args *args);
  void (*graph_values)(const fovea_nn_graph_values_args *args);
  void (*graph_merge)(const fovea_nn_graph_merge_args *args);
  void (*graph_finish)(const fovea_nn_graph_finish_args *args);
  void (*graph_shares)(const fovea_nn_graph_shares_args *args);
} fovea_nn_kernels;

/* Products of pairs of bf16, without widening and with the bits of f32, on CPUs where fovea_kernels.pairs_hold().
 */
typedef struct fovea_nn_pair_kernels {
  /* Whether all elements of `rows` rows of `count` are safe for dot(). */
  int (*safe)(const uint16_t *elements, int64_t stride, int rows, int count);
  fovea_nn_dot_function *dot;
} fovea_nn_pair_kernels;

extern const fovea_nn_pair_kernels fovea_nn_pairs_avx512_bf16;

/* Declares fovea_nn_kernels_<name> for every set that serves all problems. */
#define FOVEA_NN_DECLARE(name, architecture, needs, prefers, type, lacks)                                          \
  FOVEA_GENERAL_##type(extern const fovea_nn_kernels fovea_nn_kernels_##name;)
FOVEA_INSTRUCTION_SETS(FOVEA_NN_DECLARE)
#undef FOVEA_NN_DECLARE

#endif

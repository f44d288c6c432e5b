/* The border between nn/ and the instruction sets, as kernels.h is the border of src/. docs/numerics.md, part
 * "Layers", fixes the arithmetic of every operation to the bit. */
#ifndef FOVEA_ARCH_NN_KERNELS_H
#define FOVEA_ARCH_NN_KERNELS_H

#include "../include/fovea/nn.h"
#include "variant_kernels.h"

/* How many activations there are. */
enum { FOVEA_NN_ACTIVATIONS = FOVEA_NN_ACTIVATION_ELU + 1 };

/* Outputs of a panel of weights: panel[dim / together][output][dim % together]. */
#define FOVEA_NN_PANEL FOVEA_PANEL_ROWS
/* Panels, and outputs, that are computed together. */
#define FOVEA_NN_PANELS 4
#define FOVEA_NN_OUTS   (FOVEA_NN_PANELS * FOVEA_NN_PANEL)

/* Copies dims of up to FOVEA_NN_PANELS panels of weights as f32: to[panel][dim][output], FOVEA_DOT_PIECE dims each.
 * Outputs that do not exist become zeros. */
typedef struct fovea_nn_widen_args {
  const void *weights; /* the first dim of the first output: of its row, or of its panel */
  fovea_type type;
  int in_panels;
  int64_t stride; /* elements from row to row, or from panel to panel */
  int dims, outs;
  float *to;
} fovea_nn_widen_args;

/* Panels of quantised weights, in one piece of the dims. nn/quantised.h says how they lie. */
typedef struct fovea_nn_coded_panels {
  const char *first;    /* panel */
  int64_t stride;       /* bytes from panel to panel */
  const int8_t *values; /* of 4 bits: what the codes stand for */
  int panels;
  int dims;  /* up to FOVEA_DOT_PIECE */
  int bits;  /* 4 or 8 */
  int group; /* dims that share a scale, up to FOVEA_DOT_PIECE */
  int has_offsets;
  int is_e4m3; /* of 8 bits, without offsets */

  /* Groups whose dims are scattered, of 4 bits with offsets: the panels have codes only. For widen_codes() alone. */
  const uint32_t *dim_groups; /* of each dim; NULL: no such groups */
  int64_t groups;             /* of the layer */
  const char *numbers;        /* scales of the first panel's groups, and offsets */
  int64_t number_stride;      /* bytes from panel to panel */
} fovea_nn_coded_panels;

/* Rows for which codes, and panels of 16 bits, are converted to f32 in registers. More rows share a copy as f32. */
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

/* sums[row][out] as of fovea_nn_dot_args, of quantised weights in whole words. */
typedef struct fovea_nn_dot_codes_args {
  const float *x; /* the first dim of the first row */
  int64_t x_stride;
  int rows; /* up to FOVEA_NN_FEW_ROWS */
  fovea_nn_coded_panels weights;
  int64_t ahead; /* bytes from these panels to the next ones, which are prefetched */
  int begun;
  float *sums; /* rows of FOVEA_NN_OUTS */
} fovea_nn_dot_codes_args;

/* Lines that a register tile prefetches, one for every two dims. */
typedef struct fovea_nn_ahead {
  const char *begin;
  int64_t step; /* bytes from line to line */
} fovea_nn_ahead;

/* Packs a piece of a tile's rows of x: to[dim][row], fovea_nn_kernels.tile_stride numbers a dim. Rows that do not exist are
 * the last one again. */
typedef struct fovea_nn_pack_args {
  const float *x; /* the first dim of the first row */
  int64_t x_stride;
  int rows;      /* that exist */
  int tile_rows; /* of the tile */
  int dims;
  float *to;
} fovea_nn_pack_args;

/* y = act(sums + bias) * gate + residual, each step if it is there. */
typedef struct fovea_nn_finish_args {
  const float *sums;
  int64_t sum_stride; /* from row to row */
  int rows, outs;     /* up to FOVEA_NN_OUTS */
  const float *bias;  /* of the first output; NULL: none */
  fovea_nn_activation activation;
  fovea_nn_rows gate, residual, y;
} fovea_nn_finish_args;

/* A register tile of many rows: sums[row][out] = the dot products of one piece of dims, or, if `begun`, sums +
 * these. */
typedef struct fovea_nn_tile_args {
  const float *x;       /* packed */
  const float *weights; /* f32 panels: the first dim */
  int64_t panel_stride; /* elements */
  int rows;             /* even, from fovea_nn_kernels.tile_least to tile_rows */
  int dims;             /* up to FOVEA_DOT_PIECE */
  int begun;
  float *sums; /* rows of fovea_nn_kernels.tile_outs */
  /* NULL, or what follows the last piece, for whole tiles: sums, bias and residual become results, all of f32, and sums
   * are not written. */
  const fovea_nn_finish_args *end;
  fovea_nn_ahead near, far; /* what is used next: into the first-level cache, and into the second */
  int64_t near_turn;        /* every other step of `near` */
} fovea_nn_tile_args;

/* Rows that a kernel may fetch while it computes what they become. */
typedef struct fovea_nn_fetched {
  const char *first;
  int64_t stride, bytes; /* bytes from row to row, and of each */
  int rows;
} fovea_nn_fetched;

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

/* Of bf16 mode (args/nn_bf16.h) and of int8 mode (args/nn_int8.h). Who calls a mode or has its bodies includes them. */
typedef struct fovea_nn_bf16_kernels fovea_nn_bf16_kernels;
typedef struct fovea_nn_int8_kernels fovea_nn_int8_kernels;

typedef struct fovea_nn_kernels {
  const char *name; /* of the instruction set */
  int row_step;     /* rows of a register tile: blocks of rows are multiples of it */
  void (*widen)(const fovea_widen_args *args);
  void (*widen_weights)(const fovea_nn_widen_args *args);
  fovea_nn_dot_function *dot;
  fovea_nn_dot_function *dot_few; /* up to FOVEA_NN_FEW_ROWS rows, panels of 16 bits */
  /* Copies quantised panels as f32, as widen_weights() does; NULL without the group FORMATS, as dot_codes(). */
  void (*widen_codes)(const fovea_nn_coded_panels *panels, float *to);
  void (*dot_codes)(const fovea_nn_dot_codes_args *args);
  int tile_rows, tile_least; /* the most and the fewest rows of tile() */
  int tile_outs;             /* outputs of tile(): whole panels */
  int tile_stride;           /* of packed rows, from dim to dim: so many numbers are whole vectors */
  int task_tiles, task_outs; /* that share packed rows, and whose sums fit into half of the second-level cache */
  int64_t many_weights;      /* the fewest weights for which tile() is faster than dot() */
  void (*tile)(const fovea_nn_tile_args *args);
  void (*pack)(const fovea_nn_pack_args *args);
  const fovea_nn_bf16_kernels *bf16; /* NULL: not in this build */
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

/* Products of pairs of bf16, without conversion and with the bits of f32, on CPUs where
 * fovea_kernels.pairs_hold(). */
typedef struct fovea_nn_pair_kernels {
  /* Whether all elements of `rows` rows of `count` are safe for dot(). */
  int (*safe)(const uint16_t *elements, int64_t stride, int rows, int count);
  fovea_nn_dot_function *dot;
} fovea_nn_pair_kernels;

extern const fovea_nn_pair_kernels fovea_nn_pairs_avx512_bf16;

/* Declares fovea_nn_kernels_<name> for every set that serves all problems. */
#define FOVEA_NN_DECLARE(name, architecture, needs, prefers, type, lacks)                                          \
  FOVEA_GENERAL_##type(extern const fovea_nn_kernels fovea_nn_kernels_##name;                                      \
                       extern const fovea_nn_int8_kernels fovea_nn_int8_##name;)
FOVEA_INSTRUCTION_SETS(FOVEA_NN_DECLARE)
#undef FOVEA_NN_DECLARE

#endif

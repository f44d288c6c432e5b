/* The numeric contract (docs/numerics.md), one output row at a time, written for reading. Every kernel must give
 * its bits. It shares no code with the library, and knows neither rules nor types: the caller says which keys the
 * row sees, converts 16-bit inputs, and rounds the results. */
#ifndef FOVEA_TESTS_CONTRACT_H
#define FOVEA_TESTS_CONTRACT_H

#include <stdint.h>

/* Instead of the softmax, and what its outputs are divided by. */
enum contract_normaliser { CONTRACT_SOFTMAX, CONTRACT_RELU, CONTRACT_RELU_SQUARED, CONTRACT_SIGMOID };
enum contract_divisor { CONTRACT_ONE, CONTRACT_VALUE, CONTRACT_KEYS, CONTRACT_SUM };

/* Fields that an initialiser leaves out are absent features. */
struct contract_row {
  const float *q;             /* qk_dim numbers */
  const float *k, *v;         /* key and value at position 0 */
  int64_t k_stride, v_stride; /* elements from one position to the next */
  int64_t qk_dim, v_dim;
  int64_t positions; /* keys have positions 0 to positions - 1 */
  double scale;
  int leaky;                 /* 1: LeakyReLU of the product */
  double slope;              /* its slope */
  double softcap;            /* 0: none */
  const float *const *terms; /* what position terms add to the scores of all positions */
  int term_count;
  const float *bias;                                /* added to the scores of positions from bias_begin on */
  int64_t bias_begin;                               /* if bias is NULL, nothing is added to any score */
  const float *sink;                                /* NULL: none */
  int (*sees)(const void *rules, int64_t position); /* whether the row sees the key at the position */
  const void *rules;
  enum contract_normaliser normaliser;
  /* Vectors of distances from -shaw_distance to shaw.distance, of the row's head; NULL: none. */
  const float *shaw_keys, *shaw_values;
  int64_t shaw_distance, own;    /* own: position of the row's own key */
  enum contract_divisor divisor; /* of normalisers other than the softmax, like the two below */
  double divisor_value, sigmoid_bias;
};

/* Writes v_dim numbers and the row's log-sum-exp, which only the softmax has. */
void contract_row(const struct contract_row *row, float *out, float *lse);
/* Adds the weights of row i to the column sums of `count` keys. Rows come in ascending order; sums and sixteen, 16
 * numbers for each key, are zeros before the first. `ends`: row i is the last. */
void contract_add_columns(const float *weights, int64_t count, int64_t i, int ends, float *sixteen, float *sums);
/* The entropy of the row's weights. */
float contract_row_entropy(const struct contract_row *row);
/* The largest score without the sink, in natural units. */
float contract_row_max(const struct contract_row *row);
/* Writes the positions and scores, in natural units, of the `count` keys that come first. */
void contract_row_top(const struct contract_row *row, int64_t count, int64_t *keys, float *scores);
/* Write the weight, or a score in natural units, of each of the `positions` keys. */
void contract_row_weights(const struct contract_row *row, float *weights);
enum contract_scores { CONTRACT_RAW, CONTRACT_CAPPED, CONTRACT_BIASED };
void contract_row_scores(const struct contract_row *row, enum contract_scores kind, float *scores);

/* What position terms add: of ALIBI the number; of tables, at which place of a row's table it is. d is the key's
 * position less the position of the row's own key. */
float contract_alibi(float slope, int64_t d, int symmetric);
int64_t contract_relative_place(int64_t d, int64_t before, int64_t after);
int64_t contract_bucket(int64_t d, int64_t buckets, int64_t max_distance, int bidirectional);
int64_t contract_grid_place(const int64_t extent[3], int64_t own, int64_t key);
/* The same state as a caller gets it, of the keys at `first` to `first` + `length` - 1, a node of the tree. */
void contract_node(const struct contract_row *row, int64_t first, int64_t length, float *o, float *m, float *l);

/* The contract's own functions. exp2 takes x <= 0, log2 takes x >= 1. */
float contract_exp2(float x);
float contract_log2(float x);
float contract_tanh(float x);
float contract_weight_sigmoid(float x);
/* The weight of a score in natural units, by a normaliser other than softmax. */
float contract_weight(enum contract_normaliser normaliser, float bias, float s);

#endif

/* The numeric contract (docs/numerics.md), one output row at a time, written for reading: what every kernel must
 * give bit for bit. Shares no code with the library, and knows neither rules nor types: the caller says which keys
 * the row sees, widens what is stored in 16 bits, and rounds what is written.
 */
#ifndef FOVEA_TESTS_CONTRACT_H
#define FOVEA_TESTS_CONTRACT_H

#include <stdint.h>

/* What is left out of an initialiser is none of it. */
struct contract_row {
  const float *q;             /* qk_dim numbers */
  const float *k, *v;         /* the key and the value at position 0 */
  int64_t k_stride, v_stride; /* elements from one position to the next */
  int64_t qk_dim, v_dim;
  int64_t positions; /* keys have positions 0 to positions - 1 */
  double scale;
  double softcap;                                   /* 0: none */
  const float *bias;                                /* added to the scores of positions from bias_begin on */
  int64_t bias_begin;                               /* with bias NULL: none is added to any */
  const float *sink;                                /* NULL: none */
  int (*sees)(const void *rules, int64_t position); /* whether the row sees that key */
  const void *rules;
};

/* Writes v_dim numbers and the row's log-sum-exp. */
void contract_row(const struct contract_row *row, float *out, float *lse);

/* The contract's own functions. exp2 is for x <= 0, log2 for x >= 1. */
float contract_exp2(float x);
float contract_log2(float x);
float contract_tanh(float x);

#endif

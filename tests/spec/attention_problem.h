/* One head of attention as a test vector. What an initialiser leaves out is absent. */
#ifndef FOVEA_TESTS_SPEC_ATTENTION_PROBLEM_H
#define FOVEA_TESTS_SPEC_ATTENTION_PROBLEM_H

#include "contract.h"
#include "vectors.h"

enum {
  OUTPUT_WEIGHTS = 1,
  OUTPUT_SCORES = 2,
  OUTPUT_TOP = 4,
  OUTPUT_ENTROPY = 8,
  OUTPUT_COLUMNS = 16,
  OUTPUT_MAX = 32
};
enum { TOP = 5 };

/* What a mask holds: allowed keys at random; one whole block, all of the second span and every key of the last row
 * hidden; random numbers with some -Inf. */
enum mask_kind { MASK_NONE, MASK_HOLES, MASK_BLOCKS, MASK_ADDITIVE };

/* The numbers of a vector, f32. */
struct numbers {
  float *q, *k, *v, *mask;
};

struct attention {
  const char *name, *clauses;
  int64_t rows, keys, qk_dim, v_dim;
  fovea_type type, o_type; /* of q, k, v and an additive mask; of out */
  float gain;              /* q is random in [-gain, gain); 0: 2 */
  double scale;            /* 0: the default, which the manifest leaves out */
  double softcap;
  int leaky;
  double slope;
  int64_t offset;
  int causal, window;
  int64_t window_left, window_right; /* with `window` */
  int64_t chunk_size, chunk_left, chunk_right;
  int64_t keys_begin, keys_end; /* end 0: none */
  enum mask_kind mask;
  int64_t mask_begin;
  const float *sink;
  int alibi; /* 1: one-sided, 2: symmetric */
  int relative, t5, grid;
  double head_scale; /* 0: none; in place of scale */
  int row_scales;
  int64_t shaw_distance;
  int shaw_keys, shaw_values;
  enum contract_normaliser normaliser;
  enum contract_divisor divisor;
  double divisor_value, sigmoid_bias;
  void (*plant)(struct numbers *numbers, const struct attention *problem); /* edits the random numbers */
  int outputs;
  int64_t first_span, end_span; /* a state of these spans in place of out and LSE; end 0: none */
};

void write_attention_problem(const struct attention *problem);

#endif

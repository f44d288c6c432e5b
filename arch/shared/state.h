/* The algebra of states (docs/numerics.md, step 4). Over some keys a row has a state: the maximum m of its scores,
 * the sum l of its weights 2^(score - m), and its output o, which is not divided by l yet. Two states merge into
 * that over the keys of both; the left one is of lower positions. Included after a vector layer. */
#ifndef FOVEA_ARCH_SHARED_STATE_H
#define FOVEA_ARCH_SHARED_STATE_H

#include "exp2.h"

/* What scores are measured from: the maximum, or 0 where there is none, since -Inf - -Inf is not a number. */
FOVEA_INLINE vec state_reference(vec maximum) {
  return vec_select(vec_equal(maximum, vec_set1(-INFINITY)), vec_set1(0.0f), maximum);
}

/* The maximum of both states, and the factors that measure sums and outputs of each from it. */
typedef struct state_parts {
  vec maximum, left, right;
} state_parts;

FOVEA_INLINE state_parts state_merge(vec left_max, vec right_max) {
  vec maximum = vec_max(right_max, left_max);
  vec reference = state_reference(maximum);
  vec left = vec_exp2(vec_sub(left_max, reference));
  return (state_parts){maximum, left, vec_exp2(vec_sub(right_max, reference))};
}

/* The sum of both states, or one dim of their output. */
FOVEA_INLINE vec state_join(vec left, vec left_part, vec right, vec right_part) {
  return vec_fma(right, right_part, vec_mul(left, left_part));
}

/* What a row has of all blocks so far, [row]. */
typedef struct state_running {
  float *row_max, *row_sum, *old_part, *new_part;
} state_running;

/* The next block's state joins it on the right. The factors are left for the outputs. */
FOVEA_INLINE void state_advance(const state_running *running, int row, int first, vec block_max, vec block_sum) {
  if (first) {
    vec_store(running->row_max + row, block_max);
    vec_store(running->row_sum + row, block_sum);
    return;
  }
  state_parts parts = state_merge(vec_load(running->row_max + row), block_max);
  vec sum = state_join(vec_load(running->row_sum + row), parts.left, block_sum, parts.right);
  vec_store(running->row_max + row, parts.maximum);
  vec_store(running->row_sum + row, sum);
  vec_store(running->old_part + row, parts.left);
  vec_store(running->new_part + row, parts.right);
}

#endif

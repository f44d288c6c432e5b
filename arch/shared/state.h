/* The algebra of states (docs/numerics.md, step 4). A row has a state over some keys: the maximum m of its scores,
 * the sum l of its weights 2^(score - m), and its output o, which is not yet divided by l. Two states merge into
 * the state over the keys of both. The left state has the lower positions. Included after a vector layer. */
#ifndef FOVEA_ARCH_SHARED_STATE_H
#define FOVEA_ARCH_SHARED_STATE_H

#include "../kernels.h"
#include "exp2.h"

/* The number that is subtracted from scores: the maximum, or 0 if it is -Inf, since -Inf - -Inf is NaN. */
FOVEA_INLINE vec state_reference(vec maximum) {
  return vec_select(vec_equal(maximum, vec_set1(-INFINITY)), vec_set1(0.0f), maximum);
}

/* The maximum of two states, and the factors that rescale the sum and output of each state to it. */
typedef struct state_parts {
  vec maximum, left, right;
} state_parts;

FOVEA_INLINE state_parts state_merge(vec left_max, vec right_max) {
  vec maximum = vec_max(right_max, left_max);
  vec reference = state_reference(maximum);
  vec left = vec_exp2(vec_sub(left_max, reference));
  return (state_parts){maximum, left, vec_exp2(vec_sub(right_max, reference))};
}

/* Merges the sums of two states, or one dim of their outputs. */
FOVEA_INLINE vec state_join(vec left, vec left_part, vec right, vec right_part) {
  return vec_fma(right, right_part, vec_mul(left, left_part));
}

/* What the entropy of a row needs of some keys: their maximum and sum, and e, the sum of weight * log2(weight). */
typedef struct state_entropy {
  vec maximum, sum, spread;
} state_entropy;

/* e relative to a larger maximum, before its factor `part`. Where that is 0, nothing is left of the side. */
FOVEA_INLINE vec state_shift_spread(const state_entropy *side, vec reference, vec part) {
  const vec shift = vec_sub(side->maximum, reference);
  const vec zero = vec_set1(0.0f);
  return vec_fma(side->sum, vec_select(vec_equal(part, zero), zero, shift), side->spread);
}

/* Merges e of two states. */
FOVEA_INLINE vec state_join_spread(const state_entropy *left, const state_entropy *right) {
  const state_parts parts = state_merge(left->maximum, right->maximum);
  const vec reference = state_reference(parts.maximum);
  return state_join(state_shift_spread(left, reference, parts.left), parts.left,
                    state_shift_spread(right, reference, parts.right), parts.right);
}

/* The running maxima and sums of rows over all blocks so far, and the factors of the last merge, [row]. */
typedef struct state_running {
  float *row_max, *row_sum, *old_part, *new_part;
} state_running;

/* Merges the state of the next block, on the right. Stores the factors for the outputs. */
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

/* The same for vectors of rows, as modes do it once their weights are made. Returns 1 if a maximum of the block is -Inf.
 * In softmax.h. */
int FOVEA_SHARED(advance)(const state_running *running, int first, const float *block_max, const float *block_sum,
                          fovea_vector_range vectors);

#endif

/* Normalisers other than the softmax: weights of scores in natural units, without maxima or exponentials that
 * depend on other keys (docs/numerics.md, "Normalisers other than softmax"). A state has the maximum 0, so that
 * states merge by the code of the softmax, with factors of 1. Part of bodies.h. */
#ifndef FOVEA_ARCH_SHARED_NORMALISE_H
#define FOVEA_ARCH_SHARED_NORMALISE_H

#include "../kernels.h"
#include "sigmoid.h"
#include "state.h"
#include "tile.h"
#include "types.h"

/* The weight of a score. -Inf, which hides, gives 0. NaN stays, which a maximum would not promise. */
FOVEA_INLINE vec normalise_score(vec score, const fovea_normaliser normaliser, vec bias) {
  const vec positive = vec_select(vec_less(score, vec_set1(0.0f)), vec_set1(0.0f), score);
  if (normaliser == FOVEA_NORMALISER_SIGMOID) return vec_sigmoid(vec_add(score, bias));
  return normaliser == FOVEA_NORMALISER_RELU ? positive : vec_mul(positive, positive);
}

/* Replaces `count` vectors of scores, `stride` floats apart, by weights. One short loop for each normaliser,
 * whatever lies in the lanes. */
#define NORMALISE_SCORES(normaliser)                                                                               \
  FOVEA_NO_UNROLL for (; count > 0; count--, scores += stride)                                                     \
      vec_store(scores, normalise_score(vec_load(scores), normaliser, bias));                                      \
  break
FOVEA_MIDDLE FOVEA_NOINLINE void normalise_scores(float *scores, int64_t stride, int count,
                                                  const fovea_weighting *weighting) {
  const vec bias = vec_set1(weighting->bias);
  switch (weighting->normaliser) {
  case FOVEA_NORMALISER_RELU:
    NORMALISE_SCORES(FOVEA_NORMALISER_RELU);
  case FOVEA_NORMALISER_RELU_SQUARED:
    NORMALISE_SCORES(FOVEA_NORMALISER_RELU_SQUARED);
  default:
    NORMALISE_SCORES(FOVEA_NORMALISER_SIGMOID);
  }
}

/* Merges the state of the next block, on the right, as state_advance() does. `block_max` is 0, or -Inf without a
 * state, so factors are 1 or 0. */
FOVEA_MIDDLE FOVEA_NOINLINE void normalise_advance(const state_running *running, int row, int first, vec block_max,
                                                   vec block_sum) {
  const vec none = vec_set1(-INFINITY), zero = vec_set1(0.0f), one = vec_set1(1.0f);
  if (first) {
    vec_store(running->row_max + row, block_max);
    vec_store(running->row_sum + row, block_sum);
    return;
  }
  const vec row_max = vec_load(running->row_max + row);
  vec_store(running->row_sum + row, vec_add(vec_load(running->row_sum + row), block_sum));
  vec_store(running->row_max + row, vec_max(row_max, block_max));
  vec_store(running->old_part + row, vec_select(vec_equal(row_max, none), zero, one));
  vec_store(running->new_part + row, vec_select(vec_equal(block_max, none), zero, one));
}

/* The sums of the weights of one vector of rows, folded, for keys begin to end - 1 of the block. */
FOVEA_INLINE vec normalise_sum(const float *weights, int begin, int end) {
  vec sums[FOVEA_WEIGHT_SUMS];
  FOVEA_NO_UNROLL
  for (int i = 0; i < FOVEA_WEIGHT_SUMS; i++) {
    vec sum = vec_set1(0.0f);
    FOVEA_NO_UNROLL
    for (int key = begin + ((i - begin) & (FOVEA_WEIGHT_SUMS - 1)); key < end; key += FOVEA_WEIGHT_SUMS) {
      sum = vec_add(sum, vec_load(weights + key * ROW_TILE));
    }
    sums[i] = sum;
  }
  FOVEA_NO_UNROLL
  for (int half = FOVEA_WEIGHT_SUMS / 2; half > 0; half /= 2) {
    FOVEA_NO_UNROLL
    for (int i = 0; i < half; i++) sums[i] = vec_add(sums[i], sums[i + half]);
  }
  return sums[0];
}

/* The m of a block: 0, or -Inf of rows without a state, whose scores are -Inf. The sum tells rows of NaN from
 * these. */
FOVEA_INLINE vec normalise_maximum(vec block_max, vec block_sum) {
  vecmask some = vecmask_not(vec_equal(block_max, vec_set1(-INFINITY)));
  return vec_select(vecmask_or(some, vec_is_nan(block_sum)), vec_set1(0.0f), vec_set1(-INFINITY));
}

FOVEA_MIDDLE FOVEA_KERNEL int FOVEA_NAME(normalise)(const fovea_softmax_args *args) {
  vecmask none = vec_less(vec_set1(0.0f), vec_set1(0.0f));
  for (int vector = args->vectors.first; vector < args->vectors.first + args->vectors.count; vector++) {
    int row = vector * LANES, begin = args->key_begin[vector], end = args->key_end[vector];
    normalise_scores(args->scores + begin * ROW_TILE + row, ROW_TILE, end - begin, args->weighting);
    vec block_sum = normalise_sum(args->scores + row, begin, end);
    vec block_max = normalise_maximum(vec_load(args->maxima + row), block_sum);
    vec_store(args->maxima + row, block_max);
    vec_store(args->block_sum + row, block_sum);
    const state_running running = {args->row_max, args->row_sum, args->old_part, args->new_part};
    normalise_advance(&running, row, args->first, block_max, block_sum);
    none = vecmask_or(none, vec_equal(block_max, vec_set1(-INFINITY)));
  }
  return vecmask_any(none);
}

/* Vectors of kept scores that become weights together. */
enum { NORMALISE_KEPT = 16 };

/* Replaces the kept scores of a row by its weights, divided: 0 of a key that is not visible, also in a row of
 * NaN. */
FOVEA_MIDDLE FOVEA_KERNEL void FOVEA_NAME(normalise_kept)(float *scores, int64_t count,
                                                          const fovea_weighting *weighting, float part,
                                                          float inverse) {
  float weights[NORMALISE_KEPT * LANES];
  while (count > 0) {
    const int keys = count < NORMALISE_KEPT * LANES ? (int)count : NORMALISE_KEPT * LANES;
    for (int key = 0; key < keys; key += LANES) {
      vec_store(weights + key, vec_load_first(scores + key, keys - key < LANES ? keys - key : LANES));
    }
    normalise_scores(weights, LANES, (keys + LANES - 1) / LANES, weighting);
    for (int key = 0; key < keys; key += LANES) {
      const int lanes = keys - key < LANES ? keys - key : LANES;
      const vecmask hidden = vec_equal(vec_load_first(scores + key, lanes), vec_set1(-INFINITY));
      const vec weight = vec_mul(vec_mul(vec_load(weights + key), vec_set1(part)), vec_set1(inverse));
      vec_store_first(scores + key, vec_select(hidden, vec_set1(0.0f), canonical(weight)), lanes);
    }
    scores += keys;
    count -= keys;
  }
}

#endif

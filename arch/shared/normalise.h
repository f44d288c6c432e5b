/* Normalisers other than the softmax: weights of scores in natural units, without maxima or exponentials that
 * depend on other keys (docs/numerics.md, "Normalisers other than softmax"). A state has the maximum 0, so that
 * states merge by the code of the softmax, with factors of 1. Part of bodies.h; tiles.h gives FOVEA_SOFTMAX_CHAINS,
 * as in softmax.h. */
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

FOVEA_INLINE vec normalise_key(float *score, const fovea_normaliser normaliser, vec bias) {
  vec weight = normalise_score(vec_load(score), normaliser, bias);
  vec_store(score, weight);
  return weight;
}

/* Whole rounds of sixteen keys, several sums at a time. */
FOVEA_INLINE void normalise_rounds(float *scores, const fovea_normaliser normaliser, vec bias, int rounds,
                                   vec *sums) {
  FOVEA_NO_UNROLL
  for (int first = 0; first < FOVEA_WEIGHT_SUMS; first += FOVEA_SOFTMAX_CHAINS) {
    vec chain[FOVEA_SOFTMAX_CHAINS];
    FOVEA_UNROLL
    for (int i = 0; i < FOVEA_SOFTMAX_CHAINS; i++) chain[i] = sums[first + i];
    FOVEA_NO_UNROLL
    for (int round = 0; round < rounds; round++) {
      float *row = scores + (round * FOVEA_WEIGHT_SUMS + first) * ROW_TILE;
      FOVEA_UNROLL
      for (int i = 0; i < FOVEA_SOFTMAX_CHAINS; i++) {
        chain[i] = vec_add(chain[i], normalise_key(row + i * ROW_TILE, normaliser, bias));
      }
    }
    FOVEA_UNROLL
    for (int i = 0; i < FOVEA_SOFTMAX_CHAINS; i++) sums[first + i] = chain[i];
  }
}

/* Replaces scores by weights, for one vector of rows and keys begin to end - 1 of the block. Returns their sums. */
FOVEA_INLINE vec normalise_vector(float *scores, const fovea_normaliser normaliser, vec bias, int begin, int end) {
  vec sums[FOVEA_WEIGHT_SUMS];
  for (int i = 0; i < FOVEA_WEIGHT_SUMS; i++) sums[i] = vec_set1(0.0f);
  int key = begin;
  FOVEA_NO_UNROLL
  while (key < end) {
    const int place = key % FOVEA_WEIGHT_SUMS, rounds = place == 0 ? (end - key) / FOVEA_WEIGHT_SUMS : 0;
    if (rounds > 0) {
      normalise_rounds(scores + key * ROW_TILE, normaliser, bias, rounds, sums);
      key += rounds * FOVEA_WEIGHT_SUMS;
    } else {
      sums[place] = vec_add(sums[place], normalise_key(scores + key * ROW_TILE, normaliser, bias));
      key++;
    }
  }
  for (int half = FOVEA_WEIGHT_SUMS / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; i++) sums[i] = vec_add(sums[i], sums[i + half]);
  }
  return sums[0];
}

/* One loop for each normaliser. */
#define NORMALISE_VECTOR(name, normaliser)                                                                         \
  FOVEA_NOINLINE vec normalise_vector_##name(float *scores, vec bias, int begin, int end) {                        \
    return normalise_vector(scores, normaliser, bias, begin, end);                                                 \
  }
NORMALISE_VECTOR(relu, FOVEA_NORMALISER_RELU)
NORMALISE_VECTOR(relu_squared, FOVEA_NORMALISER_RELU_SQUARED)
NORMALISE_VECTOR(sigmoid, FOVEA_NORMALISER_SIGMOID)

FOVEA_INLINE vec normalise_vector_of(const fovea_weighting *weighting, float *scores, int begin, int end) {
  const vec bias = vec_set1(weighting->bias);
  switch (weighting->normaliser) {
  case FOVEA_NORMALISER_RELU:
    return normalise_vector_relu(scores, bias, begin, end);
  case FOVEA_NORMALISER_RELU_SQUARED:
    return normalise_vector_relu_squared(scores, bias, begin, end);
  default:
    return normalise_vector_sigmoid(scores, bias, begin, end);
  }
}

/* The m of a block: 0, or -Inf of rows without a state, whose scores are -Inf. The sum tells rows of NaN from
 * these. */
FOVEA_INLINE vec normalise_maximum(vec block_max, vec block_sum) {
  vecmask some = vecmask_not(vec_equal(block_max, vec_set1(-INFINITY)));
  return vec_select(vecmask_or(some, vec_is_nan(block_sum)), vec_set1(0.0f), vec_set1(-INFINITY));
}

FOVEA_KERNEL int FOVEA_NAME(normalise)(const fovea_softmax_args *args) {
  vecmask none = vec_less(vec_set1(0.0f), vec_set1(0.0f));
  for (int vector = args->vectors.first; vector < args->vectors.first + args->vectors.count; vector++) {
    int row = vector * LANES;
    vec block_sum =
        normalise_vector_of(args->weighting, args->scores + row, args->key_begin[vector], args->key_end[vector]);
    vec block_max = normalise_maximum(vec_load(args->maxima + row), block_sum);
    vec_store(args->maxima + row, block_max);
    vec_store(args->block_sum + row, block_sum);
    const state_running running = {args->row_max, args->row_sum, args->old_part, args->new_part};
    state_advance(&running, row, args->first, block_max, block_sum);
    none = vecmask_or(none, vec_equal(block_max, vec_set1(-INFINITY)));
  }
  return vecmask_any(none);
}

/* What a row's output and weights are multiplied by, one after the other: a power of two and 1 / divisor. The power
 * keeps the reciprocal of a small divisor finite. */
typedef struct normalise_divisor {
  vec part, inverse;
} normalise_divisor;

FOVEA_INLINE normalise_divisor normalise_divide(vec divisor) {
  const vec part = vec_select(vec_less(divisor, vec_set1(0x1p-64f)), vec_set1(0x1p+64f), vec_set1(1.0f));
  const vec inverse = vec_div(vec_set1(1.0f), vec_mul(divisor, part));
  return (normalise_divisor){part, vec_select(vec_equal(divisor, vec_set1(0.0f)), vec_set1(0.0f), inverse)};
}

/* Replaces the kept scores of a row by its weights, divided: 0 of a key that is not seen, also in a row of NaN. */
FOVEA_INLINE void normalise_kept(float *scores, int64_t count, const fovea_normaliser normaliser, vec bias,
                                 vec part, vec inverse) {
  FOVEA_NO_UNROLL
  for (; count > 0; count -= LANES, scores += LANES) {
    const int lanes = count < LANES ? (int)count : LANES;
    const vec score = vec_load_first(scores, lanes);
    const vec weight = vec_mul(vec_mul(normalise_score(score, normaliser, bias), part), inverse);
    const vecmask hidden = vec_equal(score, vec_set1(-INFINITY));
    vec_store_first(scores, vec_select(hidden, vec_set1(0.0f), canonical(weight)), lanes);
  }
}

FOVEA_NOINLINE void normalise_kept_row(float *scores, int64_t count, const fovea_weighting *weighting, float part,
                                       float inverse) {
  const vec bias = vec_set1(weighting->bias), parts = vec_set1(part), inverses = vec_set1(inverse);
  switch (weighting->normaliser) {
  case FOVEA_NORMALISER_RELU:
    normalise_kept(scores, count, FOVEA_NORMALISER_RELU, bias, parts, inverses);
    break;
  case FOVEA_NORMALISER_RELU_SQUARED:
    normalise_kept(scores, count, FOVEA_NORMALISER_RELU_SQUARED, bias, parts, inverses);
    break;
  default:
    normalise_kept(scores, count, FOVEA_NORMALISER_SIGMOID, bias, parts, inverses);
    break;
  }
}

#endif

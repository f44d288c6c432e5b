/* The softmax tile: replaces the scores of one block by weights 2^(score - maximum), sums them, and merges the sums
 * into the running state of the rows (the online softmax). Part of bodies.h; tiles.h gives
 *
 *   FOVEA_SOFTMAX_CHAINS   sums that are computed at once: 1, 2 or 4, as many as fit in registers beside 2^x */

#include "../kernels.h"
#include "state.h"
#include "tile.h"

#define SUMS FOVEA_WEIGHT_SUMS

FOVEA_INLINE vec softmax_weight(float *score, vec reference) {
  vec weight = vec_exp2(vec_sub(vec_load(score), reference));
  vec_store(score, weight);
  return weight;
}

/* Whole rounds of sixteen keys, several sums at a time: several exponentials are in flight together. */
FOVEA_INLINE void softmax_rounds(float *scores, vec reference, int rounds, vec *sums) {
  FOVEA_NO_UNROLL
  for (int first = 0; first < SUMS; first += FOVEA_SOFTMAX_CHAINS) {
    vec chain[FOVEA_SOFTMAX_CHAINS];
    FOVEA_UNROLL
    for (int i = 0; i < FOVEA_SOFTMAX_CHAINS; i++) chain[i] = sums[first + i];
    FOVEA_NO_UNROLL
    for (int round = 0; round < rounds; round++) {
      float *row = scores + (round * SUMS + first) * ROW_TILE;
      FOVEA_UNROLL
      for (int i = 0; i < FOVEA_SOFTMAX_CHAINS; i++) {
        chain[i] = vec_add(chain[i], softmax_weight(row + i * ROW_TILE, reference));
      }
    }
    FOVEA_UNROLL
    for (int i = 0; i < FOVEA_SOFTMAX_CHAINS; i++) sums[first + i] = chain[i];
  }
}

/* Replaces scores by weights, for one vector of rows and keys begin to end - 1 of the block. Returns their sums. */
FOVEA_INLINE vec softmax_vector(float *scores, vec reference, int begin, int end) {
  vec sums[SUMS];
  for (int i = 0; i < SUMS; i++) sums[i] = vec_set1(0.0f);
  int key = begin;
  for (; key < end && key % SUMS != 0; key++) {
    sums[key % SUMS] = vec_add(sums[key % SUMS], softmax_weight(scores + key * ROW_TILE, reference));
  }
  int rounds = (end - key) / SUMS;
  if (rounds > 0) {
    softmax_rounds(scores + key * ROW_TILE, reference, rounds, sums);
    key += rounds * SUMS;
  }
  for (; key < end; key++) {
    sums[key % SUMS] = vec_add(sums[key % SUMS], softmax_weight(scores + key * ROW_TILE, reference));
  }
  for (int half = SUMS / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; i++) sums[i] = vec_add(sums[i], sums[i + half]);
  }
  return sums[0];
}

FOVEA_KERNEL int FOVEA_NAME(softmax)(const fovea_softmax_args *args) {
  vecmask none = vec_less(vec_set1(0.0f), vec_set1(0.0f));
  for (int vector = args->vectors.first; vector < args->vectors.first + args->vectors.count; vector++) {
    int row = vector * LANES;
    vec block_max = vec_add(vec_load(args->maxima + row), vec_set1(0.0f)); /* -0 becomes +0 */
    vec block_sum = softmax_vector(args->scores + row, state_reference(block_max), args->key_begin[vector],
                                   args->key_end[vector]);
    vec_store(args->maxima + row, block_max);
    vec_store(args->block_sum + row, block_sum);
    const state_running running = {args->row_max, args->row_sum, args->old_part, args->new_part};
    state_advance(&running, row, args->first, block_max, block_sum);
    none = vecmask_or(none, vec_equal(block_max, vec_set1(-INFINITY)));
  }
  return vecmask_any(none);
}

#if FOVEA_BUILDS_MODES
FOVEA_SHARED_FUNCTION(int, advance, const state_running *running, int first, const float *block_max,
                      const float *block_sum, fovea_vector_range vectors) {
  vecmask none = vec_less(vec_set1(0.0f), vec_set1(0.0f));
  FOVEA_NO_UNROLL
  for (int vector = vectors.first; vector < vectors.first + vectors.count; vector++) {
    const int row = vector * LANES;
    const vec maximum = vec_load(block_max + row);
    state_advance(running, row, first, maximum, vec_load(block_sum + row));
    none = vecmask_or(none, vec_equal(maximum, vec_set1(-INFINITY)));
  }
  return vecmask_any(none);
}
#endif

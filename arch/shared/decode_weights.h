/* normalise.h for decoding, with keys in the lanes. Part of bodies.h. */

#include "../args/decode.h"
#include "normalise.h"

/* Whether a score is not -Inf. */
FOVEA_INLINE int decode_has_state(const float *scores, int begin, int end) {
  vecmask hidden = vec_equal(vec_set1(0.0f), vec_set1(0.0f));
  FOVEA_NO_UNROLL
  for (int key = begin; key < end; key += LANES) {
    hidden = vecmask_and(hidden, vec_equal(vec_load(scores + key), vec_set1(-INFINITY)));
  }
  return vecmask_any(vecmask_not(hidden));
}

/* The sum of weights: of FOVEA_WEIGHT_SUMS sums, halves are added to halves. */
FOVEA_INLINE float decode_sum(const float *weights, int begin, int end) {
  float sums[FOVEA_WEIGHT_SUMS];
  FOVEA_NO_UNROLL
  for (int first = 0; first < FOVEA_WEIGHT_SUMS; first += LANES) {
    vec sum = vec_set1(0.0f);
    FOVEA_NO_UNROLL
    for (int key = begin + ((first - begin) & (FOVEA_WEIGHT_SUMS - 1)); key < end; key += FOVEA_WEIGHT_SUMS) {
      sum = vec_add(sum, vec_load(weights + key));
    }
    vec_store(sums + first, sum);
  }
  FOVEA_NO_UNROLL
  for (int half = FOVEA_WEIGHT_SUMS / 2; half > 0; half /= 2) {
    FOVEA_NO_UNROLL
    for (int i = 0; i < half; i++) sums[i] += sums[i + half];
  }
  return sums[0];
}

FOVEA_MIDDLE FOVEA_KERNEL int FOVEA_NAME(decode_normalise)(const fovea_decode_softmax_args *args) {
  const int begin = args->key_begin, end = args->key_end;
  int none = 0;
  for (int row = 0; row < args->row_count; row++) {
    float *scores = args->scores + row * FOVEA_BLOCK_KEYS;
    const int some = decode_has_state(scores, begin, end);
    normalise_scores(scores + begin, LANES, (end - begin) / LANES, args->weighting);
    args->block_max[row] = some ? 0.0f : -INFINITY;
    args->block_sum[row] = decode_sum(scores, begin, end);
    none |= !some;
  }
  /* LANES rows at a time. Lanes beyond row_count are computed, but their results are not used. */
  for (int row = 0; row < args->row_count; row += LANES) {
    const state_running running = {args->row_max, args->row_sum, args->old_part, args->new_part};
    normalise_advance(&running, row, args->first, vec_load(args->block_max + row), vec_load(args->block_sum + row));
  }
  return none;
}

/* What is done to scores after the products: softcap, additive and boolean mask, hiding by the rules. Included once
 * by arch/<isa>/adjust.c. */

#include "../kernels.h"
#include "exp2.h"
#include "tanh.h"

#define ROW_TILE (FOVEA_TILE_VECTORS * LANES)

/* What is added comes in natural units: log2 e as f32. */
#define LOG2E 0x1.715476p+0f

FOVEA_INLINE vec adjust_bias(vec score, vec bias) {
  vec sum = vec_fma(bias, vec_set1(LOG2E), score);
  return vec_select(vec_equal(bias, vec_set1(-INFINITY)), bias, sum); /* whatever the score is, NaN as well */
}

/* One vector of rows. */
FOVEA_INLINE void adjust_vector(const fovea_adjust_args *args, int row, const int capped, const int biased) {
  const vec cap = vec_set1(args->cap);
  const int32_t *seen_from = args->seen_from, *seen_to = args->seen_to;
  float *scores = args->scores + row;
  vec maximum = vec_load(args->maxima + row);
  FOVEA_NO_UNROLL
  for (int key = 0; key < args->key_count; key++, scores += ROW_TILE) {
    vec score = vec_load(scores);
    if (capped) score = vec_mul(cap, vec_tanh(score));
    if (biased) score = adjust_bias(score, vec_load(args->bias + key * ROW_TILE + row));
    if (seen_from) {
      vecmask seen = vec_seen(key, veci_load(seen_from + row), veci_load(seen_to + row));
      score = vec_select(seen, score, vec_set1(-INFINITY));
    }
    vec_store(scores, score);
    maximum = vec_max(score, maximum);
  }
  vec_store(args->maxima + row, maximum);
}

FOVEA_KERNEL void FOVEA_NAME(adjust)(const fovea_adjust_args *args) {
  for (int vector = 0; vector < args->vectors.count; vector++) {
    int row = (args->vectors.first + vector) * LANES;
    if (!args->capped) {
      adjust_vector(args, row, 0, args->bias != NULL);
    } else if (args->bias) {
      adjust_vector(args, row, 1, 1);
    } else {
      adjust_vector(args, row, 1, 0);
    }
  }
}

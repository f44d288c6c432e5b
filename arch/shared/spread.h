/* The entropy of rows: the sum e of weight * log2(weight) over the keys of a block, merged into the sum of the keys
 * before it. The arithmetic of merging is as in state.h. Part of bodies.h. */

#include "../args/outputs.h"
#include "../kernels.h"
#include "decode_common.h"
#include "state.h"
#include "tile.h"

/* The sixteen sums of weights and of e. */
typedef struct spread_sums {
  vec sum[FOVEA_WEIGHT_SUMS], spread[FOVEA_WEIGHT_SUMS];
} spread_sums;

/* Adds one vector of scores to sum i. */
FOVEA_INLINE void spread_add(spread_sums *sums, int i, vec score, vec reference) {
  const vec x = vec_sub(score, reference), weight = vec_exp2(x), zero = vec_set1(0.0f);
  sums->sum[i] = vec_add(sums->sum[i], weight);
  sums->spread[i] = vec_fma(weight, vec_select(vec_equal(weight, zero), zero, x), sums->spread[i]);
}

FOVEA_INLINE void spread_store(const fovea_spread_args *args, int row, const state_entropy *block) {
  const state_entropy before = {vec_load(args->row_max + row), vec_load(args->row_sum + row),
                                vec_load(args->row_spread + row)};
  vec_store(args->row_spread + row, args->first ? block->spread : state_join_spread(&before, block));
}

FOVEA_INLINE void spread_vector(const fovea_spread_args *args, int vector) {
  const int row = vector * LANES;
  const vec maximum = vec_add(vec_load(args->maxima + row), vec_set1(0.0f)), reference = state_reference(maximum);
  spread_sums sums;
  for (int i = 0; i < FOVEA_WEIGHT_SUMS; i++) sums.sum[i] = sums.spread[i] = vec_set1(0.0f);
  FOVEA_NO_UNROLL
  for (int key = args->key_begin[vector]; key < args->key_end[vector]; key++) {
    spread_add(&sums, key % FOVEA_WEIGHT_SUMS, vec_load(args->scores + key * ROW_TILE + row), reference);
  }
  for (int half = FOVEA_WEIGHT_SUMS / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; i++) {
      sums.sum[i] = vec_add(sums.sum[i], sums.sum[i + half]);
      sums.spread[i] = vec_add(sums.spread[i], sums.spread[i + half]);
    }
  }
  const state_entropy block = {maximum, sums.sum[0], sums.spread[0]};
  spread_store(args, row, &block);
}

FOVEA_SHORT FOVEA_KERNEL void FOVEA_NAME(spread)(const fovea_spread_args *args) {
  for (int v = args->vectors.first; v < args->vectors.first + args->vectors.count; v++) spread_vector(args, v);
}

/* Sums of keys in the lanes: halves are added to halves. */
FOVEA_INLINE float spread_fold(const vec *sums) {
  float lanes[FOVEA_WEIGHT_SUMS];
  for (int i = 0; i < FOVEA_WEIGHT_SUMS / LANES; i++) vec_store(lanes + i * LANES, sums[i]);
  for (int half = FOVEA_WEIGHT_SUMS / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; i++) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

/* With keys in the lanes. The blocks of LANES rows are merged together; lanes beyond the last row are not used. */
FOVEA_KERNEL void FOVEA_NAME(decode_spread)(const fovea_spread_args *args) {
  float maxima[FOVEA_DECODE_ROWS_LIMIT + LANES] = {0}, row_sums[FOVEA_DECODE_ROWS_LIMIT + LANES] = {0},
                                         spreads[FOVEA_DECODE_ROWS_LIMIT + LANES] = {0};
  for (int row = 0; row < args->row_count; row++) {
    const float *scores = args->scores + row * FOVEA_BLOCK_KEYS;
    maxima[row] = decode_maximum(scores, *args->key_begin, *args->key_end);
    const vec reference = state_reference(vec_set1(maxima[row]));
    spread_sums sums;
    for (int i = 0; i < FOVEA_WEIGHT_SUMS / LANES; i++) sums.sum[i] = sums.spread[i] = vec_set1(0.0f);
    FOVEA_NO_UNROLL
    for (int key = *args->key_begin; key < *args->key_end; key += LANES) {
      spread_add(&sums, key / LANES % (FOVEA_WEIGHT_SUMS / LANES), vec_load(scores + key), reference);
    }
    row_sums[row] = spread_fold(sums.sum);
    spreads[row] = spread_fold(sums.spread);
  }
  for (int row = 0; row < args->row_count; row += LANES) {
    const state_entropy block = {vec_load(maxima + row), vec_load(row_sums + row), vec_load(spreads + row)};
    spread_store(args, row, &block);
  }
}

/* Merges the sums e of the rows of one vector; rows.h calls it before it merges maxima and sums. */
FOVEA_KERNEL void FOVEA_NAME(merge_spread)(const fovea_tile_state *left, const fovea_tile_state *right, int row) {
  const state_entropy a = {vec_load(left->row_max + row), vec_load(left->row_sum + row),
                           vec_load(left->row_spread + row)};
  const state_entropy b = {vec_load(right->row_max + row), vec_load(right->row_sum + row),
                           vec_load(right->row_spread + row)};
  vec_store(left->row_spread + row, state_join_spread(&a, &b));
}

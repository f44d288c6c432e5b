/* Column sums: the weights of rows, added up for each key. The sums of a key are sixteen, by the row's number
 * modulo sixteen. If keys lie in the lanes, they are sixteen arrays of keys. If rows do, which needs one head's
 * rows in a tile, a vector of weights is added to a vector of one key's sums as it is. Part of bodies.h. */

#include "../args/outputs.h"
#include "../kernels.h"
#include "keep.h"
#include "tile.h"

FOVEA_KERNEL void FOVEA_NAME(column_add)(const fovea_column_args *args) {
  const vec reference = vec_set1(args->reference), inverse = vec_set1(args->inverse);
  FOVEA_NO_UNROLL
  for (int key = 0; key < args->key_count; key += LANES) {
    const vec weight = keep_weight(vec_load(args->scores + key), reference, inverse);
    vec_store(args->sums + key, vec_add(vec_load(args->sums + key), weight));
  }
}

FOVEA_KERNEL void FOVEA_NAME(column_add_tile)(const fovea_column_tile_args *args) {
  const vec reference = vec_load(args->references), inverse = vec_load(args->inverses), zero = vec_set1(0.0f);
  const vecmask left_out = vec_equal(vec_load(args->counted), zero);
  FOVEA_NO_UNROLL
  for (int key = args->key_begin; key < args->key_end; key++) {
    float *sum = args->sums + key * FOVEA_WEIGHT_SUMS;
    const vec weight = keep_weight(vec_load(args->scores + key * ROW_TILE), reference, inverse);
    vec_store(sum, vec_add(vec_load(sum), vec_select(left_out, zero, weight)));
  }
}

/* Adds halves to halves, and the last sum to the total. */
FOVEA_INLINE void column_join(vec *sum, float *total) {
  for (int half = FOVEA_WEIGHT_SUMS / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; i++) sum[i] = vec_add(sum[i], sum[i + half]);
  }
  vec_store(total, canonical(vec_add(vec_load(total), sum[0])));
}

FOVEA_SHORT FOVEA_KERNEL void FOVEA_NAME(column_fold)(float *sums, float *total) {
  FOVEA_NO_UNROLL
  for (int key = 0; key < FOVEA_BLOCK_KEYS; key += LANES) {
    vec sum[FOVEA_WEIGHT_SUMS];
    for (int i = 0; i < FOVEA_WEIGHT_SUMS; i++) {
      sum[i] = vec_load(sums + i * FOVEA_BLOCK_KEYS + key);
      vec_store(sums + i * FOVEA_BLOCK_KEYS + key, vec_set1(0.0f));
    }
    column_join(sum, total + key);
  }
}

FOVEA_SHORT FOVEA_KERNEL void FOVEA_NAME(column_fold_tile)(float *sums, float *total) {
  FOVEA_NO_UNROLL
  for (int key = 0; key < FOVEA_BLOCK_KEYS; key += LANES) {
    vec sum[FOVEA_WEIGHT_SUMS];
    for (int first = 0; first < FOVEA_WEIGHT_SUMS; first += LANES) {
      for (int i = 0; i < LANES; i++) {
        float *of_key = sums + (key + i) * FOVEA_WEIGHT_SUMS + first;
        sum[first + i] = vec_load(of_key);
        vec_store(of_key, vec_set1(0.0f));
      }
      vec_transpose(sum + first);
    }
    column_join(sum, total + key);
  }
}

/* Column sums: the weights of rows, added up for each key. Keys lie in the lanes. Part of bodies.h. */

#include "../kernels.h"
#include "keep.h"

FOVEA_KERNEL void FOVEA_NAME(column_add)(const fovea_column_args *args) {
  const vec reference = vec_set1(args->reference), inverse = vec_set1(args->inverse);
  FOVEA_NO_UNROLL
  for (int key = 0; key < args->key_count; key += LANES) {
    const vec weight = keep_weight(vec_load(args->scores + key), reference, inverse);
    vec_store(args->sums + key, vec_add(vec_load(args->sums + key), weight));
  }
}

/* Halves are added to halves. */
FOVEA_SHORT FOVEA_KERNEL void FOVEA_NAME(column_fold)(float *sums, float *total) {
  FOVEA_NO_UNROLL
  for (int key = 0; key < FOVEA_BLOCK_KEYS; key += LANES) {
    vec sum[FOVEA_WEIGHT_SUMS];
    for (int i = 0; i < FOVEA_WEIGHT_SUMS; i++) {
      sum[i] = vec_load(sums + i * FOVEA_BLOCK_KEYS + key);
      vec_store(sums + i * FOVEA_BLOCK_KEYS + key, vec_set1(0.0f));
    }
    for (int half = FOVEA_WEIGHT_SUMS / 2; half > 0; half /= 2) {
      for (int i = 0; i < half; i++) sum[i] = vec_add(sum[i], sum[i + half]);
    }
    vec_store(total + key, canonical(vec_add(vec_load(total + key), sum[0])));
  }
}

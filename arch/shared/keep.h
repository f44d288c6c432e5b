/* Scores as an output: keep_scores() copies the scores of a block to the caller's rows, and when a row is done,
 * store.h makes them weights. Part of bodies.h. */
#ifndef FOVEA_ARCH_SHARED_KEEP_H
#define FOVEA_ARCH_SHARED_KEEP_H

#include "../args/outputs.h"
#include "../kernels.h"
#include "state.h"
#include "tile.h"
#include "types.h"

#include <string.h>

/* LANES rows and up to LANES keys from `key` on; keys outside `seen` get -Inf. */
FOVEA_INLINE void keep_square(const fovea_keep_args *args, int vector, int key) {
  const int row = vector * LANES, rest = args->key_end - key;
  const int rows = args->row_count - row < LANES ? args->row_count - row : LANES;
  const size_t size = (size_t)(rest < LANES ? rest : LANES) * sizeof(float);
  const int seen_begin = args->seen_begin[vector] - key, seen_end = args->seen_end[vector] - key;
  const float *scores = args->scores + key * ROW_TILE + row;
  float transposed[LANES * LANES];
  vec square[LANES];
  FOVEA_NO_UNROLL
  for (int k = 0; k < LANES; k++, scores += ROW_TILE)
    square[k] = seen_begin <= k && k < seen_end ? canonical(vec_load(scores)) : vec_set1(-INFINITY);
  vec_transpose(square);
  FOVEA_UNROLL
  for (int i = 0; i < LANES; i++) vec_store(transposed + i * LANES, square[i]);
  FOVEA_NO_UNROLL
  for (int i = 0; i < rows; i++) {
    float *to = args->rows[row + i];
    if (!to) continue;
    to += key - args->key_begin;
    if (rest >= LANES) {
      vec_store(to, vec_load(transposed + i * LANES));
    } else {
      memcpy(to, transposed + i * LANES, size);
    }
  }
}

FOVEA_KERNEL void FOVEA_NAME(keep_scores)(const fovea_keep_args *args) {
  FOVEA_NO_UNROLL
  for (int vector = 0; vector * LANES < args->row_count; vector++) {
    FOVEA_NO_UNROLL
    for (int key = args->key_begin; key < args->key_end; key += LANES) keep_square(args, vector, key);
  }
}

/* The weight of a score, in units of log2: 0 of a key that is not visible, also in a row of NaN. */
FOVEA_INLINE vec keep_weight(vec score, vec reference, vec inverse) {
  vec weight = vec_mul(vec_exp2(vec_sub(score, reference)), inverse);
  return vec_select(vec_equal(score, vec_set1(-INFINITY)), vec_set1(0.0f), canonical(weight));
}

/* Replaces the scores of a row by weights, relative to its maximum and times 1 / sum. The last ones are masked: a
 * call to copy them would take the loop's vectors out of registers. */
FOVEA_INLINE void keep_weights_of_row(float *scores, int64_t count, vec reference, vec inverse) {
  FOVEA_NO_UNROLL
  for (; count >= LANES; count -= LANES, scores += LANES) {
    vec_store(scores, keep_weight(vec_load(scores), reference, inverse));
  }
  if (count == 0) return;
  const vec last = keep_weight(vec_load_first(scores, (int)count), reference, inverse);
  vec_store_first(scores, last, (int)count);
}

#endif

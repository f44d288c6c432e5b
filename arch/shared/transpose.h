/* Transposes elements of a mask tensor: rows lie in the lanes, as in scores. */
#ifndef FOVEA_ARCH_SHARED_TRANSPOSE_H
#define FOVEA_ARCH_SHARED_TRANSPOSE_H

#include "mask.h"

/* Transposes up to LANES keys: bias[key][row]. */
FOVEA_MIDDLE FOVEA_NOINLINE void mask_transpose_square(const fovea_mask_tile *mask, int row, int key, int count,
                                                       float *bias) {
  float rows[LANES * LANES];
  vec square[LANES];
  if (mask->type == FOVEA_MASK_F32 && count == LANES) {
    FOVEA_UNROLL
    for (int i = 0; i < LANES; i++) square[i] = vec_load((const float *)mask->rows[row + i] + key);
  } else {
    mask_load_square(mask, row, key, count, rows);
    FOVEA_UNROLL
    for (int i = 0; i < LANES; i++) square[i] = vec_load(rows + i * LANES);
  }
  vec_transpose(square);
  FOVEA_UNROLL
  for (int k = 0; k < LANES; k++) vec_store(bias + k * LANES, square[k]);
}

/* Transposes the piece that starts with `key`, for one vector: bias[key % FOVEA_MASK_PIECE][row]. If a mask
 * repeats, every key has the row's first element. */
FOVEA_NOINLINE void mask_transpose_piece(const fovea_mask_tile *mask, int row, int key, float *bias) {
  for (int first = key; first < key + FOVEA_MASK_PIECE && first < mask->key_count;
       first += LANES, bias += LANES * LANES) {
    const int rest = mask->key_count - first;
    if (!mask->repeats) {
      mask_transpose_square(mask, row, first, rest < LANES ? rest : LANES, bias);
      continue;
    }
    mask_transpose_square(mask, row, 0, 1, bias);
    for (int k = 1; k < LANES; k++) vec_store(bias + k * LANES, vec_load(bias));
  }
}

#endif

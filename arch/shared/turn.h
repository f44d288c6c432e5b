/* Elements of a mask tensor turned, so that rows lie in the lanes as they do in scores. Included after a vector
 * layer.
 */
#ifndef FOVEA_ARCH_SHARED_TURN_H
#define FOVEA_ARCH_SHARED_TURN_H

#include "mask.h"

/* One square: bias[key][row]. */
FOVEA_INLINE void mask_turn_square(const fovea_mask_tile *mask, int row, int key, int count,
                                   const fovea_mask_type type, float *bias) {
  vec square[LANES];
  if (mask->repeats) {
    float lanes[LANES], column[LANES];
    for (int i = 0; i < LANES; i++) {
      vec_store(lanes, mask_load(mask->rows[row + i], 0, 1, type));
      column[i] = lanes[0];
    }
    for (int k = 0; k < LANES; k++) vec_store(bias + k * LANES, vec_load(column));
    return;
  }
  mask_load_square(mask, row, key, count, type, square);
  vec_transpose(square);
  FOVEA_UNROLL
  for (int k = 0; k < LANES; k++) vec_store(bias + k * LANES, square[k]);
}

/* bias[key % FOVEA_MASK_PIECE][row] of one vector and the piece that starts with `key`. */
FOVEA_NOINLINE void mask_turn_piece(const fovea_mask_tile *mask, int row, int key, float *bias) {
  for (int first = key; first < key + FOVEA_MASK_PIECE && first < mask->key_count;
       first += LANES, bias += LANES * LANES) {
    int rest = mask->key_count - first, count = rest < LANES ? rest : LANES;
    switch (mask->type) {
    case FOVEA_MASK_BITS:
      mask_turn_square(mask, row, first, count, FOVEA_MASK_BITS, bias);
      break;
    case FOVEA_MASK_F32:
      mask_turn_square(mask, row, first, count, FOVEA_MASK_F32, bias);
      break;
    case FOVEA_MASK_F16:
      mask_turn_square(mask, row, first, count, FOVEA_MASK_F16, bias);
      break;
    case FOVEA_MASK_BF16:
      mask_turn_square(mask, row, first, count, FOVEA_MASK_BF16, bias);
      break;
    default:
      mask_turn_square(mask, row, first, count, FOVEA_MASK_BOOL, bias);
      break;
    }
  }
}

#endif

/* Elements of a mask tensor turned, so that rows lie in the lanes as they do in scores. Included after a vector
 * layer.
 */
#ifndef FOVEA_ARCH_SHARED_TURN_H
#define FOVEA_ARCH_SHARED_TURN_H

#include "mask.h"

/* One square: bias[key][row]. */
FOVEA_INLINE void mask_turn_square(const fovea_mask_tile *mask, int row, int key, const fovea_mask_type type,
                                   float *bias) {
  vec square[LANES];
  mask_load_square(mask, row, key, type, square);
  vec_transpose(square);
  FOVEA_UNROLL
  for (int k = 0; k < LANES; k++) vec_store(bias + k * LANES, square[k]);
}

/* The same with fewer keys than LANES. */
FOVEA_NOINLINE void mask_turn_edge(const fovea_mask_tile *mask, int row, int key, int count, float *bias) {
  float rows[LANES * LANES];
  vec square[LANES];
  mask_load_edge(mask, row, key, count, rows);
  FOVEA_UNROLL
  for (int i = 0; i < LANES; i++) square[i] = vec_load(rows + i * LANES);
  vec_transpose(square);
  FOVEA_UNROLL
  for (int k = 0; k < LANES; k++) vec_store(bias + k * LANES, square[k]);
}

/* The same where every key has the row's first element. */
FOVEA_NOINLINE void mask_turn_repeated(const fovea_mask_tile *mask, int row, float *bias) {
  float rows[LANES * LANES], column[LANES];
  mask_load_edge(mask, row, 0, 1, rows);
  for (int i = 0; i < LANES; i++) column[i] = rows[i * LANES];
  FOVEA_NO_UNROLL
  for (int k = 0; k < LANES; k++) vec_store(bias + k * LANES, vec_load(column));
}

FOVEA_INLINE void mask_turn_any(const fovea_mask_tile *mask, int row, int key, float *bias) {
  switch (mask->type) {
  case FOVEA_MASK_BITS:
    mask_turn_square(mask, row, key, FOVEA_MASK_BITS, bias);
    break;
  case FOVEA_MASK_F32:
    mask_turn_square(mask, row, key, FOVEA_MASK_F32, bias);
    break;
  case FOVEA_MASK_F16:
    mask_turn_square(mask, row, key, FOVEA_MASK_F16, bias);
    break;
  case FOVEA_MASK_BF16:
    mask_turn_square(mask, row, key, FOVEA_MASK_BF16, bias);
    break;
  default:
    mask_turn_square(mask, row, key, FOVEA_MASK_BOOL, bias);
    break;
  }
}

/* bias[key % FOVEA_MASK_PIECE][row] of one vector and the piece that starts with `key`. */
FOVEA_NOINLINE void mask_turn_piece(const fovea_mask_tile *mask, int row, int key, float *bias) {
  for (int first = key; first < key + FOVEA_MASK_PIECE && first < mask->key_count;
       first += LANES, bias += LANES * LANES) {
    int rest = mask->key_count - first;
    if (mask->repeats) {
      mask_turn_repeated(mask, row, bias);
    } else if (rest < LANES) {
      mask_turn_edge(mask, row, first, rest, bias);
    } else {
      mask_turn_any(mask, row, first, bias);
    }
  }
}

#endif

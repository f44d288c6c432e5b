/* Loads elements of a mask tensor as numbers that are added to scores. A boolean element that is set becomes 0,
 * others become -Inf. Included after a vector layer. */
#ifndef FOVEA_ARCH_SHARED_MASK_H
#define FOVEA_ARCH_SHARED_MASK_H

#include "../kernels.h"
#include "types.h"

#include <string.h>

/* Loads what is added to the scores of `count` keys of one row, up to LANES. The rest of the vector is 0. */
FOVEA_INLINE vec mask_load(const void *row, int key, int count, const fovea_mask_type type) {
  const uint8_t *bits = (const uint8_t *)row + key / 8;
  uint8_t bytes[LANES + 1];
  memset(bytes, 0xff, sizeof bytes);
  switch (type) {
  case FOVEA_MASK_F16:
    return count == LANES ? typed_load(row, key, FOVEA_F16) : typed_load_first(row, key, count, FOVEA_F16);
  case FOVEA_MASK_BF16:
    return count == LANES ? typed_load(row, key, FOVEA_BF16) : typed_load_first(row, key, count, FOVEA_BF16);
  case FOVEA_MASK_F32:
    return count == LANES ? typed_load(row, key, FOVEA_F32) : typed_load_first(row, key, count, FOVEA_F32);
  case FOVEA_MASK_BITS:
    if (count == LANES) return vec_load_bits(bits, key % 8);
    for (int i = 0; i < (key % 8 + count + 7) / 8; i++) bytes[i] = bits[i];
    return vec_load_bits(bytes, key % 8);
  default:
    if (count == LANES) return vec_load_bool((const uint8_t *)row + key);
    for (int i = 0; i < count; i++) bytes[i] = ((const uint8_t *)row)[key + i];
    return vec_load_bool(bytes);
  }
}

/* Loads LANES rows from `row` on and up to LANES keys into memory. `key` is a multiple of LANES. */
FOVEA_INLINE void mask_load_rows(const fovea_mask_tile *mask, int row, int key, int count,
                                 const fovea_mask_type type, float *square) {
  FOVEA_NO_UNROLL
  for (int i = 0; i < LANES; i++) vec_store(square + i * LANES, mask_load(mask->rows[row + i], key, count, type));
}

/* The same for any type. If there are LANES keys, the type is a constant in the loop. */
FOVEA_INLINE void mask_load_square(const fovea_mask_tile *mask, int row, int key, int count, float *square) {
  if (count < LANES) {
    mask_load_rows(mask, row, key, count, mask->type, square);
    return;
  }
  switch (mask->type) {
  case FOVEA_MASK_BITS:
    mask_load_rows(mask, row, key, LANES, FOVEA_MASK_BITS, square);
    break;
  case FOVEA_MASK_F32:
    mask_load_rows(mask, row, key, LANES, FOVEA_MASK_F32, square);
    break;
  case FOVEA_MASK_F16:
    mask_load_rows(mask, row, key, LANES, FOVEA_MASK_F16, square);
    break;
  case FOVEA_MASK_BF16:
    mask_load_rows(mask, row, key, LANES, FOVEA_MASK_BF16, square);
    break;
  default:
    mask_load_rows(mask, row, key, LANES, FOVEA_MASK_BOOL, square);
    break;
  }
}

#endif

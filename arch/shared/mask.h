/* A mask tensor becomes the bias of a tile: rows of the mask are turned so that they lie in the lanes. Included
 * once by arch/<isa>/mask.c. */

#include "../kernels.h"
#include "types.h"

#define ROW_TILE (FOVEA_TILE_VECTORS * LANES)

_Static_assert(FOVEA_MASK_PIECE % LANES == 0 && FOVEA_BLOCK_KEYS / FOVEA_MASK_PIECE == 8,
               "pieces are bits of a byte");

/* What is added to the scores of `count` keys, up to LANES, of one row; 0 in the rest of the vector. */
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
    memcpy(bytes, bits, (size_t)(key % 8 + count + 7) / 8);
    return vec_load_bits(bytes, key % 8);
  default:
    if (count == LANES) return vec_load_bool((const uint8_t *)row + key);
    memcpy(bytes, (const uint8_t *)row + key, (size_t)count);
    return vec_load_bool(bytes);
  }
}

/* One square of LANES rows and up to LANES keys. Returns 1 when something is seen, 2 when something is not plain,
 * or both. */
FOVEA_INLINE int mask_square(const fovea_mask_args *args, int row, int key, int count, const fovea_mask_type type) {
  const vec hidden = vec_set1(-INFINITY), zero = vec_set1(0.0f);
  float *bias = args->bias + key * ROW_TILE + row;
  vec square[LANES];
  vecmask all_hidden = vec_equal(zero, zero), all_plain = all_hidden;
  FOVEA_UNROLL
  for (int i = 0; i < LANES; i++) {
    square[i] = mask_load(args->rows[row + i], key, count, type);
    all_hidden = vecmask_and(all_hidden, vec_equal(square[i], hidden));
    all_plain = vecmask_and(all_plain, vec_equal(square[i], zero));
  }
  int seen = vecmask_any(vecmask_not(all_hidden)), plain = !vecmask_any(vecmask_not(all_plain));
  if (plain || (!seen && count == LANES)) {
    for (int k = 0; k < count; k++) vec_store(bias + k * ROW_TILE, plain ? zero : hidden);
  } else {
    vec_transpose(square);
    for (int k = 0; k < count; k++) vec_store(bias + k * ROW_TILE, square[k]);
  }
  return (seen ? 1 : 0) | (plain ? 0 : 2);
}

/* A mask whose rows hold one element each. */
FOVEA_INLINE int mask_column(const fovea_mask_args *args, int row, int key, int count, const fovea_mask_type type) {
  float lanes[LANES];
  for (int i = 0; i < LANES; i++) {
    float first[LANES];
    vec_store(first, mask_load(args->rows[row + i], 0, 1, type));
    lanes[i] = first[0];
  }
  vec column = vec_load(lanes);
  for (int k = 0; k < count; k++) vec_store(args->bias + (key + k) * ROW_TILE + row, column);
  int seen = vecmask_any(vecmask_not(vec_equal(column, vec_set1(-INFINITY))));
  int plain = !vecmask_any(vecmask_not(vec_equal(column, vec_set1(0.0f))));
  return (seen ? 1 : 0) | (plain ? 0 : 2);
}

FOVEA_INLINE void mask_tile(const fovea_mask_args *args, const fovea_mask_type type) {
  for (int vector = 0; vector < args->vectors; vector++) {
    unsigned seen = 0, adjusted = 0;
    for (int key = 0; key < args->key_count; key += LANES) {
      int rest = args->key_count - key, count = rest < LANES ? rest : LANES;
      int found = args->repeats ? mask_column(args, vector * LANES, key, count, type)
                                : mask_square(args, vector * LANES, key, count, type);
      if (found & 1) seen |= 1u << key / FOVEA_MASK_PIECE;
      if (found & 2) adjusted |= 1u << key / FOVEA_MASK_PIECE;
    }
    args->pieces[vector] = (fovea_mask_pieces){(uint8_t)seen, (uint8_t)~adjusted};
  }
}

FOVEA_KERNEL void FOVEA_NAME(load_mask)(const fovea_mask_args *args) {
  switch (args->type) {
  case FOVEA_MASK_BITS:
    mask_tile(args, FOVEA_MASK_BITS);
    break;
  case FOVEA_MASK_F32:
    mask_tile(args, FOVEA_MASK_F32);
    break;
  case FOVEA_MASK_F16:
    mask_tile(args, FOVEA_MASK_F16);
    break;
  case FOVEA_MASK_BF16:
    mask_tile(args, FOVEA_MASK_BF16);
    break;
  default:
    mask_tile(args, FOVEA_MASK_BOOL);
    break;
  }
}

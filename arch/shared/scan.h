/* A mask tensor is summed up before its scores are computed, so that what it empties is skipped. Included once by
 * arch/<isa>/scan.c. */

#include "mask.h"

_Static_assert(FOVEA_MASK_PIECE % LANES == 0 && FOVEA_BLOCK_KEYS / FOVEA_MASK_PIECE == 8,
               "pieces are bits of a byte");

/* Whether every element of LANES rows and fewer than LANES keys is x. */
FOVEA_NOINLINE int scan_edge_is(const fovea_mask_tile *mask, int row, int key, int count, float x) {
  float rows[LANES * LANES];
  mask_load_edge(mask, row, key, count, rows);
  int same = 1;
  FOVEA_NO_UNROLL
  for (int i = 0; i < LANES; i++) {
    vecmask equal = vec_equal(vec_load(rows + i * LANES), vec_set1(x));
    same &= !vecmask_any(vecmask_not(equal));
  }
  return same;
}

/* The same of up to LANES keys. Most squares are told by their first row. */
FOVEA_INLINE int scan_square_is(const fovea_mask_tile *mask, int row, int key, int count,
                                const fovea_mask_type type, float x) {
  vecmask equal = vec_equal(mask_load(mask->rows[row], key, count, type), vec_set1(x));
  if (vecmask_any(vecmask_not(equal))) return 0;
  if (count < LANES) return scan_edge_is(mask, row, key, count, x);
  vec square[LANES];
  mask_load_square(mask, row, key, type, square);
  FOVEA_UNROLL
  for (int i = 1; i < LANES; i++) equal = vecmask_and(equal, vec_equal(square[i], vec_set1(x)));
  return !vecmask_any(vecmask_not(equal));
}

/* The rest of a square that has fewer keys counts as plain, and so nothing there is taken for hidden. */
FOVEA_INLINE void scan_vector(const fovea_mask_tile *mask, int row, const fovea_mask_type type,
                              fovea_mask_pieces *pieces) {
  unsigned seen = 0, adjusted = 0;
  for (int key = 0; key < mask->key_count; key += LANES) {
    int rest = mask->key_count - key, count = rest < LANES ? rest : LANES;
    int from = mask->repeats ? 0 : key;
    if (mask->repeats) count = 1;
    unsigned bit = 1u << key / FOVEA_MASK_PIECE;
    if (scan_square_is(mask, row, from, count, type, 0.0f)) {
      seen |= bit;
      continue;
    }
    adjusted |= bit;
    if (!scan_square_is(mask, row, from, count, type, -INFINITY)) seen |= bit;
  }
  *pieces = (fovea_mask_pieces){(uint8_t)seen, (uint8_t)~adjusted};
}

FOVEA_KERNEL void FOVEA_NAME(scan_mask)(const fovea_mask_tile *mask, int vectors, fovea_mask_pieces *pieces) {
  for (int v = 0; v < vectors; v++) {
    switch (mask->type) {
    case FOVEA_MASK_BITS:
      scan_vector(mask, v * LANES, FOVEA_MASK_BITS, &pieces[v]);
      break;
    case FOVEA_MASK_F32:
      scan_vector(mask, v * LANES, FOVEA_MASK_F32, &pieces[v]);
      break;
    case FOVEA_MASK_F16:
      scan_vector(mask, v * LANES, FOVEA_MASK_F16, &pieces[v]);
      break;
    case FOVEA_MASK_BF16:
      scan_vector(mask, v * LANES, FOVEA_MASK_BF16, &pieces[v]);
      break;
    default:
      scan_vector(mask, v * LANES, FOVEA_MASK_BOOL, &pieces[v]);
      break;
    }
  }
}

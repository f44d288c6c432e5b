/* Scans a mask tensor before scores are computed, so that keys that it hides from all rows are skipped. Part of
 * bodies.h. */

#include "mask.h"

_Static_assert(FOVEA_MASK_PIECE % LANES == 0 && FOVEA_BLOCK_KEYS / FOVEA_MASK_PIECE == 8,
               "pieces are bits of a byte");

/* Rows that are read between two checks. */
#define SCAN_ROWS (LANES < 4 ? LANES : 4)

/* Whether every element of LANES rows and up to LANES keys is x. The first rows decide most squares. */
FOVEA_INLINE int scan_square_is(const fovea_mask_tile *mask, int row, int key, int count,
                                const fovea_mask_type type, const int rows, float x) {
  FOVEA_NO_UNROLL
  for (int i = 0; i < LANES; i += rows) {
    vecmask equal = vec_equal(mask_load(mask->rows[row + i], key, count, type), vec_set1(x));
    FOVEA_UNROLL
    for (int j = 1; j < rows; j++) {
      equal = vecmask_and(equal, vec_equal(mask_load(mask->rows[row + i + j], key, count, type), vec_set1(x)));
    }
    if (vecmask_any(vecmask_not(equal))) return 0;
  }
  return 1;
}

/* The same for fewer than LANES keys, at the edge of a mask, and for any type. */
FOVEA_MIDDLE FOVEA_NOINLINE int scan_edge_is(const fovea_mask_tile *mask, int row, int key, int count, float x) {
  return scan_square_is(mask, row, key, count, mask->type, 1, x);
}

FOVEA_INLINE int scan_is(const fovea_mask_tile *mask, int row, int key, int count, const fovea_mask_type type,
                         float x) {
  return count < LANES ? scan_edge_is(mask, row, key, count, x)
                       : scan_square_is(mask, row, key, LANES, type, SCAN_ROWS, x);
}

/* Scans the rows of one vector. Lanes beyond the edge of a mask are 0, so a square at the edge is never hidden. */
FOVEA_INLINE void scan_vector(const fovea_mask_tile *mask, int row, const fovea_mask_type type,
                              fovea_mask_pieces *pieces) {
  unsigned seen = 0, adjusted = 0;
  FOVEA_NO_UNROLL
  for (int key = 0; key < mask->key_count; key += LANES) {
    int rest = mask->key_count - key, count = rest < LANES ? rest : LANES;
    int from = mask->repeats ? 0 : key;
    if (mask->repeats) count = 1;
    unsigned bit = 1u << key / FOVEA_MASK_PIECE;
    if (scan_is(mask, row, from, count, type, 0.0f)) {
      seen |= bit;
      continue;
    }
    adjusted |= bit;
    if (!scan_is(mask, row, from, count, type, -INFINITY)) seen |= bit;
  }
  *pieces = (fovea_mask_pieces){(uint8_t)seen, (uint8_t)~adjusted};
}

FOVEA_MIDDLE FOVEA_KERNEL void FOVEA_NAME(scan_mask)(const fovea_mask_tile *mask, int vectors,
                                                     fovea_mask_pieces *pieces) {
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

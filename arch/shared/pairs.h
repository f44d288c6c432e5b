/* Rows of half types as pairs of dims, for score_pairs.h: loads them, and looks for elements that the instructions
 * do not multiply correctly. A table with a pair layer includes this file once. The layer gives
 *
 *   FOVEA_PAIR_TYPE        FOVEA_F16 or FOVEA_BF16
 *   vec_pair_arrange(a)    LANES pairs, first elements in the low halves, as vec_pair() takes them
 *   pair_elements_safe(p)  whether the instruction is right for the 2 * LANES elements at p */

#include "tile.h"
#include "types.h"

#include <string.h>

/* Loads LANES pairs from element `first` of a row of `dim` elements, with zeros beyond its end. */
FOVEA_INLINE vec pairs_load(const uint16_t *row, int64_t first, int64_t dim, int *safe) {
  uint16_t elements[2 * LANES] = {0};
  const uint16_t *from = row + first;
  if (dim - first < 2 * LANES) {
    memcpy(elements, from, (size_t)(dim - first) * sizeof elements[0]);
    from = elements;
  }
  *safe &= pair_elements_safe(from);
  vec pairs;
  memcpy(&pairs, from, sizeof pairs);
  return pairs;
}

FOVEA_MIDDLE FOVEA_KERNEL int FOVEA_NAME(load_pairs)(const fovea_load_args *args) {
  int safe = 1;
  for (int row = 0; row < args->row_count; row += LANES) {
    for (int64_t dim = 0; dim < args->dim; dim += 2 * LANES) {
      int64_t rest = (args->dim - dim + 1) / 2;
      float *tile = args->tile + dim / 2 * ROW_TILE + row;
      vec square[LANES];
      for (int i = 0; i < LANES; i++) {
        square[i] =
            row + i < args->row_count ? pairs_load(args->rows[row + i], dim, args->dim, &safe) : vec_set1(0.0f);
      }
      vec_transpose(square);
      for (int d = 0; d < LANES && d < rest; d++) vec_store(tile + d * ROW_TILE, vec_pair_arrange(square[d]));
    }
  }
  return safe;
}

FOVEA_MIDDLE FOVEA_KERNEL int FOVEA_NAME(pairs_safe)(const fovea_widen_args *args) {
  const uint16_t *row = args->rows;
  int safe = 1;
  for (int64_t i = 0; i < args->row_count; i++, row += args->row_stride) {
    for (int64_t dim = 0; dim < args->dim; dim += 2 * LANES) pairs_load(row, dim, args->dim, &safe);
  }
  return safe;
}

/* pairs_hold() compares the instruction with two FMAs, on pairs of many sizes, with sums that cancel and lose bits.
 * It has a generator of its own, so the cases are the same everywhere. */
FOVEA_INLINE uint32_t pairs_next(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

/* An element whose exponent differs by at most `range` from the exponent of 1. */
FOVEA_INLINE uint16_t pairs_element(uint32_t *state, int range) {
  const fovea_type type = FOVEA_PAIR_TYPE;
  const int fraction = type == FOVEA_BF16 ? 7 : 10, bias = type == FOVEA_BF16 ? 127 : 15;
  int exponent = bias + (int)(pairs_next(state) % (uint32_t)(2 * range + 1)) - range;
  uint32_t rest = pairs_next(state);
  return (uint16_t)((rest & 0x8000u) | (uint32_t)exponent << fraction | (rest & ((1u << fraction) - 1)));
}

FOVEA_KERNEL int FOVEA_NAME(pairs_hold)(void) {
  const fovea_type type = FOVEA_PAIR_TYPE;
  uint32_t state = 1;
  for (int round = 0; round < 256; round++) {
    uint16_t q0[LANES], q1[LANES], k0[LANES], k1[LANES], both[2 * LANES];
    float start[LANES], wanted[LANES], got[LANES];
    int range = round % 4 * (type == FOVEA_BF16 ? 12 : 3);
    uint16_t k[2] = {pairs_element(&state, range), pairs_element(&state, range)};
    for (int i = 0; i < LANES; i++) {
      q0[i] = both[2 * i] = pairs_element(&state, range);
      q1[i] = both[2 * i + 1] = pairs_element(&state, range);
      k0[i] = k[0];
      k1[i] = k[1];
    }
    /* A third of the sums starts at zero; a third cancels the first product. */
    vec_store(start, vec_mul(typed_load(q1, 0, FOVEA_PAIR_TYPE), typed_load(k1, 0, FOVEA_PAIR_TYPE)));
    for (int i = 0; i < LANES; i++) {
      if (i % 3 == 0) start[i] = 0.0f;
      if (i % 3 == 1) start[i] = -start[i];
      if (i % 3 == 2) start[i] = (float)((int32_t)pairs_next(&state) - 0x800000) * 0x1p-20f;
    }
    vec sum = vec_fma(typed_load(q1, 0, FOVEA_PAIR_TYPE), typed_load(k1, 0, FOVEA_PAIR_TYPE), vec_load(start));
    vec_store(wanted, vec_fma(typed_load(q0, 0, FOVEA_PAIR_TYPE), typed_load(k0, 0, FOVEA_PAIR_TYPE), sum));
    vec pairs;
    memcpy(&pairs, both, sizeof pairs);
    vec_store(got, vec_pair(vec_pair_arrange(pairs), k[0] | (uint32_t)k[1] << 16, vec_load(start)));
    if (memcmp(got, wanted, sizeof got) != 0) return 0;
  }
  return 1;
}

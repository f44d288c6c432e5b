/* What is done to scores after the products: softcap, additive and boolean mask, hiding by the rules. Included once
 * by arch/<isa>/adjust.c. */

#include "../kernels.h"
#include "tanh.h"
#include "turn.h"

#define ROW_TILE (FOVEA_TILE_VECTORS * LANES)

/* What is added comes in natural units: log2 e as f32. */
#define LOG2E 0x1.715476p+0f

FOVEA_INLINE vec adjust_bias(vec score, vec bias) {
  vec sum = vec_fma(bias, vec_set1(LOG2E), score);
  return vec_select(vec_equal(bias, vec_set1(-INFINITY)), bias, sum); /* whatever the score is, NaN as well */
}

/* Keys that are worked on at once. Each has a maximum of its own, since one chain of maxima would take the latency
 * of an instruction for every key. */
#define ADJUST_KEYS TANH_LIMIT

/* `count` keys of one vector of rows, a constant; `key` is counted from the segment's first, `bias` is where the
 * mask of these keys and rows lies. */
FOVEA_INLINE void adjust_together(const fovea_adjust_args *args, int row, int key, const int count,
                                  const int capped, const float *bias, const int hiding, vec maximum[ADJUST_KEYS]) {
  float *scores = args->scores + key * ROW_TILE + row;
  const vec cap = vec_set1(args->cap);
  vec score[ADJUST_KEYS];
  FOVEA_UNROLL
  for (int i = 0; i < count; i++) score[i] = vec_load(scores + i * ROW_TILE);
  if (capped) {
    vec_tanh_together(score, count);
    FOVEA_UNROLL
    for (int i = 0; i < count; i++) score[i] = vec_mul(cap, score[i]);
  }
  FOVEA_UNROLL
  for (int i = 0; i < count; i++) {
    if (bias) score[i] = adjust_bias(score[i], vec_load(bias + i * LANES));
    if (hiding) {
      vecmask seen = vec_seen(key + i, veci_load(args->seen_from + row), veci_load(args->seen_to + row));
      score[i] = vec_select(seen, score[i], vec_set1(-INFINITY));
    }
    vec_store(scores + i * ROW_TILE, score[i]);
    maximum[i] = vec_max(score[i], maximum[i]);
  }
}

/* Keys first to end - 1 of one vector of rows. `bias` belongs to the first, or is NULL. */
FOVEA_INLINE void adjust_keys(const fovea_adjust_args *args, int row, int first, int end, const int capped,
                              const float *bias, const int hiding) {
  vec maximum[ADJUST_KEYS] = {vec_load(args->maxima + row)};
  for (int i = 1; i < ADJUST_KEYS; i++) maximum[i] = vec_set1(-INFINITY);
  int key = first;
  FOVEA_NO_UNROLL
  for (; key + ADJUST_KEYS <= end; key += ADJUST_KEYS) {
    adjust_together(args, row, key, ADJUST_KEYS, capped, bias, hiding, maximum);
    if (bias) bias += ADJUST_KEYS * LANES;
  }
  FOVEA_NO_UNROLL
  for (; key < end; key++) {
    adjust_together(args, row, key, 1, capped, bias, hiding, maximum);
    if (bias) bias += LANES;
  }
  for (int i = 1; i < ADJUST_KEYS; i++) maximum[0] = vec_max(maximum[i], maximum[0]);
  vec_store(args->maxima + row, maximum[0]);
}

/* One vector of rows: all keys at once, or piece by piece as the mask is turned. */
FOVEA_INLINE void adjust_vector(const fovea_adjust_args *args, int row, const int capped, const int masked,
                                const int hiding) {
  float bias[FOVEA_MASK_PIECE * LANES];
  if (!masked) {
    adjust_keys(args, row, 0, args->key_count, capped, NULL, hiding);
    return;
  }
  for (int key = args->key, end = args->key + args->key_count, next; key < end; key = next) {
    int piece = key / FOVEA_MASK_PIECE * FOVEA_MASK_PIECE;
    next = piece + FOVEA_MASK_PIECE < end ? piece + FOVEA_MASK_PIECE : end;
    mask_turn_piece(args->mask, row, piece, bias);
    adjust_keys(args, row, key - args->key, next - args->key, capped, bias + (key - piece) * LANES, hiding);
  }
}

FOVEA_KERNEL void FOVEA_NAME(adjust)(const fovea_adjust_args *args) {
  int masked = args->mask != NULL, hiding = args->seen_from != NULL;
  for (int vector = 0; vector < args->vectors.count; vector++) {
    int row = (args->vectors.first + vector) * LANES;
    switch (4 * (args->capped != 0) + 2 * masked + hiding) {
    case 7:
      adjust_vector(args, row, 1, 1, 1);
      break;
    case 6:
      adjust_vector(args, row, 1, 1, 0);
      break;
    case 5:
      adjust_vector(args, row, 1, 0, 1);
      break;
    case 4:
      adjust_vector(args, row, 1, 0, 0);
      break;
    case 3:
      adjust_vector(args, row, 0, 1, 1);
      break;
    default: /* without softcap there is a mask */
      adjust_vector(args, row, 0, 1, 0);
      break;
    }
  }
}

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

/* Keys that are worked on at once, each with a maximum of its own, since one chain of maxima would take the latency
 * of an instruction for every key. */
enum { ADJUST_KEYS = 2 };

/* One score, `key` counted from the segment's first; `bias` is where the mask of that key and its rows lies. */
FOVEA_INLINE vec adjust_score(const fovea_adjust_args *args, int row, int key, const int capped, const float *bias,
                              const int hiding) {
  vec score = vec_load(args->scores + key * ROW_TILE + row);
  if (capped) score = vec_mul(vec_set1(args->cap), vec_tanh(score));
  if (bias) score = adjust_bias(score, vec_load(bias));
  if (hiding) {
    vecmask seen = vec_seen(key, veci_load(args->seen_from + row), veci_load(args->seen_to + row));
    score = vec_select(seen, score, vec_set1(-INFINITY));
  }
  vec_store(args->scores + key * ROW_TILE + row, score);
  return score;
}

/* Keys first to end - 1 of one vector of rows. `bias` belongs to the first, or is NULL. */
FOVEA_INLINE void adjust_keys(const fovea_adjust_args *args, int row, int first, int end, const int capped,
                              const float *bias, const int hiding) {
  vec maximum[ADJUST_KEYS] = {vec_load(args->maxima + row), vec_set1(-INFINITY)};
  int key = first;
  FOVEA_NO_UNROLL
  for (; key + ADJUST_KEYS <= end; key += ADJUST_KEYS) {
    FOVEA_UNROLL
    for (int i = 0; i < ADJUST_KEYS; i++) {
      const float *own = bias ? bias + (key + i - first) * LANES : NULL;
      maximum[i] = vec_max(adjust_score(args, row, key + i, capped, own, hiding), maximum[i]);
    }
  }
  for (; key < end; key++) {
    const float *own = bias ? bias + (key - first) * LANES : NULL;
    maximum[0] = vec_max(adjust_score(args, row, key, capped, own, hiding), maximum[0]);
  }
  vec_store(args->maxima + row, vec_max(maximum[1], maximum[0]));
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

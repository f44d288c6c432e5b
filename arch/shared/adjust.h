/* What is done to scores after the products: softcap, additive and boolean mask, hiding by the rules. Part of
 * bodies.h. */

#include "../kernels.h"
#include "tanh.h"
#include "tile.h"
#include "turn.h"

/* What is added comes in natural units: log2 e as f32. */
#define LOG2E 0x1.715476p+0f

FOVEA_INLINE vec adjust_bias(vec score, vec bias) {
  vec sum = vec_fma(bias, vec_set1(LOG2E), score);
  return vec_select(vec_equal(bias, vec_set1(-INFINITY)), bias, sum); /* whatever the score is, NaN as well */
}

/* Keys that are worked on at once. Each has a maximum of its own, since one chain of maxima would take the latency
 * of an instruction for every key. */
#define ADJUST_KEYS TANH_LIMIT

/* What one pass over the scores of a segment does. Where more than one thing is to be done, which is rare, there is
 * a pass for each. */
typedef enum adjust_pass { ADJUST_CAP, ADJUST_MASK, ADJUST_HIDE } adjust_pass;

/* `count` keys of one vector of rows, a constant; `key` is counted from the segment's first, `bias` is where the
 * mask of these keys and rows lies. */
FOVEA_INLINE void adjust_together(const fovea_adjust_args *args, int row, int key, const int count,
                                  const adjust_pass pass, const float *bias, vec maximum[ADJUST_KEYS]) {
  float *scores = args->scores + key * ROW_TILE + row;
  vec score[ADJUST_KEYS];
  FOVEA_UNROLL
  for (int i = 0; i < count; i++) score[i] = vec_load(scores + i * ROW_TILE);
  if (pass == ADJUST_CAP) vec_tanh_together(score, count);
  FOVEA_UNROLL
  for (int i = 0; i < count; i++) {
    if (pass == ADJUST_CAP) score[i] = vec_mul(vec_set1(args->cap), score[i]);
    if (pass == ADJUST_MASK) score[i] = adjust_bias(score[i], vec_load(bias + i * LANES));
    if (pass == ADJUST_HIDE) {
      vecmask seen = vec_seen(key + i, veci_load(args->seen_from + row), veci_load(args->seen_to + row));
      score[i] = vec_select(seen, score[i], vec_set1(-INFINITY));
    }
    vec_store(scores + i * ROW_TILE, score[i]);
    maximum[i] = vec_max(score[i], maximum[i]);
  }
}

/* Keys first to end - 1 of one vector of rows. `bias` belongs to the first, or is NULL. */
FOVEA_INLINE void adjust_keys(const fovea_adjust_args *args, int row, int first, int end, const adjust_pass pass,
                              const float *bias, float *maxima) {
  vec maximum[ADJUST_KEYS] = {vec_load(maxima)};
  FOVEA_UNROLL
  for (int i = 1; i < ADJUST_KEYS; i++) maximum[i] = vec_set1(-INFINITY);
  int key = first;
  FOVEA_NO_UNROLL
  for (; key + ADJUST_KEYS <= end; key += ADJUST_KEYS) {
    adjust_together(args, row, key, ADJUST_KEYS, pass, bias, maximum);
    if (pass == ADJUST_MASK) bias += ADJUST_KEYS * LANES;
  }
  FOVEA_NO_UNROLL
  for (; key < end; key++) {
    adjust_together(args, row, key, 1, pass, bias, maximum);
    if (pass == ADJUST_MASK) bias += LANES;
  }
  FOVEA_UNROLL
  for (int i = 1; i < ADJUST_KEYS; i++) maximum[0] = vec_max(maximum[i], maximum[0]);
  vec_store(maxima, maximum[0]);
}

FOVEA_NOINLINE void adjust_cap(const fovea_adjust_args *args, int row, float *maxima) {
  adjust_keys(args, row, 0, args->key_count, ADJUST_CAP, NULL, maxima);
}

FOVEA_NOINLINE void adjust_hide(const fovea_adjust_args *args, int row, float *maxima) {
  adjust_keys(args, row, 0, args->key_count, ADJUST_HIDE, NULL, maxima);
}

/* Piece by piece as the mask is turned. */
FOVEA_NOINLINE void adjust_mask(const fovea_adjust_args *args, int row, float *maxima) {
  float bias[FOVEA_MASK_PIECE * LANES];
  FOVEA_NO_UNROLL
  for (int key = args->key, end = args->key + args->key_count, next; key < end; key = next) {
    int piece = key / FOVEA_MASK_PIECE * FOVEA_MASK_PIECE;
    next = piece + FOVEA_MASK_PIECE < end ? piece + FOVEA_MASK_PIECE : end;
    mask_turn_piece(args->mask, row, piece, bias);
    adjust_keys(args, row, key - args->key, next - args->key, ADJUST_MASK, bias + (key - piece) * LANES, maxima);
  }
}

/* The maxima are those of the last pass. */
FOVEA_KERNEL void FOVEA_NAME(adjust)(const fovea_adjust_args *args) {
  FOVEA_NO_UNROLL
  for (int vector = 0; vector < args->vectors.count; vector++) {
    int row = (args->vectors.first + vector) * LANES;
    float not_yet[LANES] = {0}, *maxima = args->maxima + row;
    if (args->capped) adjust_cap(args, row, args->mask || args->seen_from ? not_yet : maxima);
    if (args->mask) adjust_mask(args, row, args->seen_from ? not_yet : maxima);
    if (args->seen_from) adjust_hide(args, row, maxima);
  }
}

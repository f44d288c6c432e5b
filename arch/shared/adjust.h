/* Adjusts scores after the products: softcap, additive or boolean mask, hiding by the rules. Part of bodies.h. */

#include "../kernels.h"
#include "terms.h"
#include "tile.h"
#include "transpose.h"

/* Keys that are adjusted together. Each has a maximum of its own: a single chain of maxima would take the latency
 * of an instruction for every key. */
#define ADJUST_KEYS TERM_SCORES

/* The term that one pass over the scores of a slice applies. */
typedef enum adjust_pass { ADJUST_OWN, ADJUST_MASK, ADJUST_HIDE } adjust_pass;

/* Adjusts `count` keys, a constant, of one vector of rows. `key` is counted from the first key of the slice. `bias`
 * is the mask of these keys and rows. */
FOVEA_INLINE void adjust_together(const fovea_adjust_args *args, int row, int key, const int count,
                                  const adjust_pass pass, const float *bias, vec maximum[ADJUST_KEYS]) {
  float *scores = args->scores + key * ROW_TILE + row;
  vec score[ADJUST_KEYS];
  score_terms terms = {
      .adjusted = pass == ADJUST_OWN, .masked = pass == ADJUST_MASK, .hidden = pass == ADJUST_HIDE};
  terms.of = args->terms;
  terms.bias = bias;
  terms.key = key;
  if (pass == ADJUST_HIDE) {
    terms.seen_from = args->seen_from + row;
    terms.seen_to = args->seen_to + row;
  }
  FOVEA_UNROLL
  for (int i = 0; i < count; i++) score[i] = vec_load(scores + i * ROW_TILE);
  apply_terms(score, count, 0, &terms);
  FOVEA_UNROLL
  for (int i = 0; i < count; i++) {
    vec_store(scores + i * ROW_TILE, score[i]);
    maximum[i] = vec_max(score[i], maximum[i]);
  }
}

/* Adjusts keys first to end - 1 of one vector of rows. `bias` is the mask of the first key, or NULL. */
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

FOVEA_NOINLINE void adjust_own(const fovea_adjust_args *args, int row, float *maxima) {
  adjust_keys(args, row, 0, args->key_count, ADJUST_OWN, NULL, maxima);
}

FOVEA_NOINLINE void adjust_hide(const fovea_adjust_args *args, int row, float *maxima) {
  adjust_keys(args, row, 0, args->key_count, ADJUST_HIDE, NULL, maxima);
}

/* Goes piece by piece, since the mask is transposed in pieces. */
FOVEA_NOINLINE void adjust_mask(const fovea_adjust_args *args, int row, float *maxima) {
  float bias[FOVEA_MASK_PIECE * LANES];
  FOVEA_NO_UNROLL
  for (int key = args->key, end = args->key + args->key_count, next; key < end; key = next) {
    int piece = key / FOVEA_MASK_PIECE * FOVEA_MASK_PIECE;
    next = piece + FOVEA_MASK_PIECE < end ? piece + FOVEA_MASK_PIECE : end;
    mask_transpose_piece(args->mask, row, piece, bias);
    adjust_keys(args, row, key - args->key, next - args->key, ADJUST_MASK, bias + (key - piece) * LANES, maxima);
  }
}

/* The passes, in the order of terms.h. The last one takes the maxima. */
FOVEA_KERNEL void FOVEA_NAME(adjust)(const fovea_adjust_args *args) {
  FOVEA_NO_UNROLL
  for (int vector = 0; vector < args->vectors.count; vector++) {
    int row = (args->vectors.first + vector) * LANES;
    float not_yet[LANES] = {0}, *maxima = args->maxima + row;
    if (args->terms->adjusted) adjust_own(args, row, args->mask || args->seen_from ? not_yet : maxima);
    if (args->mask) adjust_mask(args, row, args->seen_from ? not_yet : maxima);
    if (args->seen_from) adjust_hide(args, row, maxima);
  }
}

/* Adjusts scores after the products: activation, Shaw's keys, scales of rows, softcap, position terms, additive or
 * boolean mask, hiding by the rules. Part of bodies.h. */

#include "../kernels.h"
#include "terms.h"
#include "tile.h"
#include "transpose.h"

/* Keys that are adjusted together. Each has a maximum of its own: a single chain of maxima would take the latency
 * of an instruction for every key. */
#define ADJUST_KEYS TERM_SCORES

/* The term that one pass over the scores of a slice applies. */
typedef enum adjust_pass {
  ADJUST_LEAKY,
  ADJUST_SCALE,
  ADJUST_SHAW, /* what Shaw's keys add, then the scale */
  ADJUST_OWN,
  ADJUST_NUMBERS, /* a position term */
  ADJUST_SLOPES,  /* the same with slopes */
  ADJUST_MASK,
  ADJUST_HIDE
} adjust_pass;

/* What a pass reads: the rows' scales or slopes, and the numbers of its first key and how far apart the numbers of
 * the next key are. */
typedef struct adjust_source {
  vec factor;
  const float *bias;
  int64_t step;
} adjust_source;

/* Adjusts `count` keys, a constant, of one vector of rows. `key` is counted from the first key of the slice. */
FOVEA_INLINE void adjust_together(const fovea_adjust_args *args, int row, int key, const int count,
                                  const adjust_pass pass, const adjust_source *source, vec maximum[ADJUST_KEYS]) {
  float *scores = args->scores + key * ROW_TILE + row;
  vec score[ADJUST_KEYS];
  score_terms terms = {.leaky = pass == ADJUST_LEAKY,
                       .shifted = pass == ADJUST_SHAW,
                       .scaled = pass == ADJUST_SCALE || pass == ADJUST_SHAW,
                       .capped = pass == ADJUST_OWN,
                       .placed = pass == ADJUST_NUMBERS || pass == ADJUST_SLOPES,
                       .sloped = pass == ADJUST_SLOPES,
                       .masked = pass == ADJUST_MASK,
                       .hidden = pass == ADJUST_HIDE};
  terms.of = args->terms;
  terms.factor = source->factor;
  terms.bias = source->bias;
  terms.step = source->step;
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

/* Adjusts keys first to end - 1 of one vector of rows. */
FOVEA_INLINE void adjust_keys(const fovea_adjust_args *args, int row, int first, int end, const adjust_pass pass,
                              adjust_source source, float *maxima) {
  const int reads = pass == ADJUST_SHAW || pass == ADJUST_NUMBERS || pass == ADJUST_SLOPES || pass == ADJUST_MASK;
  vec maximum[ADJUST_KEYS] = {vec_load(maxima)};
  FOVEA_UNROLL
  for (int i = 1; i < ADJUST_KEYS; i++) maximum[i] = vec_set1(-INFINITY);
  int key = first;
  FOVEA_NO_UNROLL
  for (; key + ADJUST_KEYS <= end; key += ADJUST_KEYS) {
    adjust_together(args, row, key, ADJUST_KEYS, pass, &source, maximum);
    if (reads) source.bias += ADJUST_KEYS * source.step;
  }
  FOVEA_NO_UNROLL
  for (; key < end; key++) {
    adjust_together(args, row, key, 1, pass, &source, maximum);
    if (reads) source.bias += source.step;
  }
  FOVEA_UNROLL
  for (int i = 1; i < ADJUST_KEYS; i++) maximum[0] = vec_max(maximum[i], maximum[0]);
  vec_store(maxima, maximum[0]);
}

/* The sources of passes that read nothing, or the rows' factors alone. */
FOVEA_INLINE adjust_source adjust_by(vec factor) {
  return (adjust_source){factor, NULL, 0};
}

FOVEA_NOINLINE void adjust_leaky(const fovea_adjust_args *args, int row, float *maxima) {
  adjust_keys(args, row, 0, args->key_count, ADJUST_LEAKY, adjust_by(vec_set1(0.0f)), maxima);
}

FOVEA_NOINLINE void adjust_scale(const fovea_adjust_args *args, int row, float *maxima) {
  adjust_keys(args, row, 0, args->key_count, ADJUST_SCALE, adjust_by(vec_load(args->tile_terms->scales + row)),
              maxima);
}

FOVEA_NOINLINE void adjust_shaw_keys(const fovea_adjust_args *args, int row, int first, int end,
                                     adjust_source source, float *maxima) {
  adjust_keys(args, row, first, end, ADJUST_SHAW, source, maxima);
}

/* Keys that are farther than the numbers reach have the first or the last number. */
FOVEA_MIDDLE FOVEA_NOINLINE void adjust_shaw(const fovea_adjust_args *args, int row, float *maxima) {
  const fovea_shaw_numbers *shaw = &args->tile_terms->shaw;
  const int place = shaw->first + args->key, count = args->key_count;
  const int near = place >= 0 ? 0 : -place < count ? -place : count;
  const int rest = shaw->last + 1 - place, far = rest > near ? (rest < count ? rest : count) : near;
  const float *numbers = shaw->numbers + row;
  const vec scale = vec_load(args->tile_terms->scales + row);
  if (near > 0) adjust_shaw_keys(args, row, 0, near, (adjust_source){scale, numbers, 0}, maxima);
  if (near < far) {
    adjust_shaw_keys(args, row, near, far,
                     (adjust_source){scale, numbers + (place + near) * shaw->step, shaw->step}, maxima);
  }
  if (far < count) {
    adjust_shaw_keys(args, row, far, count, (adjust_source){scale, numbers + shaw->last * shaw->step, 0}, maxima);
  }
}

FOVEA_NOINLINE void adjust_numbers(const fovea_adjust_args *args, const fovea_position_tile *position, int row,
                                   float *maxima) {
  const float *numbers = position->numbers + args->key * position->step + row;
  adjust_keys(args, row, 0, args->key_count, ADJUST_NUMBERS,
              (adjust_source){vec_set1(0.0f), numbers, position->step}, maxima);
}

FOVEA_NOINLINE void adjust_slopes(const fovea_adjust_args *args, const fovea_position_tile *position, int row,
                                  float *maxima) {
  const float *numbers = position->numbers + args->key * position->step + row;
  adjust_keys(args, row, 0, args->key_count, ADJUST_SLOPES,
              (adjust_source){vec_load(position->slopes + row), numbers, position->step}, maxima);
}

FOVEA_NOINLINE void adjust_own(const fovea_adjust_args *args, int row, float *maxima) {
  adjust_keys(args, row, 0, args->key_count, ADJUST_OWN, adjust_by(vec_set1(0.0f)), maxima);
}

FOVEA_NOINLINE void adjust_hide(const fovea_adjust_args *args, int row, float *maxima) {
  adjust_keys(args, row, 0, args->key_count, ADJUST_HIDE, adjust_by(vec_set1(0.0f)), maxima);
}

/* Goes piece by piece, since the mask is transposed in pieces. */
FOVEA_NOINLINE void adjust_mask(const fovea_adjust_args *args, int row, float *maxima) {
  float bias[FOVEA_MASK_PIECE * LANES];
  FOVEA_NO_UNROLL
  for (int key = args->key, end = args->key + args->key_count, next; key < end; key = next) {
    int piece = key / FOVEA_MASK_PIECE * FOVEA_MASK_PIECE;
    next = piece + FOVEA_MASK_PIECE < end ? piece + FOVEA_MASK_PIECE : end;
    mask_transpose_piece(args->mask, row, piece, bias);
    adjust_keys(args, row, key - args->key, next - args->key, ADJUST_MASK,
                (adjust_source){vec_set1(0.0f), bias + (key - piece) * LANES, LANES}, maxima);
  }
}

/* How many passes a call makes. */
FOVEA_INLINE int adjust_passes(const fovea_adjust_args *args) {
  const fovea_tile_terms *own = args->tile_terms;
  int passes = args->terms->leaky + args->terms->capped + (args->mask != NULL) + (args->seen_from != NULL);
  if (own) passes += (own->scales != NULL) + own->count;
  return passes;
}

/* The passes, in the order of terms.h. The last one takes the maxima. */
FOVEA_KERNEL void FOVEA_NAME(adjust)(const fovea_adjust_args *args) {
  const fovea_tile_terms *own = args->tile_terms;
  const int passes = adjust_passes(args), positions = own ? own->count : 0;
  FOVEA_NO_UNROLL
  for (int vector = 0; vector < args->vectors.count; vector++) {
    int row = (args->vectors.first + vector) * LANES, left = passes;
    float not_yet[LANES] = {0}, *maxima = args->maxima + row;
    if (args->terms->leaky) adjust_leaky(args, row, --left ? not_yet : maxima);
    if (own && own->scales) (own->shaw.numbers ? adjust_shaw : adjust_scale)(args, row, --left ? not_yet : maxima);
    if (args->terms->capped) adjust_own(args, row, --left ? not_yet : maxima);
    FOVEA_NO_UNROLL
    for (int i = 0; i < positions; i++) {
      const fovea_position_tile *position = &own->positions[i];
      (position->slopes ? adjust_slopes : adjust_numbers)(args, position, row, --left ? not_yet : maxima);
    }
    if (args->mask) adjust_mask(args, row, --left ? not_yet : maxima);
    if (args->seen_from) adjust_hide(args, row, maxima);
  }
}

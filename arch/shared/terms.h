/* The terms of a score: everything between the product and the softmax. Their order is (docs/numerics.md, step 2):
 * the activation, Shaw's keys, the row's scale, the problem's own terms, position terms, the mask, the rules. Both
 * layouts share the list. If rows lie in the lanes (adjust.h), each of them has a pass over the scores, because two
 * of them together are rare. The other layout has keys in the lanes (decode_softmax.h). A new term of a problem is
 * a line of apply_own_terms(). Included after a vector layer. */
#ifndef FOVEA_ARCH_SHARED_TERMS_H
#define FOVEA_ARCH_SHARED_TERMS_H

#include "mask.h"
#include "tanh.h"

/* The most vectors of scores that are computed together. */
#define TERM_SCORES TANH_LIMIT

/* Which terms to apply, and what they read. `key` is the key of the first vector, or of its first lane. */
typedef struct score_terms {
  int leaky, shifted, scaled, capped, placed, sloped, masked, hidden;
  const fovea_score_terms *of; /* the problem's */
  vec factor;                  /* the rows' scales, or slopes of a position term */
  const float *bias; /* numbers of Shaw's keys or of a position term; rows in the lanes: or what a mask adds */
  int64_t step;      /* from one vector of them to the next */
  const int32_t *seen_from, *seen_to; /* and the first of these rows' limits */
  const fovea_mask_tile *mask;        /* keys in the lanes */
  vec from, to;                       /* and the row's limits */
  int row, key;
} score_terms;

/* What a mask adds to LANES keys of a row: 0 beyond its end. */
FOVEA_INLINE vec term_bias_of_keys(const fovea_mask_tile *mask, const void *row, int key) {
  if (mask->repeats) {
    float lanes[LANES];
    vec_store(lanes, mask_load(row, 0, 1, mask->type));
    return vec_set1(lanes[0]);
  }
  int rest = mask->key_count - key;
  if (rest <= 0) return vec_set1(0.0f);
  return mask_load(row, key, rest < LANES ? rest : LANES, mask->type);
}

/* `bias` is in natural units. -Inf hides a key even if its score is NaN. */
FOVEA_INLINE vec term_mask(vec score, vec bias, const float unit) {
  vec sum = unit != 0 ? vec_fma(bias, vec_set1(unit), score) : score;
  return vec_select(vec_equal(bias, vec_set1(-INFINITY)), bias, sum);
}

FOVEA_INLINE vec term_hide(vec score, vecmask seen) {
  return vec_select(seen, score, vec_set1(-INFINITY));
}

static const float term_lane_numbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

FOVEA_INLINE vecmask term_seen_keys(int key, vec from, vec to) {
  vec number = vec_add(vec_set1((float)key), vec_load(term_lane_numbers));
  return vecmask_and(vecmask_not(vec_less(number, from)), vec_less(number, to));
}

/* LeakyReLU, then the scale. A NaN is not above 0, and stays NaN. */
FOVEA_INLINE void apply_leaky(vec *score, const int count, const fovea_score_terms *terms) {
  FOVEA_UNROLL
  for (int i = 0; i < count; i++) {
    const vec below = vec_mul(score[i], vec_set1(terms->slope));
    const vec active = vec_select(vec_less(vec_set1(0.0f), score[i]), score[i], below);
    score[i] = vec_mul(active, vec_set1(terms->factor));
  }
}

/* Applies the problem's own terms, in their order. */
FOVEA_INLINE void apply_own_terms(vec *score, const int count, const fovea_score_terms *terms) {
  vec_tanh_together(score, count);
  FOVEA_UNROLL
  for (int i = 0; i < count; i++) score[i] = vec_mul(vec_set1(terms->cap), score[i]);
}

/* Applies the row's scale, after what Shaw's keys add, or one position term. */
FOVEA_INLINE void apply_row_term(vec *score, const int count, const score_terms *terms) {
  FOVEA_UNROLL
  for (int i = 0; i < count; i++) {
    if (terms->scaled) {
      if (terms->shifted) score[i] = vec_add(score[i], vec_load(terms->bias + i * terms->step));
      score[i] = vec_mul(score[i], terms->factor);
    } else {
      vec number = vec_load(terms->bias + i * terms->step);
      if (terms->sloped) number = vec_mul(terms->factor, number);
      score[i] = term_mask(score[i], number, terms->of->unit);
    }
  }
}

/* Applies all terms to `count` vectors. `count` and `keys_in_lanes` are constants. */
FOVEA_INLINE void apply_terms(vec *score, const int count, const int keys_in_lanes, const score_terms *terms) {
  if (terms->leaky) apply_leaky(score, count, terms->of);
  if (terms->scaled || terms->placed) apply_row_term(score, count, terms);
  if (terms->capped) apply_own_terms(score, count, terms->of);
  if (terms->masked) {
    FOVEA_UNROLL
    for (int i = 0; i < count; i++) {
      vec bias = keys_in_lanes ? term_bias_of_keys(terms->mask, terms->mask->rows[terms->row], terms->key)
                               : vec_load(terms->bias + i * terms->step);
      score[i] = term_mask(score[i], bias, terms->of->unit);
    }
  }
  if (terms->hidden) {
    FOVEA_UNROLL
    for (int i = 0; i < count; i++) {
      vecmask seen = keys_in_lanes
                         ? term_seen_keys(terms->key, terms->from, terms->to)
                         : vec_seen(terms->key + i, veci_load(terms->seen_from), veci_load(terms->seen_to));
      score[i] = term_hide(score[i], seen);
    }
  }
}

#endif

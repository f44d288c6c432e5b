/* Weights of the mode int8 in the place of the scores, [word of keys][row]. Included after a layer
 * (int8_products.h) and after int8_operands.h. What softmax() needs of the values' scales follows INT8_KEY_WORDS *
 * int8_stride(v_dim) words of values: log2 of the scales, their reciprocals, 1 where a value is not finite, each of
 * FOVEA_BLOCK_KEYS keys, and once 1 if there is such a key. */
#ifndef FOVEA_ARCH_SHARED_INT8_SOFTMAX_H
#define FOVEA_ARCH_SHARED_INT8_SOFTMAX_H

#include "mode_exp2.h"
#include "state.h"

/* log2(255): the largest weight of a block is 2^A. */
#define INT8_A 0x1.ffa37cp+2f

FOVEA_INLINE void int8_fill(float *to, int begin, int end, float x) {
  FOVEA_NO_UNROLL
  for (int i = begin; i < end; i++) vec_store(to + i * ROW_TILE, vec_set1(x));
}

/* Scores of keys whose values are not finite become NaN where the key is visible. */
FOVEA_NOINLINE void int8_lose_scores(float *scores, const float *marks, int begin, int end) {
  const vec none = vec_set1(-INFINITY), nan = vec_set1(__builtin_nanf(""));
  for (int key = begin; key < end; key++) {
    float *score = scores + key * ROW_TILE;
    if (marks[key] != 0.0f) vec_store(score, vec_select(vec_equal(vec_load(score), none), none, nan));
  }
}

/* The largest score with log2 of the value's scale. Rounds of keys are filled up with -Inf. */
FOVEA_NOINLINE vec int8_maximum(float *scores, const float *logs, int first, int last) {
  vec maximum[4];
  for (int i = 0; i < 4; i++) maximum[i] = vec_set1(-INFINITY);
  FOVEA_NO_UNROLL
  for (int key = first; key < last; key += 4) {
    FOVEA_UNROLL
    for (int i = 0; i < 4; i++)
      maximum[i] = vec_max(vec_add(vec_load(scores + (key + i) * ROW_TILE), vec_set1(logs[key + i])), maximum[i]);
  }
  return vec_max(vec_max(maximum[0], maximum[1]), vec_max(maximum[2], maximum[3]));
}

/* Makes the scores of one vector of rows ready for weights, from `first` to `last`, multiples of sixteen around the
 * keys that it has, and sets its maxima. */
FOVEA_SHARED_FUNCTION(void, int8_settle, const fovea_softmax_args *args, const float *logs, int vector, int first,
                      int last) {
  const float *marks = logs + 2 * FOVEA_BLOCK_KEYS;
  const int row = vector * LANES, begin = args->key_begin[vector], end = args->key_end[vector];
  const int lost = marks[FOVEA_BLOCK_KEYS] != 0.0f, known = args->folded && !lost;
  float *scores = args->scores + row;
  int8_fill(scores, first, begin, -INFINITY);
  int8_fill(scores, end, last, -INFINITY);
  if (lost) int8_lose_scores(scores, marks, begin, end);
  /* -0 becomes +0 */
  const vec folded = known ? vec_load(args->maxima + row) : int8_maximum(scores, logs, first, last);
  const vec maximum = vec_add(folded, vec_set1(0.0f));
  vec_store(args->maxima + row, vec_sub(maximum, vec_set1(INT8_A)));
}

/* The word of weights: each rounded, and at most 255. Where one is NaN, any word: the sum of weights is NaN. */
#ifndef INT8_HAS_WEIGHT_WORD
FOVEA_INLINE vec int8_weight_word(const vec weights[INT8_CODES]) {
  vec codes[INT8_CODES];
  FOVEA_UNROLL
  for (int j = 0; j < INT8_CODES; j++)
    codes[j] = vec_add(vec_min(weights[j], vec_set1(255.0f)), vec_set1(INT8_SHIFT));
  return int8_word(codes);
}
#endif

/* The words of INT8_CHAINS keys, whose unrounded weights without the values' scales are added to the sums. */
FOVEA_INLINE void int8_weigh(const float *scores, vec reference, const float *logs, const float *parts,
                             float *words, vec *sums) {
  FOVEA_UNROLL
  for (int i = 0; i < INT8_CHAINS; i += INT8_CODES) {
    vec weights[INT8_CODES];
    FOVEA_UNROLL
    for (int j = 0; j < INT8_CODES; j++) {
      const vec s = vec_add(vec_load(scores + (i + j) * ROW_TILE), vec_set1(logs[i + j]));
      const vec e = mode_exp2(vec_sub(s, reference), -126.0f);
      sums[i + j] = vec_fma(e, vec_set1(parts[i + j]), sums[i + j]);
      weights[j] = e;
    }
    vec_store(words + i / INT8_CODES * LANES, int8_weight_word(weights));
  }
}

/* Weights of one vector as words, [word of keys][lane], from `first` to `last`, multiples of sixteen. Returns the
 * sum of the unrounded ones. */
FOVEA_NOINLINE vec int8_weigh_vector(const float *scores, vec reference, const float *logs, int first, int last,
                                     float *words) {
  enum { ROUND = FOVEA_WEIGHT_SUMS };
  const float *parts = logs + FOVEA_BLOCK_KEYS;
  float sums[ROUND * LANES];
  FOVEA_NO_UNROLL
  for (int i = 0; i < ROUND; i += INT8_CHAINS) {
    vec chain[INT8_CHAINS];
    FOVEA_UNROLL
    for (int j = 0; j < INT8_CHAINS; j++) chain[j] = vec_set1(0.0f);
    FOVEA_NO_UNROLL
    for (int key = first + i; key < last; key += ROUND)
      int8_weigh(scores + key * ROW_TILE, reference, logs + key, parts + key, words + key / INT8_CODES * LANES,
                 chain);
    FOVEA_UNROLL
    for (int j = 0; j < INT8_CHAINS; j++) vec_store(sums + (i + j) * LANES, chain[j]);
  }
  FOVEA_NO_UNROLL
  for (int half = ROUND / 2; half > 0; half /= 2) {
    FOVEA_NO_UNROLL
    for (int i = 0; i < half * LANES; i += LANES)
      vec_store(sums + i, vec_add(vec_load(sums + i), vec_load(sums + half * LANES + i)));
  }
  return vec_load(sums);
}

/* Words of weights to the place of scores, 0 for all other keys of the block. */
FOVEA_NOINLINE void int8_store_words(const float *words, int first, int last, float *to) {
  int8_fill(to, 0, first / INT8_CODES, 0.0f);
  FOVEA_NO_UNROLL
  for (int i = first / INT8_CODES; i < last / INT8_CODES; i += INT8_GROUP) {
    vec word[INT8_GROUP];
    FOVEA_UNROLL
    for (int j = 0; j < INT8_GROUP; j++) word[j] = vec_load(words + (i + j) * LANES);
    int8_zip(word);
    FOVEA_UNROLL
    for (int j = 0; j < INT8_GROUP; j++) vec_store(to + (i + j) * ROW_TILE, word[j]);
  }
  int8_fill(to, last / INT8_CODES, INT8_KEY_WORDS, 0.0f);
#if INT8_VALUES_OFFSET
  int8_start_of_weights(to, ROW_TILE, INT8_KEY_WORDS);
#endif
}

FOVEA_KERNEL static const float *int8_logs(const float *values, int64_t v_dim) {
  return values + INT8_KEY_WORDS * int8_stride(v_dim);
}

FOVEA_KERNEL static int int8_softmax(const fovea_softmax_args *args) {
  enum { ROUND = FOVEA_WEIGHT_SUMS };
  const float *logs = int8_logs(args->values, args->v_dim);
  FOVEA_NO_UNROLL
  for (int vector = args->vectors.first; vector < args->vectors.first + args->vectors.count; vector++) {
    const int row = vector * LANES, first = args->key_begin[vector] / ROUND * ROUND;
    const int last = (args->key_end[vector] + ROUND - 1) / ROUND * ROUND;
    float *scores = args->scores + row, words[INT8_KEY_WORDS * LANES];
    FOVEA_SHARED(int8_settle)(args, logs, vector, first, last);
    const vec reference = state_reference(vec_load(args->maxima + row));
    vec_store(args->block_sum + row, int8_weigh_vector(scores, reference, logs, first, last, words));
    int8_store_words(words, first, last, scores);
  }
  const state_running running = {args->row_max, args->row_sum, args->old_part, args->new_part};
  return FOVEA_SHARED(advance)(&running, args->first, args->maxima, args->block_sum, args->vectors);
}

#endif

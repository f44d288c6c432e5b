/* Weights of bf16 for AMX: [pair of keys][row] in the place of the scores. Included after operands.h. */
#ifndef FOVEA_ARCH_AMX_WEIGHTS_H
#define FOVEA_ARCH_AMX_WEIGHTS_H

#include "../shared/mode_exp2.h"
#include "../shared/state.h"

/* The weights of two keys as pairs: VCVTNE2PS2BF16 gives the halves of one after the halves of the other. */
FOVEA_INLINE vec weight_pair(vec first, vec second) {
  const __m512i index = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                                         21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  const __m512i halves = (__m512i)_mm512_cvtne2ps_pbh(second, first);
  return _mm512_castsi512_ps(_mm512_permutexvar_epi16(index, halves));
}

/* Weights of sixteen keys of one vector. A pair lies in front of the scores that it is made of, or in their
 * place. */
FOVEA_INLINE void weigh_keys(const float *scores, vec factor, vec reference, float *to, vec *sums) {
  FOVEA_UNROLL
  for (int key = 0; key < FOVEA_WEIGHT_SUMS; key += 2) {
    vec p[2];
    FOVEA_UNROLL
    for (int i = 0; i < 2; i++) {
      vec s = vec_mul(vec_load(scores + (key + i) * ROW_TILE), factor);
      vec_opaque(s); /* with -ffp-contract=fast clang would fuse the difference */
      p[i] = mode_exp2(vec_sub(s, reference), -56.0f);
      sums[key + i] = vec_add(sums[key + i], p[i]);
    }
    vec_store(to + key / 2 * ROW_TILE, weight_pair(p[0], p[1]));
  }
}

FOVEA_INLINE void fill_keys(float *scores, int begin, int end, float x) {
  FOVEA_NO_UNROLL
  for (int key = begin; key < end; key++) vec_store(scores + key * ROW_TILE, vec_set1(x));
}

/* Pairs of weights of one vector, 0 for keys that are not from begin to end - 1. Returns their sum. Rounds of
 * sixteen keys are filled up with scores of -Inf: adding 0 changes no sum of weights. */
FOVEA_NOINLINE vec weigh_vector(float *scores, vec factor, vec reference, int begin, int end) {
  enum { SUMS = FOVEA_WEIGHT_SUMS };
  const int first = begin / SUMS * SUMS, last = (end + SUMS - 1) / SUMS * SUMS;
  vec sums[SUMS];
  FOVEA_UNROLL
  for (int i = 0; i < SUMS; i++) sums[i] = vec_set1(0.0f);
  fill_keys(scores, first, begin, -INFINITY);
  fill_keys(scores, end, last, -INFINITY);
  FOVEA_NO_UNROLL
  for (int key = first; key < last; key += SUMS)
    weigh_keys(scores + key * ROW_TILE, factor, reference, scores + key / 2 * ROW_TILE, sums);
  fill_keys(scores, 0, first / 2, 0.0f);
  fill_keys(scores, last / 2, FOVEA_BLOCK_KEYS / 2, 0.0f);
  FOVEA_UNROLL
  for (int i = 0; i < 8; i++) sums[i] = vec_add(sums[i], sums[i + 8]);
  FOVEA_UNROLL
  for (int i = 0; i < 4; i++) sums[i] = vec_add(sums[i], sums[i + 4]);
  return vec_add(vec_add(sums[0], sums[2]), vec_add(sums[1], sums[3]));
}

FOVEA_KERNEL static int amx_softmax(const fovea_softmax_args *args) {
  FOVEA_NO_UNROLL
  for (int vector = args->vectors.first; vector < args->vectors.first + args->vectors.count; vector++) {
    const int row = vector * LANES;
    const vec factor = vec_set1(args->factor), scaled = vec_mul(vec_load(args->maxima + row), factor);
    const vec block_max = vec_add(scaled, vec_set1(0.0f)); /* -0 becomes +0 */
    const vec block_sum = weigh_vector(args->scores + row, factor, state_reference(block_max),
                                       args->key_begin[vector], args->key_end[vector]);
    vec_store(args->maxima + row, block_max);
    vec_store(args->block_sum + row, block_sum);
  }
  const state_running running = {args->row_max, args->row_sum, args->old_part, args->new_part};
  return FOVEA_SHARED(advance)(&running, args->first, args->maxima, args->block_sum, args->vectors);
}

static float amx_weight(const float *weights, int key, int row) {
  union {
    float number;
    uint32_t bits;
  } word = {weights[key / 2 * ROW_TILE + row]};
  word.bits = key % 2 ? word.bits & 0xffff0000u : word.bits << 16;
  return word.number;
}

#endif

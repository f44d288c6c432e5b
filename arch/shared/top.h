/* The keys with the largest scores of a row. Any way of selecting them gives the same keys: the order of keys is
 * total (docs/numerics.md, step 10). Most scores are below the threshold of their row's list, so a vector of them
 * is compared at once, and the rest is rare. Part of bodies.h. */
#ifndef FOVEA_ARCH_SHARED_TOP_H
#define FOVEA_ARCH_SHARED_TOP_H

#include "../args/outputs.h"
#include "../kernels.h"
#include "types.h"

#include <string.h>

/* The symbols, unless a library with copies of the operations names them. */
#ifndef FOVEA_TOP_NAME
#define FOVEA_TOP_NAME(op) FOVEA_NAME(top_##op)
#endif

/* Up to this many keys are sorted by counting the keys before each. */
enum { TOP_COUNTED = 128 };

/* Numbers in the order of scores: NaN above all, zeros alike. */
FOVEA_INLINE uint32_t top_order(float score) {
  const uint32_t sign = 0x80000000u;
  uint32_t bits;
  memcpy(&bits, &score, sizeof bits);
  if ((bits & ~sign) > 0x7f800000u) return UINT32_MAX;
  if (bits == sign) bits = 0;
  return bits & sign ? ~bits : bits | sign;
}

/* Scores above a threshold, NaN included. */
FOVEA_INLINE vecmask top_above(vec score, vec threshold) {
#ifdef FOVEA_VECTOR_KEEPS_LANES
  return vec_above(score, threshold);
#else
  return vecmask_not(vecmask_or(vec_less(score, threshold), vec_equal(score, threshold)));
#endif
}
FOVEA_INLINE int top_is_above(float score, float threshold) {
  return !(score <= threshold);
}

/* How many of `count` scores, whole vectors, are above a threshold. */
FOVEA_INLINE int top_count_above(const float *scores, int count, float threshold) {
#ifdef FOVEA_VECTOR_KEEPS_LANES
  int above = 0;
  FOVEA_NO_UNROLL
  for (int i = 0; i < count; i += LANES) {
    above += vecmask_count(top_above(vec_load(scores + i), vec_set1(threshold)));
  }
  return above;
#else
  float lanes[LANES], sum = 0;
  vec above = vec_set1(0.0f);
  FOVEA_NO_UNROLL
  for (int i = 0; i < count; i += LANES) {
    const vecmask mask = top_above(vec_load(scores + i), vec_set1(threshold));
    above = vec_add(above, vec_select(mask, vec_set1(1.0f), vec_set1(0.0f)));
  }
  vec_store(lanes, above);
  for (int i = 0; i < LANES; i++) sum += lanes[i];
  return (int)sum;
#endif
}

/* Moves the candidates above a threshold, of `count` candidates, whole vectors, to the list. They may be the list
 * itself. */
FOVEA_INLINE void top_move(fovea_top_list *list, const float *scores, const int32_t *keys, int32_t first, int count,
                           float threshold) {
  float *list_scores = list->scores;
  int32_t *list_keys = list->keys;
  int kept = list->count;
  FOVEA_NO_UNROLL
  for (int i = 0; i < count; i += LANES) {
    const vec score = vec_load(scores + i);
    const vecmask above = top_above(score, vec_set1(threshold));
#ifdef FOVEA_VECTOR_KEEPS_LANES
    const veci key = keys ? veci_load(keys + i) : veci_from(first + i);
    kept += vec_keep(list_scores + kept, list_keys + kept, score, key, above);
#else
    if (!vecmask_any(above)) continue;
    FOVEA_NO_UNROLL
    for (int lane = i; lane < i + LANES;
         lane++) { /* each is written, and the next one over it if it is not above */
      const float one = scores[lane];
      const int32_t its_key = keys ? keys[lane] : first + lane;
      list_scores[kept] = one;
      list_keys[kept] = its_key;
      kept += top_is_above(one, threshold);
    }
#endif
  }
  list->count = kept;
}

/* The least and the largest candidate, and their mean. */
typedef struct top_range {
  float low, high, mean;
} top_range;

FOVEA_INLINE top_range top_range_of(const float *scores, int count) {
  float lanes[3][LANES];
  vec least = vec_set1(-INFINITY), most = vec_set1(-INFINITY), sum = vec_set1(0.0f);
  FOVEA_NO_UNROLL
  for (int i = 0; i < count; i += LANES) {
    const vec score = vec_load(scores + i);
    most = vec_max(score, most);
    least = vec_max(vec_sub(vec_set1(0.0f), score), least);
    sum = vec_add(sum, score);
  }
  vec_store(lanes[0], most);
  vec_store(lanes[1], least);
  vec_store(lanes[2], sum);
  for (int half = LANES / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; i++) {
      lanes[0][i] = lanes[0][i] > lanes[0][i + half] ? lanes[0][i] : lanes[0][i + half];
      lanes[1][i] = lanes[1][i] > lanes[1][i + half] ? lanes[1][i] : lanes[1][i + half];
      lanes[2][i] += lanes[2][i + half];
    }
  }
  return (top_range){-lanes[1][0], lanes[0][0], lanes[2][0] / (float)count};
}

/* Finds a threshold with at least k candidates above it and not many more. Scores above a threshold fall off about
 * exponentially, which gives the first guesses; then it halves. After the scores, -Inf fills the last vector.
 * Returns 0 if it finds no such threshold: scores are alike, infinite or NaN. */
FOVEA_INLINE int top_search(const float *scores, int count, int k, float *threshold) {
  const top_range range = top_range_of(scores, count / LANES * LANES); /* more than k are above the least */
  const float wanted = (float)k * (1.0f + 0x1p-4f), scale = 2.0f * (range.mean - range.low);
  float low = range.low, high = range.high, guess = low, above = (float)count;
  if (!(high - low < 1e38f)) return 0;
  FOVEA_NO_UNROLL
  for (int step = 0; step < 24; step++) {
    const float next = guess + scale * ((above - wanted) / (above + wanted));
    guess = step < 6 && next > low && next < high ? next : low + (high - low) * 0.5f;
    const int reached = top_count_above(scores, count, guess);
    *threshold = guess;
    if (reached >= k && reached <= k + k / 8) return 1;
    *(reached < k ? &high : &low) = guess;
    above = (float)reached;
  }
  return 0;
}

/* The least number of the k candidates that come first, of top_order(): found bit by bit. */
FOVEA_INLINE uint32_t top_least(const fovea_top_list *list, int k) {
  uint32_t least = 0;
  FOVEA_NO_UNROLL
  for (int bit = 31; bit >= 0; bit--) {
    const uint32_t more = least | UINT32_C(1) << bit;
    int reach = 0;
    for (int i = 0; i < list->count; i++) reach += top_order(list->scores[i]) >= more;
    if (reach >= k) least = more;
  }
  return least;
}

/* Keeps exactly k of more candidates. Of candidates that are equal to the least, the first stay. */
FOVEA_SHORT FOVEA_NOINLINE void top_keep_exactly(fovea_top_list *list, int k) {
  const uint32_t least = top_least(list, k), sign = 0x80000000u, bits = least & sign ? least ^ sign : ~least;
  int kept = 0, equal = k;
  for (int i = 0; i < list->count; i++) equal -= top_order(list->scores[i]) > least;
  for (int i = 0; i < list->count; i++) {
    const uint32_t order = top_order(list->scores[i]);
    const int stays = order > least || (order == least && equal-- > 0);
    list->scores[kept] = list->scores[i];
    list->keys[kept] = list->keys[i];
    kept += stays;
  }
  list->count = kept;
  if (least == UINT32_MAX)
    list->threshold = INFINITY; /* only NaN comes before it, and later NaNs are dropped again */
  else
    memcpy(&list->threshold, &bits, sizeof bits);
}

/* Keeps k candidates or a few more. */
FOVEA_NOINLINE void top_shorten(fovea_top_list *list, int k) {
  const int count = list->count;
  float threshold;
  vec_store(list->scores + count, vec_set1(-INFINITY));
  if (!top_search(list->scores, count, k, &threshold)) {
    top_keep_exactly(list, k);
    return;
  }
  list->count = 0;
  list->threshold = threshold;
  top_move(list, list->scores, list->keys, 0, count, threshold);
}

FOVEA_KERNEL void FOVEA_TOP_NAME(filter)(const fovea_top_filter_args *args) {
  for (int row = 0; row < args->row_count; row++) {
    fovea_top_list *list = &args->lists[row];
    const float *scores = args->scores + row * args->row_stride;
    top_move(list, scores, args->keys, args->first, args->key_count, list->threshold);
    if (list->count >= FOVEA_TOP_MOST(args->k)) top_shorten(list, args->k);
  }
}

FOVEA_KERNEL void FOVEA_TOP_NAME(select)(fovea_top_list *list, int k) {
  if (list->count > k) top_keep_exactly(list, k);
}

/* Sorts `count` different numbers, in descending order, with room for as many after them. Returns where they
 * are. */
FOVEA_SHORT FOVEA_NOINLINE uint64_t *top_sort(uint64_t *numbers, int count) {
  uint64_t *from = numbers, *to = numbers + count;
  for (int run = 1; run < count; run *= 2) {
    for (int first = 0; first < count; first += 2 * run) {
      const int middle = first + run < count ? first + run : count;
      const int end = middle + run < count ? middle + run : count;
      int left = first, right = middle;
      for (int i = first; i < end; i++) {
        const int takes_left = right == end || (left < middle && from[left] > from[right]);
        to[i] = takes_left ? from[left] : from[right];
        left += takes_left;
        right += !takes_left;
      }
    }
    uint64_t *swap = from;
    from = to;
    to = swap;
  }
  return from;
}

/* The same for few numbers: the place of each is how many are larger. */
FOVEA_LONG FOVEA_NOINLINE uint64_t *top_sort_few(uint64_t *numbers, int count) {
  uint64_t *sorted = numbers + count;
  for (int i = 0; i < count; i++) {
    const uint64_t number = numbers[i];
    uint64_t place = 0;
    for (int j = 0; j < count; j++) place += numbers[j] > number;
    sorted[place] = number;
  }
  return sorted;
}

FOVEA_SHORT FOVEA_KERNEL void FOVEA_TOP_NAME(finish)(const fovea_top_finish_args *args) {
  fovea_top_list *list = args->list;
  if (list->count > args->k + args->k / 8 + 16) top_shorten(list, args->k);
  const int count = list->count, k = args->k < count ? args->k : count;
  /* Order, then lower positions first; the place in the list gives the score. */
  for (int i = 0; i < count; i++) {
    args->order[i] = (uint64_t)top_order(list->scores[i]) << 32 | (UINT32_MAX - (uint32_t)i);
  }
  const uint64_t *sorted = (count <= TOP_COUNTED ? top_sort_few : top_sort)(args->order, count);
  for (int i = 0; i < k; i++) {
    const uint32_t place = UINT32_MAX - (uint32_t)sorted[i];
    args->keys[i] = list->keys[place];
    if (args->scores) args->scores[i] = list->scores[place];
  }
  for (int i = k; i < args->k; i++) {
    args->keys[i] = -1;
    if (args->scores) args->scores[i] = -INFINITY;
  }
  if (!args->scores) return;
  for (int i = 0; i < args->k; i += LANES) {
    const int rest = args->k - i < LANES ? args->k - i : LANES;
    const vec score = vec_load_first(args->scores + i, rest);
    vec_store_first(args->scores + i, canonical(vec_mul(vec_set1(0x1.62e43p-1f), score)), rest);
  }
}

#endif

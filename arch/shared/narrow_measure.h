/* Quantising: the least and the largest number of each group. Part of narrow.h. */
#ifndef FOVEA_ARCH_SHARED_NARROW_MEASURE_H
#define FOVEA_ARCH_SHARED_NARROW_MEASURE_H

#include "../kernels.h"
#include "fetch.h"
#include "types.h"

#include <string.h>

#define NARROW_LARGEST 0x1.fffffep+127f

/* Numbers of groups from one row to the next. Rows that share scales have the same groups. */
FOVEA_INLINE int64_t narrow_row_groups(const fovea_narrow_args *args) {
  return args->steps == FOVEA_NARROW_ROW && args->rule->scale != FOVEA_SCALE_FIXED ? args->group_count : 0;
}

/* Groups of all rows. */
FOVEA_INLINE int64_t narrow_all_groups(const fovea_narrow_args *args) {
  return narrow_row_groups(args) ? args->row_count * args->group_count : args->group_count;
}

FOVEA_INLINE int narrow_is_nan(float x) {
  return x != x;
}

/* Largest and least number of all lanes. */
FOVEA_INLINE vec narrow_fold(vec x, const int least) {
  (void)least;
#if LANES > 8
  x = least ? vec_min(x, vec_swap(x, 8)) : vec_max(x, vec_swap(x, 8));
#endif
#if LANES > 4
  x = least ? vec_min(x, vec_swap(x, 4)) : vec_max(x, vec_swap(x, 4));
#endif
#if LANES > 2
  x = least ? vec_min(x, vec_swap(x, 2)) : vec_max(x, vec_swap(x, 2));
#endif
#if LANES > 1
  x = least ? vec_min(x, vec_swap(x, 1)) : vec_max(x, vec_swap(x, 1));
#endif
  return x;
}

/* Magnitudes of a row's groups. Returns a sum that is NaN if a number is not finite. */
FOVEA_INLINE vec narrow_magnitudes(const float *x, int64_t count, const int64_t group, float *high) {
  const vec zero = vec_set1(0.0f);
  vec rest = zero, other = zero; /* two chains */
  FOVEA_NO_UNROLL
  for (int64_t g = 0; g < count; g++, x += group) {
    vec most = zero;
    int64_t i = 0;
    for (; i + 2 * LANES <= group; i += 2 * LANES) {
      const vec t = vec_load(x + i), next = vec_load(x + i + LANES);
      fetch_ahead(x + i), fetch_ahead(x + i + LANES);
      rest = vec_fma(t, zero, rest), other = vec_fma(next, zero, other);
      most = vec_max(vec_abs(next), vec_max(vec_abs(t), most));
    }
    FOVEA_NO_UNROLL
    for (; i < group; i += LANES) {
      const vec t = vec_load_first(x + i, group - i < LANES ? (int)(group - i) : LANES);
      rest = vec_fma(t, zero, rest);
      most = vec_max(vec_abs(t), most);
    }
    vec_store_first(high + g, narrow_fold(most, 0), 1);
  }
  return vec_add(rest, other);
}

/* Least and largest numbers of a row's groups. */
FOVEA_INLINE vec narrow_ranges(const float *x, int64_t count, int64_t group, float *low, float *high) {
  vec rest = vec_set1(0.0f);
  FOVEA_NO_UNROLL
  for (int64_t g = 0; g < count; g++, x += group) {
    vec least = vec_set1(NARROW_LARGEST), most = vec_set1(-NARROW_LARGEST);
    int64_t i = 0;
    FOVEA_NO_UNROLL
    for (; i + LANES <= group; i += LANES) {
      const vec t = vec_load(x + i);
      fetch_ahead(x + i);
      least = vec_min(t, least);
      most = vec_max(t, most);
      rest = vec_fma(t, vec_set1(0.0f), rest);
    }
    FOVEA_NO_UNROLL
    for (; i < group; i++) {
      const vec t = vec_set1(x[i]);
      least = vec_min(t, least);
      most = vec_max(t, most);
      rest = vec_fma(t, vec_set1(0.0f), rest);
    }
    vec_store_first(low + g, narrow_fold(least, 1), 1);
    vec_store_first(high + g, narrow_fold(most, 0), 1);
  }
  return rest;
}

/* A number for each group: keys that share scales. */
FOVEA_INLINE void narrow_numbers_as_ranges(const float *x, int64_t count, float *low, float *high,
                                           const int magnitudes) {
  const vec nan = vec_set1(__builtin_nanf(""));
  FOVEA_NO_UNROLL
  for (int64_t i = 0; i < count; i += LANES) {
    const int n = count - i < LANES ? (int)(count - i) : LANES;
    const vec t = n < LANES ? vec_load_first(x + i, n) : vec_load(x + i);
    const vec least = vec_load(low + i), most = vec_load(high + i), size = magnitudes ? vec_abs(t) : t;
    const vecmask bad = vecmask_or(vec_is_nan(vec_sub(t, t)), vec_is_nan(most));
    vec_store(low + i, vec_select(vec_less(t, least), t, least));
    vec_store(high + i, vec_select(bad, nan, vec_select(vec_less(most, size), size, most)));
  }
}

/* Finds the groups that have numbers that are not finite. */
FOVEA_NOINLINE void narrow_mark(const float *x, int64_t count, int64_t group, float *high) {
  FOVEA_NO_UNROLL
  for (int64_t i = 0; i < count * group; i++) {
    if (narrow_is_nan(x[i] - x[i])) high[i / group] = __builtin_nanf("");
  }
}

FOVEA_INLINE void narrow_begin(const fovea_narrow_args *args) {
  const int magnitudes = args->rule->scale == FOVEA_SCALE_LARGEST;
  const int64_t count = narrow_all_groups(args);
  FOVEA_NO_UNROLL
  for (int64_t g = 0; g < count; g += LANES) {
    vec_store(args->groups->low + g, vec_set1(NARROW_LARGEST));
    vec_store(args->groups->high + g, vec_set1(magnitudes ? 0.0f : -NARROW_LARGEST));
  }
}

/* Where the numbers of a group of dims lie. */
FOVEA_INLINE const float *narrow_group(const fovea_narrow_args *args, int64_t g) {
  const int64_t row = g / args->group_count, first = args->first_group + g % args->group_count;
  return args->from + row * args->from_stride + first * args->codes->group;
}

/* Of several zeros the first is least: not left to the vectors. */
FOVEA_NOINLINE void narrow_first_zeros(const fovea_narrow_args *args, int64_t row, int64_t count, float *low) {
  const int64_t group = args->codes->group;
  FOVEA_NO_UNROLL
  for (int64_t g = 0; g < count; g++) {
    const float *x = narrow_group(args, row * args->group_count + g);
    int64_t i = 0;
    if (low[g] != 0.0f) continue;
    while (i + 1 < group && x[i] != 0.0f) i++;
    low[g] = x[i];
  }
}

/* Groups of some rows from `row` on. Their numbers are kept apart first: a vector cannot be loaded at once from
 * elements that were just stored. */
FOVEA_NOINLINE void narrow_measure_rows(const fovea_narrow_args *args, int64_t row, int64_t rows) {
  const int64_t group = args->codes->group, count = args->group_count, all = rows * count;
  const int magnitudes = args->rule->scale == FOVEA_SCALE_LARGEST;
  float low[FOVEA_NARROW_GROUPS + LANES], high[FOVEA_NARROW_GROUPS + LANES];
  float *lows = args->groups->low, *highs = args->groups->high;
  const float *from = args->from + row * args->from_stride + args->first_group * group, *x = from;
  vec rest = vec_set1(0.0f);
  vecmask zeros = vec_less(rest, rest);
  vec_store(low + all / LANES * LANES, vec_set1(-1.0f)); /* groups that do not exist are usual */
  vec_store(high + all / LANES * LANES, vec_set1(1.0f));
  FOVEA_NO_UNROLL
  for (int64_t i = 0; i < rows; i++, x += args->from_stride) {
    const int64_t g = i * count;
    if (!magnitudes)
      rest = vec_add(rest, narrow_ranges(x, count, group, low + g, high + g));
    else if (group == 32)
      rest = vec_add(rest, narrow_magnitudes(x, count, 32, high + g));
    else
      rest = vec_add(rest, narrow_magnitudes(x, count, group, high + g));
  }
  if (!magnitudes) {
    FOVEA_NO_UNROLL
    for (int64_t g = 0; g < all; g += LANES)
      zeros = vecmask_or(zeros, vec_equal(vec_load(low + g), vec_set1(0.0f)));
    if (vecmask_any(zeros)) narrow_first_zeros(args, row, all, low);
    FOVEA_NO_UNROLL
    for (int64_t g = 0; g < all; g += LANES) {
      const vec found = vec_load(low + g), known = vec_load(lows + g);
      vec_store(lows + g, vec_select(vec_less(found, known), found, known));
    }
  }
  FOVEA_NO_UNROLL
  for (int64_t g = 0; g < all; g += LANES) {
    const vec found = vec_load(high + g), known = vec_load(highs + g); /* NaN stays */
    vec_store(highs + g, vec_select(vec_less(known, found), found, known));
  }
  if (!vecmask_any(vec_is_nan(rest))) return;
  for (int64_t i = 0; i < rows; i++) narrow_mark(from + i * args->from_stride, count, group, highs + i * count);
}

FOVEA_MIDDLE FOVEA_NOINLINE void narrow_measure(const fovea_narrow_args *args) {
  const int64_t row_groups = narrow_row_groups(args),
                rows = row_groups && args->codes->group > 1 ? args->row_count : 1;
  FOVEA_NO_UNROLL
  for (int64_t row = 0; row < args->row_count; row += rows) {
    if (args->codes->group > 1) {
      narrow_measure_rows(args, row, rows);
      continue;
    }
    narrow_numbers_as_ranges(args->from + row * args->from_stride + args->first_group, args->group_count,
                             args->groups->low + row * row_groups, args->groups->high + row * row_groups,
                             args->rule->scale == FOVEA_SCALE_LARGEST);
  }
}

#endif

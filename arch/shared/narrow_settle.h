/* Quantising: scales, zeros and minima of groups, LANES groups at a time. Part of narrow.h. */
#ifndef FOVEA_ARCH_SHARED_NARROW_SETTLE_H
#define FOVEA_ARCH_SHARED_NARROW_SETTLE_H

#include "narrow_measure.h"
#include "narrow_table.h"

/* Scales, factors and zeros of groups. */
typedef struct narrow_scales {
  vec scale, factor, zero;
} narrow_scales;

FOVEA_INLINE vec narrow_half(vec x) {
  uint16_t halves[LANES];
  vec_store_f16(halves, vec_select(vec_is_nan(x), vec_set1(__builtin_nanf("")), x));
  return vec_load_f16(halves);
}

FOVEA_INLINE vec narrow_negative(vec x) {
  return vec_sub(vec_set1(0.0f), x);
}

/* 1 / scale, and `of_zero` if that is 0. */
FOVEA_INLINE vec narrow_inverse(vec scale, float of_zero) {
  const vecmask none = vec_equal(scale, vec_set1(0.0f));
  return vec_select(none, vec_set1(of_zero), vec_div(vec_set1(1.0f), scale));
}

FOVEA_INLINE vec narrow_unless_zero(vec scale, float of_zero) {
  return vec_select(vec_equal(scale, vec_set1(0.0f)), vec_set1(of_zero), scale);
}

FOVEA_INLINE narrow_scales narrow_of_largest(const fovea_quantise_rule *rule, vec a) {
  const vec zero = vec_set1(0.0f), top = vec_set1(rule->top);
  const vec scale = vec_div(a, top);
  const vecmask none = vec_less(a, vec_set1(rule->least));
  narrow_scales s = {vec_select(none, zero, scale), vec_select(none, zero, vec_div(top, a)), zero};
  if (rule->inverse) {
    s.scale = narrow_unless_zero(scale, rule->of_nothing);
    s.factor = narrow_inverse(s.scale, 0.0f);
  }
  return s;
}

/* `largest` with its sign. */
FOVEA_INLINE narrow_scales narrow_of_signed(const fovea_quantise_rule *rule, vec largest) {
  const vec zero = vec_set1(0.0f);
  const vecmask none = vec_less(vec_abs(largest), vec_set1(rule->least));
  const vec scale = vec_div(largest, vec_set1(-rule->top));
  return (narrow_scales){vec_select(none, zero, scale),
                         vec_select(none, vec_set1(__builtin_nanf("")), narrow_inverse(scale, 0.0f)), zero};
}

FOVEA_INLINE vec narrow_reach(vec low, vec high) {
  const vec below = narrow_negative(low);
  return vec_select(vec_less(high, below), below, high);
}

FOVEA_INLINE narrow_scales narrow_of_range(const fovea_quantise_rule *rule, vec low, vec high) {
  const vec none = vec_set1(0.0f), top = vec_set1(rule->top), first = vec_set1(rule->first);
  const vec least = vec_set1(rule->least);
  const vec width = vec_sub(vec_add(high, none), low); /* +0 of zeros, whichever was highest */
  const vec scale = rule->reciprocal ? vec_mul(width, vec_set1(1.0f / rule->top)) : vec_div(width, top);
  narrow_scales s;
  if (rule->scale == FOVEA_SCALE_ZERO) {
    const vec reach = narrow_reach(low, high);
    const vec small = vec_select(vec_less(reach, least), none, reach);
    s.scale = narrow_unless_zero(vec_select(vec_less(scale, least), small, scale), rule->of_nothing);
    s.factor = narrow_inverse(s.scale, 0.0f);
    s.zero = vec_select(vec_equal(s.scale, none), first, vec_sub(first, vec_div(low, s.scale)));
    return s;
  }
  s.scale = vec_select(vec_less(width, least), none, scale);
  s.factor = narrow_inverse(s.scale, 0.0f);
  s.zero = rule->first == 0.0f ? low : vec_sub(low, vec_mul(first, s.scale)); /* 128 * scale is exact */
  return s;
}

FOVEA_INLINE narrow_scales narrow_of_halves(const fovea_quantise_rule *rule, vec low, vec high) {
  const vec nan = vec_set1(__builtin_nanf(""));
  low = narrow_half(low), high = vec_add(narrow_half(high), vec_set1(0.0f));
  const vecmask infinite = vec_less(vec_set1(65504.0f), narrow_reach(low, high));
  vec scale = narrow_half(vec_div(narrow_half(vec_sub(high, low)), vec_set1(rule->top)));
  scale = vec_select(infinite, nan, scale);
  return (narrow_scales){scale, narrow_unless_zero(scale, __builtin_nanf("")), vec_select(infinite, nan, low)};
}

FOVEA_INLINE narrow_scales narrow_of_groups(const fovea_quantise_rule *rule, vec low, vec high) {
  switch (rule->scale) {
  case FOVEA_SCALE_LARGEST:
    return narrow_of_largest(rule, high);
  case FOVEA_SCALE_OF_HALVES:
    return narrow_of_halves(rule, low, high);
  case FOVEA_SCALE_ZERO:
  case FOVEA_SCALE_MINIMUM:
    return narrow_of_range(rule, low, high);
  case FOVEA_SCALE_FIXED: /* what numbers are divided by or, with `inverse`, multiplied by; `high` is the scale */
    return (narrow_scales){
        high, rule->inverse ? narrow_inverse(high, 1.0f) : narrow_unless_zero(high, __builtin_nanf("")), low};
  default:
    return narrow_of_signed(rule, vec_select(vec_less(narrow_negative(low), high), high, low));
  }
}

/* Of a lowest and a highest number alike in magnitude the first in the group, in place of both; +0 of zeros. */
FOVEA_INLINE void narrow_settle_ties(const fovea_narrow_args *args, int64_t count) {
  float *low = args->groups->low, *high = args->groups->high;
  FOVEA_NO_UNROLL
  for (int64_t g = 0; g < count; g++) {
    if (low[g] + high[g] != 0.0f || narrow_is_nan(high[g])) continue;
    const float *x = narrow_group(args, g);
    const float size = high[g] > 0.0f ? high[g] : 0.0f;
    while (size > 0.0f && *x != size && *x != -size) x++;
    low[g] = high[g] = size > 0.0f ? *x : 0.0f;
  }
}

/* Reads scales that are fixed, and zeros, to where others have their range. */
FOVEA_INLINE void narrow_read_fixed(const fovea_narrow_args *args) {
  const fovea_codes *codes = args->codes;
  FOVEA_NO_UNROLL
  for (int64_t g = 0; g < args->group_count; g++) {
    const int64_t at = (args->first_group + g) * codes->scale_group;
    args->groups->high[g] = codes_number(args->scales + at, codes->scale_type);
    args->groups->low[g] = args->zeros ? codes_number(args->zeros + at, codes->scale_type) : 0.0f;
  }
}

/* Writes the scales, zeros or minima of all rows, rounded to their type. */
FOVEA_MIDDLE FOVEA_NOINLINE void narrow_put(const fovea_narrow_args *args, const float *numbers, char *to) {
  const fovea_type type = args->codes->scale_type;
  const int64_t groups = args->group_count, step = args->codes->scale_group;
  const int64_t rows = narrow_row_groups(args) ? args->row_count : 1;
  float wide[FOVEA_NARROW_GROUPS + LANES];
  uint16_t halves[FOVEA_NARROW_GROUPS + LANES];
  FOVEA_NO_UNROLL
  for (int64_t i = 0; i < rows * groups; i += LANES) {
    const vec x = vec_load(numbers + i), number = vec_select(vec_is_nan(x), vec_set1(__builtin_nanf("")), x);
    vec_store(wide + i, number);
    if (type == FOVEA_F16)
      vec_store_f16(halves + i, number);
    else
      vec_store_bf16(halves + i, number);
  }
  const float *number = wide;
  const uint16_t *half = halves;
  FOVEA_NO_UNROLL
  for (int64_t row = 0; row < rows; row++) {
    char *p = to + row * args->scale_step + args->first_group * step;
    FOVEA_NO_UNROLL
    for (int64_t g = 0; g < groups; g++, number++, half++, p += step) {
      if (type == FOVEA_F32)
        memcpy(p, number, sizeof *number);
      else
        memcpy(p, half, sizeof *half);
    }
  }
}

FOVEA_MIDDLE FOVEA_NOINLINE void narrow_settle(const fovea_narrow_args *args) {
  const fovea_quantise_rule *rule = args->rule;
  const int64_t count = narrow_all_groups(args);
  fovea_narrow_groups *groups = args->groups;
  if (rule->scale == FOVEA_SCALE_FIXED) narrow_read_fixed(args);
  if (rule->scale == FOVEA_SCALE_SIGNED || rule->scale == FOVEA_SCALE_FIT) narrow_settle_ties(args, count);
  FOVEA_NO_UNROLL
  for (int64_t g = 0; g < count; g += LANES) {
    const vec low = vec_load(groups->low + g), high = vec_load(groups->high + g);
    const narrow_scales s = narrow_of_groups(rule, low, high);
    const vecmask bad = vec_is_nan(high);
    vec_store(groups->factor + g, vec_select(bad, high, s.factor));
    vec_store(groups->zero + g, vec_select(bad, high, s.zero));
    vec_store(groups->scale + g, vec_select(bad, high, s.scale));
  }
  if (rule->scale == FOVEA_SCALE_FIXED) return;
  if (rule->scale == FOVEA_SCALE_FIT) narrow_fit(args, count);
  narrow_put(args, groups->scale, args->scales);
  if (args->zeros) narrow_put(args, groups->zero, args->zeros);
}

#endif

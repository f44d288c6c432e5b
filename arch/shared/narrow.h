/* Rows of f32 as codes, by the rules of docs/numerics.md, section 14. Part of bodies.h, after codes.h. */

#include "../kernels.h"
#include "types.h"

#include <string.h>

/* ---- Scales -------------------------------------------------------------------------------------------------- */

/* Writes a scale, zero or minimum to p, which may lie anywhere. */
FOVEA_INLINE void narrow_put_number(char *p, fovea_type type, float number) {
  uint16_t halves[LANES];
  if (number != number) number = __builtin_nanf("");
  if (type == FOVEA_F32) {
    memcpy(p, &number, sizeof number);
    return;
  }
  if (type == FOVEA_F16) {
    vec_store_f16(halves, vec_set1(number));
  } else {
    vec_store_bf16(halves, vec_set1(number));
  }
  memcpy(p, halves, sizeof halves[0]);
}

FOVEA_INLINE vec narrow_half(vec x) {
  uint16_t halves[LANES];
  vec_store_f16(halves, vec_select(vec_is_nan(x), vec_set1(__builtin_nanf("")), x));
  return vec_load_f16(halves);
}

FOVEA_INLINE float narrow_half_of(float x) {
  float half = 0;
  vec_store_first(&half, narrow_half(vec_set1(x)), 1);
  return half;
}

/* Where the scale of a group lies, among those of a row. */
FOVEA_INLINE int64_t narrow_scale_at(const fovea_narrow_args *args, int64_t g) {
  return (args->first_group + g) * args->codes->scale_group;
}

FOVEA_INLINE int narrow_is_nan(float x) {
  return x != x;
}

/* Of the lowest and the highest number of a group the larger in magnitude; of both alike, the first; +0 of zeros.
 */
FOVEA_INLINE float narrow_larger(const float *x, int64_t count, float low, float high) {
  if (high > -low) return high;
  if (high < -low) return low;
  for (int64_t i = 0; i < count && high > 0.0f; i++) {
    if (x[i] == low || x[i] == high) return x[i];
  }
  return 0.0f;
}

/* The code of the number of an ascending table that is nearest to y; of two as near, the upper one. */
FOVEA_INLINE int narrow_table_code(const int8_t *table, float y) {
  int code = 0;
  for (int i = 0; i < 15; i++) code += y + y >= (float)(table[i] + table[i + 1]);
  return code;
}

/* ggml's second scale of iq4_nl: the least error, weighted by squares. The sums have one order. */
FOVEA_INLINE float narrow_fit(const int8_t *table, const float *x, int64_t count, float factor) {
  float above = 0.0f, below = 0.0f;
  for (int64_t i = 0; i < count; i++) {
    const float q = table[narrow_table_code(table, x[i] * factor)], weighted = x[i] * x[i] * q;
    above += weighted * x[i];
    below += weighted * q;
  }
  return below > 0.0f ? above / below : 0.0f;
}

/* Scale, factor and zero of a group. */
typedef struct narrow_scale {
  float scale, factor, zero;
} narrow_scale;

FOVEA_INLINE narrow_scale narrow_of_largest(const fovea_quantise_rule *rule, float a) {
  narrow_scale s = {0};
  if (!rule->inverse) {
    if (a < rule->least) return s;
    s.factor = rule->top / a;
    s.scale = a / rule->top;
    return s;
  }
  s.scale = a / rule->top;
  if (s.scale == 0.0f) s.scale = rule->of_nothing;
  s.factor = s.scale == 0.0f ? 0.0f : 1.0f / s.scale;
  return s;
}

FOVEA_INLINE narrow_scale narrow_of_signed(const fovea_narrow_args *args, int64_t g) {
  const fovea_quantise_rule *rule = args->rule;
  const float *x = args->from + (args->first_group + g) * args->codes->group;
  const float largest = narrow_larger(x, args->codes->group, args->groups->low[g], args->groups->high[g]);
  narrow_scale s = {0};
  if (largest < rule->least && largest > -rule->least) return (narrow_scale){0, __builtin_nanf(""), 0};
  s.scale = largest / -rule->top;
  s.factor = s.scale == 0.0f ? 0.0f : 1.0f / s.scale;
  if (rule->scale == FOVEA_SCALE_FIT) s.scale = narrow_fit(args->codes->table, x, args->codes->group, s.factor);
  return s;
}

FOVEA_INLINE float narrow_reach(float low, float high) {
  return -low > high ? -low : high;
}

FOVEA_INLINE narrow_scale narrow_of_range(const fovea_quantise_rule *rule, float low, float high) {
  const float width = high + 0.0f - low; /* +0 of zeros, whichever was highest */
  narrow_scale s = {.scale = rule->reciprocal ? width * (1.0f / rule->top) : width / rule->top};
  if (rule->scale == FOVEA_SCALE_ZERO) {
    if (s.scale < rule->least) s.scale = narrow_reach(low, high) < rule->least ? 0.0f : narrow_reach(low, high);
    if (s.scale == 0.0f) s.scale = rule->of_nothing;
    if (s.scale == 0.0f) return (narrow_scale){0, 0, rule->first};
    s.factor = 1.0f / s.scale;
    s.zero = rule->first - low / s.scale;
    return s;
  }
  if (width < rule->least) s.scale = 0.0f;
  s.factor = s.scale == 0.0f ? 0.0f : 1.0f / s.scale;
  s.zero = rule->first == 0.0f ? low : low - rule->first * s.scale; /* 128 * scale is exact */
  return s;
}

FOVEA_INLINE narrow_scale narrow_of_halves(const fovea_quantise_rule *rule, float low, float high) {
  low = narrow_half_of(low), high = narrow_half_of(high) + 0.0f;
  if (narrow_reach(low, high) > 65504.0f)
    return (narrow_scale){__builtin_nanf(""), __builtin_nanf(""), __builtin_nanf("")};
  const float scale = narrow_half_of(narrow_half_of(high - low) / rule->top);
  return (narrow_scale){scale, scale == 0.0f ? __builtin_nanf("") : scale, low};
}

/* Of a fixed scale: what the numbers are divided by or, with `inverse`, multiplied by. */
FOVEA_INLINE narrow_scale narrow_of_fixed(const fovea_quantise_rule *rule, float scale, float zero) {
  if (rule->inverse) return (narrow_scale){scale, scale == 0.0f ? 1.0f : 1.0f / scale, zero};
  return (narrow_scale){scale, scale == 0.0f ? __builtin_nanf("") : scale, zero};
}

FOVEA_INLINE narrow_scale narrow_find(const fovea_narrow_args *args, int64_t g) {
  const fovea_quantise_rule *rule = args->rule;
  if (rule->scale == FOVEA_SCALE_FIXED) {
    const int64_t at = narrow_scale_at(args, g);
    const float scale = codes_number(args->scales + at, args->codes->scale_type);
    return narrow_of_fixed(rule, scale, args->zeros ? codes_number(args->zeros + at, args->codes->scale_type) : 0);
  }
  const float low = args->groups->low[g], high = args->groups->high[g], nan = __builtin_nanf("");
  if (narrow_is_nan(high)) return (narrow_scale){nan, nan, nan};
  switch (rule->scale) {
  case FOVEA_SCALE_LARGEST:
    return narrow_of_largest(rule, high);
  case FOVEA_SCALE_OF_HALVES:
    return narrow_of_halves(rule, low, high);
  case FOVEA_SCALE_ZERO:
  case FOVEA_SCALE_MINIMUM:
    return narrow_of_range(rule, low, high);
  default:
    return narrow_of_signed(args, g);
  }
}

FOVEA_SHORT FOVEA_NOINLINE void narrow_settle(const fovea_narrow_args *args) {
  const fovea_type type = args->codes->scale_type;
  for (int64_t g = 0; g < args->group_count; g++) {
    const narrow_scale s = narrow_find(args, g);
    const int64_t at = narrow_scale_at(args, g);
    args->groups->factor[g] = s.factor;
    args->groups->zero[g] = s.zero;
    if (args->rule->scale == FOVEA_SCALE_FIXED) continue;
    narrow_put_number(args->scales + at, type, s.scale);
    if (args->zeros) narrow_put_number(args->zeros + at, type, s.zero);
  }
}

/* ---- Ranges -------------------------------------------------------------------------------------------------- */

#define NARROW_LARGEST 0x1.fffffep+127f

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

FOVEA_INLINE float narrow_first_lane(vec x) {
  float first = 0;
  vec_store_first(&first, x, 1);
  return first;
}

/* The larger of the group's magnitudes and `largest`; NaN if a number is not finite. */
FOVEA_INLINE float narrow_magnitude(const float *x, int64_t count, float largest) {
  vec most = vec_set1(0.0f), rest = vec_set1(0.0f);
  int64_t i = 0;
  for (; i + LANES <= count; i += LANES) {
    const vec t = vec_load(x + i);
    most = vec_max(vec_abs(t), most);
    rest = vec_fma(t, vec_set1(0.0f), rest);
  }
  if (i < count) {
    const vec t = vec_load_first(x + i, (int)(count - i));
    most = vec_max(vec_abs(t), most);
    rest = vec_fma(t, vec_set1(0.0f), rest);
  }
  if (vecmask_any(vec_is_nan(rest)) || narrow_is_nan(largest)) return __builtin_nanf("");
  const float found = narrow_first_lane(narrow_fold(most, 0));
  return found > largest ? found : largest;
}

/* The zero that comes first: which of several zeros is least is not left to the vectors. */
FOVEA_INLINE float narrow_first_zero(const float *x, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    if (x[i] == 0.0f) return x[i];
  }
  return 0.0f;
}

FOVEA_INLINE void narrow_range(const float *x, int64_t count, float *low, float *high) {
  vec least = vec_set1(NARROW_LARGEST), most = vec_set1(-NARROW_LARGEST), rest = vec_set1(0.0f);
  float found_low = NARROW_LARGEST, found_high = -NARROW_LARGEST;
  int64_t i = 0;
  for (; i + LANES <= count; i += LANES) {
    const vec t = vec_load(x + i);
    least = vec_select(vec_less(t, least), t, least);
    most = vec_select(vec_less(most, t), t, most);
    rest = vec_fma(t, vec_set1(0.0f), rest);
  }
  int finite = !vecmask_any(vec_is_nan(rest));
  if (i > 0) {
    found_low = narrow_first_lane(narrow_fold(least, 1));
    found_high = narrow_first_lane(narrow_fold(most, 0));
  }
  for (; i < count; i++) {
    finite = finite && x[i] - x[i] == 0.0f;
    if (x[i] < found_low) found_low = x[i];
    if (x[i] > found_high) found_high = x[i];
  }
  if (!finite || narrow_is_nan(*high)) {
    *high = __builtin_nanf("");
    return;
  }
  if (found_low == 0.0f) found_low = narrow_first_zero(x, count);
  if (found_low < *low) *low = found_low;
  if (found_high > *high) *high = found_high;
}

/* A number for each group: keys that share scales. */
FOVEA_INLINE void narrow_ranges(const float *x, int64_t count, float *low, float *high, const int magnitudes) {
  const vec nan = vec_set1(__builtin_nanf(""));
  for (int64_t i = 0; i < count; i += LANES) {
    const int n = count - i < LANES ? (int)(count - i) : LANES;
    const vec t = n < LANES ? vec_load_first(x + i, n) : vec_load(x + i);
    const vec least = vec_load(low + i), most = vec_load(high + i), size = magnitudes ? vec_abs(t) : t;
    const vecmask bad = vecmask_or(vec_is_nan(vec_sub(t, t)), vec_is_nan(most));
    vec_store(low + i, vec_select(vec_less(t, least), t, least));
    vec_store(high + i, vec_select(bad, nan, vec_select(vec_less(most, size), size, most)));
  }
}

FOVEA_INLINE void narrow_begin(const fovea_narrow_args *args) {
  const int magnitudes = args->rule->scale == FOVEA_SCALE_LARGEST;
  for (int g = 0; g < FOVEA_NARROW_GROUPS && g < args->group_count + LANES; g++) {
    args->groups->low[g] = NARROW_LARGEST;
    args->groups->high[g] = magnitudes ? 0.0f : -NARROW_LARGEST;
  }
}

FOVEA_NOINLINE void narrow_measure(const fovea_narrow_args *args) {
  const int64_t group = args->codes->group;
  const float *x = args->from + args->first_group * group;
  float *low = args->groups->low, *high = args->groups->high;
  const int magnitudes = args->rule->scale == FOVEA_SCALE_LARGEST;
  if (group == 1) {
    narrow_ranges(x, args->group_count, low, high, magnitudes);
    return;
  }
  for (int64_t g = 0; g < args->group_count; g++, x += group) {
    if (magnitudes) {
      high[g] = narrow_magnitude(x, group, high[g]);
    } else {
      narrow_range(x, group, &low[g], &high[g]);
    }
  }
}

/* ---- Codes --------------------------------------------------------------------------------------------------- */

/* Dims that become codes at a time: some of one group, or of several small ones. */
typedef struct narrow_piece {
  int64_t first; /* its first dim */
  int count;
  int shared; /* 1: one group, factors[0] and zeros[0] */
  float factors[CODES_PIECE], zeros[CODES_PIECE];
  float numbers[CODES_PIECE]; /* what is rounded; then the rounded numbers */
  uint8_t bytes[CODES_PIECE + LANES];
} narrow_piece;

FOVEA_INLINE vec narrow_number(vec x, vec factor, vec zero, const fovea_code_rule rule) {
  switch (rule) {
  case FOVEA_CODE_FUSED:
    return vec_fma(x, factor, zero);
  case FOVEA_CODE_FROM_MINIMUM:
    return vec_mul(vec_sub(x, zero), factor);
  case FOVEA_CODE_OF_HALVES:
    return narrow_half(vec_div(narrow_half(vec_sub(narrow_half(x), zero)), factor));
  case FOVEA_CODE_QUOTIENT:
    return vec_div(x, factor);
  case FOVEA_CODE_MOVED:
    return vec_add(vec_div(x, factor), zero);
  case FOVEA_CODE_FROM_FIXED:
    return vec_div(vec_sub(x, zero), factor);
  default:
    return vec_mul(x, factor);
  }
}

FOVEA_INLINE void narrow_numbers(narrow_piece *piece, const float *x, const fovea_code_rule rule) {
  const vec factor = vec_set1(piece->factors[0]), zero = vec_set1(piece->zeros[0]);
  FOVEA_NO_UNROLL
  for (int i = 0; i < piece->count; i += LANES) {
    const int left = piece->count - i;
    const vec t = left < LANES ? vec_load_first(x + i, left) : vec_load(x + i);
    vec_store(piece->numbers + i, narrow_number(t, piece->shared ? factor : vec_load(piece->factors + i),
                                                piece->shared ? zero : vec_load(piece->zeros + i), rule));
  }
}

FOVEA_NOINLINE void narrow_any_numbers(narrow_piece *piece, const float *x, fovea_code_rule rule) {
  switch (rule) {
  case FOVEA_CODE_FUSED:
    narrow_numbers(piece, x, FOVEA_CODE_FUSED);
    break;
  case FOVEA_CODE_FROM_MINIMUM:
    narrow_numbers(piece, x, FOVEA_CODE_FROM_MINIMUM);
    break;
  case FOVEA_CODE_OF_HALVES:
    narrow_numbers(piece, x, FOVEA_CODE_OF_HALVES);
    break;
  case FOVEA_CODE_QUOTIENT:
    narrow_numbers(piece, x, FOVEA_CODE_QUOTIENT);
    break;
  case FOVEA_CODE_MOVED:
    narrow_numbers(piece, x, FOVEA_CODE_MOVED);
    break;
  case FOVEA_CODE_FROM_FIXED:
    narrow_numbers(piece, x, FOVEA_CODE_FROM_FIXED);
    break;
  default:
    narrow_numbers(piece, x, FOVEA_CODE_PRODUCT);
  }
}

/* Of numbers up to 2^22. */
FOVEA_INLINE vec narrow_nearest(vec y) {
  const vec magic = vec_set1(0x1.8p23f);
  return vec_sub(vec_add(y, magic), magic);
}

FOVEA_INLINE vec narrow_round(vec y, const float offset, const fovea_round_rule rule) {
  if (rule == FOVEA_ROUND_AWAY) {
    const vec size = vec_abs(y), near = narrow_nearest(size);
    const vecmask tie = vec_equal(vec_sub(size, near), vec_set1(0.5f)); /* rounded down to an even number */
    return vec_copysign(vec_add(near, vec_select(tie, vec_set1(1.0f), vec_set1(0.0f))), y);
  }
  if (rule == FOVEA_ROUND_DOWN) {
    const vec moved = vec_add(y, vec_set1(offset)), near = narrow_nearest(moved);
    return vec_sub(near, vec_select(vec_less(moved, near), vec_set1(1.0f), vec_set1(0.0f)));
  }
  return narrow_nearest(y);
}

/* Numbers that cannot be rounded take the rule's; codes stay between the first and the last. */
FOVEA_INLINE void narrow_integers(const fovea_quantise_rule *rule, narrow_piece *piece,
                                  const fovea_round_rule round) {
  const vec first = vec_set1(rule->first), last = vec_set1(rule->last), unfit = vec_set1(rule->unfit);
  const vec limit = vec_set1(0x1p31f), most = vec_set1(0x1p12f);
  const int fixed = rule->scale == FOVEA_SCALE_FIXED;
  FOVEA_NO_UNROLL
  for (int i = 0; i < piece->count; i += LANES) {
    vec y = vec_load(piece->numbers + i);
    const vecmask fit = fixed ? vecmask_not(vec_is_nan(y)) : vec_less(vec_abs(y), limit);
    y = vec_select(fit, y, unfit);
    y = vec_max(vec_min(most, y), vec_set1(-0x1p12f));
    y = vec_max(vec_min(last, narrow_round(y, rule->offset, round)), first);
    vec_store(piece->numbers + i, y);
    vec_store_bytes(piece->bytes + i, vec_add(y, vec_set1(0x1.8p23f + (float)rule->bias)));
  }
}

FOVEA_INLINE void narrow_by_table(const int8_t *table, narrow_piece *piece) {
  FOVEA_NO_UNROLL
  for (int i = 0; i < piece->count; i += LANES) {
    const vec y = vec_load(piece->numbers + i), twice = vec_add(y, y);
    vec code = vec_set1(0.0f);
    for (int k = 0; k < 15; k++) {
      const vec sum = vec_set1((float)(table[k] + table[k + 1]));
      code = vec_add(code, vec_select(vec_less(twice, sum), vec_set1(0.0f), vec_set1(1.0f)));
    }
    vec_store_bytes(piece->bytes + i, vec_add(code, vec_set1(0x1.8p23f)));
  }
}

/* Numbers with `mantissa` bits behind the point, the smallest of exponent `least`; `most` is the last code. */
FOVEA_INLINE void narrow_fp8(narrow_piece *piece, const int mantissa, const int least, const uint32_t most) {
  const int drop = 23 - mantissa;
  const float magic = mantissa == 3 ? 0x1p14f : 0x1p7f; /* an ulp of it is the least subnormal */
  uint32_t magic_bits;
  memcpy(&magic_bits, &magic, sizeof magic);
  for (int i = 0; i < piece->count; i++) {
    uint32_t bits, small, size, code;
    memcpy(&bits, &piece->numbers[i], sizeof bits);
    size = bits & 0x7fffffffu;
    float a;
    memcpy(&a, &size, sizeof a);
    const float sum = a + magic;
    memcpy(&small, &sum, sizeof small);
    code = (size + ((1u << (drop - 1)) - 1) + (size >> drop & 1)) >> drop;
    code -= (uint32_t)(least + 126) << mantissa;
    if (size < (uint32_t)(least + 127) << 23) code = small - magic_bits;
    if (size >= 0x7f800000u || code > most) code = most;
    code |= bits >> 24 & 0x80;
    piece->bytes[i] = (uint8_t)(size > 0x7f800000u ? 0x7f : code);
  }
}

/* Codes of bf16, two bytes each. Those without a scale are 0. */
FOVEA_NOINLINE void narrow_bf16(const narrow_piece *piece, char *to) {
  uint16_t halves[CODES_PIECE + LANES] = {0};
  const vec nan = vec_set1(__builtin_nanf("")), shared = vec_set1(piece->factors[0]);
  FOVEA_NO_UNROLL
  for (int i = 0; i < piece->count; i += LANES) {
    const vec y = vec_load(piece->numbers + i), factor = piece->shared ? shared : vec_load(piece->factors + i);
    const vec number = vec_select(vec_is_nan(y), nan, y);
    vec_store_bf16(halves + i, vec_select(vec_is_nan(factor), vec_set1(0.0f), number));
  }
  memcpy(to, halves, 2 * (size_t)piece->count);
}

FOVEA_NOINLINE void narrow_any_codes(const fovea_narrow_args *args, narrow_piece *piece) {
  const fovea_quantise_rule *rule = args->rule;
  switch (rule->round) {
  case FOVEA_ROUND_AWAY:
    narrow_integers(rule, piece, FOVEA_ROUND_AWAY);
    break;
  case FOVEA_ROUND_DOWN:
    narrow_integers(rule, piece, FOVEA_ROUND_DOWN);
    break;
  case FOVEA_ROUND_TABLE:
    narrow_by_table(args->codes->table, piece);
    break;
  case FOVEA_ROUND_E4M3:
    narrow_fp8(piece, 3, -6, 0x7e);
    break;
  case FOVEA_ROUND_E5M2:
    narrow_fp8(piece, 2, -14, 0x7b);
    break;
  default:
    narrow_integers(rule, piece, FOVEA_ROUND_EVEN);
  }
}

/* Groups without a scale: their codes are blank. */
FOVEA_INLINE void narrow_blank(const fovea_quantise_rule *rule, narrow_piece *piece) {
  const float number = (float)rule->blank - (float)rule->bias;
  for (int i = 0; i < piece->count; i++) {
    if (!narrow_is_nan(piece->factors[piece->shared ? 0 : i])) continue;
    piece->bytes[i] = rule->blank;
    piece->numbers[i] = number;
  }
}

/* ---- Bytes --------------------------------------------------------------------------------------------------- */

/* A whole group of 32, as ggml has them. */
FOVEA_INLINE void narrow_pack_sixteens(uint8_t *to, const uint8_t *from) {
  uint8_t low[16], high[16];
  memcpy(low, from, sizeof low);
  memcpy(high, from + 16, sizeof high);
  for (int i = 0; i < 16; i++) low[i] = (uint8_t)((low[i] & 15) | high[i] << 4);
  memcpy(to, low, sizeof low);
}

FOVEA_INLINE void narrow_pack_halves(uint8_t *to, int64_t half, int64_t first, const uint8_t *from, int count) {
  const int low = first >= half ? 0 : half - first < count ? (int)(half - first) : count;
  if (half == 16) {
    narrow_pack_sixteens(to, from);
    return;
  }
  for (int i = 0; i < low; i++) to[first + i] = (uint8_t)((to[first + i] & 0xf0) | from[i]);
  for (int i = low; i < count; i++) {
    uint8_t *byte = &to[first + i - half];
    *byte = (uint8_t)((*byte & 15) | from[i] << 4);
  }
}

FOVEA_INLINE void narrow_pack_along(uint8_t *to, const uint8_t *from, int count, int shift, int mask) {
  to += shift / 8;
  for (int i = 0; i < count; i++) {
    to[4 * i] = (uint8_t)((to[4 * i] & ~(mask << shift % 8)) | from[i] << shift % 8);
  }
}

FOVEA_INLINE void narrow_pack_fifths(uint8_t *to, const uint8_t *from, int count) {
  uint32_t word = 0;
  for (int i = 0; i < count; i++) word |= (uint32_t)(from[i] >> 4) << i;
  for (int i = 0; i < 4; i++) to[i] = (uint8_t)(word >> 8 * i);
}

/* The inverse of codes_unpack(): writes a piece, whose first dim is dim `first` of `to`. Bits of a last byte that
 * belong to no dim are those of 0. */
FOVEA_SHORT FOVEA_NOINLINE void narrow_pack(const fovea_codes *codes, uint8_t *to, int64_t first,
                                            narrow_piece *piece, int shift, uint8_t zero) {
  uint8_t *from = piece->bytes;
  const int count = piece->count;
  switch (codes->code) {
  case FOVEA_CODE_U4:
  case FOVEA_CODE_U4_SWAPPED:
    from[count] = zero;
    for (int i = 0; i < count; i += 2) {
      const int swapped = codes->code == FOVEA_CODE_U4_SWAPPED;
      to[(first + i) / 2] = (uint8_t)(from[i + swapped] | from[i + 1 - swapped] << 4);
    }
    break;
  case FOVEA_CODE_U4_HALVES:
    narrow_pack_halves(to, codes->group / 2, first, from, count);
    break;
  case FOVEA_CODE_U5_HALVES:
    narrow_pack_fifths(to, from, count);
    narrow_pack_halves(to + 4, codes->group / 2, first, from, count);
    break;
  case FOVEA_CODE_U2:
    for (int i = count; i % 4 != 0; i++) from[i] = zero;
    for (int i = 0; i < count; i += 4) {
      to[(first + i) / 4] = (uint8_t)(from[i] | from[i + 1] << 2 | from[i + 2] << 4 | from[i + 3] << 6);
    }
    break;
  case FOVEA_CODE_U8_KEYS:
    narrow_pack_along(to + 4 * first, from, count, shift, 255);
    break;
  case FOVEA_CODE_U4_KEYS:
    narrow_pack_along(to + 4 * first, from, count, shift, 15);
    break;
  case FOVEA_CODE_U2_KEYS:
    narrow_pack_along(to + 4 * first, from, count, shift, 3);
    break;
  default:
    memcpy(to + first, from, (size_t)count);
  }
}

/* Adds the codes of a piece to the sum behind their scale. */
FOVEA_INLINE void narrow_sum(const fovea_narrow_args *args, const narrow_piece *piece, int64_t group) {
  const int infinite = piece->factors[0] - piece->factors[0] != 0.0f && !narrow_is_nan(piece->factors[0]);
  uint32_t sum = 0;
  char *at = args->scales + group * args->codes->scale_group + sizeof(float);
  if (piece->first % args->codes->group != 0) memcpy(&sum, at, sizeof sum);
  /* ik's conversions of infinities are INT32_MIN. */
  for (int i = 0; i < piece->count; i++) sum += infinite ? 0x80000000u : (uint32_t)(int32_t)piece->numbers[i];
  memcpy(at, &sum, sizeof sum);
}

FOVEA_INLINE void narrow_piece_scales(const fovea_narrow_args *args, narrow_piece *piece) {
  const fovea_narrow_groups *groups = args->groups;
  const int count = piece->shared ? 1 : piece->count;
  for (int i = 0; i < count; i++) {
    const int64_t g = (piece->first + i) / args->codes->group - args->first_group;
    piece->factors[i] = groups->factor[g];
    piece->zeros[i] = groups->zero[g];
  }
}

FOVEA_SHORT FOVEA_NOINLINE void narrow_code(const fovea_narrow_args *args) {
  const fovea_codes *codes = args->codes;
  const fovea_quantise_rule *rule = args->rule;
  const int64_t end = (args->first_group + args->group_count) * codes->group;
  narrow_piece piece;
  piece.shared = !codes->mixed;
  piece.factors[0] = piece.zeros[0] = 0;
  for (int64_t first = args->first_group * codes->group; first < end; first += piece.count) {
    const int64_t group = codes->mixed ? 0 : first / codes->group;
    piece.first = first;
    piece.count = codes_together(codes, end, first);
    narrow_piece_scales(args, &piece);
    narrow_any_numbers(&piece, args->from + first, rule->code);
    if (rule->round == FOVEA_ROUND_BF16) {
      narrow_bf16(&piece, args->to + 2 * first); /* all keys share the scales, so rows have nothing but codes */
      continue;
    }
    narrow_any_codes(args, &piece);
    narrow_blank(rule, &piece);
    narrow_pack(codes, (uint8_t *)args->to + group * codes->group_step, codes->mixed ? first : first % codes->group,
                &piece, args->shift, rule->blank);
    if (rule->sums) narrow_sum(args, &piece, group);
  }
}

FOVEA_NOINLINE void narrow_row(const fovea_narrow_args *args) {
  if (args->rule->scale != FOVEA_SCALE_FIXED) {
    if (args->steps & FOVEA_NARROW_BEGIN) narrow_begin(args);
    if (args->steps & FOVEA_NARROW_MEASURE) narrow_measure(args);
  }
  if (args->steps & FOVEA_NARROW_SETTLE) narrow_settle(args);
  if (args->steps & FOVEA_NARROW_CODE) narrow_code(args);
}

/* ---- Signed bytes by the largest magnitude ------------------------------------------------------------------- */

/* Groups of some rows, all at once: so divisions are vectors', and no group waits for its own. */
enum { NARROW_TOGETHER = 128 };

/* Magnitudes of groups. Returns 0 if a number is not finite. */
FOVEA_INLINE int narrow_s8_measure(const fovea_narrow_args *args, int64_t rows, int64_t groups, const int64_t group,
                                   float *high) {
  const int64_t stride = args->from_stride;
  const float *from = args->from;
  vec rest = vec_set1(0.0f), other = rest; /* two chains */
  FOVEA_NO_UNROLL
  for (int64_t row = 0; row < rows; row++, from += stride) {
    const float *x = from;
    FOVEA_NO_UNROLL
    for (int64_t g = 0; g < groups; g++, x += group) {
      vec most = vec_set1(0.0f);
      for (int64_t i = 0; i < group; i += LANES) {
        const vec t = vec_load(x + i);
        most = vec_max(vec_abs(t), most);
        rest = vec_fma(t, vec_set1(0.0f), rest);
        const vec next = other;
        other = rest, rest = next;
      }
      vec_store_first(high++, narrow_fold(most, 0), 1);
    }
  }
  return !vecmask_any(vec_is_nan(vec_add(rest, other)));
}

/* Factors in place of magnitudes, and scales. */
FOVEA_INLINE void narrow_s8_settle(const fovea_quantise_rule *rule, int64_t count, float *high, float *scales) {
  const vec top = vec_set1(rule->top), zero = vec_set1(0.0f), one = vec_set1(1.0f);
  FOVEA_NO_UNROLL
  for (int64_t i = 0; i < count; i += LANES) {
    const vec a = vec_load(high + i);
    const vecmask none = vec_less(a, vec_set1(rule->least));
    vec scale = vec_select(none, zero, vec_div(a, top));
    const vecmask nothing = vec_equal(scale, zero);
    scale = vec_select(nothing, vec_set1(rule->of_nothing), scale);
    const vecmask unscaled = vec_equal(scale, zero);
    const vec factor = rule->inverse ? vec_div(one, scale) : vec_div(top, a);
    vec_store(high + i, vec_select(unscaled, zero, factor));
    vec_store(scales + i, scale);
  }
}

FOVEA_INLINE void narrow_s8_codes(const fovea_narrow_args *args, int64_t rows, int64_t groups, const int64_t group,
                                  const float *factors, const fovea_round_rule round) {
  const int64_t from_stride = args->from_stride, to_step = args->to_step, group_step = args->codes->group_step;
  const float *from = args->from;
  char *to_row = args->to;
  FOVEA_NO_UNROLL
  for (int64_t row = 0; row < rows; row++, from += from_stride, to_row += to_step) {
    const float *x = from;
    char *to = to_row;
    FOVEA_NO_UNROLL
    for (int64_t g = 0; g < groups; g++, x += group, to += group_step) {
      const vec factor = vec_set1(*factors++);
      for (int64_t i = 0; i < group; i += LANES) {
        const vec y = vec_mul(vec_load(x + i), factor), magic = vec_set1(0x1.8p23f);
        vec sum = vec_add(y, magic);
        if (round == FOVEA_ROUND_AWAY) { /* a half that went to an even number nearer to 0 */
          const vec half = vec_copysign(vec_set1(0.5f), y);
          const vecmask tie = vec_equal(vec_sub(y, vec_sub(sum, magic)), half);
          sum = vec_add(sum, vec_select(tie, vec_add(half, half), vec_set1(0.0f)));
        }
        vec_store_bytes((uint8_t *)to + i, sum);
      }
    }
  }
}

FOVEA_INLINE void narrow_s8_scales(const fovea_narrow_args *args, int64_t rows, int64_t groups,
                                   const float *scales) {
  const fovea_type type = args->codes->scale_type;
  uint16_t halves[NARROW_TOGETHER + LANES];
  for (int64_t i = 0; i < rows * groups && type != FOVEA_F32; i += LANES) {
    if (type == FOVEA_F16) {
      vec_store_f16(halves + i, vec_load(scales + i));
    } else {
      vec_store_bf16(halves + i, vec_load(scales + i));
    }
  }
  const uint16_t *half = halves;
  for (int64_t row = 0; row < rows; row++) {
    char *to = args->scales + row * args->scale_step;
    for (int64_t g = 0; g < groups; g++, to += args->codes->scale_group) {
      if (type == FOVEA_F32) {
        memcpy(to, scales++, sizeof *scales);
      } else {
        memcpy(to, half++, sizeof *half);
      }
    }
  }
}

/* Whether all of a row's groups are of the usual kind. */
FOVEA_INLINE int narrow_is_s8(const fovea_narrow_args *args) {
  const fovea_codes *codes = args->codes;
  return args->steps == FOVEA_NARROW_ROW && args->rule->scale == FOVEA_SCALE_LARGEST &&
         codes->code == FOVEA_CODE_S8 && args->rule->code == FOVEA_CODE_PRODUCT && !args->rule->sums &&
         !codes->mixed && codes->group % LANES == 0 && args->first_group == 0 &&
         args->group_count * codes->group == args->dim && args->group_count <= NARROW_TOGETHER;
}

/* Returns 0, and writes nothing, if a group is not of the usual kind. */
FOVEA_NOINLINE int narrow_s8_rows(const fovea_narrow_args *args, int64_t rows) {
  float high[NARROW_TOGETHER + LANES], scales[NARROW_TOGETHER + LANES];
  const int64_t groups = args->group_count, count = rows * groups;
  vec_store(high + count, vec_set1(1.0f));
  const int64_t group = args->codes->group;
  const int finite = group == 32 ? narrow_s8_measure(args, rows, groups, 32, high)
                                 : narrow_s8_measure(args, rows, groups, group, high);
  if (!finite) return 0;
  narrow_s8_settle(args->rule, count, high, scales);
  for (int64_t i = 0; i < count; i++) {
    if (high[i] - high[i] != 0.0f) return 0;
  }
  if (args->rule->round == FOVEA_ROUND_EVEN) {
    narrow_s8_codes(args, rows, groups, group, high, FOVEA_ROUND_EVEN);
  } else if (group == 32) {
    narrow_s8_codes(args, rows, groups, 32, high, FOVEA_ROUND_AWAY);
  } else {
    narrow_s8_codes(args, rows, groups, group, high, FOVEA_ROUND_AWAY);
  }
  narrow_s8_scales(args, rows, groups, scales);
  return 1;
}

FOVEA_SHORT FOVEA_KERNEL void FOVEA_NAME(narrow_codes)(const fovea_narrow_args *args) {
  fovea_narrow_args part = *args;
  const int64_t together = narrow_is_s8(args) ? NARROW_TOGETHER / args->group_count : 1;
  for (int64_t row = 0; row < args->row_count; row += together) {
    const int64_t rows = args->row_count - row < together ? args->row_count - row : together;
    part.from = args->from + row * args->from_stride;
    part.to = args->to + row * args->to_step;
    part.scales = args->scales + row * args->scale_step;
    if (narrow_is_s8(args) && narrow_s8_rows(&part, rows)) continue;
    for (int64_t i = row; i < row + rows; i++) {
      part.from = args->from + i * args->from_stride;
      part.to = args->to + i * args->to_step;
      part.scales = args->scales + i * args->scale_step;
      part.zeros = args->zeros ? args->zeros + i * args->scale_step : NULL;
      part.shift = args->shift + (int)i * args->shift_step;
      narrow_row(&part);
    }
  }
}

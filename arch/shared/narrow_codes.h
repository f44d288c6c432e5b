/* Quantising: numbers are scaled and rounded to codes, a byte each. Part of narrow.h. */
#ifndef FOVEA_ARCH_SHARED_NARROW_CODES_H
#define FOVEA_ARCH_SHARED_NARROW_CODES_H

#include "narrow_settle.h"

/* Numbers that become codes together; the most codes of a group, which are packed together. */
enum { NARROW_NUMBERS = 1024, NARROW_MOST = 4096 + 16, NARROW_MORE = 64 };

/* Some groups of some rows. Each group fills whole vectors but for small ones, whose codes follow each other. */
typedef struct narrow_piece {
  int64_t row, rows;                  /* of args */
  int64_t first, groups;              /* of these rows, after the first group of args */
  int64_t group_at, row_at;           /* numbers from group to group, and from row to row */
  int64_t begin, end;                 /* dims of each group in `numbers`: all, or some of a single group */
  float numbers[NARROW_NUMBERS + 16]; /* what is rounded */
  uint8_t bytes[NARROW_MOST + NARROW_MORE];
} narrow_piece;

FOVEA_INLINE int64_t narrow_whole_vectors(int64_t count) {
  return (count + 15) / 16 * 16;
}

FOVEA_INLINE const float *narrow_piece_from(const fovea_narrow_args *args, const narrow_piece *piece, int64_t row) {
  return args->from + (piece->row + row) * args->from_stride +
         (args->first_group + piece->first) * args->codes->group + piece->begin;
}

/* Where the factors and zeros of a piece's row begin, among the factors of all groups. */
FOVEA_INLINE int64_t narrow_piece_group(const fovea_narrow_args *args, const narrow_piece *piece, int64_t row) {
  return (piece->row + row) * narrow_row_groups(args) + piece->first;
}

FOVEA_INLINE vec narrow_number(vec x, vec factor, vec zero, const fovea_code_rule rule) {
  switch (rule) {
  case FOVEA_CODE_FUSED:
    return vec_fma(x, factor, zero);
  case FOVEA_CODE_OF_HALVES:
    return narrow_half(vec_div(narrow_half(vec_sub(narrow_half(x), zero)), factor));
  case FOVEA_CODE_MOVED:
    return vec_add(vec_div(x, factor), zero);
  case FOVEA_CODE_FROM_FIXED:
    return vec_div(vec_sub(x, zero), factor);
  default:
    return vec_mul(vec_sub(x, zero), factor);
  }
}

/* Small groups of one dim are one of many, with a factor for each dim. */
FOVEA_INLINE void narrow_numbers(const fovea_narrow_args *args, narrow_piece *piece, const fovea_code_rule rule) {
  const int single = args->codes->group == 1 && args->codes->mixed;
  const int64_t dims = single ? piece->groups : piece->end - piece->begin, groups = single ? 1 : piece->groups;
  FOVEA_NO_UNROLL
  for (int64_t row = 0; row < piece->rows; row++) {
    const float *x = narrow_piece_from(args, piece, row);
    const int64_t at = narrow_piece_group(args, piece, row);
    const float *factors = args->groups->factor + at, *zeros = args->groups->zero + at;
    float *to = piece->numbers + row * piece->row_at;
    FOVEA_NO_UNROLL
    for (int64_t g = 0; g < groups; g++, x += args->codes->group, to += piece->group_at) {
      vec factor = vec_set1(factors[g]), zero = vec_set1(zeros[g]);
      FOVEA_NO_UNROLL
      for (int64_t i = 0; i < dims; i += LANES) {
        const int64_t left = dims - i;
        const vec t = left < LANES ? vec_load_first(x + i, (int)left) : vec_load(x + i);
        if (single) factor = vec_load(factors + i), zero = vec_load(zeros + i);
        vec_store(to + i, narrow_number(t, factor, zero, rule));
      }
    }
  }
}

/* Rules without a zero have one that is +0, and x - 0 is x. */
FOVEA_SHORT FOVEA_NOINLINE void narrow_any_numbers(const fovea_narrow_args *args, narrow_piece *piece) {
  switch (args->rule->code) {
  case FOVEA_CODE_FUSED:
    narrow_numbers(args, piece, FOVEA_CODE_FUSED);
    break;
  case FOVEA_CODE_OF_HALVES:
    narrow_numbers(args, piece, FOVEA_CODE_OF_HALVES);
    break;
  case FOVEA_CODE_MOVED:
    narrow_numbers(args, piece, FOVEA_CODE_MOVED);
    break;
  case FOVEA_CODE_QUOTIENT:
  case FOVEA_CODE_FROM_FIXED:
    narrow_numbers(args, piece, FOVEA_CODE_FROM_FIXED);
    break;
  default:
    narrow_numbers(args, piece, FOVEA_CODE_FROM_MINIMUM);
  }
}

/* Of numbers up to 2^22. */
FOVEA_INLINE vec narrow_nearest(vec y) {
  const vec magic = vec_set1(0x1.8p23f);
  return vec_sub(vec_add(y, magic), magic);
}

/* Halves go away from 0. */
FOVEA_INLINE vec narrow_away(vec y) {
  const vec size = vec_abs(y), near = narrow_nearest(size);
  const vecmask tie = vec_equal(vec_sub(size, near), vec_set1(0.5f)); /* rounded down to an even number */
  return vec_copysign(vec_add(near, vec_select(tie, vec_set1(1.0f), vec_set1(0.0f))), y);
}

/* The integer at most y. */
FOVEA_INLINE vec narrow_floor(vec y) {
  const vec near = narrow_nearest(y);
  return vec_sub(near, vec_select(vec_less(y, near), vec_set1(1.0f), vec_set1(0.0f)));
}

/* Numbers that cannot be rounded take the rule's; codes stay between the first and the last. With `fit` all can be
 * rounded. */
FOVEA_INLINE void narrow_integers(const fovea_quantise_rule *rule, narrow_piece *piece, int64_t count, int fit) {
  const vec first = vec_set1(rule->first), last = vec_set1(rule->last), unfit = vec_set1(rule->unfit);
  const vec limit = vec_set1(0x1p31f), most = vec_set1(0x1p12f), magic = vec_set1(0x1.8p23f + (float)rule->bias);
  const int fixed = rule->scale == FOVEA_SCALE_FIXED;
  const fovea_round_rule round = rule->round;
  const vec offset = vec_set1(rule->offset);
  uint8_t *bytes = piece->bytes + piece->begin;
  FOVEA_NO_UNROLL
  for (int64_t i = 0; i < count; i += LANES) {
    vec y = vec_load(piece->numbers + i);
    if (!fit) {
      const vecmask known = fixed ? vecmask_not(vec_is_nan(y)) : vec_less(vec_abs(y), limit);
      y = vec_max(vec_min(most, vec_select(known, y, unfit)), vec_set1(-0x1p12f));
    }
    if (round == FOVEA_ROUND_DOWN)
      y = narrow_floor(vec_add(y, offset));
    else
      y = round == FOVEA_ROUND_AWAY ? narrow_away(y) : narrow_nearest(y);
    y = vec_max(vec_min(last, y), first);
    vec_store_bytes(bytes + i, vec_add(y, magic));
  }
}

FOVEA_INLINE void narrow_by_table(const fovea_codes *codes, narrow_piece *piece, int64_t count) {
  const narrow_table table = narrow_open_table(codes);
  uint8_t *bytes = piece->bytes + piece->begin;
  FOVEA_NO_UNROLL
  for (int64_t i = 0; i < count; i += LANES) {
    vec bits;
    (void)narrow_nearest_number(&table, vec_load(piece->numbers + i), &bits);
    vec_store_bytes(bytes + i, bits);
  }
}

/* fp8: `steps` numbers from one power of two to the next, the least of exponent 1 - bias. All arithmetic but the
 * two roundings by the magic number is exact. */
FOVEA_INLINE void narrow_fp8(narrow_piece *piece, int64_t count, const float steps, const float bias,
                             const float least, const float top) {
  const vec magic = vec_set1(0x1.8p23f), sign = vec_set1(64.0f);
  uint8_t *bytes = piece->bytes + piece->begin;
  FOVEA_NO_UNROLL
  for (int64_t i = 0; i < count; i += LANES) {
    const vec y = vec_load(piece->numbers + i), size = vec_min(vec_set1(top), vec_abs(y));
    vec fraction, exponent = vec_split_power(size, &fraction); /* from sqrt(1/2) to sqrt(2) */
    const vecmask below = vec_less(fraction, vec_set1(1.0f));
    const vec factor = vec_select(below, vec_set1(2.0f * steps), vec_set1(steps));
    exponent = vec_select(below, vec_sub(exponent, vec_set1(1.0f)), exponent);
    vec code = vec_add(vec_fma(fraction, factor, vec_set1(-steps)), magic);
    code = vec_add(code, vec_fma(exponent, vec_set1(steps), vec_set1(bias * steps)));
    const vec small = vec_add(vec_mul(size, vec_set1(steps / least)), magic);
    code = vec_select(vec_less(size, vec_set1(least)), small, code);
    code = vec_add(code, vec_sub(sign, vec_copysign(sign, y))); /* 128 if y has a sign */
    code = vec_select(vec_is_nan(y), vec_set1(0x1.8p23f + 127.0f), code);
    vec_store_bytes(bytes + i, code);
  }
}

FOVEA_SHORT FOVEA_NOINLINE void narrow_any_codes(const fovea_narrow_args *args, narrow_piece *piece, int64_t count,
                                                 int fit) {
  const fovea_quantise_rule *rule = args->rule;
  switch (rule->round) {
  case FOVEA_ROUND_TABLE:
    narrow_by_table(args->codes, piece, count);
    break;
  case FOVEA_ROUND_E4M3:
    narrow_fp8(piece, count, 8.0f, 7.0f, 0x1p-6f, 448.0f);
    break;
  case FOVEA_ROUND_E5M2:
    narrow_fp8(piece, count, 4.0f, 15.0f, 0x1p-14f, 57344.0f);
    break;
  default:
    narrow_integers(rule, piece, count, fit);
  }
}

/* Groups without a scale: their codes are blank. */
FOVEA_SHORT FOVEA_NOINLINE void narrow_blank(const fovea_narrow_args *args, narrow_piece *piece) {
  const int64_t group = args->codes->group;
  FOVEA_NO_UNROLL
  for (int64_t row = 0; row < piece->rows; row++) {
    const float *factors = args->groups->factor + narrow_piece_group(args, piece, row);
    FOVEA_NO_UNROLL
    for (int64_t g = 0; g < piece->groups; g++) {
      uint8_t *bytes = piece->bytes + row * piece->row_at + g * piece->group_at;
      if (narrow_is_nan(factors[g])) memset(bytes, args->rule->blank, (size_t)group);
    }
  }
}

#endif

/* Rows of f32 as codes, by the rules of docs/numerics.md, section 14. Part of bodies.h, after codes.h. */

#include "narrow_codes.h"
#include "narrow_measure.h"
#include "narrow_pack.h"
#include "narrow_settle.h"

/* ---- Any format ---------------------------------------------------------------------------------------------- */

/* The sum of codes of a byte, after their scale. */
FOVEA_INLINE void narrow_sum(const fovea_narrow_args *args, const uint8_t *bytes, float factor, char *scale) {
  const int64_t group = args->codes->group;
  int32_t sum = 0;
  int64_t i = 0;
  vec sums = vec_set1(0.0f); /* whole numbers below 2^24 */
  float lanes[LANES];
  FOVEA_NO_UNROLL
  for (; i + LANES <= group; i += LANES) sums = vec_add(sums, vec_load_s8((const int8_t *)bytes + i));
  vec_store(lanes, sums);
  FOVEA_NO_UNROLL
  for (int lane = 0; lane < LANES; lane++) sum += (int32_t)lanes[lane];
  FOVEA_NO_UNROLL
  for (; i < group; i++) sum += (int8_t)bytes[i];
  /* ik's conversions of infinities are INT32_MIN. */
  if (factor - factor != 0.0f && !narrow_is_nan(factor)) sum = group % 2 == 0 ? 0 : INT32_MIN;
  memcpy(scale + sizeof(float), &sum, sizeof sum);
}

/* Codes of a piece's row to where they belong. */
FOVEA_INLINE void narrow_pack_row(const fovea_narrow_args *args, narrow_piece *piece, int64_t row) {
  const fovea_codes *codes = args->codes;
  const int64_t at = piece->row + row, first = args->first_group + piece->first;
  const int64_t runs = codes->mixed ? 1 : piece->groups;
  const int64_t dims = codes->mixed ? piece->groups * codes->group : codes->group;
  const float *factors = args->groups->factor + narrow_piece_group(args, piece, row);
  const int shift = args->shift + (int)at * args->shift_step;
  uint8_t *bytes = piece->bytes + row * piece->row_at;
  uint8_t *to = (uint8_t *)args->to + at * args->to_step;
  char *scale = args->scales + at * args->scale_step + first * codes->scale_group;
  to += codes->mixed ? narrow_bytes_of(codes, first * codes->group) : first * narrow_group_step(codes);
  FOVEA_NO_UNROLL
  for (int64_t run = 0; run < runs; run++) {
    if (args->rule->sums) narrow_sum(args, bytes, factors[run], scale);
    narrow_pack(codes, to, bytes, dims, shift, args->rule->blank);
    bytes += piece->group_at, to += narrow_group_step(codes), scale += codes->scale_group;
  }
}

/* Codes of bf16, two bytes each. Codes without a scale are 0. */
FOVEA_MIDDLE FOVEA_NOINLINE void narrow_bf16(const fovea_narrow_args *args, const narrow_piece *piece) {
  const int64_t group = args->codes->group, dims = piece->end - piece->begin;
  const vec nan = vec_set1(__builtin_nanf("")), zero = vec_set1(0.0f);
  FOVEA_NO_UNROLL
  for (int64_t row = 0; row < piece->rows; row++) {
    const float *factors = args->groups->factor + narrow_piece_group(args, piece, row);
    const float *numbers = piece->numbers + row * piece->row_at;
    char *to = args->to + (piece->row + row) * args->to_step + 2 * (args->first_group + piece->first) * group +
               2 * piece->begin;
    FOVEA_NO_UNROLL
    for (int64_t g = 0; g < piece->groups; g++, numbers += piece->group_at, to += 2 * group) {
      const int blank = narrow_is_nan(factors[g]);
      FOVEA_NO_UNROLL
      for (int64_t i = 0; i < dims; i += LANES) {
        const int count = dims - i < LANES ? (int)(dims - i) : LANES;
        const vec y = vec_load_first(numbers + i, count);
        uint16_t halves[LANES];
        vec_store_bf16(halves, blank ? zero : vec_select(vec_is_nan(y), nan, y));
        memcpy(to + 2 * i, halves, 2 * (size_t)count);
      }
    }
  }
}

/* Whether a group has no scale. */
FOVEA_INLINE int narrow_has_blank(const fovea_narrow_args *args) {
  const int64_t count = narrow_all_groups(args);
  int blank = 0;
  FOVEA_NO_UNROLL
  for (int64_t g = 0; g < count; g += LANES) blank |= vecmask_any(vec_is_nan(vec_load(args->groups->factor + g)));
  return blank;
}

/* Whether all groups have scales, by which their numbers become as small as codes. Numbers of fixed scales may be
 * any, and so may x * factor + zero where a group of one number has a scale of its own. */
FOVEA_INLINE int narrow_is_usual(const fovea_narrow_args *args) {
  const int64_t count = narrow_all_groups(args);
  const vec zero = vec_set1(0.0f);
  vec rest = zero;
  if (args->rule->scale == FOVEA_SCALE_FIXED) return 0;
  FOVEA_NO_UNROLL
  for (int64_t g = 0; g < count; g += LANES) {
    rest = vec_fma(vec_load(args->groups->factor + g), zero, rest);
    rest = vec_fma(vec_load(args->groups->scale + g), zero, rest);
    if (args->rule->code == FOVEA_CODE_FUSED &&
        vecmask_any(vecmask_not(vec_less(vec_abs(vec_load(args->groups->zero + g)), vec_set1(0x1p22f)))))
      return 0;
  }
  return !vecmask_any(vec_is_nan(rest));
}

/* The codes of a piece, as many numbers at a time as there is room for. Codes of bf16 are written where they
 * belong. */
FOVEA_MIDDLE FOVEA_NOINLINE void narrow_piece_codes(const fovea_narrow_args *args, narrow_piece *piece, int usual) {
  const int64_t group = args->codes->group, all = piece->rows * piece->row_at;
  FOVEA_NO_UNROLL
  for (piece->begin = 0; piece->begin < group; piece->begin = piece->end) {
    const int64_t rest = group - piece->begin;
    piece->end = piece->begin + (rest < NARROW_NUMBERS ? rest : NARROW_NUMBERS);
    narrow_any_numbers(args, piece);
    if (args->rule->round == FOVEA_ROUND_BF16)
      narrow_bf16(args, piece);
    else
      narrow_any_codes(args, piece, all <= NARROW_NUMBERS ? all : piece->end - piece->begin, usual);
  }
}

FOVEA_MIDDLE FOVEA_NOINLINE void narrow_code(const fovea_narrow_args *args, int usual) {
  const int64_t group = args->codes->group, all = args->group_count;
  const int mixed = args->codes->mixed, has_blank = !usual && narrow_has_blank(args);
  narrow_piece piece;
  piece.group_at = mixed ? group : narrow_whole_vectors(group);
  /* Mixed groups are small; sixteen of them fill whole bytes. */
  const int64_t fit = NARROW_NUMBERS / piece.group_at, most = mixed ? fit / 16 * 16 : fit > 0 ? fit : 1;
  piece.groups = all < most ? all : most;
  piece.row_at = narrow_whole_vectors(piece.groups * piece.group_at);
  const int64_t together = all > most || NARROW_NUMBERS < piece.row_at ? 1 : NARROW_NUMBERS / piece.row_at;
  FOVEA_NO_UNROLL
  for (piece.row = 0; piece.row < args->row_count; piece.row += piece.rows) {
    const int64_t rows = args->row_count - piece.row;
    piece.rows = rows < together ? rows : together;
    piece.groups = all < most ? all : most;
    FOVEA_NO_UNROLL
    for (piece.first = 0; piece.first < all; piece.first += piece.groups) {
      if (all - piece.first < piece.groups) piece.groups = all - piece.first;
      narrow_piece_codes(args, &piece, usual);
      if (args->rule->round == FOVEA_ROUND_BF16) continue;
      if (has_blank) narrow_blank(args, &piece);
      FOVEA_NO_UNROLL
      for (int64_t row = 0; row < piece.rows; row++) narrow_pack_row(args, &piece, row);
    }
  }
}

/* ---- Signed bytes by the largest magnitude ------------------------------------------------------------------- */

/* Whether codes are rounded products that no limit changes, of q8_0 or with halves to even. */
FOVEA_INLINE int narrow_is_s8(const fovea_narrow_args *args) {
  const fovea_codes *codes = args->codes;
  return args->rule->scale == FOVEA_SCALE_LARGEST && codes->code == FOVEA_CODE_S8 && !args->rule->sums &&
         !codes->mixed && (args->rule->round == FOVEA_ROUND_EVEN ? codes->group % LANES == 0 : codes->group == 32);
}

/* The codes of LANES numbers. */
FOVEA_INLINE void narrow_s8_store(const float *x, vec factor, const fovea_round_rule round, char *to) {
  const vec y = vec_mul(vec_load(x), factor), magic = vec_set1(0x1.8p23f);
  vec sum = vec_add(y, magic);
  if (round == FOVEA_ROUND_AWAY) { /* a half that went to an even number nearer to 0 */
    const vec half = vec_copysign(vec_set1(0.5f), y);
    const vecmask tie = vec_equal(vec_sub(y, vec_sub(sum, magic)), half);
    sum = vec_add(sum, vec_select(tie, vec_add(half, half), vec_set1(0.0f)));
  }
  vec_store_bytes((uint8_t *)to, sum);
}

FOVEA_INLINE void narrow_s8_rows(const fovea_narrow_args *args, const int64_t group, const fovea_round_rule round) {
  const int64_t group_step = args->codes->group_step, groups = args->group_count,
                row_groups = narrow_row_groups(args);
  const float *factors = args->groups->factor;
  const float *from = args->from + args->first_group * group;
  char *to_row = args->to + args->first_group * group_step;
  FOVEA_NO_UNROLL
  for (int64_t row = 0; row < args->row_count; row++) {
    const float *x = from;
    char *to = to_row;
    FOVEA_NO_UNROLL
    for (int64_t g = 0; g < groups; g++, x += group, to += group_step) {
      const vec factor = vec_set1(factors[g]);
      if (round == FOVEA_ROUND_AWAY) { /* groups of 32 */
        FOVEA_UNROLL
        for (int64_t i = 0; i < 32; i += LANES) narrow_s8_store(x + i, factor, round, to + i);
      } else {
        for (int64_t i = 0; i < group; i += LANES) narrow_s8_store(x + i, factor, round, to + i);
      }
    }
    from += args->from_stride, to_row += args->to_step, factors += row_groups;
  }
}

FOVEA_NOINLINE void narrow_s8(const fovea_narrow_args *args) {
  const int64_t group = args->codes->group;
  if (args->rule->round == FOVEA_ROUND_EVEN)
    narrow_s8_rows(args, group, FOVEA_ROUND_EVEN);
  else
    narrow_s8_rows(args, 32, FOVEA_ROUND_AWAY);
}

/* ---- Halves of bytes by rounding down ------------------------------------------------------------------------ */

/* Whether codes are ggml's 4 or 5 bits. */
FOVEA_INLINE int narrow_is_halves(const fovea_narrow_args *args) {
  const fovea_codes *codes = args->codes;
  return args->rule->round == FOVEA_ROUND_DOWN && fovea_code_of(codes->code).lies == FOVEA_CODES_IN_HALVES &&
         codes->group % (2 * LANES) == 0;
}

/* Numbers of usual groups are at least 0 with their offset. */
FOVEA_INLINE vec narrow_code_down(const float *x, vec factor, vec zero, vec offset, vec last) {
  return vec_min(last, narrow_floor(vec_add(vec_mul(vec_sub(vec_load(x), zero), factor), offset)));
}

FOVEA_INLINE vec narrow_lower_four(vec code) {
  return vec_select(vec_less(code, vec_set1(16.0f)), code, vec_sub(code, vec_set1(16.0f)));
}

/* Both codes of a byte in one number. */
FOVEA_MIDDLE FOVEA_NOINLINE void narrow_halves(const fovea_narrow_args *args) {
  const int64_t group = args->codes->group, half = group / 2, row_groups = narrow_row_groups(args);
  const vec offset = vec_set1(args->rule->offset), last = vec_set1(args->rule->last);
  const vec magic = vec_set1(0x1.8p23f), sixteen = vec_set1(16.0f);
  const int has_fifths = fovea_code_of(args->codes->code).front > 0; /* of groups of 32 */
  uint8_t codes[32];
  FOVEA_NO_UNROLL
  for (int64_t row = 0; row < args->row_count; row++) {
    const float *x = args->from + row * args->from_stride + args->first_group * group;
    const float *factors = args->groups->factor + row * row_groups, *zeros = args->groups->zero + row * row_groups;
    uint8_t *to = (uint8_t *)args->to + row * args->to_step + args->first_group * args->codes->group_step;
    FOVEA_NO_UNROLL
    for (int64_t g = 0; g < args->group_count; g++, x += group, to += args->codes->group_step) {
      const vec factor = vec_set1(factors[g]), zero = vec_set1(zeros[g]);
      FOVEA_NO_UNROLL
      for (int64_t i = 0; i < half; i += LANES) {
        vec low = narrow_code_down(x + i, factor, zero, offset, last);
        vec high = narrow_code_down(x + half + i, factor, zero, offset, last);
        if (has_fifths) {
          vec_store_bytes(codes + i, vec_add(low, magic));
          vec_store_bytes(codes + half + i, vec_add(high, magic));
          low = narrow_lower_four(low), high = narrow_lower_four(high);
        }
        vec_store_bytes(to + has_fifths * 4 + i, vec_add(vec_fma(high, sixteen, low), magic));
      }
      if (has_fifths) narrow_pack_fifths(to, codes);
    }
  }
}

/* ---- Rows ---------------------------------------------------------------------------------------------------- */

/* Rows whose groups are handled together: groups of several rows take up whole vectors. */
FOVEA_INLINE int64_t narrow_together(const fovea_narrow_args *args) {
  const int64_t groups = narrow_row_groups(args);
  if (groups == 0) return args->row_count;
  return args->codes->group == 1 && groups % LANES != 0 ? 1 : FOVEA_NARROW_GROUPS / groups;
}

FOVEA_MIDDLE FOVEA_KERNEL void FOVEA_NAME(narrow_codes)(const fovea_narrow_args *args) {
  fovea_narrow_args part = *args;
  const int64_t together = narrow_together(args);
  FOVEA_NO_UNROLL
  for (int64_t row = 0; row < args->row_count; row += together) {
    part.row_count = args->row_count - row < together ? args->row_count - row : together;
    part.from = args->from + row * args->from_stride;
    part.to = args->to + row * args->to_step;
    part.scales = args->scales + row * args->scale_step;
    part.zeros = args->zeros ? args->zeros + row * args->scale_step : NULL;
    part.shift = args->shift + (int)row * args->shift_step;
    if (args->steps & FOVEA_NARROW_BEGIN) narrow_begin(&part);
    if ((args->steps & FOVEA_NARROW_MEASURE) && args->rule->scale != FOVEA_SCALE_FIXED) narrow_measure(&part);
    if (args->steps & FOVEA_NARROW_SETTLE) narrow_settle(&part);
    if (!(args->steps & FOVEA_NARROW_CODE)) continue;
    const int usual = narrow_is_usual(&part);
    if (usual && narrow_is_s8(&part))
      narrow_s8(&part);
    else if (usual && narrow_is_halves(&part))
      narrow_halves(&part);
    else
      narrow_code(&part, usual);
  }
}

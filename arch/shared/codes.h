/* Rows of codes as f32, by the formulas of fovea/format.h. Part of bodies.h. */

#include "../codes.h"
#include "../kernels.h"
#include "codes_common.h"
#include "types.h"

#include <string.h>

/* Codes that are unpacked to bytes at a time. */
enum { CODES_PIECE = 64 };
/* Bytes of a row that are gathered at a time: words of a piece, or a group whose halves share bytes. */
enum { CODES_GATHERED = 4 * CODES_PIECE };

/* Both halves of bytes, one byte each: even dims in the lower halves, or in the upper ones. */
FOVEA_INLINE void codes_unpack_pairs(const uint8_t *from, int count, const int swapped, uint8_t *to) {
  for (int i = 0; i + 2 <= count; i += 2) {
    const uint8_t low = from[i / 2] & 15, high = from[i / 2] >> 4;
    to[i] = swapped ? high : low;
    to[i + 1] = swapped ? low : high;
  }
  if (count % 2 != 0) to[count - 1] = swapped ? from[count / 2] >> 4 : from[count / 2] & 15;
}

/* Dims `first` to first + count - 1 of a group whose first half lies in the lower halves of bytes. */
FOVEA_INLINE void codes_unpack_halves(const uint8_t *from, int64_t half, int64_t first, int count, uint8_t *to) {
  int low = first >= half ? 0 : half - first < count ? (int)(half - first) : count;
  for (int i = 0; i < low; i++) to[i] = from[first + i] & 15;
  for (int i = low; i < count; i++) to[i] = from[first + i - half] >> 4;
}

FOVEA_INLINE uint32_t codes_word(const uint8_t *p) {
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Unpacks the codes of dims `first` to first + count - 1 of a group of `group` dims, a byte each. `first` is a
 * multiple of CODES_PIECE. */
FOVEA_NOINLINE void codes_unpack(const fovea_codes *codes, const uint8_t *from, int64_t first, int count, int shift,
                                 uint8_t *to) {
  switch (codes->code) {
  case FOVEA_CODE_U4:
    codes_unpack_pairs(from + first / 2, count, 0, to);
    break;
  case FOVEA_CODE_U4_SWAPPED:
    codes_unpack_pairs(from + first / 2, count, 1, to);
    break;
  case FOVEA_CODE_U4_HALVES:
    codes_unpack_halves(from, codes->group / 2, first, count, to);
    break;
  case FOVEA_CODE_U5_HALVES:
    codes_unpack_halves(from + 4, codes->group / 2, first, count, to);
    for (int i = 0; i < count; i++) to[i] = (uint8_t)(to[i] | (codes_word(from) >> i & 1) << 4);
    break;
  case FOVEA_CODE_U2:
    for (int i = 0; i < count; i++) to[i] = from[(first + i) / 4] >> i % 4 * 2 & 3;
    break;
  case FOVEA_CODE_U8_KEYS:
    for (int i = 0; i < count; i++) to[i] = from[4 * (first + i) + shift / 8];
    break;
  case FOVEA_CODE_U4_KEYS:
    for (int i = 0; i < count; i++) to[i] = from[4 * (first + i) + shift / 8] >> shift % 8 & 15;
    break;
  case FOVEA_CODE_U2_KEYS:
    for (int i = 0; i < count; i++) to[i] = from[4 * (first + i) + shift / 8] >> shift % 8 & 3;
    break;
  case FOVEA_CODE_BF16:
    memcpy(to, from + 2 * first, (size_t)count * 2);
    break;
  default:
    memcpy(to, from + first, (size_t)count);
  }
  if (codes->table) {
    for (int i = 0; i < count; i++) to[i] = (uint8_t)codes->table[to[i] & 15];
  }
}

/* What the numbers of unpacked codes are. Numbers of a table are signed. */
FOVEA_INLINE int codes_kind(const fovea_codes *codes) {
  return codes->table ? FOVEA_CODES_SIGNED : fovea_code_of(codes->code).numbers;
}

/* Codes from number i on. */
FOVEA_INLINE vec codes_load(const uint8_t *bytes, int i, const int kind) {
  if (kind == FOVEA_CODES_BF16) return vec_load_bf16((const uint16_t *)(const void *)(bytes + 2 * i));
  bytes += i;
  switch (kind) {
  case FOVEA_CODES_E4M3:
    return vec_load_e4m3(bytes);
  case FOVEA_CODES_E5M2:
    return vec_load_e5m2(bytes);
  case FOVEA_CODES_UNSIGNED:
    return vec_load_u8(bytes);
  default:
    return vec_load_s8((const int8_t *)bytes);
  }
}

/* The scale, zero or minimum at p, which may lie anywhere. */
FOVEA_INLINE float codes_number(const char *p, fovea_type type) {
  float number = 0;
  uint16_t halves[LANES] = {0};
  if (type == FOVEA_F32) {
    memcpy(&number, p, sizeof number);
    return number;
  }
  memcpy(halves, p, sizeof halves[0]);
  vec_store_first(&number, type == FOVEA_F16 ? vec_load_f16(halves) : vec_load_bf16(halves), 1);
  return number;
}

/* Numbers of LANES dims: a scale and a zero (or minimum, or centre) each. */
FOVEA_INLINE vec codes_scaled(const fovea_codes *codes, int centred, vec code, vec scale, vec zero) {
  if (codes->formula == FOVEA_FORMULA_ZERO) return vec_mul(vec_sub(code, zero), scale);
  if (codes->formula == FOVEA_FORMULA_MINIMUM) return vec_fma(code, scale, zero);
  code = vec_sub(code, vec_set1(codes->bias)); /* exact */
  return centred ? vec_fma(code, scale, zero) : vec_mul(code, scale);
}

/* A piece of a row, unpacked: its bytes, its scales and zeros, one for all dims or one for each. */
typedef struct codes_piece {
  int64_t first; /* the piece's first dim */
  int count;
  const uint8_t *bytes; /* codes of up to LANES - 1 more dims can be read */
  float scales[CODES_PIECE], zeros[CODES_PIECE];
  int shared; /* 1: only scales[0], and zeros[0] but for centres, are set, for all dims */
  int centred;
} codes_piece;

FOVEA_INLINE void codes_widen_piece(const fovea_codes *codes, const codes_piece *piece, const int kind, float *to) {
  const vec scale = vec_set1(piece->scales[0]), zero = vec_set1(piece->zeros[0]);
  FOVEA_NO_UNROLL
  for (int i = 0; i < piece->count; i += LANES) {
    const vec x = codes_scaled(codes, piece->centred, codes_load(piece->bytes, i, kind),
                               piece->shared ? scale : vec_load(piece->scales + i),
                               piece->shared && !piece->centred ? zero : vec_load(piece->zeros + i));
    if (piece->count - i >= LANES) {
      vec_store(to + i, x);
    } else {
      vec_store_first(to + i, x, piece->count - i);
    }
  }
}

FOVEA_NOINLINE void codes_widen_any(const fovea_codes *codes, const codes_piece *piece, float *to) {
  switch (codes_kind(codes)) {
  case FOVEA_CODES_E4M3:
    codes_widen_piece(codes, piece, FOVEA_CODES_E4M3, to);
    break;
  case FOVEA_CODES_E5M2:
    codes_widen_piece(codes, piece, FOVEA_CODES_E5M2, to);
    break;
  case FOVEA_CODES_UNSIGNED:
    codes_widen_piece(codes, piece, FOVEA_CODES_UNSIGNED, to);
    break;
  case FOVEA_CODES_BF16:
    codes_widen_piece(codes, piece, FOVEA_CODES_BF16, to);
    break;
  default:
    codes_widen_piece(codes, piece, FOVEA_CODES_SIGNED, to);
  }
}

/* Numbers of dims that lie side by side. */
FOVEA_NOINLINE void codes_read_dims(const char *from, fovea_type type, int count, float *numbers) {
  uint16_t halves[CODES_PIECE] = {0};
  if (type == FOVEA_F32) {
    memcpy(numbers, from, (size_t)count * sizeof *numbers);
    return;
  }
  memcpy(halves, from, (size_t)count * sizeof *halves);
  FOVEA_NO_UNROLL
  for (int i = 0; i < count; i += LANES)
    vec_store(numbers + i, type == FOVEA_F16 ? vec_load_f16(halves + i) : vec_load_bf16(halves + i));
}

/* Reads the scales of a row for each dim of a piece. */
FOVEA_INLINE void codes_read_scales(const fovea_widen_codes_args *args, int64_t row, codes_piece *piece) {
  const fovea_codes *codes = args->codes;
  const int64_t step = row * args->rows.scale_step, count = piece->count;
  if (codes->group == 1 && codes->scale_group == fovea_bytes(codes->scale_type, 1)) {
    const int64_t at = step + piece->first * codes->scale_group;
    codes_read_dims(args->rows.scales + at, codes->scale_type, piece->count, piece->scales);
    if (args->rows.zeros) codes_read_dims(args->rows.zeros + at, codes->scale_type, piece->count, piece->zeros);
    return;
  }
  for (int64_t i = 0; i < count; i++) {
    const int64_t at = step + (piece->first + i) / codes->group * codes->scale_group;
    piece->scales[i] = codes_number(args->rows.scales + at, codes->scale_type);
    if (args->rows.zeros) piece->zeros[i] = codes_number(args->rows.zeros + at, codes->scale_type);
  }
}

/* How many dims from `first` on are unpacked together. */
FOVEA_INLINE int codes_together(const fovea_codes *codes, int64_t dim, int64_t first) {
  const int64_t at = codes->mixed ? first : first % codes->group;
  const int64_t piece = CODES_PIECE - at % CODES_PIECE, group = codes->mixed ? dim : codes->group - at;
  const int64_t most = piece < group ? piece : group;
  return (int)(most < dim - first ? most : dim - first);
}

/* Copies `count` items from item `first` on. */
FOVEA_INLINE void codes_gather_items(const fovea_codes *codes, const char *row, int64_t first, int64_t count,
                                     const size_t item, uint8_t *to) {
  FOVEA_NO_UNROLL
  for (int64_t i = first; i < first + count; i++, to += item)
    memcpy(to, row + i / 16 * codes->chunk_step + i % 16 * codes->item_step, item);
}

/* Of pairs of keys sixteen items at a time: their step is known, and so they are vectors' work. */
FOVEA_INLINE void codes_gather_pairs(const fovea_codes *codes, const char *row, int64_t first, int64_t count,
                                     const size_t item, uint8_t *to) {
  FOVEA_NO_UNROLL
  for (int64_t i = first; i < first + count; i += 16, to += 16 * item) {
    const char *from = row + i / 16 * codes->chunk_step;
    for (size_t j = 0; j < 16; j++) memcpy(to + j * item, from + 2 * j * item, item);
  }
}

/* Copies the bytes of a row that a piece may have, if they lie apart. Returns where the piece's group would begin.
 */
FOVEA_NOINLINE const uint8_t *codes_gather(const fovea_codes *codes, const char *row, int64_t group,
                                           int64_t in_group, int count, uint8_t *bytes) {
  const int bits = fovea_code_of(codes->code).row_bits;
  const int halves = fovea_code_of(codes->code).lies == FOVEA_CODES_IN_HALVES;
  const int64_t item = codes->item, first = halves ? 0 : in_group * bits / 8 / item;
  const int64_t end = halves ? codes->group_step : ((in_group + count) * bits + 7) / 8;
  const int64_t items = (end + item - 1) / item - first, from = group * codes->group_step / item + first;
  const int pairs = codes->item_step == 2 * item && from % 16 == 0 && items % 16 == 0;
  if (item == 1) {
    (pairs ? codes_gather_pairs : codes_gather_items)(codes, row, from, items, 1, bytes);
  } else if (item == 2) {
    (pairs ? codes_gather_pairs : codes_gather_items)(codes, row, from, items, 2, bytes);
  } else {
    codes_gather_items(codes, row, from, items, 4, bytes);
  }
  return bytes - first * item;
}

/* The scales and zeros of a group of dims, for up to FOVEA_BLOCK_KEYS rows from `row` on. */
typedef struct codes_rows {
  float scales[FOVEA_BLOCK_KEYS + LANES], zeros[FOVEA_BLOCK_KEYS + LANES];
} codes_rows;

FOVEA_NOINLINE void codes_read_rows(const fovea_widen_codes_args *args, int64_t row, int64_t group,
                                    codes_rows *numbers) {
  const void *pointers[FOVEA_BLOCK_KEYS];
  const int64_t rest = args->row_count - row, step = args->rows.scale_step;
  const int count = rest < FOVEA_BLOCK_KEYS ? (int)rest : FOVEA_BLOCK_KEYS;
  if (count < 1) return;
  for (int i = 0; i < count; i++) pointers[i] = args->rows.scales + (row + i) * step;
  codes_read(pointers, 0, args->codes, step, group, count, numbers->scales);
  if (!args->rows.zeros) return;
  for (int i = 0; i < count; i++) pointers[i] = args->rows.zeros + (row + i) * step;
  codes_read(pointers, 0, args->codes, step, group, count, numbers->zeros);
}

/* Dequantises one piece of all rows: dims from `first` on. */
FOVEA_INLINE void codes_widen_rows(const fovea_widen_codes_args *args, int64_t first, int count) {
  const fovea_codes *codes = args->codes;
  const int64_t group = codes->mixed ? 0 : first / codes->group,
                in_group = codes->mixed ? first : first % codes->group;
  codes_piece piece = {
      .first = first, .count = count, .shared = !codes->mixed, .centred = args->rows.centre != NULL};
  uint8_t bytes[2 * (CODES_PIECE + LANES)] = {0}, gathered[CODES_GATHERED];
  const uint8_t *from = NULL;
  codes_rows numbers;
  if (piece.centred) memcpy(piece.zeros, args->rows.centre + first, (size_t)count * sizeof(float));
  piece.bytes = bytes;
  FOVEA_NO_UNROLL
  for (int64_t row = 0; row < args->row_count; row++) {
    const char *codes_row = args->rows.codes + row * args->rows.code_step;
    if (!codes->item)
      from = (const uint8_t *)codes_row + group * codes->group_step;
    else if (row == 0 || args->rows.code_step != 0) /* rows may share words */
      from = codes_gather(codes, codes_row, group, in_group, count, gathered);
    if (piece.shared) {
      if (row % FOVEA_BLOCK_KEYS == 0) codes_read_rows(args, row, group, &numbers);
      piece.scales[0] = numbers.scales[row % FOVEA_BLOCK_KEYS];
      if (args->rows.zeros) piece.zeros[0] = numbers.zeros[row % FOVEA_BLOCK_KEYS];
    } else if (row == 0 || args->rows.scale_step != 0) {
      codes_read_scales(args, row, &piece);
    }
    codes_unpack(codes, from, in_group, count, args->rows.shift + (int)row * args->rows.shift_step, bytes);
    float *to = args->to + row * args->to_stride;
    codes_widen_any(codes, &piece, to + first);
    if (first + count < args->dim) continue;
    FOVEA_NO_UNROLL
    for (int64_t d = args->dim; d % LANES != 0; d++) to[d] = 0;
  }
}

/* ---- Formats that decoding knows ----------------------------------------------------------------------------- */

/* Up to FOVEA_BLOCK_KEYS rows, whose scales are read for FOVEA_DOT_PIECE dims at a time. */
FOVEA_INLINE void codes_widen_block(const fovea_widen_codes_args *args, int64_t row, int count,
                                    const fovea_code code) {
  const fovea_codes *codes = args->codes;
  const void *scales[FOVEA_BLOCK_KEYS];
  const fovea_coded_keys coded = {
      codes, scales, args->rows.zeros != NULL,
      args->rows.zeros ? (int64_t)((uintptr_t)args->rows.zeros - (uintptr_t)args->rows.scales) : 0,
      args->rows.scale_step};
  const vec table = codes_table(codes, code);
  const int steps = codes_steps(codes, code);
  FOVEA_NO_UNROLL
  for (int i = 0; i < count; i++) scales[i] = args->rows.scales + (row + i) * args->rows.scale_step;
  FOVEA_NO_UNROLL
  for (int64_t dim = 0; dim < args->dim; dim += FOVEA_DOT_PIECE) {
    const int64_t end = args->dim - dim < FOVEA_DOT_PIECE ? args->dim : dim + FOVEA_DOT_PIECE;
    codes_block block;
    codes_read_block(&coded, 0, count, dim, end, &block);
    FOVEA_NO_UNROLL
    for (int64_t first = dim; first < end; first += LANES) {
      const int64_t group = first / codes->group, in_group = first % codes->group;
      const char *from = args->rows.codes + row * args->rows.code_step + group * codes->group_step;
      const int64_t at = (group - block.first) * block.stride;
      const int64_t code_step = args->rows.code_step, to_stride = args->to_stride, half = codes->group / 2;
      float *to = args->to + row * to_stride + first;
      FOVEA_NO_UNROLL
      for (int i = 0; i < count; i++, from += code_step, to += to_stride) {
        const codes_numbers numbers = {vec_set1(block.scales[at + i]),
                                       vec_set1(block.zeroed ? block.zeros[at + i] : codes->bias)};
        vec x;
        if (CODES_LOOKED_UP(code))
          x = vec_look_up(codes_apply(table, &numbers, code, steps),
                          codes_bits_of_dims(from, in_group, half, code));
        else
          x = codes_apply(codes_of_dims(from, in_group, half, code), &numbers, code, steps);
        vec_store(to, x);
      }
    }
  }
}

#define CODES_WIDEN(name, code)                                                                                    \
  FOVEA_NOINLINE void codes_widen_##name(const fovea_widen_codes_args *args, int64_t row, int count) {             \
    codes_widen_block(args, row, count, code);                                                                     \
  }
CODES_DECODED(CODES_WIDEN)

#define CODES_WIDEN_CASE(name, code)                                                                               \
  case code:                                                                                                       \
    codes_widen_##name(args, row, count);                                                                          \
    break;
FOVEA_INLINE void codes_widen_known(const fovea_widen_codes_args *args) {
  FOVEA_NO_UNROLL
  for (int64_t row = 0; row < args->row_count; row += FOVEA_BLOCK_KEYS) {
    const int64_t rest = args->row_count - row;
    const int count = rest < FOVEA_BLOCK_KEYS ? (int)rest : FOVEA_BLOCK_KEYS;
    switch (args->codes->code) {
    default:
      CODES_DECODED(CODES_WIDEN_CASE)
    }
  }
}

FOVEA_MIDDLE FOVEA_KERNEL void FOVEA_NAME(widen_codes)(const fovea_widen_codes_args *args) {
  if (!args->rows.centre && !args->codes->item && fovea_decodes_codes(args->codes, args->dim)) {
    codes_widen_known(args);
    return;
  }
  FOVEA_NO_UNROLL
  for (int64_t first = 0; first < args->dim;) {
    const int count = codes_together(args->codes, args->dim, first);
    codes_widen_rows(args, first, count);
    first += count;
  }
}

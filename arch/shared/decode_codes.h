/* Decoding of quantised formats: codes become numbers in registers. Part of bodies.h; decode.h calls it.
 *
 *   FOVEA_DECODE_CODES      vectors of keys in the register tile, 1 or 2
 *   FOVEA_DECODE_VECTORS_4  0: rows are computed one by one, not four at a time */

#include "codes_common.h"
#include "decode_common.h"

/* Vectors of dims beside one row: codes take registers of their own. */
#define CODES_VECTORS_1 (FOVEA_DECODE_VECTORS_1 < 4 ? FOVEA_DECODE_VECTORS_1 : 4)

/* Dims in sixteen bytes. */
#define CODES_CHUNK(code) (16 * 8 / fovea_code_of(code).row_bits)

/* Words that are taken apart together: words whose codes follow each other. Of halves all four have dims of the
 * first half of a group, and then of the second. */
#define CODES_PASSES(code) (fovea_code_of(code).lies == FOVEA_CODES_IN_HALVES ? 2 : 1)
/* Dims of a word in one pass. */
#define CODES_OF_WORD(code) (32 / fovea_code_of(code).row_bits / CODES_PASSES(code))

/* fp8 becomes f16, whose loads make f32 of it: E4M3 stands for both codes. */
#define CODES_AS_HALVES(code) (fovea_code_of(code).numbers == FOVEA_CODES_E4M3)

/* Code `i` of a word, in that pass. */
FOVEA_INLINE vec codes_of_word(vec word, const int i, const int pass, const fovea_code code, vec table) {
  (void)table;
  if (CODES_LOOKED_UP(code))
    return vec_look_up(table, vec_word_bits(word, code == FOVEA_CODE_U4 ? 4 * i : 8 * i + 4 * pass));
  switch (code) {
  case FOVEA_CODE_U8:
    return vec_word_u8(word, 8 * i);
  case FOVEA_CODE_U4:
    return vec_word_u4(word, 4 * i);
  case FOVEA_CODE_U4_HALVES:
    return vec_word_u4(word, 8 * i + 4 * pass);
  default:
    return vec_word_s8(word, 8 * i);
  }
}

/* What scales are multiplied by, once for all keys, since conversions leave out a power of two. */
FOVEA_INLINE float codes_factor(fovea_code code, int keys) {
  if (code == FOVEA_CODE_E4M3) return 256;
  return code == FOVEA_CODE_S8 && keys ? 0x1p-24f : 1;
}

/* Multiplies scales by that factor, a power of two, if all products are exact: code * scale is then the same
 * product as (code / factor) * (scale * factor), rounded once. */
FOVEA_SHORT FOVEA_NOINLINE void codes_fold(codes_block *block, float factor) {
  const int count = (int)(block->last - block->first + 1) * block->stride;
  const vec there = vec_set1(factor), back = vec_set1(1 / factor);
  block->folded = 1;
  FOVEA_NO_UNROLL
  for (int i = 0; i < count; i += LANES) {
    const vec scale = vec_load(block->scales + i);
    if (vecmask_any(vecmask_not(vec_equal(vec_mul(vec_mul(scale, there), back), scale)))) block->folded = 0;
  }
  if (!block->folded) return;
  FOVEA_NO_UNROLL
  for (int i = 0; i < count; i += LANES) vec_store(block->scales + i, vec_mul(vec_load(block->scales + i), there));
}

FOVEA_SHORT FOVEA_NOINLINE void codes_read_folded(const fovea_coded_keys *coded, int key, int count, int64_t begin,
                                                  int64_t end, int keys, codes_block *block) {
  const float factor = codes_factor(coded->codes->code, keys);
  codes_read_block(coded, key, count, begin, end, block);
  block->folded = 1;
  if (count > 0 && (factor < 1 || factor > 1)) codes_fold(block, factor);
}

/* Numbers of e4m3 / 256 become numbers of e4m3. */
FOVEA_SHORT FOVEA_NOINLINE void codes_unfold(uint16_t *halves, int count) {
  FOVEA_NO_UNROLL
  for (int i = 0; i < count; i += LANES)
    vec_store_f16(halves + i, vec_mul(vec_load_f16(halves + i), vec_set1(256)));
}

#include "decode_code_scores.h"
#include "decode_code_values.h"

/* ---- Functions for each code and number of rows -------------------------------------------------------------- */

typedef void codes_score_function(const fovea_decode_score_args *args, int row);
typedef void codes_value_function(const fovea_decode_value_args *args, int row, int64_t dim,
                                  const codes_block *block, float *sums, decode_value_fetch *fetch);

#define CODES_FUNCTIONS(name, code)                                                                                \
  FOVEA_NOINLINE void codes_score_##name##_4(const fovea_decode_score_args *args, int row) {                       \
    codes_score_rows(args, row, 4, FOVEA_DECODE_CODES, code);                                                      \
  }                                                                                                                \
  FOVEA_NOINLINE void codes_score_##name##_1(const fovea_decode_score_args *args, int row) {                       \
    codes_score_rows(args, row, 1, FOVEA_DECODE_CODES, code);                                                      \
  }                                                                                                                \
  FOVEA_NOINLINE void codes_value_##name##_4(const fovea_decode_value_args *args, int row, int64_t dim,            \
                                             const codes_block *block, float *sums, decode_value_fetch *fetch) {   \
    codes_value_chain(args, row, 4, dim, FOVEA_DECODE_VECTORS_4, code, block, sums, fetch);                        \
  }                                                                                                                \
  FOVEA_NOINLINE void codes_value_##name##_1(const fovea_decode_value_args *args, int row, int64_t dim,            \
                                             const codes_block *block, float *sums, decode_value_fetch *fetch) {   \
    codes_value_chain(args, row, 1, dim, CODES_VECTORS_1, code, block, sums, fetch);                               \
  }                                                                                                                \
  FOVEA_NOINLINE void codes_value_##name##_rest(const fovea_decode_value_args *args, int row, int64_t dim,         \
                                                const codes_block *block, float *sums,                             \
                                                decode_value_fetch *fetch) {                                       \
    codes_value_chain(args, row, 1, dim, 1, code, block, sums, fetch);                                             \
  }

/* For the codes that have functions of their own, and for all codes with the functions that decode them. */
#define CODES_OWN_OWN(...) __VA_ARGS__
#define CODES_OWN_AS_E4M3(...)
#define CODES_OWN_NOT(...)
#define CODES_OWN_ROW(ROW, code, name, bits, row_bits, front, lies, numbers, decoded)                              \
  CODES_OWN_##decoded(ROW(name, code))
FOVEA_CODES(CODES_OWN_ROW, CODES_FUNCTIONS)

#define CODES_BY_OWN(CASE, name, code)     CASE(name, code)
#define CODES_BY_AS_E4M3(CASE, name, code) CASE(e4m3, code)
#define CODES_BY_NOT(CASE, name, code)
#define CODES_BY_ROW(CASE, code, name, bits, row_bits, front, lies, numbers, decoded)                              \
  CODES_BY_##decoded(CASE, name, code)

#define CODES_SCORE_CASE(name, code)                                                                               \
  case code:                                                                                                       \
    return rows == 4 ? codes_score_##name##_4 : codes_score_##name##_1;
FOVEA_INLINE codes_score_function *codes_score_of(fovea_code code, int rows) {
  switch (code) {
  default:
    FOVEA_CODES(CODES_BY_ROW, CODES_SCORE_CASE)
  }
}

/* Rows 0: a single vector of dims. */
#define CODES_VALUE_CASE(name, code)                                                                               \
  case code:                                                                                                       \
    return rows == 4 ? codes_value_##name##_4 : rows == 1 ? codes_value_##name##_1 : codes_value_##name##_rest;
FOVEA_INLINE codes_value_function *codes_value_of(fovea_code code, int rows) {
  switch (code) {
  default:
    FOVEA_CODES(CODES_BY_ROW, CODES_VALUE_CASE)
  }
}

/* How many rows the register tile from `row` on has: 4 or 1. */
FOVEA_INLINE int codes_rows_at(int row, int row_count) {
  return FOVEA_DECODE_VECTORS_4 > 0 && row + 4 <= row_count ? 4 : 1;
}

/* Dims in that register tile. */
FOVEA_INLINE int codes_width(int rows) {
  return (FOVEA_DECODE_VECTORS_4 > 0 && rows == 4 ? FOVEA_DECODE_VECTORS_4 : CODES_VECTORS_1) * LANES;
}

FOVEA_KERNEL void FOVEA_NAME(decode_score_codes)(const fovea_decode_score_args *args) {
  for (int row = 0, rows; row < args->row_count; row += rows) {
    rows = codes_rows_at(row, args->row_count);
    codes_score_of(args->coded.codes->code, rows)(args, row);
  }
}

/* Sums of 2 LANES dims as two vectors, the even dims and the odd ones, or back. */
FOVEA_SHORT FOVEA_NOINLINE void codes_split_sums(float *sums, int count, int back) {
#ifdef FOVEA_VECTOR_LOOKS_UP
  static const uint32_t lanes[4][16] = {{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7},
                                        {8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15},
                                        {0, 2, 4, 6, 8, 10, 12, 14, 0, 2, 4, 6, 8, 10, 12, 14},
                                        {1, 3, 5, 7, 9, 11, 13, 15, 1, 3, 5, 7, 9, 11, 13, 15}};
  static const float upper[16] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1},
                     odd[16] = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1};
  const vecmask second = vec_less(vec_set1(0.0f), vec_load(back ? odd : upper));
  const vec from[2] = {vec_load_word(lanes[back ? 0 : 2]), vec_load_word(lanes[back ? 1 : 3])};
  FOVEA_NO_UNROLL
  for (; count > 0; count -= 2 * LANES, sums += 2 * LANES) {
    const vec a = vec_load(sums), b = vec_load(sums + LANES);
    vec_store(sums, vec_select(second, vec_look_up(b, from[0]), vec_look_up(a, from[0])));
    vec_store(sums + LANES, vec_select(second, vec_look_up(b, from[1]), vec_look_up(a, from[1])));
  }
#else
  (void)sums;
  (void)count;
  (void)back;
#endif
}

/* Some rows and the dims first to last - 1, `width` dims at a time. */
FOVEA_NOINLINE void codes_value_dims(const fovea_decode_value_args *args, int row, int rows, int64_t first,
                                     int64_t last, int width, codes_value_function *chain, codes_block *block,
                                     decode_value_fetch *fetch) {
  const int64_t group = args->coded.codes->group;
  const int split = CODES_EVEN_ODD(args->coded.codes->code, width / LANES);
  FOVEA_NO_UNROLL
  for (int64_t dim = first; dim < last; dim += width) {
    float sums[8 * 8 * LANES];
    if (dim / group < block->first || (dim + width - 1) / group > block->last)
      codes_read_folded(&args->coded, 0, args->key_count, dim,
                        dim + FOVEA_DOT_PIECE < args->dim ? dim + FOVEA_DOT_PIECE : args->dim, 0, block);
    decode_value_begin(args, row, rows, dim, width, sums);
    if (split) codes_split_sums(sums, rows * width, 0);
    chain(args, row, dim, block, sums, fetch);
    if (split) codes_split_sums(sums, rows * width, 1);
    decode_value_end(args, row, rows, dim, width, sums);
  }
}

/* Dims that fill no register tile are computed a vector at a time, row by row. */
FOVEA_KERNEL void FOVEA_NAME(decode_value_codes)(const fovea_decode_value_args *args) {
  const fovea_code code = args->coded.codes->code;
  decode_value_fetch fetch = {decode_prefetch_from(args->prefetch, args->key_count, 0), 0, 0};
  codes_block block;
  block.first = block.last = -1;
  for (int row = 0, rows; row < args->row_count; row += rows) {
    rows = codes_rows_at(row, args->row_count);
    const int64_t width = codes_width(rows);
    fetch.passes += (int)(args->dim / width + args->dim % width / LANES * rows);
  }
  for (int row = 0, rows; row < args->row_count; row += rows) {
    rows = codes_rows_at(row, args->row_count);
    const int width = codes_width(rows);
    const int64_t whole = args->dim - args->dim % width;
    codes_value_dims(args, row, rows, 0, whole, width, codes_value_of(code, rows), &block, &fetch);
    for (int r = 0; r < rows; r++)
      codes_value_dims(args, row + r, 1, whole, args->dim, LANES, codes_value_of(code, 0), &block, &fetch);
  }
}

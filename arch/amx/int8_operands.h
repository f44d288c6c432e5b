/* Operands of int8 for AMX: words of four codes, the first in the lowest byte.
 *
 *   queries  [word of dims][row], whole groups of 64 dims, then scales [row]
 *   keys     [key][word of dims], whole groups of 64 dims, then the scales of the keys
 *   values   [dim][word of keys], then what softmax() needs (shared/int8_softmax.h) */
#ifndef FOVEA_ARCH_AMX_INT8_OPERANDS_H
#define FOVEA_ARCH_AMX_INT8_OPERANDS_H

#include "../shared/int8_operands.h"

#include "../shared/int8_codes.h"

enum { TILE_ITEMS = INT8_CODES * TILE_WORDS };

/* Words of whole groups. */
static int64_t padded_words(int64_t dim) {
  return (dim + TILE_ITEMS - 1) / TILE_ITEMS * TILE_WORDS;
}

FOVEA_KERNEL static fovea_operand_sizes amx_sizes(int64_t qk_dim, int64_t v_dim) {
  enum { MORE_DIMS = 3 * TILE }; /* that may be multiplied after the last tile of dims, whatever lies there */
  const int64_t words = padded_words(qk_dim);
  return (fovea_operand_sizes){(words + 2) * ROW_TILE, (words + 1) * FOVEA_BLOCK_KEYS,
                               INT8_KEY_WORDS * (int8_stride(v_dim) + MORE_DIMS) + 3 * FOVEA_BLOCK_KEYS + 1,
                               int8_code_floats(qk_dim > v_dim ? qk_dim : v_dim)};
}

FOVEA_KERNEL static void amx_load_queries(const fovea_operand_args *args) {
  const int64_t words = int8_words(args->dim), padded = padded_words(args->dim);
  FOVEA_NO_UNROLL
  for (int row = 0; row < ROW_TILE; row += LANES) {
    float *to = args->to + row;
    int8_quantise_lanes((const float *)args->rows + row, args->dim, to);
    const vec scale = vec_load(to + words * ROW_TILE);
    for (int64_t i = words; i < padded; i++) vec_store(to + i * ROW_TILE, vec_set1(0.0f));
    vec_store(to + padded * ROW_TILE, scale);
  }
}

/* Sixteen rows of keys or values: where each begins, or the first one for rows that are not there, and the factors
 * of their codes. */
typedef struct code_rows {
  const void *row[TILE];
  float factors[TILE];
} code_rows;

/* Thirty-two elements of bf16, or sixteen of f32, of which `rest` are there, then 0. */
FOVEA_INLINE __m512i load_bf16(const void *row, int64_t d, int64_t rest) {
  const __mmask32 there = rest >= 32 ? 0xffffffffu : rest > 0 ? (1u << rest) - 1u : 0;
  return _mm512_maskz_loadu_epi16(there, (const uint16_t *)row + d);
}
FOVEA_INLINE vec load_f32(const void *row, int64_t d, int64_t rest) {
  return vec_load_first((const float *)row + d, rest >= LANES ? LANES : rest > 0 ? (int)rest : 0);
}

/* The bits of the largest size of a row's numbers: as integers they are in the order of the sizes, with NaN above
 * Inf. */
FOVEA_INLINE uint32_t largest_bits(const void *row, const int bf16, int64_t dim) {
  const __m512i size = bf16 ? _mm512_set1_epi16(0x7fff) : _mm512_set1_epi32(0x7fffffff);
  __m512i most = _mm512_setzero_si512();
  if (bf16) {
    FOVEA_NO_UNROLL
    for (int64_t d = 0; d < dim; d += 2 * LANES)
      most = _mm512_max_epu16(most, _mm512_and_si512(load_bf16(row, d, dim - d), size));
    const __m256i half = _mm256_max_epu16(_mm512_castsi512_si256(most), _mm512_extracti64x4_epi64(most, 1));
    const __m128i eight = _mm_max_epu16(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    const __m128i least = _mm_minpos_epu16(_mm_xor_si128(eight, _mm_set1_epi16(-1)));
    return ~(uint32_t)_mm_cvtsi128_si32(least) << 16;
  }
  FOVEA_NO_UNROLL
  for (int64_t d = 0; d < dim; d += LANES)
    most = _mm512_max_epu32(most, _mm512_and_si512(_mm512_castps_si512(load_f32(row, d, dim - d)), size));
  const __m256i half = _mm256_max_epu32(_mm512_castsi512_si256(most), _mm512_extracti64x4_epi64(most, 1));
  __m128i four = _mm_max_epu32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
  four = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0x4e));
  four = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0xb1));
  return (uint32_t)_mm_cvtsi128_si32(four);
}

/* Rows from `first` on, and their scales, 0 where there is no row. A row with NaN or Inf may have any codes: its
 * scale is NaN. */
FOVEA_INLINE void measure_rows(const fovea_operand_args *args, const int bf16, int first, code_rows *rows,
                               float *scales) {
  const int64_t row_bytes = args->stride * (bf16 ? 2 : 4);
  uint32_t bits[TILE];
  FOVEA_NO_UNROLL
  for (int i = 0; i < TILE; i++) {
    const int key = first + i, there = key >= args->first && key < args->end;
    rows->row[i] = (const char *)args->rows + (there ? key : args->first) * row_bytes;
    bits[i] = there ? largest_bits(rows->row[i], bf16, args->dim) : 0;
  }
  const vec largest = int8_or_lost(_mm512_castsi512_ps(_mm512_loadu_si512(bits)));
  vec_store(rows->factors, int8_factor(largest));
  vec_store(scales, int8_scale(largest));
}

FOVEA_INLINE __m512i code_of(vec x, float factor) {
  return _mm512_cvtps_epi32(vec_mul(x, vec_set1(factor)));
}

/* Codes of dims d to d + 31: of the even ones, then of the odd ones; f32: of the first sixteen, then of the others.
 */
FOVEA_INLINE void load_codes(const code_rows *rows, const int bf16, int i, int64_t d, int64_t dim, __m512i *first,
                             __m512i *second) {
  vec x[2];
  if (bf16) {
    vec_split_bf16(_mm512_castsi512_ps(load_bf16(rows->row[i], d, dim - d)), &x[0], &x[1]);
  } else {
    x[0] = load_f32(rows->row[i], d, dim - d);
    x[1] = load_f32(rows->row[i], d + LANES, dim - d - LANES);
  }
  *first = code_of(x[0], rows->factors[i]);
  *second = code_of(x[1], rows->factors[i]);
}

/* The codes of four vectors as bytes: four of each vector in each 128 bits. */
FOVEA_INLINE __m512i bytes_of(const __m512i codes[4]) {
  return _mm512_packs_epi16(_mm512_packs_epi32(codes[0], codes[1]), _mm512_packs_epi32(codes[2], codes[3]));
}

/* Dims d to d + 63 of a row as bytes. */
FOVEA_INLINE __m512i key_group(const code_rows *rows, const int bf16, int i, int64_t d, int64_t dim) {
  __m512i codes[4];
  load_codes(rows, bf16, i, d, dim, &codes[0], &codes[1]);
  load_codes(rows, bf16, i, d + 2 * LANES, dim, &codes[2], &codes[3]);
  const __m512i bytes = bytes_of(codes);
  if (!bf16) {
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_epi32(order, bytes);
  }
  const __m128i turns = _mm_setr_epi8(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15);
  const __m512i in_turns = _mm512_shuffle_epi8(bytes, _mm512_broadcast_i32x4(turns));
  return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), in_turns);
}

FOVEA_INLINE void load_keys(const fovea_operand_args *args, const int bf16) {
  const int64_t words = padded_words(args->dim);
  float *scales = args->to + FOVEA_BLOCK_KEYS * words;
  FOVEA_NO_UNROLL
  for (int first = args->first / TILE * TILE; first < args->end; first += TILE) {
    code_rows rows;
    measure_rows(args, bf16, first, &rows, scales + first);
    float *to = args->to + first * words;
    FOVEA_NO_UNROLL
    for (int i = 0; i < TILE; i++) {
      FOVEA_NO_UNROLL
      for (int64_t d = 0; d < args->dim; d += TILE_ITEMS, to += TILE_WORDS)
        _mm512_storeu_si512(to, key_group(&rows, bf16, i, d, args->dim));
    }
  }
}

/* Stores sixteen words of codes of some dims, `step` apart, of which `dims` are wanted. */
FOVEA_NOINLINE void store_value_tile(const __m512i *codes, int64_t step, int64_t dims, float *to) {
  vec words[TILE];
  FOVEA_UNROLL
  for (int i = 0; i < TILE; i++) words[i] = _mm512_castsi512_ps(codes[i]);
  vec_transpose(words);
  FOVEA_UNROLL
  for (int i = 0; i < TILE; i++)
    if (i < dims) vec_store(to + i * step * INT8_KEY_WORDS, words[i]);
}

/* Thirty-two dims of 64 keys, of which `rest` are there. */
FOVEA_INLINE void load_value_tiles(const fovea_operand_args *args, const int bf16, int64_t dim,
                                   const code_rows rows[4], float *to) {
  const int64_t rest = args->dim - dim;
  __m512i words[2][TILE];
  FOVEA_NO_UNROLL
  for (int i = 0; i < TILE; i++) {
    __m512i codes[2][4];
    FOVEA_UNROLL
    for (int j = 0; j < 4; j++)
      load_codes(&rows[i / 4], bf16, i % 4 * 4 + j, dim, args->dim, &codes[0][j], &codes[1][j]);
    words[0][i] = int8_in_words(bytes_of(codes[0]));
    words[1][i] = int8_in_words(bytes_of(codes[1]));
  }
  if (bf16) {
    store_value_tile(words[0], 2, (rest + 1) / 2, to);
    store_value_tile(words[1], 2, rest / 2, to + INT8_KEY_WORDS);
  } else {
    store_value_tile(words[0], 1, rest, to);
    store_value_tile(words[1], 1, rest - TILE, to + TILE * INT8_KEY_WORDS);
  }
}

FOVEA_INLINE void load_values(const fovea_operand_args *args, const int bf16) {
  float *scales = args->to + INT8_KEY_WORDS * int8_stride(args->dim);
  for (int key = 0; key < FOVEA_BLOCK_KEYS; key++) scales[key] = 0;
  FOVEA_NO_UNROLL
  for (int first = args->first / TILE_ITEMS * TILE_ITEMS; first < args->end; first += TILE_ITEMS) {
    code_rows rows[4];
    FOVEA_NO_UNROLL
    for (int i = 0; i < 4; i++) measure_rows(args, bf16, first + i * TILE, &rows[i], scales + first + i * TILE);
    FOVEA_NO_UNROLL
    for (int64_t dim = 0; dim < args->dim; dim += 2 * TILE)
      load_value_tiles(args, bf16, dim, rows, args->to + dim * INT8_KEY_WORDS + first / INT8_CODES);
  }
}

#endif

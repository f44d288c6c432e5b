/* Operands of int8 for AMX: words of four codes, the first in the lowest byte.
 *
 *   queries  [word of dims][row], whole groups of 64 dims, then scales [row]
 *   keys     [key][word of dims], likewise, then the scales of the keys
 *   values   [dim][word of keys], then what softmax() needs (shared/int8_softmax.h) */
#ifndef FOVEA_ARCH_AMX_INT8_OPERANDS_H
#define FOVEA_ARCH_AMX_INT8_OPERANDS_H

#include "../shared/int8_operands.h"

enum { TILE_CODES = INT8_CODES * TILE_WORDS };

/* Words of whole groups. */
static int64_t padded_words(int64_t dim) {
  return (dim + TILE_CODES - 1) / TILE_CODES * TILE_WORDS;
}

FOVEA_KERNEL static fovea_operand_sizes amx_sizes(int64_t qk_dim, int64_t v_dim) {
  enum { MORE_DIMS = 3 * TILE }; /* that may be multiplied behind the last tile of dims, whatever lies there */
  const int64_t words = padded_words(qk_dim);
  return (fovea_operand_sizes){(words + 2) * ROW_TILE, (words + 1) * FOVEA_BLOCK_KEYS,
                               INT8_KEY_WORDS * (int8_stride(v_dim) + MORE_DIMS) + 3 * FOVEA_BLOCK_KEYS + 1};
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

/* Sixteen rows of keys or values: where each begins, or another one for rows that are not there, and the factors
 * of their codes. */
typedef struct code_rows {
  const char *row[TILE];
  float factors[TILE];
} code_rows;

/* Up to LANES elements from dim d on; 0 behind the last. */
FOVEA_INLINE vec load_elements(const fovea_operand_args *args, const char *row, int64_t d) {
  const int64_t rest = args->dim - d;
  const __mmask16 there = rest >= LANES ? 0xffff : rest > 0 ? first_lanes((int)rest) : 0;
  if (!args->bf16) return _mm512_maskz_loadu_ps(there, (const float *)(const void *)row + d);
  const __m256i x = _mm256_maskz_loadu_epi16(there, (const uint16_t *)(const void *)row + d);
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
}

/* The size of a row's largest number; NaN if one is not finite. Bits of sizes are in the order of the sizes. */
FOVEA_INLINE float largest_of_row(const fovea_operand_args *args, const char *row) {
  const __m512i size = _mm512_set1_epi32(0x7fffffff);
  __m512i most[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
  FOVEA_NO_UNROLL
  for (int64_t d = 0; d < args->dim; d += 2 * LANES) {
    FOVEA_UNROLL
    for (int i = 0; i < 2; i++) {
      const vec x = load_elements(args, row, d + i * LANES);
      most[i] = _mm512_max_epu32(most[i], _mm512_and_si512(_mm512_castps_si512(x), size));
    }
  }
  most[0] = _mm512_max_epu32(most[0], most[1]);
  __m256i eight = _mm256_max_epu32(_mm512_castsi512_si256(most[0]), _mm512_extracti64x4_epi64(most[0], 1));
  __m128i four = _mm_max_epu32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  four = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0x4e));
  four = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0xb1));
  const float largest = _mm_cvtss_f32(_mm_castsi128_ps(four));
  return largest < INFINITY ? largest : __builtin_nanf("");
}

/* Rows from `first` on. Stores their scales, 0 where there is no row. A row with NaN or Inf may have any codes: its
 * scale is NaN. */
FOVEA_NOINLINE void measure_rows(const fovea_operand_args *args, int first, code_rows *rows, float *scales) {
  const int64_t row_bytes = args->stride * (args->bf16 ? 2 : 4);
  float largest[TILE];
  FOVEA_NO_UNROLL
  for (int i = 0; i < TILE; i++) {
    const int key = first + i, there = key >= args->first && key < args->end;
    rows->row[i] = (const char *)args->rows + (there ? key : args->first) * row_bytes;
    largest[i] = there ? largest_of_row(args, rows->row[i]) : 0;
  }
  vec_store(rows->factors, int8_factor(vec_load(largest)));
  vec_store(scales, int8_scale(vec_load(largest)));
}

/* Codes of dims d to d + 15, 0 behind the last. */
FOVEA_INLINE __m512i load_codes(const fovea_operand_args *args, const code_rows *rows, int i, int64_t d) {
  return _mm512_cvtps_epi32(vec_mul(load_elements(args, rows->row[i], d), vec_set1(rows->factors[i])));
}

/* The codes of four vectors as bytes: four of each vector in each 128 bits. */
FOVEA_INLINE __m512i bytes_of(const __m512i codes[4]) {
  return _mm512_packs_epi16(_mm512_packs_epi32(codes[0], codes[1]), _mm512_packs_epi32(codes[2], codes[3]));
}

FOVEA_KERNEL static void amx_load_keys(const fovea_operand_args *args) {
  const int64_t words = padded_words(args->dim);
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  float *scales = args->to + FOVEA_BLOCK_KEYS * words;
  FOVEA_NO_UNROLL
  for (int first = args->first / TILE * TILE; first < args->end; first += TILE) {
    code_rows rows;
    measure_rows(args, first, &rows, scales + first);
    float *to = args->to + first * words;
    FOVEA_NO_UNROLL
    for (int i = 0; i < TILE; i++)
      for (int64_t d = 0; d < args->dim; d += TILE_CODES, to += TILE_WORDS) {
        __m512i codes[4];
        FOVEA_UNROLL
        for (int j = 0; j < 4; j++) codes[j] = load_codes(args, &rows, i, d + j * LANES);
        vec_store(to, _mm512_castsi512_ps(_mm512_permutexvar_epi32(order, bytes_of(codes))));
      }
  }
}

/* Sixteen dims of 64 keys. */
FOVEA_NOINLINE void load_value_tile(const fovea_operand_args *args, int64_t dim, const code_rows rows[4],
                                    float *to) {
  const __m512i in_words =
      _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
  vec words[TILE];
  FOVEA_NO_UNROLL
  for (int i = 0; i < TILE; i++) {
    __m512i codes[4];
    FOVEA_UNROLL
    for (int j = 0; j < 4; j++) codes[j] = load_codes(args, &rows[i / 4], i % 4 * 4 + j, dim);
    words[i] = _mm512_castsi512_ps(_mm512_shuffle_epi8(bytes_of(codes), in_words));
  }
  vec_transpose(words);
  FOVEA_UNROLL
  for (int i = 0; i < TILE; i++) vec_store(to + i * INT8_KEY_WORDS, words[i]);
}

FOVEA_KERNEL static int amx_load_values(const fovea_operand_args *args) {
  float *scales = args->to + INT8_KEY_WORDS * int8_stride(args->dim);
  for (int key = 0; key < FOVEA_BLOCK_KEYS; key++) scales[key] = 0;
  FOVEA_NO_UNROLL
  for (int first = args->first / TILE_CODES * TILE_CODES; first < args->end; first += TILE_CODES) {
    code_rows rows[4];
    for (int i = 0; i < 4; i++) measure_rows(args, first + i * TILE, &rows[i], scales + first + i * TILE);
    for (int64_t dim = 0; dim < args->dim; dim += TILE)
      load_value_tile(args, dim, rows, args->to + dim * INT8_KEY_WORDS + first / INT8_CODES);
  }
  return int8_load_scales(scales);
}

#endif

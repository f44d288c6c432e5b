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

/* Codes of dims d to d + 15 of a row, 0 behind the last. For a key that is not there those of the first one. A row
 * with NaN or Inf may have any codes: its scale is NaN. */
FOVEA_INLINE __m512i load_codes(const fovea_operand_args *args, const int bf16, int key, int64_t d, float factor) {
  const int there = key >= args->first && key < args->end;
  const int64_t at = (there ? key : args->first) * args->stride + d, rest = args->dim - d;
  const __mmask16 dims = rest >= LANES ? 0xffff : rest > 0 ? first_lanes((int)rest) : 0;
  vec x;
  if (bf16) {
    const __m256i half = _mm256_maskz_loadu_epi16(dims, (const uint16_t *)args->rows + at);
    x = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
  } else {
    x = _mm512_maskz_loadu_ps(dims, (const float *)args->rows + at);
  }
  return _mm512_cvtps_epi32(vec_mul(x, vec_set1(factor)));
}

/* The codes of four vectors as bytes: four of each vector in each 128 bits. */
FOVEA_INLINE __m512i bytes_of(const __m512i codes[4]) {
  return _mm512_packs_epi16(_mm512_packs_epi32(codes[0], codes[1]), _mm512_packs_epi32(codes[2], codes[3]));
}

FOVEA_INLINE void load_keys(const fovea_operand_args *args, const int bf16) {
  const int64_t words = padded_words(args->dim);
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  float *scales = args->to + FOVEA_BLOCK_KEYS * words, factors[TILE];
  FOVEA_NO_UNROLL
  for (int first = args->first / TILE * TILE; first < args->end; first += TILE) {
    int8_measure(args, bf16, first, scales + first, factors);
    float *to = args->to + first * words;
    FOVEA_NO_UNROLL
    for (int i = 0; i < TILE; i++)
      for (int64_t d = 0; d < args->dim; d += TILE_CODES, to += TILE_WORDS) {
        __m512i codes[4];
        FOVEA_UNROLL
        for (int j = 0; j < 4; j++) codes[j] = load_codes(args, bf16, first + i, d + j * LANES, factors[i]);
        vec_store(to, _mm512_castsi512_ps(_mm512_permutexvar_epi32(order, bytes_of(codes))));
      }
  }
}

FOVEA_KERNEL static void amx_load_keys(const fovea_operand_args *args) {
  if (args->bf16)
    load_keys(args, 1);
  else
    load_keys(args, 0);
}

/* Sixteen dims of 64 keys. */
FOVEA_INLINE void load_value_tile(const fovea_operand_args *args, const int bf16, int64_t dim, int first,
                                  const float *factors, float *to) {
  vec words[TILE];
  FOVEA_NO_UNROLL
  for (int i = 0; i < TILE; i++) {
    __m512i codes[4];
    FOVEA_UNROLL
    for (int j = 0; j < 4; j++) codes[j] = load_codes(args, bf16, first + 4 * i + j, dim, factors[4 * i + j]);
    words[i] = _mm512_castsi512_ps(int8_in_words(bytes_of(codes)));
  }
  vec_transpose(words);
  FOVEA_UNROLL
  for (int i = 0; i < TILE; i++) vec_store(to + i * INT8_KEY_WORDS, words[i]);
}

FOVEA_INLINE void load_values(const fovea_operand_args *args, const int bf16) {
  float *scales = args->to + INT8_KEY_WORDS * int8_stride(args->dim), factors[TILE_CODES];
  for (int key = 0; key < FOVEA_BLOCK_KEYS; key++) scales[key] = 0;
  FOVEA_NO_UNROLL
  for (int first = args->first / TILE_CODES * TILE_CODES; first < args->end; first += TILE_CODES) {
    FOVEA_NO_UNROLL
    for (int i = 0; i < TILE_CODES; i += INT8_TOGETHER)
      int8_measure(args, bf16, first + i, scales + first + i, factors + i);
    FOVEA_NO_UNROLL
    for (int64_t dim = 0; dim < args->dim; dim += TILE)
      load_value_tile(args, bf16, dim, first, factors, args->to + dim * INT8_KEY_WORDS + first / INT8_CODES);
  }
}

FOVEA_KERNEL static int amx_load_values(const fovea_operand_args *args) {
  if (args->bf16)
    load_values(args, 1);
  else
    load_values(args, 0);
  return int8_load_scales(args->to + INT8_KEY_WORDS * int8_stride(args->dim));
}

#endif

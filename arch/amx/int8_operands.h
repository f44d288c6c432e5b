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

/* How a row becomes codes: not at all if one of its numbers is not finite. */
typedef struct row_codes {
  vec factor;
  __mmask16 there;
} row_codes;

FOVEA_INLINE row_codes codes_of(const fovea_operand_args *args, int64_t key, float *scale) {
  const vec largest = int8_largest(args, key);
  *scale = int8_scale_of(largest);
  return (row_codes){int8_factor(largest), (__mmask16)~vec_is_nan(largest)};
}

/* Codes of dims d to d + 15, 0 behind the last. */
FOVEA_INLINE __m512i load_codes(const fovea_operand_args *args, int64_t key, int64_t d, const row_codes *row) {
  if (d >= args->dim || !row->there) return _mm512_setzero_si512();
  return _mm512_maskz_cvtps_epi32(row->there, vec_mul(int8_element(args, key, d), row->factor));
}

/* The codes of four vectors as bytes: four of each vector in each 128 bits. */
FOVEA_INLINE __m512i bytes_of(const __m512i codes[4]) {
  return _mm512_packs_epi16(_mm512_packs_epi32(codes[0], codes[1]), _mm512_packs_epi32(codes[2], codes[3]));
}

FOVEA_KERNEL static void amx_load_keys(const fovea_operand_args *args) {
  const int64_t words = padded_words(args->dim);
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  float *scales = args->to + FOVEA_BLOCK_KEYS * words;
  const int begin = args->first / TILE * TILE, end = (args->end + TILE - 1) / TILE * TILE;
  for (int key = 0; key < FOVEA_BLOCK_KEYS; key++) scales[key] = 0;
  FOVEA_NO_UNROLL
  for (int key = begin; key < end; key++) {
    row_codes row = {vec_set1(0.0f), 0};
    if (key >= args->first && key < args->end) row = codes_of(args, key, &scales[key]);
    float *to = args->to + key * words;
    FOVEA_NO_UNROLL
    for (int64_t d = 0; d < args->dim; d += TILE_CODES, to += TILE_WORDS) {
      __m512i codes[4];
      FOVEA_UNROLL
      for (int i = 0; i < 4; i++) codes[i] = load_codes(args, key, d + i * LANES, &row);
      vec_store(to, _mm512_castsi512_ps(_mm512_permutexvar_epi32(order, bytes_of(codes))));
    }
  }
}

/* Sixteen dims of 64 keys. */
FOVEA_NOINLINE void load_value_tile(const fovea_operand_args *args, int64_t dim, int first, const row_codes *keys,
                                    float *to) {
  const __m512i in_words =
      _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
  vec words[TILE];
  FOVEA_NO_UNROLL
  for (int i = 0; i < TILE; i++) {
    __m512i codes[4];
    FOVEA_UNROLL
    for (int j = 0; j < 4; j++) codes[j] = load_codes(args, first + 4 * i + j, dim, &keys[4 * i + j]);
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
    row_codes keys[TILE_CODES];
    FOVEA_NO_UNROLL
    for (int i = 0; i < TILE_CODES; i++) {
      const int key = first + i;
      keys[i] = (row_codes){vec_set1(0.0f), 0};
      if (key >= args->first && key < args->end) keys[i] = codes_of(args, key, &scales[key]);
    }
    for (int64_t dim = 0; dim < args->dim; dim += TILE)
      load_value_tile(args, dim, first, keys, args->to + dim * INT8_KEY_WORDS + first / INT8_CODES);
  }
  return int8_load_scales(scales);
}

#endif

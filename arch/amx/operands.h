/* Operands of bf16 for AMX: pairs of numbers in words, the first below.
 *
 *   queries  [pair of dims][row], whole groups of 32 dims
 *   keys     [key][pair of dims], whole groups of 32 dims
 *   values   [dim][pair of keys], whole tiles of 16 dims */
#ifndef FOVEA_ARCH_AMX_OPERANDS_H
#define FOVEA_ARCH_AMX_OPERANDS_H

#include "../shared/bf16_number.h"
#include "../shared/tile.h"
#include "tiles.h"

enum { TILE_ITEMS = 2 * TILE_WORDS, KEY_WORDS = FOVEA_BLOCK_KEYS / 2 };

/* Words of whole groups. */
static int64_t padded_words(int64_t dim) {
  return (dim + TILE_ITEMS - 1) / TILE_ITEMS * TILE_WORDS;
}

static fovea_operand_sizes amx_sizes(int64_t qk_dim, int64_t v_dim) {
  enum { MOST_DIMS = 4 * TILE }; /* that are multiplied at once, some of them after the last */
  const int64_t words = padded_words(qk_dim);
  return (fovea_operand_sizes){words * ROW_TILE, words * FOVEA_BLOCK_KEYS,
                               (v_dim + MOST_DIMS - 1) / MOST_DIMS * MOST_DIMS * KEY_WORDS, 0};
}

/* Two numbers of bf16 in a word. */
FOVEA_INLINE vec pair(vec first, vec second) {
  return _mm512_castsi512_ps(
      _mm512_or_si512(_mm512_castps_si512(second), _mm512_srli_epi32(_mm512_castps_si512(first), 16)));
}

FOVEA_KERNEL static void amx_load_queries(const fovea_operand_args *args) {
  const int64_t pairs = padded_words(args->dim);
  FOVEA_NO_UNROLL
  for (int64_t i = 0; i < pairs; i++) {
    const float *rows = (const float *)args->rows + 2 * i * ROW_TILE;
    FOVEA_NO_UNROLL
    for (int row = 0; row < ROW_TILE; row += LANES) {
      const vec first = 2 * i < args->dim ? bf16_number(vec_load(rows + row)) : vec_set1(0.0f);
      const vec second = 2 * i + 1 < args->dim ? bf16_number(vec_load(rows + ROW_TILE + row)) : vec_set1(0.0f);
      vec_store(args->to + i * ROW_TILE + row, pair(first, second));
    }
  }
}

/* The upper halves of 32 words. */
FOVEA_INLINE __m512i upper_halves(vec low, vec high) {
  const __m512i index = _mm512_set_epi16(63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33, 31, 29, 27,
                                         25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
  return _mm512_permutex2var_epi16(_mm512_castps_si512(low), index, _mm512_castps_si512(high));
}

/* Up to 32 elements of a row from dim d on as pairs of numbers; 0 after the last and for keys that are not there.
 */
FOVEA_INLINE __m512i load_pairs(const fovea_operand_args *args, int64_t key, int64_t d) {
  const int64_t rest = key >= args->first && key < args->end ? args->dim - d : 0;
  const int64_t at = (rest > 0 ? key : args->first) * args->stride + d;
  if (args->bf16) {
    const uint16_t *row = (const uint16_t *)args->rows + at;
    const __mmask32 there = rest >= TILE_ITEMS ? 0xffffffffu : rest > 0 ? (1u << rest) - 1u : 0;
    const __m512i x = _mm512_maskz_loadu_epi16(there, row);
    const __m512i size = _mm512_and_si512(x, _mm512_set1_epi16(0x7fff));
    return _mm512_maskz_mov_epi16(_mm512_cmpge_epu16_mask(size, _mm512_set1_epi16((127 - 56) << 7)), x);
  }
  const float *row = (const float *)args->rows + at;
  const vec low = bf16_number(amx_load_some(row, rest));
  return upper_halves(low, rest > LANES ? bf16_number(amx_load_some(row + LANES, rest - LANES)) : vec_set1(0.0f));
}

FOVEA_KERNEL static void amx_load_keys(const fovea_operand_args *args) {
  const int64_t words = padded_words(args->dim);
  const int begin = args->first / TILE * TILE, end = (args->end + TILE - 1) / TILE * TILE;
  FOVEA_NO_UNROLL
  for (int key = begin; key < end; key++) {
    float *to = args->to + key * words;
    FOVEA_NO_UNROLL
    for (int64_t d = 0; d < args->dim; d += TILE_ITEMS, to += TILE_WORDS)
      _mm512_storeu_si512(to, load_pairs(args, key, d));
  }
}

/* 0 where a half is NaN or Inf, whose bits are set in `lost`. */
FOVEA_INLINE __m512i without_lost(__m512i x, __mmask32 *lost) {
  const __m512i infinity = _mm512_set1_epi16(0x7f80);
  const __mmask32 of_x = _mm512_cmpge_epu16_mask(_mm512_and_si512(x, _mm512_set1_epi16(0x7fff)), infinity);
  *lost |= of_x;
  return _mm512_maskz_mov_epi16(~of_x, x);
}

/* Sixteen dims of 32 keys: word i of pairs has dims of keys 2 i and 2 i + 1. */
FOVEA_NOINLINE void store_value_tile(const __m512i *pairs, float *to) {
  vec rows[LANES];
  FOVEA_UNROLL
  for (int i = 0; i < LANES; i++) rows[i] = _mm512_castsi512_ps(pairs[i]);
  vec_transpose(rows);
  FOVEA_UNROLL
  for (int i = 0; i < TILE; i++) vec_store(to + i * KEY_WORDS, rows[i]);
}

/* 32 dims of 32 keys: two tiles, of which the second may have no dims. */
FOVEA_INLINE void load_value_tiles(const fovea_operand_args *args, int64_t dim, int64_t key, float *to,
                                   __mmask32 *lost) {
  const __m512i low = _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39, 7, 38, 6,
                                       37, 5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
  const __m512i high = _mm512_add_epi16(low, _mm512_set1_epi16(16));
  __m512i pairs[2][TILE_WORDS];
  FOVEA_NO_UNROLL
  for (int i = 0; i < TILE_WORDS; i++) {
    const __m512i even = without_lost(load_pairs(args, key + 2 * i, dim), lost);
    const __m512i odd = without_lost(load_pairs(args, key + 2 * i + 1, dim), lost);
    pairs[0][i] = _mm512_permutex2var_epi16(even, low, odd);
    pairs[1][i] = _mm512_permutex2var_epi16(even, high, odd);
  }
  store_value_tile(pairs[0], to);
  if (dim + TILE < args->dim) store_value_tile(pairs[1], to + TILE * KEY_WORDS);
}

FOVEA_KERNEL static int amx_load_values(const fovea_operand_args *args) {
  const int begin = args->first / TILE_ITEMS * TILE_ITEMS;
  __mmask32 lost = 0;
  FOVEA_NO_UNROLL
  for (int64_t dim = 0; dim < args->dim; dim += 2 * TILE)
    for (int key = begin; key < args->end; key += TILE_ITEMS)
      load_value_tiles(args, dim, key, args->to + dim * KEY_WORDS + key / 2, &lost);
  return lost == 0;
}

#endif

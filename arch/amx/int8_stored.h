/* Operands of keys and values of int8 for AMX, from numbers or from rows that are stored as codes. Included after
 * int8_operands.h. */
#ifndef FOVEA_ARCH_AMX_INT8_STORED_H
#define FOVEA_ARCH_AMX_INT8_STORED_H

/* Codes d to d + 63 of a key, of which `rest` are there, then 0. */
FOVEA_INLINE __m512i stored_codes(const fovea_operand_args *args, int64_t key, int64_t d) {
  const int64_t rest = args->dim - d;
  const int8_t *p = args->codes + key * args->code_stride + d;
  return rest >= TILE_ITEMS ? _mm512_loadu_si512(p) : _mm512_maskz_loadu_epi8((UINT64_C(1) << rest) - 1, p);
}

FOVEA_NOINLINE void copy_keys(const fovea_operand_args *args) {
  const int64_t words = padded_words(args->dim);
  float *scales = args->to + FOVEA_BLOCK_KEYS * words;
  for (int key = 0; key < FOVEA_BLOCK_KEYS; key++) scales[key] = 0;
  FOVEA_NO_UNROLL
  for (int key = args->first; key < args->end; key++) {
    float *to = args->to + key * words;
    scales[key] = args->scales[key];
    FOVEA_NO_UNROLL
    for (int64_t d = 0; d < args->dim; d += TILE_ITEMS, to += TILE_WORDS)
      _mm512_storeu_si512(to, stored_codes(args, key, d));
  }
}

/* Four keys as four vectors of words; vector i has dims 4 i to 4 i + 3 of each sixteen. */
FOVEA_INLINE void words_of_keys(const __m512i keys[4], __m512i words[4]) {
  const __m512i low[2] = {_mm512_unpacklo_epi8(keys[0], keys[1]), _mm512_unpacklo_epi8(keys[2], keys[3])};
  const __m512i high[2] = {_mm512_unpackhi_epi8(keys[0], keys[1]), _mm512_unpackhi_epi8(keys[2], keys[3])};
  words[0] = _mm512_unpacklo_epi16(low[0], low[1]);
  words[1] = _mm512_unpackhi_epi16(low[0], low[1]);
  words[2] = _mm512_unpacklo_epi16(high[0], high[1]);
  words[3] = _mm512_unpackhi_epi16(high[0], high[1]);
}

/* Sixty-four dims of 64 keys: a transposition for each of the four vectors of words, whose lane 4 i + j has dim 16
 * i
 * + 4 n + j in vector n. */
FOVEA_NOINLINE void copy_value_tiles(const fovea_operand_args *args, int first, int64_t dim, float *to) {
  __m512i words[4][TILE];
  FOVEA_NO_UNROLL
  for (int i = 0; i < TILE; i++) {
    __m512i keys[4], of_four[4];
    FOVEA_UNROLL
    for (int j = 0; j < 4; j++) {
      const int key = first + 4 * i + j;
      const int there = key >= args->first && key < args->end;
      keys[j] = there ? stored_codes(args, key, dim) : _mm512_setzero_si512();
    }
    words_of_keys(keys, of_four);
    FOVEA_UNROLL
    for (int n = 0; n < 4; n++) words[n][i] = of_four[n];
  }
  FOVEA_NO_UNROLL
  for (int n = 0; n < 4; n++) {
    vec rows[TILE];
    FOVEA_UNROLL
    for (int i = 0; i < TILE; i++) rows[i] = _mm512_castsi512_ps(words[n][i]);
    vec_transpose(rows);
    FOVEA_UNROLL
    for (int i = 0; i < TILE; i++) {
      const int64_t d = i / 4 * 16 + 4 * n + i % 4;
      if (dim + d < args->dim) vec_store(to + d * INT8_KEY_WORDS, rows[i]);
    }
  }
}

FOVEA_NOINLINE void copy_values(const fovea_operand_args *args) {
  float *scales = args->to + INT8_KEY_WORDS * int8_stride(args->dim);
  for (int key = 0; key < FOVEA_BLOCK_KEYS; key++)
    scales[key] = key >= args->first && key < args->end ? args->scales[key] : 0;
  FOVEA_NO_UNROLL
  for (int first = args->first / TILE_ITEMS * TILE_ITEMS; first < args->end; first += TILE_ITEMS) {
    FOVEA_NO_UNROLL
    for (int64_t dim = 0; dim < args->dim; dim += TILE_ITEMS)
      copy_value_tiles(args, first, dim, args->to + dim * INT8_KEY_WORDS + first / INT8_CODES);
  }
}

FOVEA_KERNEL static void amx_load_keys(const fovea_operand_args *args) {
  if (args->codes)
    copy_keys(args);
  else if (args->bf16)
    load_keys(args, 1);
  else
    load_keys(args, 0);
}

FOVEA_KERNEL static int amx_load_values(const fovea_operand_args *args) {
  if (args->codes)
    copy_values(args);
  else if (args->bf16)
    load_values(args, 1);
  else
    load_values(args, 0);
  FOVEA_SHARED(int8_load_scales)(args->to + INT8_KEY_WORDS * int8_stride(args->dim));
  return 1;
}

#endif

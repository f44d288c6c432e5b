/* Decoding of narrow formats: codes become numbers in registers. Keys lie in the lanes, sixteen bytes of each as
 * four vectors of words; values have their dims in the lanes. The chains are those of decode_score.h and
 * decode_value.h. Part of decode.h.
 *
 *   FOVEA_DECODE_CODES      vectors of keys in the register tile, 1 or 2
 *   FOVEA_DECODE_VECTORS_4  0: rows are computed one by one, not four at a time */

#include "codes_common.h"

/* Vectors of dims beside one row: codes take registers of their own. */
#define CODES_VECTORS_1 (FOVEA_DECODE_VECTORS_1 < 4 ? FOVEA_DECODE_VECTORS_1 : 4)

/* Dims in sixteen bytes. */
#define CODES_CHUNK(code) ((code) == FOVEA_CODE_U4 || (code) == FOVEA_CODE_U4_HALVES ? 32 : 16)

/* Words that are taken apart together: those whose codes follow each other. Of halves all four have dims of the
 * first half of a group, and then of the second. */
#define CODES_PASSES(code) ((code) == FOVEA_CODE_U4_HALVES ? 2 : 1)
/* Dims of a word in one pass. */
#define CODES_OF_WORD(code) ((code) == FOVEA_CODE_U4 ? 8 : 4)

/* fp8 becomes f16, whose loads widen it: E4M3 stands for both codes. */
#define CODES_AS_HALVES(code) ((code) == FOVEA_CODE_E4M3)

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

/* Numbers of e4m3 / 256 become those of e4m3. */
FOVEA_SHORT FOVEA_NOINLINE void codes_unfold(uint16_t *halves, int count) {
  FOVEA_NO_UNROLL
  for (int i = 0; i < count; i += LANES)
    vec_store_f16(halves + i, vec_mul(vec_load_f16(halves + i), vec_set1(256)));
}

/* ---- Keys ---------------------------------------------------------------------------------------------------- */

/* Sixteen bytes of LANES keys: words, or sixteen numbers of each key as f16. Vectors that lie in two lines of the
 * cache would be loaded long after they were stored. */
typedef union codes_copies {
  _Alignas(64) float words[4 * LANES];
  _Alignas(64) uint16_t halves[16 * LANES];
} codes_copies;

/* Words of LANES keys from byte `at` of their codes on: where they lie side by side, in panels, or copied. They are
 * *step bytes apart. */
FOVEA_INLINE const char *codes_find_words(const void *const *keys, int64_t at, int panels, codes_copies *copies,
                                          int64_t *step) {
  vec k[4];
  if (panels) {
    *step = 4 * FOVEA_PANEL_ROWS;
    return (const char *)keys[0] + at * FOVEA_PANEL_ROWS;
  }
  *step = 4 * LANES;
  vec_load_words(keys, at, k);
  FOVEA_UNROLL
  for (int i = 0; i < 4; i++) vec_store(copies->words + i * LANES, k[i]);
  return (const char *)copies->words;
}

/* The same as f16, four dims from word to word. */
FOVEA_INLINE const char *codes_find_halves(const void *const *keys, int64_t at, int panels, fovea_code code,
                                           int folded, codes_copies *copies, int64_t *step) {
  vec k[4];
  *step = 4 * LANES * (int64_t)sizeof(uint16_t);
  if (panels) {
    const char *panel = (const char *)keys[0] + at * FOVEA_PANEL_ROWS;
    FOVEA_UNROLL
    for (int i = 0; i < 4; i++) k[i] = vec_load_word(panel + i * 4 * FOVEA_PANEL_ROWS);
  } else {
    vec_load_words(keys, at, k);
  }
  FOVEA_UNROLL
  for (int i = 0; i < 4; i++) {
    if (code == FOVEA_CODE_E5M2)
      vec_word_halves_e5m2(copies->halves + i * 4 * LANES, k[i]);
    else
      vec_word_halves_e4m3(copies->halves + i * 4 * LANES, k[i]);
  }
  if (!folded) codes_unfold(copies->halves, 16 * LANES);
  return (const char *)copies->halves;
}

/* Those of a vector of keys. */
FOVEA_INLINE codes_numbers codes_of_keys(const codes_block *block, int key, int64_t group, float bias) {
  const int64_t at = (group - block->first) * block->stride + key;
  return (codes_numbers){vec_load(block->scales + at),
                         block->zeroed ? vec_load(block->zeros + at) : vec_set1(bias)};
}

/* Multiplies four dims of keys by those of the queries: dims in the order 1, 0, 3, 2. */
FOVEA_INLINE void codes_multiply(const float *queries, int64_t stride, const int rows, const int vectors,
                                 vec x[][4], vec sum[][8]) {
  FOVEA_UNROLL
  for (int r = 0; r < rows; r++) {
    vec4 q = vec4_load(queries + r * stride);
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) sum[v][r] = vec_fma_lane(x[v][1], q, 1, sum[v][r]);
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) sum[v][r] = vec_fma_lane(x[v][0], q, 0, sum[v][r]);
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) sum[v][r] = vec_fma_lane(x[v][3], q, 3, sum[v][r]);
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) sum[v][r] = vec_fma_lane(x[v][2], q, 2, sum[v][r]);
  }
}

/* The same for a chunk, word by word. */
FOVEA_INLINE void codes_multiply_chunk(const float *queries, int64_t stride, const int rows, const int vectors,
                                       const fovea_code code, int steps, vec table, const char *const words[2],
                                       int64_t step, const codes_numbers *numbers, int folded, vec sum[][8]) {
  FOVEA_UNROLL
  for (int pass = 0; pass < 2; pass++) {
    if (pass >= CODES_PASSES(code)) continue;
    FOVEA_NO_UNROLL
    for (int64_t at = 0; at < 4 * step; at += step, queries += CODES_OF_WORD(code)) {
      FOVEA_UNROLL
      for (int first = 0; first < 8; first += 4) {
        vec x[2][4];
        if (first >= CODES_OF_WORD(code)) continue;
        FOVEA_UNROLL
        for (int v = 0; v < vectors; v++) {
          const vec word = vec_load_word(words[v] + at);
          FOVEA_UNROLL
          for (int i = 0; i < 4; i++) {
            if (CODES_AS_HALVES(code))
              x[v][i] = vec_load_f16((const uint16_t *)(const void *)(words[v] + at) + i * LANES);
            else
              x[v][i] = codes_of_word(word, first + i, pass, code, table);
            if (code == FOVEA_CODE_S8 && !folded) x[v][i] = vec_mul(x[v][i], vec_set1(0x1p-24f));
            x[v][i] = codes_apply(x[v][i], &numbers[v], code, steps);
          }
        }
        codes_multiply(queries + first, stride, rows, vectors, x, sum);
      }
    }
  }
}

/* Prefetches a chunk of the next block's panels. */
FOVEA_INLINE void codes_fetch_panel(const void *next, int64_t at) {
  FOVEA_UNROLL
  for (int i = 0; i < 4; i++) __builtin_prefetch((const char *)next + (at + 4 * i) * FOVEA_PANEL_ROWS, 0, 2);
}

/* The chains of one piece of the dims for `vectors` vectors of keys. */
FOVEA_INLINE void codes_chain(const fovea_decode_score_args *args, int row, const int rows, const int *keys,
                              const int vectors, int64_t dim, int64_t end, const fovea_code code,
                              const codes_block *block, int block_key, decode_fetch *fetch, vec sum[][8]) {
  const fovea_codes *codes = args->coded.codes;
  const int steps = codes_steps(codes);
  const vec table = codes_table(codes, code);
  const float *queries = args->queries + row * args->query_stride;
  codes_numbers numbers[2];
  FOVEA_UNROLL
  for (int v = 0; v < vectors; v++) {
    FOVEA_UNROLL
    for (int r = 0; r < rows; r++) sum[v][r] = vec_set1(0.0f);
  }
  FOVEA_NO_UNROLL
  for (int64_t group = dim / codes->group, in_group = dim % codes->group; dim < end;) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) numbers[v] = codes_of_keys(block, keys[v] - block_key, group, codes->bias);
    const int64_t stop = codes->group - in_group < end - dim ? dim + codes->group - in_group : end;
    int64_t at = group * codes->group_step + in_group * 16 / CODES_CHUNK(code);
    FOVEA_NO_UNROLL
    for (; dim < stop; dim += CODES_CHUNK(code), at += 16) {
      if (!args->panels) decode_fetch_rows(fetch, codes->row_bytes);
      codes_copies copies[2];
      const char *words[2];
      int64_t step = 0;
      FOVEA_UNROLL
      for (int v = 0; v < vectors; v++) {
        if (args->panels) codes_fetch_panel(args->prefetch[keys[v]], at);
        if (CODES_AS_HALVES(code))
          words[v] = codes_find_halves(args->keys + keys[v], at, args->panels, codes->code, block->folded,
                                       &copies[v], &step);
        else
          words[v] = codes_find_words(args->keys + keys[v], at, args->panels, &copies[v], &step);
      }
      codes_multiply_chunk(queries + dim, args->query_stride, rows, vectors, code, steps, table, words, step,
                           numbers, block->folded, sum);
    }
    group++;
    in_group = 0;
  }
}

/* Scores of some rows and all keys. */
FOVEA_INLINE void codes_score_rows(const fovea_decode_score_args *args, int row, const int rows, const int vectors,
                                   const fovea_code code) {
  const int once = args->dim <= FOVEA_DOT_PIECE; /* one piece: the numbers of all keys are read at once */
  codes_block block;
  if (once) codes_read_folded(&args->coded, 0, args->key_count, 0, args->dim, 1, &block);
  FOVEA_NO_UNROLL
  for (int key = 0; key < args->key_count; key += vectors * LANES) {
    const int count = vectors > 1 && key + LANES < args->key_count ? 2 : 1; /* vectors of keys that there are */
    const int keys[2] = {key, count == 2 ? key + LANES : key};
    decode_fetch fetch = decode_plan_fetch(args, row, rows, count * LANES, CODES_CHUNK(code));
    decode_fetch_from(&fetch, args, key);
    FOVEA_NO_UNROLL
    for (int64_t dim = 0, end; dim < args->dim; dim = end) {
      vec sum[2][8];
      end = args->dim - dim < FOVEA_DOT_PIECE ? args->dim : dim + FOVEA_DOT_PIECE;
      if (!once) codes_read_folded(&args->coded, key, count * LANES, dim, end, 1, &block);
      codes_chain(args, row, rows, keys, vectors, dim, end, code, &block, once ? 0 : key, &fetch, sum);
      float numbers[2][4 * LANES];
      FOVEA_UNROLL
      for (int v = 0; v < vectors; v++) {
        FOVEA_UNROLL
        for (int r = 0; r < rows; r++) vec_store(numbers[v] + r * LANES, sum[v][r]);
      }
      FOVEA_NO_UNROLL
      for (int v = 0; v < count; v++)
        decode_keep_numbers(args, row, rows, keys[v], LANES, dim == 0, end == args->dim, numbers[v]);
    }
  }
}

/* ---- Values -------------------------------------------------------------------------------------------------- */

/* Numbers of values as f16: some keys, and vectors of dims from the bytes at[vector] on. */
enum { CODES_KEYS_OF_HALVES = 16, CODES_MOST_VECTORS = 4 };
_Static_assert(FOVEA_DECODE_VECTORS_4 <= CODES_MOST_VECTORS, "values have room as f16");

FOVEA_SHORT FOVEA_NOINLINE void codes_values_as_halves(const void *const *values, int count, const int64_t *at,
                                                       int vectors, fovea_code code, int folded, uint16_t *halves) {
  uint16_t *to = halves;
  FOVEA_NO_UNROLL
  for (int key = 0; key < count; key++) {
    FOVEA_NO_UNROLL
    for (int v = 0; v < vectors; v += 2, to += 2 * LANES) {
      const uint8_t *from = (const uint8_t *)values[key] + at[v];
      uint8_t bytes[2 * LANES] = {0};
      if (v + 1 >= vectors || at[v + 1] != at[v] + LANES) { /* two groups of dims, or only one vector */
        memcpy(bytes, from, LANES);
        if (v + 1 < vectors) memcpy(bytes + LANES, (const uint8_t *)values[key] + at[v + 1], LANES);
        from = bytes;
      }
      if (code == FOVEA_CODE_E5M2)
        vec_halves_e5m2(to, from);
      else
        vec_halves_e4m3(to, from);
    }
  }
  if (!folded) codes_unfold(halves, (int)(to - halves));
}

/* The chains of some rows for the dims from `dim` on, `vectors` vectors. */
FOVEA_INLINE void codes_value_chain(const fovea_decode_value_args *args, int row, const int rows, int64_t dim,
                                    const int vectors, const fovea_code code, const codes_block *block, float *sums,
                                    decode_value_fetch *kept) {
  const fovea_codes *codes = args->coded.codes;
  const int steps = codes_steps(codes);
  const vec table = codes_table(codes, code);
  const float *weights = args->weights + row * FOVEA_BLOCK_KEYS;
  decode_value_fetch fetch = *kept;
  int64_t at[8], first[8], byte_at[8], scale_at[8];
  vec sum[8][8];
  FOVEA_UNROLL
  for (int v = 0; v < vectors; v++) {
    const int64_t group = (dim + v * LANES) / codes->group;
    at[v] = group * codes->group_step;
    first[v] = (dim + v * LANES) % codes->group;
    byte_at[v] = at[v] + first[v]; /* of codes that have a byte each */
    scale_at[v] = (group - block->first) * block->stride;
  }
  FOVEA_UNROLL
  for (int r = 0; r < rows; r++) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) sum[r][v] = vec_load(sums + (r * vectors + v) * LANES);
  }
  _Alignas(64) uint16_t halves[CODES_AS_HALVES(code) ? CODES_KEYS_OF_HALVES * CODES_MOST_VECTORS * LANES : 1];
  FOVEA_NO_UNROLL
  for (int key = 0; key < args->key_count; key++) {
    vec value[8];
    const char *row_codes = args->values[key];
    const uint16_t *numbers_16 = halves + key % CODES_KEYS_OF_HALVES * ((vectors + 1) / 2 * 2) * LANES;
    if (CODES_AS_HALVES(code) && key % CODES_KEYS_OF_HALVES == 0) {
      const int rest = args->key_count - key, count = rest < CODES_KEYS_OF_HALVES ? rest : CODES_KEYS_OF_HALVES;
      codes_values_as_halves(args->values + key, count, byte_at, vectors, codes->code, block->folded, halves);
    }
    decode_fetch_values(&fetch, codes->row_bytes);
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) {
      const codes_numbers numbers = {vec_set1(block->scales[scale_at[v] + key]),
                                     vec_set1(block->zeroed ? block->zeros[scale_at[v] + key] : codes->bias)};
      if (CODES_IN_PAIRS(code, vectors) && v % 2 == 1) continue;
      if (CODES_AS_HALVES(code)) {
        value[v] = vec_mul(vec_load_f16(numbers_16 + v * LANES), numbers.scale);
      } else if (CODES_IN_PAIRS(code, vectors)) {
        const vec looked_up = codes_apply(table, &numbers, code, steps);
        const uint8_t *bytes = (const uint8_t *)row_codes + at[v] + (code == FOVEA_CODE_U4 ? first[v] / 2 : 0);
        value[v] = vec_look_up(looked_up, vec_load_bits_of_u8(bytes, 0));
        value[v + 1] = vec_look_up(looked_up, vec_load_bits_of_u8(bytes, 4));
      } else if (CODES_LOOKED_UP(code)) /* the formula is applied to the table */
        value[v] = vec_look_up(codes_apply(table, &numbers, code, steps),
                               codes_bits_of_dims(row_codes + at[v], first[v], codes->group / 2, code));
      else
        value[v] =
            codes_apply(codes_of_dims(row_codes + at[v], first[v], codes->group / 2, code), &numbers, code, steps);
    }
    FOVEA_UNROLL
    for (int r = 0; r < rows; r++) {
      vec weight = vec_set1(weights[r * FOVEA_BLOCK_KEYS + key]);
      FOVEA_UNROLL
      for (int v = 0; v < vectors; v++) sum[r][v] = vec_fma(weight, value[v], sum[r][v]);
    }
  }
  FOVEA_UNROLL
  for (int r = 0; r < rows; r++) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) vec_store(sums + (r * vectors + v) * LANES, sum[r][v]);
  }
  *kept = fetch;
}

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

#define CODES_BODIES(ROW)                                                                                          \
  ROW(s8, FOVEA_CODE_S8)                                                                                           \
  ROW(fp8, FOVEA_CODE_E4M3)                                                                                        \
  ROW(u8, FOVEA_CODE_U8)                                                                                           \
  ROW(u4, FOVEA_CODE_U4)                                                                                           \
  ROW(halves, FOVEA_CODE_U4_HALVES)
CODES_BODIES(CODES_FUNCTIONS)

#define CODES_SCORE_CASE(name, code)                                                                               \
  case code:                                                                                                       \
    return rows == 4 ? codes_score_##name##_4 : codes_score_##name##_1;
FOVEA_INLINE codes_score_function *codes_score_of(fovea_code code, int rows) {
  switch (code == FOVEA_CODE_E5M2 ? FOVEA_CODE_E4M3 : code) {
  default:
    CODES_BODIES(CODES_SCORE_CASE)
  }
}

/* Rows 0: a single vector of dims. */
#define CODES_VALUE_CASE(name, code)                                                                               \
  case code:                                                                                                       \
    return rows == 4 ? codes_value_##name##_4 : rows == 1 ? codes_value_##name##_1 : codes_value_##name##_rest;
FOVEA_INLINE codes_value_function *codes_value_of(fovea_code code, int rows) {
  switch (code == FOVEA_CODE_E5M2 ? FOVEA_CODE_E4M3 : code) {
  default:
    CODES_BODIES(CODES_VALUE_CASE)
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

FOVEA_NOINLINE void decode_score_codes(const fovea_decode_score_args *args) {
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
FOVEA_NOINLINE void decode_value_codes(const fovea_decode_value_args *args) {
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

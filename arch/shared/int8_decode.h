/* Decoding in the mode int8 (docs/numerics.md, section 16): keys lie in the lanes of scores, dims in the lanes of
 * values. Rows of K and V are codes, read where they lie, LANES words at a time. Beside int8_products.h a layer
 * gives
 *
 *   INT8_DECODE_ROWS        rows of a register tile beside two vectors of keys
 *   INT8_DECODE_VALUE_ROWS  rows of a register tile beside INT8_CODES vectors of dims
 *   int8_load_row(codes)    LANES words of a row, of INT8_CODES codes each
 *   int8_panel_words(p, x)  of four codes of LANES keys, side by side at p: 4 / INT8_CODES words of each key
 *   int8_offset(words)      128 added to each code; only if there is an offset
 *   int8_words_of_dims(x)   INT8_CODES rows of values become words of a dim each, in any order of vectors and lanes
 *   int8_sums_in_order(sum) the same order undone, of sums
 *
 * and, if int8_store() lays out several rows together,
 *
 *   INT8_STORES_ALONE
 *   int8_store_alone(p, d, codes)  the same for one row, whose words lie side by side
 *
 * Part of int8.h. */
#ifndef FOVEA_ARCH_SHARED_INT8_DECODE_H
#define FOVEA_ARCH_SHARED_INT8_DECODE_H

#include "../args/decode.h"

#include <fovea/cache.h>

enum {
  INT8_PIECE = INT8_CODES * LANES, /* codes that a vector holds */
  INT8_DECODE_WORDS = 32,          /* of a row, transposed at a time: they stay in L1 */
  INT8_DECODED_ROWS = 8            /* tiles of up to this many rows are decoded */
};

#ifndef INT8_STORES_ALONE
FOVEA_INLINE void int8_store_alone(float *p, int64_t d, vec codes) {
  int8_store(p, d, codes);
}
#endif

/* Words of a row from dim d on, after the last dim 0. */
FOVEA_INLINE vec int8_row_words(const void *row, int64_t d, int64_t dim) {
  const int8_t *codes = (const int8_t *)row + d;
  int8_t some[INT8_PIECE] = {0};
  if (dim - d >= INT8_PIECE) return int8_load_row(codes);
  return int8_load_row(memcpy(some, codes, (size_t)(dim - d)));
}

/* Prefetches rows of the next block. Inline, and called by name: gcc takes a function that only prefetches for one
 * without effects, and drops its calls. */
FOVEA_INLINE void int8_decode_fetch(const void *const *rows, int count, int64_t dim) {
  FOVEA_NO_UNROLL
  for (int i = 0; i < count; i++)
    for (int64_t d = 0; d < dim; d += 64) __builtin_prefetch((const char *)rows[i] + d, 0, 2);
}

/* The same of panels, from key `first` on: LANES keys fetch their share of the panel's lines. */
FOVEA_INLINE void int8_decode_fetch_panels(const void *const *keys, int first, int count, int64_t dim) {
  enum { LINE = 64, SHARES = FOVEA_PANEL_ROWS / LANES };
  FOVEA_NO_UNROLL
  for (int i = first; i < first + count; i += LANES)
    for (int64_t byte = i / LANES % SHARES * LINE; byte < dim * FOVEA_PANEL_ROWS; byte += SHARES * LINE)
      __builtin_prefetch((const char *)keys[i] + byte, 0, 2);
}

/* ---- Queries ------------------------------------------------------------------------------------------------- */

/* Words of whole vectors, with 0 after the last dim. They may lie in the place of the numbers. */
FOVEA_NOINLINE void int8_decode_query(const fovea_operand_args *args, float *words, float *scale, float *start) {
  const vec shift = vec_set1(INT8_SHIFT);
  float scales[INT8_TOGETHER], factors[INT8_TOGETHER], lanes[LANES];
  vec total = vec_set1(0.0f);
  FOVEA_SHARED(int8_measure)(args, 0, scales, factors);
  FOVEA_NO_UNROLL
  for (int64_t d = 0; d < (args->dim + INT8_PIECE - 1) / INT8_PIECE * INT8_PIECE; d += LANES) {
    vec code = shift;
    if (d < args->dim && scales[0] == scales[0])
      code = int8_code(operand_elements(0, args, 0, d), vec_set1(factors[0]), shift);
    total = vec_add(total, vec_sub(code, shift));
    int8_store_alone(words, d, code);
  }
  vec_store(lanes, total);
  *scale = scales[0];
  *start = 0;
  for (int i = 0; i < LANES; i++) *start -= INT8_KEYS_OFFSET * lanes[i];
}

FOVEA_KERNEL static void int8_decode_queries(const fovea_query_codes_args *args) {
  FOVEA_NO_UNROLL
  for (int row = 0; row < args->row_count; row++) {
    const fovea_operand_args one = {.rows = args->rows + row * args->stride, .dim = args->dim, .end = 1};
    int8_decode_query(&one, args->codes + row * args->stride, args->scales + row, args->starts + row);
  }
}

/* ---- Scores -------------------------------------------------------------------------------------------------- */

/* Up to INT8_DECODE_WORDS words of keys from dim d on, words[word][vectors][lane], of LANES keys. */
FOVEA_INLINE void int8_decode_transpose(const void *const *keys, int64_t d, int64_t dim, const int vectors,
                                        float *words) {
  const int64_t end = dim - d < INT8_DECODE_WORDS * INT8_CODES ? dim : d + INT8_DECODE_WORDS * INT8_CODES;
  FOVEA_NO_UNROLL
  for (; d < end; d += INT8_PIECE, words += LANES * vectors * LANES) {
    vec x[LANES];
    if (dim - d >= INT8_PIECE) {
      FOVEA_UNROLL
      for (int i = 0; i < LANES; i++) x[i] = int8_load_row((const int8_t *)keys[i] + d);
    } else {
      FOVEA_NO_UNROLL
      for (int i = 0; i < LANES; i++) x[i] = int8_row_words(keys[i], d, dim);
    }
#if LANES > 1
    vec_transpose(x);
#endif
    FOVEA_UNROLL
    for (int i = 0; i < LANES; i++) {
#if INT8_KEYS_OFFSET
      x[i] = int8_offset(x[i]);
#endif
      vec_store(words + i * vectors * LANES, x[i]);
    }
  }
}

/* The same for LANES keys of a panel, whose first words lie at `keys`: words of four codes lie side by side
 * already. */
FOVEA_INLINE void int8_decode_panel(const void *keys, int64_t d, int64_t dim, const int vectors, float *words) {
  enum { WORDS = 4 / INT8_CODES, STEP = 4 * FOVEA_PANEL_ROWS };
  const int64_t end = dim - d < INT8_DECODE_WORDS * INT8_CODES ? dim : d + INT8_DECODE_WORDS * INT8_CODES;
  const char *panel = (const char *)keys + d / 4 * STEP;
  FOVEA_NO_UNROLL
  for (; d < end; d += 4, panel += STEP) {
    vec x[WORDS];
    int8_panel_words(panel, x);
    FOVEA_UNROLL
    for (int i = 0; i < WORDS; i++, words += vectors * LANES) {
#if INT8_KEYS_OFFSET
      x[i] = int8_offset(x[i]);
#endif
      vec_store(words, x[i]);
    }
  }
}

/* Adds products of `count` words of a few rows and of keys. */
FOVEA_INLINE void int8_decode_multiply(const int rows, const int vectors, const float *words, const float *queries,
                                       int64_t stride, int64_t count, int8_sum (*sums)[2]) {
  int8_sum sum[INT8_DECODED_ROWS][2];
  FOVEA_UNROLL
  for (int r = 0; r < rows; r++) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) sum[r][v] = sums[r][v];
  }
  do {
    vec y[2];
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) y[v] = vec_load(words + v * LANES);
    FOVEA_UNROLL
    for (int r = 0; r < rows; r++) {
      const vec x = vec_set1(queries[r * stride]);
      FOVEA_UNROLL
      for (int v = 0; v < vectors; v++) sum[r][v] = int8_add_keys(x, y[v], sum[r][v]);
    }
    words += vectors * LANES;
    queries++;
  } while (--count > 0);
  FOVEA_UNROLL
  for (int r = 0; r < rows; r++) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) sums[r][v] = sum[r][v];
  }
}

#define INT8_DECODE_TILE(name, rows, vectors)                                                                      \
  FOVEA_NOINLINE void sums_decode_##name(const float *words, const float *queries, int64_t stride, int64_t count,  \
                                         int8_sum(*sums)[2]) {                                                     \
    int8_decode_multiply(rows, vectors, words, queries, stride, count, sums);                                      \
  }
INT8_DECODE_TILE(rows_two, INT8_DECODE_ROWS, 2)
INT8_DECODE_TILE(row_two, 1, 2)
INT8_DECODE_TILE(rows_one, INT8_DECODE_ROWS, 1)
INT8_DECODE_TILE(row_one, 1, 1)

/* Scores of one or two vectors of keys. */
FOVEA_INLINE void int8_decode_keys(const fovea_decode_score_args *args, const int vectors, int key) {
  enum { CODES = INT8_DECODE_WORDS * INT8_CODES };
  float words[INT8_DECODE_WORDS * 2 * LANES];
  int8_sum sums[INT8_DECODED_ROWS][2];
  for (int row = 0; row < args->row_count; row++)
    sums[row][0] = sums[row][1] = int8_start(vec_set1(args->query_starts[row]));
  FOVEA_NO_UNROLL
  for (int64_t d = 0; d < args->dim; d += CODES) {
    const int64_t count = int8_words(args->dim - d < CODES ? args->dim - d : CODES);
    for (int v = 0; v < vectors; v++) {
      const void *const *keys = args->keys + key + v * LANES;
      if (args->panels)
        int8_decode_panel(keys[0], d, args->dim, vectors, words + v * LANES);
      else
        int8_decode_transpose(keys, d, args->dim, vectors, words + v * LANES);
    }
    FOVEA_NO_UNROLL
    for (int row = 0; row < args->row_count;) {
      const float *query = args->queries + row * args->query_stride + d / INT8_CODES;
      const int many = row + INT8_DECODE_ROWS <= args->row_count;
      (vectors == 2 ? many ? sums_decode_rows_two : sums_decode_row_two
       : many       ? sums_decode_rows_one
                    : sums_decode_row_one)(words, query, args->query_stride, count, sums + row);
      row += many ? INT8_DECODE_ROWS : 1;
    }
  }
  FOVEA_NO_UNROLL
  for (int row = 0; row < args->row_count; row++) {
    const vec wanted = vec_set1(args->row_scales ? args->row_scales[row] : args->c);
    const vec c = vec_mul(vec_set1(args->query_scales[row]), wanted);
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) {
      const vec scales = vec_load(args->key_scales + key + v * LANES);
      vec_store(args->scores + row * FOVEA_BLOCK_KEYS + key + v * LANES,
                vec_mul(vec_mul(int8_number(sums[row][v]), scales), c));
    }
  }
}

FOVEA_NOINLINE void int8_decode_two(const fovea_decode_score_args *args, int key) {
  int8_decode_keys(args, 2, key);
}
FOVEA_NOINLINE void int8_decode_one(const fovea_decode_score_args *args, int key) {
  int8_decode_keys(args, 1, key);
}

/* All keys, by functions for LANES keys from `key` on, and for twice as many. */
typedef void int8_decode_some(const fovea_decode_score_args *args, int key);
FOVEA_SHARED_FUNCTION(void, int8_decode_each, const fovea_decode_score_args *args, int8_decode_some *one,
                      int8_decode_some *two) {
  FOVEA_NO_UNROLL
  for (int key = 0; key < args->key_count;) {
    const int keys = key + 2 * LANES <= args->key_count ? 2 * LANES : LANES;
    if (args->prefetch != args->keys) {
      if (args->panels)
        int8_decode_fetch_panels(args->prefetch, key, keys, args->dim);
      else
        int8_decode_fetch(args->prefetch + key, keys, args->dim);
    }
    (keys == LANES ? one : two)(args, key);
    key += keys;
  }
}

FOVEA_KERNEL static void int8_decode_score(const fovea_decode_score_args *args) {
  FOVEA_SHARED(int8_decode_each)(args, int8_decode_one, int8_decode_two);
}

/* ---- Weights ------------------------------------------------------------------------------------------------- */

/* Scores of keys whose values are not finite become NaN where the key is visible. */
FOVEA_NOINLINE void int8_decode_lose(float *scores, const float *marks, int begin, int end) {
  const vec none = vec_set1(-INFINITY), nan = vec_set1(__builtin_nanf("")), zero = vec_set1(0.0f);
  for (int key = begin; key < end; key += LANES) {
    const vec s = vec_load(scores + key);
    const vecmask lost = vecmask_and(vec_less(zero, vec_load(marks + key)), vecmask_not(vec_equal(s, none)));
    vec_store(scores + key, vec_select(lost, nan, s));
  }
}

FOVEA_INLINE float int8_decode_maximum(const float *scores, const float *logs, int begin, int end) {
  float lanes[LANES];
  vec most = vec_set1(-INFINITY);
  FOVEA_NO_UNROLL
  for (int key = begin; key < end; key += LANES)
    most = vec_max(vec_add(vec_load(scores + key), vec_load(logs + key)), most);
  vec_store(lanes, most);
  for (int half = LANES / 2; half > 0; half /= 2)
    for (int i = 0; i < half; i++) lanes[i] = lanes[i] > lanes[i + half] ? lanes[i] : lanes[i + half];
  return lanes[0] + 0.0f; /* -0 becomes +0 */
}

/* Makes the scores of a row ready for weights. Returns its maximum. */
FOVEA_SHARED_FUNCTION(float, int8_decode_settle, float *scores, const float *logs, int begin, int end) {
  const float *marks = logs + 2 * FOVEA_BLOCK_KEYS;
  if (marks[FOVEA_BLOCK_KEYS] != 0.0f) int8_decode_lose(scores, marks, begin, end);
  return int8_decode_maximum(scores, logs, begin, end) - INT8_A;
}

/* Weights of the keys that one vector of sums has, as words, the first key's at `words`. */
FOVEA_INLINE vec int8_decode_chain(const float *scores, const float *logs, int begin, int key, int end,
                                   vec reference, float *words) {
  const float *parts = logs + FOVEA_BLOCK_KEYS;
  vec sum = vec_set1(0.0f);
  FOVEA_NO_UNROLL
  for (; key < end; key += FOVEA_WEIGHT_SUMS) {
    const vec s = vec_add(vec_load(scores + key), vec_load(logs + key));
    const vec e = mode_exp2(vec_sub(s, reference), -126.0f);
    sum = vec_fma(e, vec_load(parts + key), sum);
    int8_store_alone(words, key - begin, vec_add(vec_min(e, vec_set1(255.0f)), vec_set1(INT8_SHIFT)));
  }
  return sum;
}

/* Replaces the scores of a row by weights, as words from scores[0] on. Returns the sum of the unrounded ones. */
FOVEA_NOINLINE float int8_decode_weights(float *scores, const float *logs, int begin, int end, float maximum) {
  enum { VECTORS = FOVEA_WEIGHT_SUMS / LANES };
  const vec reference = state_reference(vec_set1(maximum));
  float words[FOVEA_BLOCK_KEYS + 16], sums[FOVEA_WEIGHT_SUMS];
  FOVEA_NO_UNROLL
  for (int i = 0; i < VECTORS; i++) {
    const int key = begin + i * LANES, lane = key % FOVEA_WEIGHT_SUMS;
    vec_store(sums + lane, int8_decode_chain(scores, logs, begin, key, end, reference, words));
  }
  memcpy(scores, words, (size_t)(end - begin) / INT8_CODES * sizeof *words);
  for (int half = FOVEA_WEIGHT_SUMS / 2; half > 0; half /= 2)
    for (int i = 0; i < half; i++) sums[i] += sums[i + half];
  return sums[0];
}

#if INT8_VALUES_OFFSET
/* What the offset of values adds to sums, negative, after a row's words. */
FOVEA_NOINLINE void int8_decode_start(float *words, int count) {
  const uint8_t *weights = (const uint8_t *)(const void *)words;
  int total = 0;
  for (int i = 0; i < count * INT8_CODES; i++) total += weights[i];
  words[count] = (float)(-INT8_VALUES_OFFSET * total);
}
#endif

FOVEA_KERNEL static int int8_decode_softmax(const fovea_decode_softmax_args *args) {
  const float *logs = args->value_scales;
  const int begin = args->key_begin, end = args->key_end;
  int none = 0;
  FOVEA_NO_UNROLL
  for (int row = 0; row < args->row_count; row++) {
    float *scores = args->scores + row * FOVEA_BLOCK_KEYS;
    args->block_max[row] = FOVEA_SHARED(int8_decode_settle)(scores, logs, begin, end);
    args->block_sum[row] = int8_decode_weights(scores, logs, begin, end, args->block_max[row]);
#if INT8_VALUES_OFFSET
    int8_decode_start(scores, (end - begin) / INT8_CODES);
#endif
    none |= args->block_max[row] == -INFINITY;
  }
  const state_running running = {args->row_max, args->row_sum, args->old_part, args->new_part};
  const fovea_vector_range vectors = {0, (args->row_count + LANES - 1) / LANES};
  FOVEA_SHARED(advance)(&running, args->first, args->block_max, args->block_sum, vectors);
  return none;
}

/* ---- Values -------------------------------------------------------------------------------------------------- */

/* Merges the sums of a row for INT8_PIECE dims from d on. */
FOVEA_INLINE void int8_decode_finish(const fovea_decode_value_args *args, int row, int64_t d,
                                     int8_sum sum[INT8_CODES]) {
  const vec total = vec_set1(args->block_sum[row]), poison = vec_sub(total, total); /* 0 or NaN */
  const vec old_part = vec_set1(args->old_part[row]), new_part = vec_set1(args->new_part[row]);
  float *to = args->output + row * args->output_stride + d;
  int8_sums_in_order(sum);
  FOVEA_UNROLL
  for (int i = 0; i < INT8_CODES; i++, to += LANES) {
    if (d + i * LANES >= args->dim) continue;
    const vec sums = vec_add(int8_number(sum[i]), poison);
    vec_store(to, args->flags & FOVEA_VALUE_MERGE ? state_join(vec_load(to), old_part, sums, new_part) : sums);
  }
}

/* INT8_PIECE dims from d on, of which some may not be there. */
FOVEA_INLINE void int8_decode_dims(const fovea_decode_value_args *args, const int rows, const int whole, int row,
                                   int64_t d) {
  int8_sum sum[INT8_DECODED_ROWS][INT8_CODES];
  const int fetches = row == 0 && d == 0 && args->prefetch != args->values;
  const float *weights = args->weights + row * FOVEA_BLOCK_KEYS;
  FOVEA_UNROLL
  for (int r = 0; r < rows; r++) {
    const float start = INT8_VALUES_OFFSET ? weights[r * FOVEA_BLOCK_KEYS + args->key_count / INT8_CODES] : 0.0f;
    FOVEA_UNROLL
    for (int i = 0; i < INT8_CODES; i++) sum[r][i] = int8_start(vec_set1(start));
  }
  FOVEA_NO_UNROLL
  for (int key = 0; key < args->key_count; key += INT8_CODES, weights++) {
    vec y[INT8_CODES];
    if (fetches) int8_decode_fetch(args->prefetch + key, INT8_CODES, args->dim);
    FOVEA_UNROLL
    for (int i = 0; i < INT8_CODES; i++)
      y[i] = whole ? int8_load_row((const int8_t *)args->values[key + i] + d)
                   : int8_row_words(args->values[key + i], d, args->dim);
    int8_words_of_dims(y);
#if INT8_VALUES_OFFSET
    FOVEA_UNROLL
    for (int i = 0; i < INT8_CODES; i++) y[i] = int8_offset(y[i]);
#endif
    FOVEA_UNROLL
    for (int r = 0; r < rows; r++) {
      const vec x = vec_set1(weights[r * FOVEA_BLOCK_KEYS]);
      FOVEA_UNROLL
      for (int i = 0; i < INT8_CODES; i++) sum[r][i] = int8_add_values(x, y[i], sum[r][i]);
    }
  }
  FOVEA_UNROLL
  for (int r = 0; r < rows; r++) int8_decode_finish(args, row + r, d, sum[r]);
}

#define INT8_DECODE_VALUE(name, rows, whole)                                                                       \
  FOVEA_NOINLINE void sums_decode_values_##name(const fovea_decode_value_args *args, int row, int64_t d) {         \
    int8_decode_dims(args, rows, whole, row, d);                                                                   \
  }
INT8_DECODE_VALUE(rows, INT8_DECODE_VALUE_ROWS, 1)
INT8_DECODE_VALUE(row, 1, 1)
INT8_DECODE_VALUE(part, 1, 0)

/* `weights` are words from the first key on, `values` its rows, of whole words of keys. */
FOVEA_KERNEL static void int8_decode_value(const fovea_decode_value_args *args) {
  FOVEA_NO_UNROLL
  for (int64_t d = 0; d < args->dim; d += INT8_PIECE) {
    const int whole = args->dim - d >= INT8_PIECE;
    FOVEA_NO_UNROLL
    for (int row = 0; row < args->row_count;) {
      const int many = whole && row + INT8_DECODE_VALUE_ROWS <= args->row_count;
      (many ? sums_decode_values_rows : whole ? sums_decode_values_row : sums_decode_values_part)(args, row, d);
      row += many ? INT8_DECODE_VALUE_ROWS : 1;
    }
  }
}

static const fovea_decoding int8_decoding = {
    .rows = ROW_TILE < INT8_DECODED_ROWS ? ROW_TILE : INT8_DECODED_ROWS,
    .load_queries = int8_decode_queries,
    .load_scales = FOVEA_SHARED(int8_load_scales),
    .score = int8_decode_score,
    .softmax = int8_decode_softmax,
    .value = int8_decode_value,
};

#endif

/* The mode int8 (docs/numerics.md, section 16). Codes lie in words of 32 bits; int8_products.h says how. Part of
 * bodies.h, or of a table with other instructions for the mode, after score.h.
 *
 *   queries  [word of dims][row], then scales, then starts of sums, [row]
 *   keys     [key][word of dims], then the scales of the keys
 *   values   [word of keys][dim], then log2 of the keys' scales, their reciprocals, 1 where a value is not finite,
 *            and once 1 if there is such a key
 *   weights  [word of keys][row], in the place of the scores; then, with an offset, starts of sums, [row]
 *
 * With INT8_PAIRS words lie in pairs, as int8_pairs.h says. */

#include "fetch.h"
#include "int8_operands.h"

#include "int8_codes.h"
#include "int8_softmax.h"
#include "int8_stored.h"
#include "score_hide.h"
#include "state.h"

/* gcc's coalescing of variables ties sums to registers that are in use: of 24 sums of AVX-512 it would move 46 and
 * keep 19 on the stack. */
#ifndef __clang__
#pragma GCC push_options
#pragma GCC optimize("no-schedule-insns", "no-tree-coalesce-vars")
#endif
#include "int8_products.h"

#include "int8_decode.h"
#ifndef __clang__
#pragma GCC pop_options
#endif

FOVEA_KERNEL static fovea_operand_sizes int8_sizes(int64_t qk_dim, int64_t v_dim) {
  return (fovea_operand_sizes){(int8_words(qk_dim) + 2) * ROW_TILE,
                               FOVEA_BLOCK_KEYS * (int8_stride(int8_words(qk_dim)) + 1),
                               INT8_KEY_WORDS * int8_stride(v_dim) + 3 * FOVEA_BLOCK_KEYS + 1,
                               int8_code_floats(qk_dim > v_dim ? qk_dim : v_dim)};
}

/* ---- Operands ------------------------------------------------------------------------------------------------ */

FOVEA_MIDDLE FOVEA_KERNEL static void int8_load_queries(const fovea_operand_args *args) {
  FOVEA_NO_UNROLL
  for (int row = 0; row < ROW_TILE; row += LANES)
    int8_quantise_lanes((const float *)args->rows + row, args->dim, args->to + row);
}

/* The codes of up to INT8_TOGETHER keys from `first` on. */
FOVEA_INLINE void int8_codes_of_keys(const int bf16, const fovea_operand_args *args, int first, const float *scales,
                                     const float *factors) {
  const int64_t codes = int8_words(args->dim) * INT8_CODES, stride = int8_stride(int8_words(args->dim));
  const vec shift = vec_set1(INT8_SHIFT + INT8_KEYS_OFFSET);
  FOVEA_NO_UNROLL
  for (int i = 0; i < INT8_TOGETHER; i++) {
    const int key = first + i;
    if (key < args->first || key >= args->end) continue;
    const int64_t dim = scales[i] == scales[i] ? args->dim : 0; /* a lost row has codes of 0 */
    const void *row = operand_row(bf16, args, key);
    const vec factor = vec_set1(factors[i]);
    float *to = int8_key(args->to, key, stride);
    int64_t d = 0;
    FOVEA_NO_UNROLL
    for (; d + LANES <= dim; d += LANES) int8_store(to, d, int8_code(operand_whole(bf16, row, d), factor, shift));
    FOVEA_NO_UNROLL
    for (; d < dim; d += LANES) int8_store(to, d, int8_code(operand_dims(bf16, row, dim, d), factor, shift));
    FOVEA_NO_UNROLL
    for (; d < codes; d += LANES) int8_store(to, d, shift);
  }
}

FOVEA_NOINLINE void int8_quantise_keys(const fovea_operand_args *args) {
  const int64_t stride = int8_stride(int8_words(args->dim));
  float *scales = args->to + FOVEA_BLOCK_KEYS * stride, factors[INT8_TOGETHER];
  for (int key = 0; key < FOVEA_BLOCK_KEYS; key++) scales[key] = 0;
  FOVEA_NO_UNROLL
  for (int first = args->first / INT8_TOGETHER * INT8_TOGETHER; first < args->end; first += INT8_TOGETHER) {
    FOVEA_SHARED(int8_measure)(args, first, scales + first, factors);
    OPERAND_TYPED(int8_codes_of_keys, args->bf16, args, first, scales + first, factors);
  }
}

/* The words of a group of keys without any. */
FOVEA_INLINE void int8_zero_group(int64_t dim, float *to) {
  vec codes[INT8_CODES];
  for (int j = 0; j < INT8_CODES; j++) codes[j] = vec_set1(INT8_SHIFT + INT8_VALUES_OFFSET);
  const vec word = int8_word(codes);
  FOVEA_NO_UNROLL
  for (int64_t i = 0; i < int8_stride(dim) * INT8_GROUP; i += LANES) vec_store(to + i, word);
}

/* LANES words of the rows of a group from dim d on; `whole`: all dims are there. */
FOVEA_INLINE void int8_words_of_rows(const int bf16, const int whole, const void *const *row, const float *factors,
                                     int64_t dim, int64_t d, float *to) {
  const vec shift = vec_set1(INT8_SHIFT + INT8_VALUES_OFFSET);
  vec word[INT8_GROUP];
  FOVEA_NO_UNROLL
  for (int i = 0; i < INT8_GROUP; i++, row += INT8_CODES, factors += INT8_CODES) {
    vec codes[INT8_CODES];
    FOVEA_UNROLL
    for (int j = 0; j < INT8_CODES; j++) {
      const vec x = whole ? operand_whole(bf16, row[j], d) : operand_dims(bf16, row[j], dim, d);
      codes[j] = int8_code(x, vec_set1(factors[j]), shift);
    }
    word[i] = int8_word(codes);
  }
  int8_store_dims(to, d, word);
}

/* The words of a group of keys, whose rows are keys[0] and so on. */
FOVEA_INLINE void int8_words_of_keys(const int bf16, const fovea_operand_args *args, const int *keys,
                                     const float *factors, float *to) {
  const int64_t dim = args->dim;
  const void *row[INT8_GROUP_CODES];
  int64_t d = 0;
  FOVEA_UNROLL
  for (int j = 0; j < INT8_GROUP_CODES; j++) row[j] = operand_row(bf16, args, keys[j]);
  FOVEA_NO_UNROLL
  for (; d + LANES <= dim; d += LANES) int8_words_of_rows(bf16, 1, row, factors, dim, d, to);
  if (d < dim) int8_words_of_rows(bf16, 0, row, factors, dim, d, to);
}

/* Keys that are not there, or not finite, have codes of 0: they are another's row times 0. */
FOVEA_NOINLINE void int8_quantise_group(const fovea_operand_args *args, int first, const float *scales,
                                        const float *factors, float *to) {
  int keys[INT8_GROUP_CODES], some = -1;
  float kept[INT8_GROUP_CODES];
  FOVEA_UNROLL
  for (int j = 0; j < INT8_GROUP_CODES; j++) {
    const int key = first + j, there = key >= args->first && key < args->end && scales[j] == scales[j];
    keys[j] = there ? key : -1;
    kept[j] = there ? factors[j] : 0.0f;
    if (there) some = key;
  }
  if (some < 0) {
    int8_zero_group(args->dim, to);
    return;
  }
  FOVEA_UNROLL
  for (int j = 0; j < INT8_GROUP_CODES; j++) keys[j] = keys[j] < 0 ? some : keys[j];
  OPERAND_TYPED(int8_words_of_keys, args->bf16, args, keys, kept, to);
}

FOVEA_NOINLINE void int8_quantise_values(const fovea_operand_args *args) {
  const int64_t stride = int8_stride(args->dim);
  float *scales = args->to + INT8_KEY_WORDS * stride, factors[INT8_TOGETHER];
  for (int key = 0; key < FOVEA_BLOCK_KEYS; key++) scales[key] = 0;
  FOVEA_NO_UNROLL
  for (int first = args->first / INT8_TOGETHER * INT8_TOGETHER; first < args->end; first += INT8_TOGETHER) {
    FOVEA_SHARED(int8_measure)(args, first, scales + first, factors);
    FOVEA_NO_UNROLL
    for (int i = 0; i < INT8_TOGETHER; i += INT8_GROUP_CODES)
      int8_quantise_group(args, first + i, scales + first + i, factors + i,
                          args->to + (first + i) / INT8_CODES * stride);
  }
  FOVEA_SHARED(int8_load_scales)(scales);
}

FOVEA_KERNEL static void int8_load_keys(const fovea_operand_args *args) {
  (args->codes ? int8_copy_keys : int8_quantise_keys)(args);
}

FOVEA_KERNEL static int int8_load_values(const fovea_operand_args *args) {
  (args->codes ? int8_copy_values : int8_quantise_values)(args);
  return 1;
}

/* ---- Scores -------------------------------------------------------------------------------------------------- */

FOVEA_KERNEL static void int8_score(const fovea_score_args *args) {
  const int64_t words = int8_words(args->dim), stride = int8_stride(words);
  const float *keys = args->keys, *scales = args->queries + words * ROW_TILE;
  float not_wanted[ROW_TILE] = {0};
  int8_score_work work = {
      .args = args,
      .products = {args->queries, keys + args->key / INT8_GROUP * INT8_GROUP * stride, INT8_GROUP * INT8_GROUP,
                   INT8_GROUP * stride, words / INT8_GROUP, INT8_KEYS_OFFSET ? scales + ROW_TILE : NULL,
                   args->key % INT8_GROUP},
      .key_scales = keys + FOVEA_BLOCK_KEYS * stride + args->key,
      .key_logs = args->key_logs ? args->key_logs : fovea_int8_no_logs,
      .maxima = args->seen_from ? not_wanted : args->maxima,
  };
  FOVEA_NO_UNROLL
  for (int row = 0; row < ROW_TILE; row += LANES) {
    const vec c = args->row_scales ? vec_load(args->row_scales + row) : vec_set1(args->c);
    vec_store(work.c + row, vec_mul(vec_load(scales + row), c));
  }
  const int8_loop loop = int8_score_loop(&work, args->key_count);
  FOVEA_SHARED(int8_vectors)(&loop);
  if (args->seen_from) FOVEA_SHARED(score_hide)(args);
}

/* ---- Values -------------------------------------------------------------------------------------------------- */

FOVEA_KERNEL static void int8_value(const fovea_value_args *args) {
  const int64_t stride = int8_stride(args->dim), begin = args->key / INT8_GROUP_CODES;
  const int64_t end = (args->key + args->key_count + INT8_GROUP_CODES - 1) / INT8_GROUP_CODES;
  const int8_value_work work = {args,
                                {args->weights + begin * INT8_GROUP * ROW_TILE,
                                 args->values + begin * INT8_GROUP * stride, INT8_GROUP * stride,
                                 INT8_GROUP * INT8_GROUP, end - begin,
                                 INT8_VALUES_OFFSET ? args->weights + INT8_KEY_WORDS * ROW_TILE : NULL, 0}};
  const int8_loop loop = int8_value_loop(&work, args->dim);
  FOVEA_SHARED(int8_vectors)(&loop);
}

const fovea_arithmetic FOVEA_NAME(int8) = {
    .name = INT8_INSTRUCTION,
    .decoding = FOVEA_BUILDS_DECODE ? &int8_decoding : NULL,
    .scales_rows = 1,
    .sizes = int8_sizes,
    .load_queries = int8_load_queries,
    .load_keys = int8_load_keys,
    .load_values = int8_load_values,
    .make_codes = FOVEA_SHARED(int8_make_codes),
    .logs = int8_logs,
    .score = int8_score,
    .softmax = int8_softmax,
    .value = int8_value,
};

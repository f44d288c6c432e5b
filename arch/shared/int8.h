/* The mode int8 (docs/numerics.md, section 16). Codes lie in words of 32 bits; int8_products.h says how. Part of
 * bodies.h, or of a table with other instructions for the mode, after score.h.
 *
 *   queries  [word of dims][row], then scales, then starts of sums, [row]
 *   keys     [key][word of dims], then the scales of the keys
 *   values   [word of keys][dim], then log2 of the keys' scales, their reciprocals, 1 where a value is not finite,
 *            and once 1 if there is such a key
 *   weights  [word of keys][row], in the place of the scores; then, with an offset, starts of sums, [row] */

#include "fetch.h"
#include "score_hide.h"
#include "state.h"

#include "int8_products.h"

#include "int8_operands.h"
#include "int8_softmax.h"

FOVEA_KERNEL static fovea_operand_sizes int8_sizes(int64_t qk_dim, int64_t v_dim) {
  return (fovea_operand_sizes){(int8_words(qk_dim) + 2) * ROW_TILE,
                               FOVEA_BLOCK_KEYS * (int8_stride(int8_words(qk_dim)) + 1),
                               INT8_KEY_WORDS * int8_stride(v_dim) + 3 * FOVEA_BLOCK_KEYS + 1};
}

/* ---- Operands ------------------------------------------------------------------------------------------------ */

FOVEA_KERNEL static void int8_load_queries(const fovea_operand_args *args) {
  FOVEA_NO_UNROLL
  for (int row = 0; row < ROW_TILE; row += LANES)
    int8_quantise_lanes((const float *)args->rows + row, args->dim, args->to + row);
}

FOVEA_KERNEL static void int8_load_keys(const fovea_operand_args *args) {
  const int64_t stride = int8_stride(int8_words(args->dim));
  const vec shift = vec_set1(INT8_SHIFT), offset = vec_set1(INT8_KEYS_OFFSET);
  float *scales = args->to + FOVEA_BLOCK_KEYS * stride;
  for (int key = 0; key < FOVEA_BLOCK_KEYS; key++) scales[key] = 0;
  FOVEA_NO_UNROLL
  for (int key = args->first; key < args->end; key++) {
    const vec largest = int8_largest(args, key), factor = int8_factor(largest);
    const vecmask lost = vec_is_nan(largest);
    FOVEA_NO_UNROLL
    for (int64_t d = 0; d < args->dim; d += LANES) {
      const vec code = vec_select(lost, shift, int8_code(int8_element(args, key, d), factor));
      int8_store(args->to + key * stride, d, vec_add(code, offset));
    }
    scales[key] = int8_scale_of(largest);
  }
}

FOVEA_KERNEL static int int8_load_values(const fovea_operand_args *args) {
  const int64_t stride = int8_stride(args->dim);
  const vec shift = vec_set1(INT8_SHIFT), offset = vec_set1(INT8_VALUES_OFFSET);
  float *scales = args->to + INT8_KEY_WORDS * stride;
  for (int key = 0; key < FOVEA_BLOCK_KEYS; key++) scales[key] = 0;
  FOVEA_NO_UNROLL
  for (int first = args->first / INT8_CODES * INT8_CODES; first < args->end; first += INT8_CODES) {
    vec factors[INT8_CODES];
    int there[INT8_CODES];
    FOVEA_NO_UNROLL
    for (int j = 0; j < INT8_CODES; j++) {
      const int key = first + j;
      there[j] = key >= args->first && key < args->end;
      factors[j] = vec_set1(0.0f);
      if (!there[j]) continue;
      const vec largest = int8_largest(args, key);
      scales[key] = int8_scale_of(largest);
      there[j] = scales[key] == scales[key];
      factors[j] = int8_factor(largest);
    }
    FOVEA_NO_UNROLL
    for (int64_t d = 0; d < args->dim; d += LANES) {
      vec codes[INT8_CODES];
      FOVEA_UNROLL
      for (int j = 0; j < INT8_CODES; j++)
        codes[j] = vec_add(there[j] ? int8_code(int8_element(args, first + j, d), factors[j]) : shift, offset);
      vec_store(args->to + first / INT8_CODES * stride + d, int8_word(codes));
    }
  }
  return int8_load_scales(scales);
}

/* ---- Scores -------------------------------------------------------------------------------------------------- */

FOVEA_KERNEL static void int8_score(const fovea_score_args *args) {
  const int64_t words = int8_words(args->dim), stride = int8_stride(words);
  const float *keys = args->keys, *scales = args->queries + words * ROW_TILE;
  float not_wanted[ROW_TILE] = {0};
  int8_score_work work = {
      .args = args,
      .products = {args->queries, keys + args->key * stride, 1, stride, words,
                   INT8_KEYS_OFFSET ? scales + ROW_TILE : NULL},
      .key_scales = keys + FOVEA_BLOCK_KEYS * stride + args->key,
      .maxima = args->seen_from ? not_wanted : args->maxima,
  };
  FOVEA_NO_UNROLL
  for (int row = 0; row < ROW_TILE; row += LANES) {
    const vec c = args->row_scales ? vec_load(args->row_scales + row) : vec_set1(args->c);
    vec_store(work.c + row, vec_mul(vec_load(scales + row), c));
  }
  int8_score_vectors(&work, args->key_count);
  if (args->seen_from) score_hide(args);
}

/* ---- Values -------------------------------------------------------------------------------------------------- */

FOVEA_KERNEL static void int8_value(const fovea_value_args *args) {
  const int64_t stride = int8_stride(args->dim), begin = args->key / INT8_CODES;
  const int64_t end = (args->key + args->key_count + INT8_CODES - 1) / INT8_CODES;
  const int8_value_work work = {args,
                                {args->weights + begin * ROW_TILE, args->values + begin * stride, stride, 1,
                                 end - begin,
                                 INT8_VALUES_OFFSET ? args->weights + INT8_KEY_WORDS * ROW_TILE : NULL}};
  int8_value_vectors(&work, args->dim);
}

const fovea_arithmetic FOVEA_NAME(int8) = {
    .name = INT8_INSTRUCTION,
    .scales_rows = 1,
    .whole_rows = 1,
    .sizes = int8_sizes,
    .load_queries = int8_load_queries,
    .load_keys = int8_load_keys,
    .load_values = int8_load_values,
    .score = int8_score,
    .softmax = int8_softmax,
    .value = int8_value,
};

/* The mode bf16 by instructions that add the products of pairs as two FMAs do, the upper elements first
 * (pair_layer.h): pairs of two even or of two odd elements make two steps of a chain. Part of a table of pairs of
 * bf16, after score.h.
 *
 *   queries  [word][row]: words 2 i and 2 i + 1 have dims 4 i and 4 i + 1 above, 4 i + 2 and 4 i + 3 below
 *   keys     [key][word], with the same dims
 *   values   [word][dim], of four keys each
 *   weights  [word][row], of four keys each, in the place of the scores
 *
 * Such an instruction may flush subnormals: neither elements nor their sums are any. */

#define BF16_HALVES          2
#define bf16_step(x, y, sum) vec_pair_word(x, y, sum)
#define BF16_NAN             vec_pair_round(vec_set1(__builtin_nanf("")), vec_set1(__builtin_nanf("")))
#include "bf16_products.h"

FOVEA_KERNEL static fovea_operand_sizes bf16_sizes(int64_t qk_dim, int64_t v_dim) {
  const int64_t items = bf16_items(qk_dim);
  return (fovea_operand_sizes){items * ROW_TILE, FOVEA_BLOCK_KEYS * bf16_stride(items),
                               FOVEA_BLOCK_KEYS / 2 * bf16_stride(v_dim), 0};
}

FOVEA_KERNEL static void bf16_load_queries(const fovea_operand_args *args) {
  const float *rows = args->rows;
  FOVEA_NO_UNROLL
  for (int64_t word = 0; word < bf16_items(args->dim); word++) {
    const int64_t above = word / 2 * 4 + word % 2, below = above + 2;
    FOVEA_NO_UNROLL
    for (int row = 0; row < ROW_TILE; row += LANES) {
      const vec zero = vec_set1(0.0f);
      const vec first = above < args->dim ? vec_load(rows + above * ROW_TILE + row) : zero;
      const vec second = below < args->dim ? vec_load(rows + below * ROW_TILE + row) : zero;
      vec_store(args->to + word * ROW_TILE + row, vec_pair_without_small(vec_pair_round(first, second)));
    }
  }
}

FOVEA_INLINE void bf16_keys(const int bf16, const fovea_operand_args *args) {
  const int64_t dim = args->dim, stride = bf16_stride(bf16_items(dim));
  bf16_fetch next = FOVEA_SHARED(bf16_fetch_of)(args->prefetch, args->prefetch_count, args->end - args->first);
  FOVEA_NO_UNROLL
  for (int key = args->first; key < args->end; key++) {
    FOVEA_SHARED(bf16_fetch_step)(&next);
    const void *row = operand_row(bf16, args, key);
    uint16_t *to = (uint16_t *)(void *)(args->to + key * stride);
    FOVEA_NO_UNROLL
    for (int64_t d = 0; d < dim; d += LANES) vec_store_fours(to + d, operand_dims(bf16, row, dim, d));
  }
}

FOVEA_KERNEL static void bf16_load_keys(const fovea_operand_args *args) {
  OPERAND_TYPED(bf16_keys, args->bf16, args);
}

/* Returns 0 if an element is not finite. */
FOVEA_INLINE int bf16_values_of(const int bf16, const fovea_operand_args *args) {
  const int64_t dim = args->dim, stride = bf16_stride(dim);
  const int begin = args->first / BF16_KEYS * BF16_GROUP,
            end = (args->end + BF16_KEYS - 1) / BF16_KEYS * BF16_GROUP;
  bf16_fetch next = FOVEA_SHARED(bf16_fetch_of)(args->prefetch, args->prefetch_count, end - begin);
  int lost = 0;
  FOVEA_NO_UNROLL
  for (int word = begin; word < end; word++) {
    FOVEA_SHARED(bf16_fetch_step)(&next);
    const int above = word / 2 * 4 + word % 2, below = above + 2;
    const int has_above = above >= args->first && above < args->end;
    const int has_below = below >= args->first && below < args->end;
    const void *row_above = operand_row(bf16, args, has_above ? above : args->first);
    const void *row_below = operand_row(bf16, args, has_below ? below : args->first);
    float *to = args->to + word * stride;
    FOVEA_NO_UNROLL
    for (int64_t d = 0; d < dim; d += LANES) {
      const vec first = has_above ? operand_dims(bf16, row_above, dim, d) : vec_set1(0.0f);
      const vec second = has_below ? operand_dims(bf16, row_below, dim, d) : vec_set1(0.0f);
      const vec words = vec_pair_without_small(vec_pair_round(first, second));
      vec_store(to + d, vec_pair_finite(words, &lost));
    }
  }
  return !lost;
}

FOVEA_KERNEL static int bf16_load_values(const fovea_operand_args *args) {
  return OPERAND_TYPED(bf16_values_of, args->bf16, args);
}

/* Rounds of sixteen keys, four at a time: their words lie in front of the scores that they are made of, or in their
 * place. Rounds are filled up with scores of -Inf: adding 0 changes no sum of weights. */
FOVEA_NOINLINE vec bf16_weigh_vector(float *scores, vec reference, int begin, int end) {
  enum { ROUND = FOVEA_WEIGHT_SUMS };
  const int first = begin / ROUND * ROUND, last = (end + ROUND - 1) / ROUND * ROUND;
  vec sums[ROUND];
  FOVEA_UNROLL
  for (int i = 0; i < ROUND; i++) sums[i] = vec_set1(0.0f);
  bf16_fill(scores, first, begin, -INFINITY);
  bf16_fill(scores, end, last, -INFINITY);
  FOVEA_NO_UNROLL
  for (int key = first; key < last; key += ROUND) {
    FOVEA_UNROLL
    for (int i = 0; i < ROUND; i += 4) {
      vec p[4];
      FOVEA_UNROLL
      for (int j = 0; j < 4; j++) {
        p[j] = mode_exp2(vec_sub(vec_load(scores + (key + i + j) * ROW_TILE), reference), -56.0f);
        sums[i + j] = vec_add(sums[i + j], p[j]);
      }
      vec_store(scores + (key + i) / 2 * ROW_TILE, vec_pair_round(p[0], p[2]));
      vec_store(scores + ((key + i) / 2 + 1) * ROW_TILE, vec_pair_round(p[1], p[3]));
    }
  }
  bf16_fill(scores, 0, first / 2, 0.0f);
  bf16_fill(scores, last / 2, FOVEA_BLOCK_KEYS / 2, 0.0f);
  FOVEA_UNROLL
  for (int i = 0; i < 8; i++) sums[i] = vec_add(sums[i], sums[i + 8]);
  FOVEA_UNROLL
  for (int i = 0; i < 4; i++) sums[i] = vec_add(sums[i], sums[i + 4]);
  return vec_add(vec_add(sums[0], sums[2]), vec_add(sums[1], sums[3]));
}

static float bf16_weight(const float *weights, int key, int row) {
  uint32_t bits;
  float number;
  memcpy(&bits, &weights[(key / 4 * 2 + key % 2) * ROW_TILE + row], sizeof bits);
  bits = key % 4 < 2 ? bits & 0xffff0000u : bits << 16;
  memcpy(&number, &bits, sizeof number);
  return number;
}

const fovea_arithmetic FOVEA_NAME(bf16) = {
    .name = FOVEA_PAIR_INSTRUCTION,
    .loads_fetch = 1,
    .loads_fetch_rows = FOVEA_ROW_TILE_LIMIT,
    .sizes = bf16_sizes,
    .load_queries = bf16_load_queries,
    .load_keys = bf16_load_keys,
    .load_values = bf16_load_values,
    .score = bf16_score,
    .softmax = bf16_softmax,
    .weight = bf16_weight,
    .value = bf16_value,
};

/* The sums of the mode bf16 (docs/numerics.md, section 16) with rows in the lanes. A product is a sum of groups of
 * 32 elements, each of a chain over its even and one over its odd elements. A register tile has all even chains at
 * once, and then all odd ones, so that it is as large as that of exact mode. Before it comes
 *
 *   BF16_HALVES             1: an item of a product is an f32 number; 2: it is a pair of bf16 (bf16_pairs.h)
 *   bf16_step(x, y, sum)    adds the product of two items to a chain
 *
 * Items of even chains come before those of odd chains, in turns. Part of bodies.h or of a table of pairs, after
 * score.h. */

#include "../kernels.h"
#include "exp2.h"
#include "fetch.h"
#include "mode_exp2.h"
#include "state.h"
#include "tile.h"
#include "types.h"

#include <string.h>

enum { BF16_KEYS = 32, BF16_GROUP = BF16_KEYS / BF16_HALVES };

/* Keys or dims of a register tile beside all vectors of a tile, and beside one. */
#if FOVEA_TILE_VECTORS == 4
enum { BF16_MANY = FOVEA_SCORE_KEYS_4 };
#elif FOVEA_TILE_VECTORS == 3
enum { BF16_MANY = FOVEA_SCORE_KEYS_3 };
#elif FOVEA_TILE_VECTORS == 2
enum { BF16_MANY = FOVEA_SCORE_KEYS_2 };
#else
enum { BF16_MANY = FOVEA_SCORE_KEYS_1 };
#endif
enum { BF16_OF_ONE = FOVEA_SCORE_KEYS_1 };

/* The items of a product of `count` elements. */
FOVEA_INLINE int64_t bf16_items(int64_t count) {
  return BF16_HALVES == 1 ? count : (count + 3) / 4 * 2;
}

/* Rounded to bf16, and 0 below 2^-56: AMX would flush smaller products. */
FOVEA_INLINE vec bf16_number(vec x) {
  x = vec_round_bf16(vec_select(vec_is_nan(x), vec_set1(__builtin_nanf("")), x));
  return vec_select(vec_less(vec_abs(x), vec_set1(0x1p-56f)), vec_set1(0.0f), x);
}

/* Up to LANES elements of a row of keys or values from dim d on, as numbers; 0 behind the last, and for keys that
 * are not there. */
FOVEA_INLINE vec bf16_element(const fovea_operand_args *args, int64_t key, int64_t d) {
  if (key < args->first || key >= args->end) return vec_set1(0.0f);
  const int64_t at = key * args->stride + d, rest = args->dim - d;
  const float *row = (const float *)args->rows + at;
  if (!args->bf16) return bf16_number(rest >= LANES ? vec_load(row) : vec_load_first(row, (int)rest));
  const uint16_t *elements = (const uint16_t *)args->rows + at;
  uint16_t some[LANES] = {0};
  if (rest < LANES) elements = memcpy(some, elements, (size_t)rest * sizeof *some);
  return bf16_number(vec_load_bf16(elements));
}

/* The rows of keys and values are apart as exact mode's copies are: an odd number of cache lines. */
FOVEA_INLINE int64_t bf16_stride(int64_t items) {
  return ((items + 15) / 16 | 1) * 16;
}

/* ---- Products ------------------------------------------------------------------------------------------------ */

/* What a register tile multiplies: item i has rows lanes[i * ROW_TILE + row] and numbers scalars[i * item + n *
 * step], for keys or dims n. */
typedef struct bf16_products {
  const float *lanes, *scalars;
  int64_t item, step, count;
} bf16_products;

typedef struct bf16_tile {
  vec sum[16][4];
} bf16_tile;

/* The chain over every second item of a group, from the first of `count` on. */
FOVEA_INLINE void bf16_chain(const int numbers, const int vectors, const float *lanes, const float *scalars,
                             int64_t item, int64_t step, int64_t count, bf16_tile *tile) {
  FOVEA_UNROLL
  for (int n = 0; n < numbers; n++) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) tile->sum[n][v] = vec_set1(0.0f);
  }
  FOVEA_NO_UNROLL
  for (; count > 0; count -= 2, lanes += 2 * ROW_TILE, scalars += 2 * item) {
    vec x[4];
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) x[v] = vec_load(lanes + v * LANES);
    FOVEA_UNROLL
    for (int n = 0; n < numbers; n++) {
      const vec scalar = vec_set1(scalars[n * step]);
      FOVEA_UNROLL
      for (int v = 0; v < vectors; v++) tile->sum[n][v] = bf16_step(x[v], scalar, tile->sum[n][v]);
    }
  }
}

/* sums[n * ROW_TILE + row] = the product. */
FOVEA_INLINE void bf16_multiply(const int numbers, const int vectors, const bf16_products *products, float *sums) {
  float even[16 * ROW_TILE];
  FOVEA_NO_UNROLL
  for (int64_t first = 0; first < products->count; first += BF16_GROUP) {
    const int64_t rest = products->count - first, count = rest < BF16_GROUP ? rest : BF16_GROUP;
    const float *lanes = products->lanes + first * ROW_TILE, *scalars = products->scalars + first * products->item;
    bf16_tile tile;
    bf16_chain(numbers, vectors, lanes, scalars, products->item, products->step, count, &tile);
    FOVEA_UNROLL
    for (int n = 0; n < numbers; n++) {
      FOVEA_UNROLL
      for (int v = 0; v < vectors; v++) vec_store(even + n * ROW_TILE + v * LANES, tile.sum[n][v]);
    }
    bf16_chain(numbers, vectors, lanes + ROW_TILE, scalars + products->item, products->item, products->step,
               count - 1, &tile);
    FOVEA_UNROLL
    for (int n = 0; n < numbers; n++) {
      FOVEA_UNROLL
      for (int v = 0; v < vectors; v++) {
        float *to = sums + n * ROW_TILE + v * LANES;
        vec sum = vec_add(vec_load(even + n * ROW_TILE + v * LANES), tile.sum[n][v]);
        if (first > 0) sum = vec_add(vec_load(to), sum);
        vec_store(to, sum);
      }
    }
  }
}

/* Each register tile is a function of its own, for scores and for values. */
#define BF16_TILE(name, vectors, numbers)                                                                          \
  FOVEA_NOINLINE void name(const bf16_products *products, float *sums) {                                           \
    bf16_multiply(numbers, vectors, products, sums);                                                               \
  }
BF16_TILE(bf16_many, FOVEA_TILE_VECTORS, BF16_MANY)
BF16_TILE(bf16_many_two, FOVEA_TILE_VECTORS, 2)
BF16_TILE(bf16_many_one, FOVEA_TILE_VECTORS, 1)
BF16_TILE(bf16_single, 1, BF16_OF_ONE)
BF16_TILE(bf16_single_one, 1, 1)
typedef void bf16_tile_function(const bf16_products *products, float *sums);

/* Calls `finish` with the sums of `numbers` keys or dims at a time, for `vectors` vectors from `vector` on. */
typedef void bf16_finish_function(const void *args, int64_t first, int numbers, int vector, int vectors,
                                  const float *sums);
typedef struct bf16_work {
  bf16_products products; /* of the first vector and the first number */
  int64_t numbers;
  bf16_finish_function *finish;
  const void *args;
  const fovea_fetch_row *prefetch;
  int prefetch_count;
} bf16_work;

FOVEA_NOINLINE void bf16_numbers(const bf16_work *work, int vector, int vectors) {
  const int whole = vectors == 1 ? BF16_OF_ONE : BF16_MANY;
  bf16_tile_function *const many = vectors == 1 ? bf16_single : bf16_many;
  bf16_tile_function *const two = vectors == 1 ? NULL : bf16_many_two;
  bf16_tile_function *const one = vectors == 1 ? bf16_single_one : bf16_many_one;
  float sums[16 * ROW_TILE];
  bf16_products products = work->products;
  row_fetch fetch = fetch_rows(work->prefetch, work->prefetch_count);
  const int64_t lines = fetch_share_of(work->prefetch, work->prefetch_count, (work->numbers + whole - 1) / whole);
  products.lanes += vector * LANES;
  FOVEA_NO_UNROLL
  for (int64_t first = 0; first < work->numbers;) {
    const int64_t rest = work->numbers - first;
    const int numbers = rest >= whole ? whole : two && rest >= 2 ? 2 : 1;
    fetch_lines(lines, &fetch);
    products.scalars = work->products.scalars + first * products.step;
    (numbers == whole ? many : numbers == 2 ? two : one)(&products, sums);
    work->finish(work->args, first, numbers, vector, vectors, sums);
    first += numbers;
  }
}

FOVEA_INLINE void bf16_vectors(const bf16_work *work, fovea_vector_range vectors) {
  if (vectors.count == FOVEA_TILE_VECTORS) {
    bf16_numbers(work, vectors.first, FOVEA_TILE_VECTORS);
    return;
  }
  bf16_work each = *work;
  FOVEA_NO_UNROLL
  for (int v = 0; v < vectors.count; v++, each.prefetch_count = 0) bf16_numbers(&each, vectors.first + v, 1);
}

/* ---- Scores -------------------------------------------------------------------------------------------------- */

/* The vectors take turns, since a maximum takes four cycles. */
FOVEA_INLINE void bf16_finish_keys(const fovea_score_args *args, int64_t first, int numbers, int vector,
                                   const int vectors, const float *sums) {
  const vec c = vec_set1(args->c);
  float *maxima = args->maxima + vector * LANES, *to = args->scores + first * ROW_TILE + vector * LANES;
  vec maximum[4];
  FOVEA_UNROLL
  for (int v = 0; v < vectors; v++) maximum[v] = vec_load(maxima + v * LANES);
  FOVEA_NO_UNROLL
  for (int n = 0; n < numbers; n++, to += ROW_TILE, sums += ROW_TILE) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) {
      const vec s = vec_mul(vec_load(sums + v * LANES), c);
      vec_store(to + v * LANES, s);
      maximum[v] = vec_max(s, maximum[v]);
    }
  }
  FOVEA_UNROLL
  for (int v = 0; v < vectors; v++) vec_store(maxima + v * LANES, maximum[v]);
}

FOVEA_NOINLINE void bf16_finish_scores(const void *data, int64_t first, int numbers, int vector, int vectors,
                                       const float *sums) {
  if (vectors == FOVEA_TILE_VECTORS)
    bf16_finish_keys(data, first, numbers, vector, FOVEA_TILE_VECTORS, sums);
  else
    bf16_finish_keys(data, first, numbers, vector, 1, sums);
}

FOVEA_KERNEL static void bf16_score(const fovea_score_args *args) {
  float not_wanted[ROW_TILE] = {0};
  fovea_score_args all = *args;
  const int64_t items = bf16_items(args->dim), stride = bf16_stride(items);
  const bf16_work work = {{args->queries, (const float *)args->keys + args->key * stride, 1, stride, items},
                          args->key_count,
                          bf16_finish_scores,
                          &all,
                          args->prefetch,
                          args->prefetch_count};
  if (args->seen_from) all.maxima = not_wanted;
  bf16_vectors(&work, args->vectors);
  if (args->seen_from) score_hide(args);
}

/* ---- Weights ------------------------------------------------------------------------------------------------- */

/* To bf16. The weight is 0 or at least 2^-56. */
FOVEA_INLINE vec bf16_rounded(vec p) {
  return vec_round_bf16(vec_select(vec_is_nan(p), vec_set1(__builtin_nanf("")), p));
}

FOVEA_INLINE void bf16_fill(float *scores, int begin, int end, float x) {
  FOVEA_NO_UNROLL
  for (int key = begin; key < end; key++) vec_store(scores + key * ROW_TILE, vec_set1(x));
}

/* Weights of one vector in place of its scores, 0 for all other keys of the block. Returns their sum. */
FOVEA_NOINLINE vec bf16_weigh_vector(float *scores, vec reference, int begin, int end);

FOVEA_KERNEL static int bf16_softmax(const fovea_softmax_args *args) {
  vecmask none = vec_less(vec_set1(0.0f), vec_set1(0.0f));
  FOVEA_NO_UNROLL
  for (int vector = args->vectors.first; vector < args->vectors.first + args->vectors.count; vector++) {
    const int row = vector * LANES;
    const vec block_max = vec_add(vec_load(args->maxima + row), vec_set1(0.0f)); /* -0 becomes +0 */
    const vec block_sum = bf16_weigh_vector(args->scores + row, state_reference(block_max), args->key_begin[vector],
                                            args->key_end[vector]);
    vec_store(args->maxima + row, block_max);
    vec_store(args->block_sum + row, block_sum);
    const state_running running = {args->row_max, args->row_sum, args->old_part, args->new_part};
    state_advance(&running, row, args->first, block_max, block_sum);
    none = vecmask_or(none, vec_equal(block_max, vec_set1(-INFINITY)));
  }
  return vecmask_any(none);
}

/* ---- Values -------------------------------------------------------------------------------------------------- */

FOVEA_NOINLINE void bf16_finish_values(const void *data, int64_t first, int numbers, int vector, int vectors,
                                       const float *sums) {
  const fovea_value_args *args = data;
  FOVEA_NO_UNROLL
  for (int v = 0; v < vectors; v++) {
    const int row = (vector + v) * LANES;
    const vec old_part = vec_load(args->old_part + row), new_part = vec_load(args->new_part + row);
    float *to = args->output + first * ROW_TILE + row;
    FOVEA_NO_UNROLL
    for (int n = 0; n < numbers; n++, to += ROW_TILE) {
      const vec sum = vec_load(sums + n * ROW_TILE + v * LANES);
      vec_store(to, args->flags & FOVEA_VALUE_MERGE ? state_join(vec_load(to), old_part, sum, new_part) : sum);
    }
  }
}

/* Whole groups: the weights of all other keys of the block are 0, and so are values that are not there. */
FOVEA_KERNEL static void bf16_value(const fovea_value_args *args) {
  const int64_t stride = bf16_stride(args->dim), begin = args->key / BF16_KEYS * BF16_GROUP;
  const int64_t end = (args->key + args->key_count + BF16_KEYS - 1) / BF16_KEYS * BF16_GROUP;
  const bf16_work work = {{args->weights + begin * ROW_TILE, args->values + begin * stride, stride, 1, end - begin},
                          args->dim,
                          bf16_finish_values,
                          args,
                          args->prefetch,
                          args->prefetch_count};
  bf16_vectors(&work, args->vectors);
}

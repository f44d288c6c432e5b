/* The mode bf16 (docs/numerics.md, section 16): operands are f32 numbers that bf16 has, products are sums of groups
 * of 32, each of an even and an odd chain. The tiles are those of score.h, softmax.h and value.h, with rows in the
 * lanes. Part of bodies.h, after score.h. */

#include "../kernels.h"
#include "state.h"
#include "tile.h"
#include "types.h"

/* Vectors of rows, and keys or dims, of a register tile: two chains and their sum for each. */
#if LANES == 8
enum { BF16_VECTORS = 1, BF16_KEYS = 4 };
#else
enum { BF16_VECTORS = FOVEA_TILE_VECTORS < 2 ? 1 : 2, BF16_KEYS = 4 };
#endif
enum { BF16_GROUP = 32 };

/* Rounded to bf16, and 0 below 2^-56: AMX would flush smaller products. */
FOVEA_INLINE vec bf16_number(vec x) {
  uint16_t halves[LANES];
  vec_store_bf16(halves, vec_select(vec_is_nan(x), vec_set1(__builtin_nanf("")), x));
  x = vec_load_bf16(halves);
  return vec_select(vec_less(vec_abs(x), vec_set1(0x1p-56f)), vec_set1(0.0f), x);
}

FOVEA_KERNEL void FOVEA_NAME(bf16_rows)(const fovea_bf16_rows_args *args) {
  FOVEA_NO_UNROLL
  for (int64_t row = 0; row < args->row_count; row++) {
    float *x = args->rows + row * args->stride;
    int64_t d = 0;
    FOVEA_NO_UNROLL
    for (; d + LANES <= args->dim; d += LANES) vec_store(x + d, bf16_number(vec_load(x + d)));
    const int rest = (int)(args->dim - d);
    if (rest > 0) vec_store_first(x + d, bf16_number(vec_load_first(x + d, rest)), rest);
  }
}

/* ---- Products ------------------------------------------------------------------------------------------------ */

typedef struct bf16_tile {
  vec sum[BF16_KEYS][BF16_VECTORS];
} bf16_tile;

FOVEA_INLINE void bf16_clear(bf16_tile *tile) {
  FOVEA_UNROLL
  for (int n = 0; n < BF16_KEYS; n++) {
    FOVEA_UNROLL
    for (int v = 0; v < BF16_VECTORS; v++) tile->sum[n][v] = vec_set1(0.0f);
  }
}

/* One item of the chains: `lanes` of ROW_TILE numbers each, times scalars[n * step]. */
FOVEA_INLINE void bf16_step(const int keys, const int vectors, const float *lanes, const float *scalars,
                            int64_t step, bf16_tile *chain) {
  vec x[BF16_VECTORS];
  FOVEA_UNROLL
  for (int v = 0; v < vectors; v++) x[v] = vec_load(lanes + v * LANES);
  FOVEA_UNROLL
  for (int n = 0; n < keys; n++) {
    const vec scalar = vec_set1(scalars[n * step]);
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) chain->sum[n][v] = vec_fma(scalar, x[v], chain->sum[n][v]);
  }
}

/* Adds the groups of items `first` to first + count - 1, counted from the start of a group: item i has lanes[i *
 * ROW_TILE] and scalars[i * item + n * step]. */
FOVEA_INLINE void bf16_groups(const int keys, const int vectors, const float *lanes, const float *scalars,
                              int64_t item, int64_t step, int64_t first, int64_t count, bf16_tile *sum) {
  const int64_t last = first + count;
  FOVEA_NO_UNROLL
  while (first < last) {
    const int64_t group = first / BF16_GROUP * BF16_GROUP + BF16_GROUP, end = group < last ? group : last;
    bf16_tile chains[2];
    bf16_clear(&chains[0]);
    bf16_clear(&chains[1]);
    if (first % 2 != 0) {
      bf16_step(keys, vectors, lanes + first * ROW_TILE, scalars + first * item, step, &chains[1]);
      first++;
    }
    FOVEA_NO_UNROLL
    for (; first + 2 <= end; first += 2) {
      bf16_step(keys, vectors, lanes + first * ROW_TILE, scalars + first * item, step, &chains[0]);
      bf16_step(keys, vectors, lanes + (first + 1) * ROW_TILE, scalars + (first + 1) * item, step, &chains[1]);
    }
    if (first < end) bf16_step(keys, vectors, lanes + first * ROW_TILE, scalars + first * item, step, &chains[0]);
    first = end;
    FOVEA_UNROLL
    for (int n = 0; n < keys; n++) {
      FOVEA_UNROLL
      for (int v = 0; v < vectors; v++)
        sum->sum[n][v] = vec_add(sum->sum[n][v], vec_add(chains[0].sum[n][v], chains[1].sum[n][v]));
    }
  }
}

/* ---- Scores -------------------------------------------------------------------------------------------------- */

FOVEA_INLINE void bf16_score_tile(const fovea_score_args *args, int key, const int keys, int vector,
                                  const int vectors) {
  const int row = vector * LANES;
  const vec c = vec_set1(args->c);
  bf16_tile tile;
  bf16_clear(&tile);
  bf16_groups(keys, vectors, args->queries + row, (const float *)args->keys + key * args->key_stride, 1,
              args->key_stride, 0, args->dim, &tile);
  FOVEA_UNROLL
  for (int v = 0; v < vectors; v++) {
    vec maximum = vec_load(args->maxima + row + v * LANES);
    FOVEA_UNROLL
    for (int n = 0; n < keys; n++) {
      const vec s = vec_mul(tile.sum[n][v], c);
      vec_store(args->scores + (int64_t)(key + n) * ROW_TILE + row + v * LANES, s);
      maximum = vec_max(s, maximum);
    }
    vec_store(args->maxima + row + v * LANES, maximum);
  }
}

FOVEA_NOINLINE void bf16_score_keys(const fovea_score_args *args, int vector, int vectors) {
  int key = 0;
  FOVEA_NO_UNROLL
  for (; key + BF16_KEYS <= args->key_count; key += BF16_KEYS) {
    if (vectors == BF16_VECTORS)
      bf16_score_tile(args, key, BF16_KEYS, vector, BF16_VECTORS);
    else
      bf16_score_tile(args, key, BF16_KEYS, vector, 1);
  }
  FOVEA_NO_UNROLL
  for (; key < args->key_count; key++)
    for (int v = vector; v < vector + vectors; v++) bf16_score_tile(args, key, 1, v, 1);
}

FOVEA_KERNEL void FOVEA_NAME(bf16_score)(const fovea_score_args *args) {
  const int end = args->vectors.first + args->vectors.count;
  float not_wanted[ROW_TILE] = {0};
  fovea_score_args all = *args;
  if (args->seen_from) all.maxima = not_wanted;
  FOVEA_NO_UNROLL
  for (int v = args->vectors.first; v < end; v += BF16_VECTORS)
    bf16_score_keys(&all, v, end - v < BF16_VECTORS ? end - v : BF16_VECTORS);
  if (args->seen_from) score_hide(args);
}

/* ---- Weights ------------------------------------------------------------------------------------------------- */

/* E(x), 0 below -56. */
FOVEA_INLINE vec bf16_weight(vec x) {
#ifdef FOVEA_VECTOR_HAS_SCALEF
  const vec fraction = vec_fraction(x), whole = vec_sub(x, fraction);
  const float half = 1.0f;
#else /* as vec_exp2() does it */
  const vec shift = vec_set1(0x1.8p23f + 128.0f), shifted = vec_add(x, shift);
  const vec fraction = vec_sub(x, vec_sub(shifted, shift));
  const float half = 0.5f;
#endif
  vec p = vec_fma(vec_set1(half * 0x1.c2a392p-5f), fraction, vec_set1(half * 0x1.f00c5ap-3f));
  p = vec_fma(p, fraction, vec_set1(half * 0x1.62f5f6p-1f));
  p = vec_fma(p, fraction, vec_set1(half));
#ifdef FOVEA_VECTOR_HAS_SCALEF
  return vec_scalef_unless_less(x, vec_set1(-56.0f), p, whole);
#else
  return vec_zero_if_less(x, vec_set1(-56.0f), vec_mul(p, vec_exponent_from_low_bits(shifted)));
#endif
}

/* Weights of one vector in place of its scores, 0 for all other keys of the block. Returns their sum. */
FOVEA_INLINE vec bf16_weigh(float *scores, vec reference, int begin, int end) {
  vec sums[FOVEA_WEIGHT_SUMS];
  for (int i = 0; i < FOVEA_WEIGHT_SUMS; i++) sums[i] = vec_set1(0.0f);
  FOVEA_NO_UNROLL
  for (int key = 0; key < begin; key++) vec_store(scores + key * ROW_TILE, vec_set1(0.0f));
  FOVEA_NO_UNROLL
  for (int key = begin; key < end; key++) {
    const vec p = bf16_weight(vec_sub(vec_load(scores + key * ROW_TILE), reference));
    sums[key % FOVEA_WEIGHT_SUMS] = vec_add(sums[key % FOVEA_WEIGHT_SUMS], p);
    vec_store(scores + key * ROW_TILE, bf16_number(p));
  }
  FOVEA_NO_UNROLL
  for (int key = end; key < FOVEA_BLOCK_KEYS; key++) vec_store(scores + key * ROW_TILE, vec_set1(0.0f));
  for (int half = FOVEA_WEIGHT_SUMS / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; i++) sums[i] = vec_add(sums[i], sums[i + half]);
  }
  return sums[0];
}

FOVEA_KERNEL int FOVEA_NAME(bf16_softmax)(const fovea_softmax_args *args) {
  vecmask none = vec_less(vec_set1(0.0f), vec_set1(0.0f));
  for (int vector = args->vectors.first; vector < args->vectors.first + args->vectors.count; vector++) {
    const int row = vector * LANES;
    const vec block_max = vec_add(vec_load(args->maxima + row), vec_set1(0.0f)); /* -0 becomes +0 */
    const vec block_sum =
        bf16_weigh(args->scores + row, state_reference(block_max), args->key_begin[vector], args->key_end[vector]);
    vec_store(args->maxima + row, block_max);
    vec_store(args->block_sum + row, block_sum);
    const state_running running = {args->row_max, args->row_sum, args->old_part, args->new_part};
    state_advance(&running, row, args->first, block_max, block_sum);
    none = vecmask_or(none, vec_equal(block_max, vec_set1(-INFINITY)));
  }
  return vecmask_any(none);
}

/* ---- Values -------------------------------------------------------------------------------------------------- */

FOVEA_INLINE void bf16_value_tile(const fovea_value_args *args, int64_t dim, const int dims, int vector,
                                  const int vectors) {
  const int row = vector * LANES;
  bf16_tile tile;
  bf16_clear(&tile);
  bf16_groups(dims, vectors, args->weights + row, args->values + dim, args->value_stride, 1, args->key,
              args->key_count, &tile);
  FOVEA_UNROLL
  for (int v = 0; v < vectors; v++) {
    const vec old_part = vec_load(args->old_part + row + v * LANES),
              new_part = vec_load(args->new_part + row + v * LANES);
    FOVEA_UNROLL
    for (int d = 0; d < dims; d++) {
      float *to = args->output + (dim + d) * ROW_TILE + row + v * LANES;
      vec_store(to, args->flags & FOVEA_VALUE_MERGE ? state_join(vec_load(to), old_part, tile.sum[d][v], new_part)
                                                    : tile.sum[d][v]);
    }
  }
}

/* All keys of a block at once: weights and values of its first key; `key` is the first that is met. */
FOVEA_KERNEL void FOVEA_NAME(bf16_value)(const fovea_value_args *args) {
  const int end = args->vectors.first + args->vectors.count;
  FOVEA_NO_UNROLL
  for (int v = args->vectors.first; v < end; v += BF16_VECTORS) {
    const int vectors = end - v < BF16_VECTORS ? end - v : BF16_VECTORS;
    int64_t dim = 0;
    FOVEA_NO_UNROLL
    for (; dim + BF16_KEYS <= args->dim; dim += BF16_KEYS) {
      if (vectors == BF16_VECTORS)
        bf16_value_tile(args, dim, BF16_KEYS, v, BF16_VECTORS);
      else
        bf16_value_tile(args, dim, BF16_KEYS, v, 1);
    }
    FOVEA_NO_UNROLL
    for (; dim < args->dim; dim++)
      for (int i = v; i < v + vectors; i++) bf16_value_tile(args, dim, 1, i, 1);
  }
}

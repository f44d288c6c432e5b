/* The sums of the mode bf16 (docs/numerics.md, section 16) with rows in the lanes. A product is a sum of groups of
 * 32 elements, each of a chain over its even and one over its odd elements. A register tile has both chains of each
 * sum. Before it comes
 *
 *   BF16_HALVES             1: an item of a product is an f32 number; 2: it is a pair of bf16 (bf16_pairs.h)
 *   bf16_step(x, y, sum)    adds the products of each item in the vector x with the one item y to a chain
 *   BF16_NAN                a vector of weights, or of pairs of them, that are NaN
 *
 * Items of even chains come before items of odd chains, in turns. Part of bodies.h or of a table of pairs, after
 * score.h. */

#include "../kernels.h"
#include "exp2.h"
#include "fetch.h"
#include "mode_exp2.h"
#include "operand_rows.h"
#include "score_hide.h"
#include "state.h"
#include "tile.h"
#include "types.h"

#include <string.h>

enum { BF16_KEYS = 32, BF16_GROUP = BF16_KEYS / BF16_HALVES };

/* The items of a product of `count` elements, filled up with zeros so that both chains have as many. */
FOVEA_INLINE int64_t bf16_items(int64_t count) {
  return (count + 2 * BF16_HALVES - 1) / (2 * BF16_HALVES) * 2;
}

/* The rows of keys and values are apart as exact mode's copies are: an odd number of cache lines. */
FOVEA_INLINE int64_t bf16_stride(int64_t items) {
  return ((items + 15) / 16 | 1) * 16;
}

/* What is prefetched in steps. */
typedef struct bf16_fetch {
  row_fetch fetch;
  int64_t lines; /* of a step */
} bf16_fetch;

FOVEA_SHARED_FUNCTION(bf16_fetch, bf16_fetch_of, const fovea_fetch_row *rows, int count, int64_t steps) {
  return (bf16_fetch){fetch_rows(rows, count), fetch_share_of(rows, count, steps)};
}

FOVEA_SHARED_FUNCTION(void, bf16_fetch_step, bf16_fetch *next) {
  fetch_many_lines(next->lines, &next->fetch);
}

/* ---- Products ------------------------------------------------------------------------------------------------ */

/* What a register tile multiplies: item i has rows lanes[i * lane + row] and numbers scalars[i * item + n * step],
 * for keys or dims n; or keys or dims in the lanes, and numbers of rows (bf16_few.h). */
typedef struct bf16_products {
  const float *lanes, *scalars;
  int64_t lane, item, step, count;
} bf16_products;

typedef struct bf16_tile {
  vec sum[16][4];
} bf16_tile;

/* One item of a chain of every sum. */
FOVEA_INLINE void bf16_item(const int numbers, const int vectors, const float *lanes, const float *scalars,
                            int64_t step, bf16_tile *chain) {
  vec x[4];
  FOVEA_UNROLL
  for (int v = 0; v < vectors; v++) x[v] = vec_load_held(lanes + v * LANES);
  FOVEA_UNROLL
  for (int n = 0; n < numbers; n++) {
    const float scalar = scalars[n * step];
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) chain->sum[n][v] = bf16_step(x[v], scalar, chain->sum[n][v]);
  }
}

FOVEA_INLINE void bf16_zero(const int numbers, const int vectors, bf16_tile *tile) {
  FOVEA_UNROLL
  for (int n = 0; n < numbers; n++) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) tile->sum[n][v] = vec_set1(0.0f);
  }
}

/* Both chains of a group of `count` items, and on to the next group. */
FOVEA_INLINE void bf16_chains(const int numbers, const int vectors, bf16_products *at, int64_t count,
                              bf16_tile *even, bf16_tile *odd) {
  bf16_zero(numbers, vectors, even);
  bf16_zero(numbers, vectors, odd);
  FOVEA_NO_UNROLL
  for (; count > 0; count -= 2, at->lanes += 2 * at->lane, at->scalars += 2 * at->item) {
    bf16_item(numbers, vectors, at->lanes, at->scalars, at->step, even);
    bf16_item(numbers, vectors, at->lanes + at->lane, at->scalars + at->item, at->step, odd);
  }
}

/* The products. If registers do not hold the sums beside both chains, these wait at `waiting`. */
FOVEA_INLINE void bf16_multiply(const int numbers, const int vectors, bf16_products at, vec *waiting,
                                bf16_tile *sum) {
  const int stay = 3 * numbers * vectors + vectors + 1 <= FOVEA_REGISTERS;
  bf16_tile even, odd;
  bf16_zero(numbers, vectors, sum);
  for (int i = 0; !stay && i < numbers * vectors; i++) waiting[i] = vec_set1(0.0f);
  FOVEA_NO_UNROLL
  for (int64_t first = 0; first < at.count; first += BF16_GROUP) {
    const int64_t rest = at.count - first;
    bf16_chains(numbers, vectors, &at, rest < BF16_GROUP ? rest : BF16_GROUP, &even, &odd);
    FOVEA_UNROLL
    for (int n = 0; n < numbers; n++) {
      FOVEA_UNROLL
      for (int v = 0; v < vectors; v++) {
        vec *to = stay ? &sum->sum[n][v] : &waiting[n * vectors + v];
        *to = vec_add(*to, vec_add(even.sum[n][v], odd.sum[n][v]));
      }
    }
  }
  if (stay) return;
  FOVEA_UNROLL
  for (int n = 0; n < numbers; n++) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) sum->sum[n][v] = waiting[n * vectors + v];
  }
}

/* Products of `numbers` keys, dims or rows, and what is done with their sums: args are the arguments of the
 * operation. */
typedef struct bf16_work {
  bf16_products products; /* of the first vector and the first number */
  int64_t numbers;
  const void *args;
  const fovea_fetch_row *prefetch;
  int prefetch_count;
} bf16_work;

/* Each register tile is a function of its own, for numbers from `first` on and vectors from `vector` on. At
 * `waiting` is room for its sums: in an array of its own gcc would move them in and out of registers within the
 * loops. */
typedef void bf16_tile_function(const bf16_work *work, vec *waiting, int64_t first, int vector);
#define BF16_TILE(kind, name, vectors, numbers)                                                                    \
  FOVEA_NOINLINE void bf16_##name##_##kind(const bf16_work *work, vec *waiting, int64_t first, int vector) {       \
    _Static_assert((vectors) <= 4 && (numbers) <= 16 && (vectors) * (numbers) <= 16 * FOVEA_TILE_VECTORS,          \
                   "no more sums than there is room for");                                                         \
    bf16_products at = work->products;                                                                             \
    bf16_tile sum;                                                                                                 \
    at.lane = bf16_lane_##kind(at.lane);                                                                           \
    at.lanes += vector * LANES, at.scalars += first * at.step;                                                     \
    bf16_multiply(numbers, vectors, at, waiting, &sum);                                                            \
    bf16_finish_##kind(numbers, vectors, work->args, first, vector, &sum);                                         \
  }
/* How many vectors the widest of an array of tiles has. */
#define BF16_MOST(tiles) ((int)(sizeof(tiles) / sizeof *(tiles)))
#define BF16_TILES(kind, vectors, numbers)                                                                         \
  BF16_TILE(kind, many##vectors, vectors, numbers)                                                                 \
  BF16_TILE(kind, one##vectors, vectors, 1)
#define BF16_CHOICE(kind, vectors, numbers)                                                                        \
  { bf16_many##vectors##_##kind, bf16_one##vectors##_##kind, numbers }

/* The register tiles beside so many vectors: of some keys or dims, and of one. */
typedef struct bf16_tiles {
  bf16_tile_function *many, *one;
  int numbers;
} bf16_tiles;

#define BF16_ONE_TILES(kind)                                                                                       \
  BF16_TILES(kind, 1, FOVEA_BF16_NUMBERS_1)                                                                        \
  static const bf16_tiles bf16_tiles_##kind[] = {BF16_CHOICE(kind, 1, FOVEA_BF16_NUMBERS_1)};
#define BF16_TWO_TILES(kind)                                                                                       \
  BF16_TILES(kind, 1, FOVEA_BF16_NUMBERS_1)                                                                        \
  BF16_TILES(kind, 2, FOVEA_BF16_NUMBERS_2)                                                                        \
  static const bf16_tiles bf16_tiles_##kind[] = {BF16_CHOICE(kind, 1, FOVEA_BF16_NUMBERS_1),                       \
                                                 BF16_CHOICE(kind, 2, FOVEA_BF16_NUMBERS_2)};
#define BF16_THREE_TILES(kind)                                                                                     \
  BF16_TILES(kind, 1, FOVEA_BF16_NUMBERS_1)                                                                        \
  BF16_TILES(kind, 2, FOVEA_BF16_NUMBERS_2)                                                                        \
  BF16_TILES(kind, 3, FOVEA_BF16_NUMBERS_3)                                                                        \
  static const bf16_tiles bf16_tiles_##kind[] = {BF16_CHOICE(kind, 1, FOVEA_BF16_NUMBERS_1),                       \
                                                 BF16_CHOICE(kind, 2, FOVEA_BF16_NUMBERS_2),                       \
                                                 BF16_CHOICE(kind, 3, FOVEA_BF16_NUMBERS_3)};
#define BF16_FOUR_TILES(kind)                                                                                      \
  BF16_TILES(kind, 1, FOVEA_BF16_NUMBERS_1)                                                                        \
  BF16_TILES(kind, 2, FOVEA_BF16_NUMBERS_2)                                                                        \
  BF16_TILES(kind, 3, FOVEA_BF16_NUMBERS_3)                                                                        \
  BF16_TILES(kind, 4, FOVEA_BF16_NUMBERS_4)                                                                        \
  static const bf16_tiles bf16_tiles_##kind[] = {                                                                  \
      BF16_CHOICE(kind, 1, FOVEA_BF16_NUMBERS_1), BF16_CHOICE(kind, 2, FOVEA_BF16_NUMBERS_2),                      \
      BF16_CHOICE(kind, 3, FOVEA_BF16_NUMBERS_3), BF16_CHOICE(kind, 4, FOVEA_BF16_NUMBERS_4)};

/* Tiles of few rows take three vectors of keys at most: beside four rows, two are best. */
#if FOVEA_BF16_VECTORS == 1
#define BF16_ALL_TILES BF16_ONE_TILES
#define BF16_FEW_TILES BF16_ONE_TILES
#elif FOVEA_BF16_VECTORS == 2
#define BF16_ALL_TILES BF16_TWO_TILES
#define BF16_FEW_TILES BF16_TWO_TILES
#elif FOVEA_BF16_VECTORS == 3
#define BF16_ALL_TILES BF16_THREE_TILES
#define BF16_FEW_TILES BF16_THREE_TILES
#elif FOVEA_BF16_VECTORS == 4
#define BF16_ALL_TILES BF16_FOUR_TILES
#define BF16_FEW_TILES BF16_THREE_TILES
#else
#error FOVEA_BF16_VECTORS is 1, 2, 3 or 4
#endif

FOVEA_SHARED_FUNCTION(void, bf16_numbers, const bf16_work *work, const bf16_tiles *tiles, int vector) {
  vec waiting[16 * FOVEA_TILE_VECTORS];
  row_fetch fetch = fetch_rows(work->prefetch, work->prefetch_count);
  const int64_t steps = (work->numbers + tiles->numbers - 1) / tiles->numbers;
  const int64_t lines = fetch_share_of(work->prefetch, work->prefetch_count, steps);
  FOVEA_NO_UNROLL
  for (int64_t first = 0; first < work->numbers;) {
    const int whole = work->numbers - first >= tiles->numbers;
    fetch_lines(lines, &fetch);
    (whole ? tiles->many : tiles->one)(work, waiting, first, vector);
    first += whole ? tiles->numbers : 1;
  }
}

/* `tiles` are the tiles beside one vector, beside two, and so on up to `most`. */
FOVEA_INLINE void bf16_vectors(const bf16_work *work, const bf16_tiles *tiles, const int most,
                               fovea_vector_range vectors) {
  bf16_work each = *work;
  FOVEA_NO_UNROLL
  for (int v = 0; v < vectors.count; each.prefetch_count = 0) {
    const int rest = vectors.count - v;
    int together = rest < most ? rest : most;
    if (rest == most + 1) together = rest / 2; /* of four vectors two and two, not three and one */
    FOVEA_SHARED(bf16_numbers)(&each, &tiles[together - 1], vectors.first + v);
    v += together;
  }
}

#include "bf16_few.h"

/* ---- Scores -------------------------------------------------------------------------------------------------- */

FOVEA_INLINE void bf16_finish_scores(const int numbers, const int vectors, const void *data, int64_t first,
                                     int vector, const bf16_tile *sum) {
  const fovea_score_args *args = data;
  const vec c = vec_set1(args->c);
  float *maxima = args->maxima + vector * LANES, *to = args->scores + first * ROW_TILE + vector * LANES;
  vec maximum[4];
  FOVEA_UNROLL
  for (int v = 0; v < vectors; v++) maximum[v] = vec_load(maxima + v * LANES);
  FOVEA_UNROLL
  for (int n = 0; n < numbers; n++) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) {
      const vec s = vec_mul(sum->sum[n][v], c);
      vec_store(to + n * ROW_TILE + v * LANES, s);
      maximum[v] = vec_max(s, maximum[v]);
    }
  }
  FOVEA_UNROLL
  for (int v = 0; v < vectors; v++) vec_store(maxima + v * LANES, maximum[v]);
}

#define bf16_lane_scores(lane) ROW_TILE
BF16_ALL_TILES(scores)

FOVEA_KERNEL static void bf16_score(const fovea_score_args *args) {
  float not_wanted[ROW_TILE] = {0};
  fovea_score_args all = *args;
  const int64_t items = bf16_items(args->dim), stride = bf16_stride(items);
  const bf16_work work = {
      {args->queries, (const float *)args->keys + args->key * stride, ROW_TILE, 1, stride, items},
      args->key_count,
      &all,
      args->prefetch,
      args->prefetch_count};
  if (args->seen_from) all.maxima = not_wanted;
  if (bf16_is_few(args->rows))
    bf16_score_few(&all, &work);
  else
    bf16_vectors(&work, bf16_tiles_scores, BF16_MOST(bf16_tiles_scores), args->vectors);
  if (args->seen_from) FOVEA_SHARED(score_hide)(args);
}

/* ---- Weights ------------------------------------------------------------------------------------------------- */

FOVEA_INLINE void bf16_fill(float *scores, int begin, int end, float x) {
  FOVEA_NO_UNROLL
  for (int key = begin; key < end; key++) vec_store(scores + key * ROW_TILE, vec_set1(x));
}

/* Weights of one vector in place of its scores, 0 for all other keys of the block. Returns their sum. Rounding may
 * make any number of a weight that is NaN. */
FOVEA_NOINLINE vec bf16_weigh_vector(float *scores, vec reference, int begin, int end);

/* All weights of the block are NaN where their sum is. */
FOVEA_NOINLINE void bf16_spoil(float *weights, vecmask spoilt) {
  const vec nan = BF16_NAN;
  FOVEA_NO_UNROLL
  for (int i = 0; i < FOVEA_BLOCK_KEYS / BF16_HALVES; i++, weights += ROW_TILE)
    vec_store(weights, vec_select(spoilt, nan, vec_load(weights)));
}

FOVEA_KERNEL static int bf16_softmax(const fovea_softmax_args *args) {
  FOVEA_NO_UNROLL
  for (int vector = args->vectors.first; vector < args->vectors.first + args->vectors.count; vector++) {
    const int row = vector * LANES;
    const vec block_max = vec_add(vec_load(args->maxima + row), vec_set1(0.0f)); /* -0 becomes +0 */
    const vec block_sum = bf16_weigh_vector(args->scores + row, state_reference(block_max), args->key_begin[vector],
                                            args->key_end[vector]);
    const vecmask spoilt = vec_is_nan(block_sum);
    if (vecmask_any(spoilt)) bf16_spoil(args->scores + row, spoilt);
    vec_store(args->maxima + row, block_max);
    vec_store(args->block_sum + row, block_sum);
  }
  const state_running running = {args->row_max, args->row_sum, args->old_part, args->new_part};
  return FOVEA_SHARED(advance)(&running, args->first, args->maxima, args->block_sum, args->vectors);
}

/* ---- Values -------------------------------------------------------------------------------------------------- */

FOVEA_INLINE void bf16_finish_values(const int numbers, const int vectors, const void *data, int64_t first,
                                     int vector, const bf16_tile *sum) {
  const fovea_value_args *args = data;
  const int row = vector * LANES, merges = args->flags & FOVEA_VALUE_MERGE;
  float *to = args->output + first * ROW_TILE + row;
  FOVEA_UNROLL
  for (int v = 0; v < vectors; v++) {
    const vec old_part = vec_load(args->old_part + row + v * LANES);
    const vec new_part = vec_load(args->new_part + row + v * LANES);
    FOVEA_UNROLL
    for (int n = 0; n < numbers; n++) {
      float *at = to + n * ROW_TILE + v * LANES;
      vec_store(at, merges ? state_join(vec_load(at), old_part, sum->sum[n][v], new_part) : sum->sum[n][v]);
    }
  }
}

#define bf16_lane_values(lane) ROW_TILE
BF16_ALL_TILES(values)

/* From the beginning of a group on: the weights of other keys of the block are 0, and so are values that are not
 * there. */
FOVEA_KERNEL static void bf16_value(const fovea_value_args *args) {
  const int64_t stride = bf16_stride(args->dim), begin = args->key / BF16_KEYS * BF16_GROUP;
  const int64_t end = bf16_items(args->key + args->key_count);
  const bf16_work work = {
      {args->weights + begin * ROW_TILE, args->values + begin * stride, ROW_TILE, stride, 1, end - begin},
      args->dim,
      args,
      args->prefetch,
      args->prefetch_count};
  if (bf16_is_few(args->rows))
    bf16_value_few(args, &work);
  else
    bf16_vectors(&work, bf16_tiles_values, BF16_MOST(bf16_tiles_values), args->vectors);
}

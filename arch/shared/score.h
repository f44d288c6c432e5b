/* The score tile: S^T[key][row] = (sum over d of K[key][d] * Q^T[d][row]) * c. The maxima of rows are taken while
 * the sums are in registers. Part of bodies.h; tiles.h gives
 *
 *   FOVEA_TILE_VECTORS      vectors of rows in a tile: 1 to 4
 *   FOVEA_SCORE_KEYS_<n>    keys of the register tile beside n vectors, for n = 1 to FOVEA_TILE_VECTORS; if that is
 *                           4, n = 3 may be left out
 *
 * Products are of f32 (score_single.h). A table of pairs defines FOVEA_SCORE_PAIRS and includes this file alone,
 * after its pair layer: products are then of pairs of a half type (score_pairs.h). */

#ifndef FOVEA_ARCH_SHARED_SCORE_H
#define FOVEA_ARCH_SHARED_SCORE_H

#include "../kernels.h"
#include "fetch.h"
#include "score_hide.h"
#include "terms.h"
#include "tile.h"

FOVEA_SHARED_FUNCTION(void, score_hide, const fovea_score_args *args) {
  for (int vector = args->vectors.first; vector < args->vectors.first + args->vectors.count; vector++) {
    const int row = vector * LANES;
    const veci from = veci_load(args->seen_from + row), to = veci_load(args->seen_to + row);
    vec maximum = vec_load(args->maxima + row);
    FOVEA_NO_UNROLL
    for (int key = 0; key < args->key_count; key++) {
      float *score = args->scores + (int64_t)key * ROW_TILE + row;
      vec s = term_hide(vec_load(score), vec_seen(key, from, to));
      vec_store(score, s);
      maximum = vec_max(s, maximum);
    }
    vec_store(args->maxima + row, maximum);
  }
}

typedef struct score_tile {
  vec sum[16][4]; /* [key][vector]; a register tile does not touch sums that it does not use */
} score_tile;

FOVEA_INLINE void score_clear(const int vectors, const int keys, score_tile *tile) {
  FOVEA_UNROLL
  for (int n = 0; n < keys; n++) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) tile->sum[n][v] = vec_set1(0.0f);
  }
}

/* Cache lines that each step of a chain prefetches. The other lines are prefetched before a register tile. */
#ifndef FOVEA_SCORE_FETCH
#define FOVEA_SCORE_FETCH 0
#endif

typedef struct score_fetch {
  row_fetch rows;
  int64_t before; /* lines to prefetch before each register tile */
} score_fetch;

/* The products of all keys and vectors for one item of the queries, a dim or a pair of dims. `lane` is the item's
 * number among the loaded scalars. */
#define SCORE_STEP(lane)                                                                                           \
  do {                                                                                                             \
    vec q[4];                                                                                                      \
    FOVEA_UNROLL for (int v = 0; v < vectors; v++) q[v] = vec_load_held(queries + (lane)*ROW_TILE + v * LANES);    \
    FOVEA_UNROLL for (int n = 0; n < keys; n++) {                                                                  \
      FOVEA_UNROLL for (int v = 0; v < vectors; v++) tile->sum[n][v] =                                             \
          SCORE_PRODUCT(q[v], scalars[n], lane, tile->sum[n][v]);                                                  \
    }                                                                                                              \
  } while (0)

#ifdef FOVEA_SCORE_PAIRS
#include "score_pairs.h"
#else
#include "score_single.h"
#endif

/* Scales and stores the scores, and takes the maxima. */
FOVEA_INLINE void score_finish(const int vectors, const int keys, const fovea_score_args *args, float *scores,
                               const score_tile *tile) {
  const vec c = vec_set1(args->c);
  float *maxima = args->maxima + args->vectors.first * LANES;
  FOVEA_UNROLL
  for (int v = 0; v < vectors; v++) {
    vec maximum = vec_load(maxima + v * LANES);
    FOVEA_UNROLL
    for (int n = 0; n < keys; n++) {
      vec s = vec_mul(tile->sum[n][v], c);
      vec_store(scores + n * ROW_TILE + v * LANES, s);
      maximum = vec_max(s, maximum);
    }
    vec_store(maxima + v * LANES, maximum);
  }
}

/* Before the last piece, the running sums lie in the scores' place. */
FOVEA_INLINE void score_add_piece(const int vectors, const int keys, const float *scores, score_tile *tile) {
  FOVEA_UNROLL
  for (int n = 0; n < keys; n++) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) {
      tile->sum[n][v] = vec_add(vec_load(scores + n * ROW_TILE + v * LANES), tile->sum[n][v]);
    }
  }
}

FOVEA_INLINE void score_keep_piece(const int vectors, const int keys, float *scores, const score_tile *tile) {
  FOVEA_UNROLL
  for (int n = 0; n < keys; n++) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) vec_store(scores + n * ROW_TILE + v * LANES, tile->sum[n][v]);
  }
}

FOVEA_INLINE score_fetch score_plan_fetch(const fovea_score_args *args, int keys) {
  score_fetch fetch = {0};
  int64_t tiles = args->key_count / keys, lines = 0;
  if (args->prefetch_count == 0 || tiles == 0) return fetch;
  fetch.rows = fetch_rows(args->prefetch, args->prefetch_count);
  for (int i = 0; i < args->prefetch_count; i++) lines += fetch_lines_of(args->prefetch[i].bytes);
  fetch.before = (lines + tiles - 1) / tiles - FOVEA_SCORE_FETCH * (args->dim / SCORE_CHAIN_DIMS);
  return fetch;
}

FOVEA_INLINE void score_register_tile(const int vectors, const int keys, const fovea_score_args *args, int key,
                                      const int lines, score_fetch *fetch) {
  const float *queries = args->queries + args->vectors.first * LANES;
  const score_element *key_rows = (const score_element *)args->keys + key * args->key_stride;
  float *scores = args->scores + (int64_t)key * ROW_TILE + args->vectors.first * LANES;
  score_tile tile;
  int64_t d = 0;
  do {
    int64_t rest = args->dim - d;
    int64_t piece = rest < FOVEA_DOT_PIECE ? rest : FOVEA_DOT_PIECE;
    score_chain(vectors, keys, queries + d / SCORE_TOGETHER * ROW_TILE, key_rows + d, args->key_stride, piece,
                lines, fetch, &tile);
    if (d > 0) score_add_piece(vectors, keys, scores, &tile);
    if (piece < rest) score_keep_piece(vectors, keys, scores, &tile);
    d += piece;
  } while (d < args->dim);
  score_finish(vectors, keys, args, scores, &tile);
}

/* Each register tile is a function of its own: in a single function, their addresses would not fit in registers. */
#define SCORE_TILE(name, vectors, keys, lines)                                                                     \
  FOVEA_NOINLINE void name(const fovea_score_args *args, int key, score_fetch *fetch) {                            \
    score_register_tile(vectors, keys, args, key, lines, fetch);                                                   \
  }
#define SCORE_TILES(vectors, tile_keys)                                                                            \
  SCORE_TILE(score_main_##vectors, vectors, tile_keys, FOVEA_SCORE_FETCH)                                          \
  SCORE_TILE(score_two_##vectors, vectors, 2, 0)                                                                   \
  SCORE_TILE(score_one_##vectors, vectors, 1, 0)

typedef void score_tile_function(const fovea_score_args *args, int key, score_fetch *fetch);

/* All keys: first register tiles of `tile_keys` keys, then of two, then of one. */
FOVEA_MIDDLE FOVEA_NOINLINE void score_keys(const fovea_score_args *args, int tile_keys, score_tile_function *whole,
                                            score_tile_function *two, score_tile_function *one) {
  int key = 0;
  score_fetch fetch = score_plan_fetch(args, tile_keys);
  for (; key + tile_keys <= args->key_count; key += tile_keys) {
    fetch_lines(fetch.before, &fetch.rows);
    whole(args, key, &fetch);
  }
  for (; key + 2 <= args->key_count; key += 2) two(args, key, &fetch);
  if (key < args->key_count) one(args, key, &fetch);
}

SCORE_TILES(1, FOVEA_SCORE_KEYS_1)
#if FOVEA_TILE_VECTORS >= 2
SCORE_TILES(2, FOVEA_SCORE_KEYS_2)
#endif
#if FOVEA_TILE_VECTORS == 3
SCORE_TILES(3, FOVEA_SCORE_KEYS_3)
#elif FOVEA_TILE_VECTORS == 4
SCORE_TILES(4, FOVEA_SCORE_KEYS_4)
#ifdef FOVEA_SCORE_KEYS_3
SCORE_TILE(score_main_3, 3, FOVEA_SCORE_KEYS_3, FOVEA_SCORE_FETCH)
#endif
#endif

/* Splits vectors of rows among register tiles of 4 or 3 (a whole tile), 2 and 1 vectors. In a tile of four, three
 * vectors have a register tile if tiles.h has one. If not, and for the keys that it leaves over, they are split
 * into two and one. */
FOVEA_NOINLINE void score_vectors(const fovea_score_args *args) {
  fovea_score_args part = *args;
#if FOVEA_TILE_VECTORS == 4
  if (args->vectors.count == 4) {
    score_keys(args, FOVEA_SCORE_KEYS_4, score_main_4, score_two_4, score_one_4);
    return;
  }
#endif
#if FOVEA_TILE_VECTORS == 3
  if (args->vectors.count == 3) {
    score_keys(args, FOVEA_SCORE_KEYS_3, score_main_3, score_two_3, score_one_3);
    return;
  }
#elif defined(FOVEA_SCORE_KEYS_3)
  if (args->vectors.count == 3) {
    const int whole = args->key_count / FOVEA_SCORE_KEYS_3 * FOVEA_SCORE_KEYS_3;
    part.key_count = whole;
    score_keys(&part, FOVEA_SCORE_KEYS_3, score_main_3, NULL, NULL);
    part.keys = (const score_element *)args->keys + whole * args->key_stride;
    part.scores += (int64_t)whole * ROW_TILE;
    part.key_count = args->key_count - whole;
    part.prefetch_count = 0;
  }
#endif
#if FOVEA_TILE_VECTORS >= 2
  if (args->vectors.count >= 2) {
    score_keys(&part, FOVEA_SCORE_KEYS_2, score_main_2, score_two_2, score_one_2);
    if (args->vectors.count == 2) return;
    part.vectors.first += 2;
    part.prefetch_count = 0;
  }
#endif
  score_keys(&part, FOVEA_SCORE_KEYS_1, score_main_1, score_two_1, score_one_1);
}

FOVEA_KERNEL void FOVEA_NAME(SCORE_OPERATION)(const fovea_score_args *args) {
  if (!args->seen_from) {
    score_vectors(args);
    return;
  }
  float not_wanted[ROW_TILE] = {0};
  fovea_score_args unseen_too = *args;
  unseen_too.maxima = not_wanted;
  score_vectors(&unseen_too);
  FOVEA_SHARED(score_hide)(args);
}

#endif

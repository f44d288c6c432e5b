/* Scores of int8 by AMX: keys lie in the rows of tiles, rows in their columns. Included after int8_operands.h. */
#ifndef FOVEA_ARCH_AMX_INT8_SCORES_H
#define FOVEA_ARCH_AMX_INT8_SCORES_H

#include "../shared/fetch.h"
#include "../shared/score_hide.h"

/* Sums to finish: of keys from `key` on. */
typedef struct score_sums {
  const fovea_score_args *args;
  const float *key_scales; /* of the block */
  const float *key_logs;   /* likewise; NULL: nothing is added */
  const float *c;          /* of each row of the columns */
  int key, columns;
  tile_home home;
} score_sums;

/* Keys `from` to `end` - 1 of a row of tiles. */
FOVEA_INLINE void finish_keys(const score_sums *work, int key, int from, int end, const int columns,
                              const float *sums) {
  const fovea_score_args *args = work->args;
  static const float no_logs[FOVEA_BLOCK_KEYS + TILE];
  const float *scale = work->key_scales + key + from;
  const float *log = (work->key_logs ? work->key_logs : no_logs) + key + from;
  float *maxima = args->maxima + args->vectors.first * LANES;
  float *to = args->scores + (int64_t)(key - args->key + from) * ROW_TILE + args->vectors.first * LANES;
  vec maximum[4], c[4];
  sums += from * TILE;
  FOVEA_UNROLL
  for (int v = 0; v < columns; v++) maximum[v] = vec_load(maxima + v * LANES), c[v] = vec_load(work->c + v * LANES);
  FOVEA_NO_UNROLL
  for (int n = from; n < end; n++, to += ROW_TILE, sums += TILE, scale++, log++) {
    FOVEA_UNROLL
    for (int v = 0; v < columns; v++) {
      const vec sum = _mm512_cvtepi32_ps(_mm512_castps_si512(vec_load(sums + v * TILE * TILE)));
      const vec s = vec_mul(vec_mul(sum, vec_set1(*scale)), c[v]);
      vec_store(to + v * LANES, s);
      maximum[v] = vec_max(vec_add(s, vec_set1(*log)), maximum[v]);
    }
  }
  FOVEA_UNROLL
  for (int v = 0; v < columns; v++) vec_store(maxima + v * LANES, maximum[v]);
}

FOVEA_INLINE void finish_scores(const void *data, int begin, int end) {
  const score_sums *work = data;
  const fovea_score_args *args = work->args;
  for (int i = 0; i < tiles_of_a(work->columns); i++) {
    const int key = work->key + i * TILE, first = args->key - key, last = first + args->key_count;
    finish_keys(work, key, begin > first ? begin : first, end < last ? end : last, work->columns,
                work->home.sums + i * work->home.a);
  }
}

/* The factors of scores: those of the rows with their scales. */
FOVEA_INLINE void multiply_scales(const fovea_score_args *args, const float *scales, const int columns, float *to) {
  FOVEA_UNROLL
  for (int v = 0; v < columns; v++) {
    const int row = (args->vectors.first + v) * LANES;
    const vec c = args->row_scales ? vec_load(args->row_scales + row) : vec_set1(args->c);
    vec_store(to + v * LANES, vec_mul(vec_load(scales + row), c));
  }
}

/* The vector units finish the sums of one step while AMX multiplies those of the next. */
FOVEA_INLINE void score_columns(const fovea_score_args *args, const int columns) {
  const int64_t words = padded_words(args->dim);
  const int step = TILE * tiles_of_a(columns), end = args->key + args->key_count;
  float c[4 * LANES];
  tile_room room;
  tile_operands x = {.b = (const uint32_t *)(const void *)(args->queries + args->vectors.first * LANES),
                     .a_row = words,
                     .a_tile = words * TILE,
                     .b_row = ROW_TILE,
                     .b_group = TILE_WORDS * ROW_TILE,
                     .groups = (int)(words / TILE_WORDS)};
  score_sums before = {.args = args,
                       .key_logs = args->key_logs ? args->key_logs - args->key : NULL,
                       .key_scales = (const float *)args->keys + FOVEA_BLOCK_KEYS * words,
                       .c = c,
                       .key = end, /* none */
                       .columns = columns,
                       .home = tiles_in_room(&room, columns)};
  const int steps = (end - args->key / step * step + step - 1) / step;
  row_fetch fetch = fetch_rows(args->prefetch, args->prefetch_count);
  const int64_t lines = fetch_share_of(args->prefetch, args->prefetch_count, steps);
  multiply_scales(args, args->queries + words * ROW_TILE, columns, c);
  FOVEA_NO_UNROLL
  for (int key = args->key / step * step; key < end; key += step) {
    fetch_lines(lines, &fetch);
    x.a = (const uint32_t *)args->keys + key * words;
    tiles_multiply(&x, TILE_S8, columns, &before.home, finish_scores, &before);
    before.key = key;
  }
  tiles_keep(&before.home, columns);
  finish_scores(&before, 0, TILE);
}

FOVEA_NOINLINE void score_4(const fovea_score_args *args) {
  score_columns(args, 4);
}
FOVEA_NOINLINE void score_3(const fovea_score_args *args) {
  score_columns(args, 3);
}
FOVEA_NOINLINE void score_2(const fovea_score_args *args) {
  score_columns(args, 2);
}
FOVEA_NOINLINE void score_1(const fovea_score_args *args) {
  score_columns(args, 1);
}

FOVEA_KERNEL static void amx_score(const fovea_score_args *args) {
  static void (*const of[])(const fovea_score_args *) = {score_1, score_2, score_3, score_4};
  float not_wanted[ROW_TILE] = {0};
  fovea_score_args all = *args;
  if (args->seen_from) all.maxima = not_wanted;
  of[args->vectors.count - 1](&all);
  if (args->seen_from) score_hide(args);
}

#endif

/* Scores of bf16 by AMX: keys lie in the rows of tiles, rows in their columns. Included after operands.h. */
#ifndef FOVEA_ARCH_AMX_SCORES_H
#define FOVEA_ARCH_AMX_SCORES_H

#include "../shared/fetch.h"
#include "../shared/score_hide.h"

/* Sums to finish: of keys from `key` on. */
typedef struct score_sums {
  const fovea_score_args *args;
  int key, columns, in_place; /* in_place: the sums are the scores, where they lie */
  tile_home home;
} score_sums;

/* Keys `from` to `end` - 1 of a row of tiles. The vectors take turns, since a maximum takes four cycles. */
FOVEA_INLINE void finish_keys(const score_sums *work, int key, int from, int end, const int columns,
                              const int in_place, const float *sums) {
  const fovea_score_args *args = work->args;
  const vec c = vec_set1(args->c);
  float *maxima = args->maxima + args->vectors.first * LANES;
  float *to = args->scores + (int64_t)(key - args->key + from) * ROW_TILE + args->vectors.first * LANES;
  vec maximum[4];
  sums += from * work->home.row;
  FOVEA_UNROLL
  for (int v = 0; v < columns; v++) maximum[v] = vec_load(maxima + v * LANES);
  FOVEA_NO_UNROLL
  for (int n = from; n < end; n++, to += ROW_TILE, sums += work->home.row) {
    FOVEA_UNROLL
    for (int v = 0; v < columns; v++) {
      vec s = vec_load(sums + v * work->home.b);
      if (!in_place) {
        s = vec_mul(s, c);
        vec_store(to + v * LANES, s);
      }
      maximum[v] = vec_max(s, maximum[v]);
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
    const float *sums = work->home.sums + i * work->home.a;
    if (work->in_place)
      finish_keys(work, key, begin, end, work->columns, 1, sums);
    else
      finish_keys(work, key, begin > first ? begin : first, end < last ? end : last, work->columns, 0, sums);
  }
}

/* The vector units finish the sums of one step while AMX multiplies those of the next. With a factor of 1 the sums
 * are the scores, and go to their place at once, if the slice has all keys of the step. */
FOVEA_INLINE void score_columns(const fovea_score_args *args, const int columns) {
  const int64_t groups = groups_of(args->dim), key_words = groups * TILE_WORDS;
  const int step = TILE * tiles_of_a(columns), end = args->key + args->key_count;
  tile_room room;
  tile_operands x = {.b = (const uint32_t *)(const void *)(args->queries + args->vectors.first * LANES),
                     .a_row = key_words,
                     .a_tile = key_words * TILE,
                     .b_row = ROW_TILE,
                     .b_group = TILE_WORDS * ROW_TILE,
                     .groups = (int)groups};
  score_sums before = {
      .args = args, .key = end, .columns = columns, .home = tiles_in_room(&room, columns)}; /* none */
  const int steps = (end - args->key / step * step + step - 1) / step;
  row_fetch fetch = fetch_rows(args->prefetch, args->prefetch_count);
  const int64_t lines = fetch_share_of(args->prefetch, args->prefetch_count, steps);
  FOVEA_NO_UNROLL
  for (int key = args->key / step * step; key < end; key += step) {
    fetch_lines(lines, &fetch);
    x.a = (const uint32_t *)args->keys + key * key_words;
    tiles_multiply(&x, TILE_BF16, columns, &before.home, finish_scores, &before);
    before.key = key;
    before.in_place = args->c == 1.0f && key >= args->key && key + step <= end;
    before.home = tiles_in_room(&room, columns);
    if (before.in_place)
      before.home = (tile_home){args->scores + (key - args->key) * ROW_TILE + args->vectors.first * LANES, ROW_TILE,
                                TILE * ROW_TILE, TILE};
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

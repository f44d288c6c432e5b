/* Scores by AMX: keys lie in the rows of tiles, rows in their columns. Shared by scores.h and int8_scores.h, which
 * have before it
 *
 *   SCORE_KIND        what is multiplied
 *   score_sums        sums to finish, of keys from `key` on: args, key, columns, home, and what else is theirs
 *   begin_scores()    sets what else is theirs, before the first step
 *   place_scores()    may give the sums of keys from `key` on another home than their room
 *   finish_scores()   makes scores of them: a tile_work */
#ifndef FOVEA_ARCH_AMX_SCORE_COLUMNS_H
#define FOVEA_ARCH_AMX_SCORE_COLUMNS_H

#include "../shared/fetch.h"
#include "../shared/score_hide.h"

/* The vector units finish the sums of one step while AMX multiplies the operands of the next. */
FOVEA_INLINE void score_columns(const fovea_score_args *args, const int columns) {
  const int64_t words = padded_words(args->dim);
  const int step = TILE * tiles_of_a(columns), end = args->key + args->key_count;
  tile_room room;
  tile_operands x = {.b = (const uint32_t *)(const void *)(args->queries + args->vectors.first * LANES),
                     .a_row = words,
                     .a_tile = words * TILE,
                     .b_row = ROW_TILE,
                     .b_group = TILE_WORDS * ROW_TILE,
                     .groups = (int)(words / TILE_WORDS)};
  score_sums before = {
      .args = args, .key = end, .columns = columns, .home = tiles_in_room(&room, columns)}; /* none */
  const int steps = (end - args->key / step * step + step - 1) / step;
  row_fetch fetch = fetch_rows(args->prefetch, args->prefetch_count);
  const int64_t lines = fetch_share_of(args->prefetch, args->prefetch_count, steps);
  begin_scores(&before, columns);
  FOVEA_NO_UNROLL
  for (int key = args->key / step * step; key < end; key += step) {
    fetch_lines(lines, &fetch);
    x.a = (const uint32_t *)args->keys + key * words;
    tiles_multiply(&x, SCORE_KIND, columns, &before.home, finish_scores, &before);
    before.key = key;
    place_scores(&before, &room, columns);
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
  if (args->seen_from) FOVEA_SHARED(score_hide)(args);
}

#endif

/* Scores of bf16 by AMX. Included after operands.h. */
#ifndef FOVEA_ARCH_AMX_SCORES_H
#define FOVEA_ARCH_AMX_SCORES_H

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

FOVEA_INLINE void begin_scores(score_sums *work, const int columns) {
  (void)work, (void)columns;
}

/* With a factor of 1 the sums are the scores, and go to their place at once, if the slice has all keys of the step.
 */
FOVEA_INLINE void place_scores(score_sums *work, tile_room *room, const int columns) {
  const fovea_score_args *args = work->args;
  const int step = TILE * tiles_of_a(columns), end = args->key + args->key_count;
  work->in_place = args->c == 1.0f && work->key >= args->key && work->key + step <= end;
  work->home = tiles_in_room(room, columns);
  if (work->in_place)
    work->home = (tile_home){args->scores + (work->key - args->key) * ROW_TILE + args->vectors.first * LANES,
                             ROW_TILE, TILE * ROW_TILE, TILE};
}

#define SCORE_KIND TILE_BF16
#include "score_columns.h"

#endif

/* Scores of int8 by AMX. Included after int8_operands.h. */
#ifndef FOVEA_ARCH_AMX_INT8_SCORES_H
#define FOVEA_ARCH_AMX_INT8_SCORES_H

/* Sums to finish: of keys from `key` on. */
typedef struct score_sums {
  const fovea_score_args *args;
  const float *key_scales; /* of the block */
  const float *key_logs;   /* of the block; NULL: nothing is added */
  int key, columns;
  tile_home home;
  float c[4 * LANES]; /* of each row of the columns */
} score_sums;

/* Keys `from` to `end` - 1 of a row of tiles. */
FOVEA_INLINE void finish_keys(const score_sums *work, int key, int from, int end, const int columns,
                              const float *sums) {
  const fovea_score_args *args = work->args;
  const float *scale = work->key_scales + key + from;
  const float *log = (work->key_logs ? work->key_logs : fovea_int8_no_logs) + key + from;
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

/* The factors of scores are the factors of the rows with their scales. */
FOVEA_INLINE void begin_scores(score_sums *work, const int columns) {
  const fovea_score_args *args = work->args;
  const int64_t words = padded_words(args->dim);
  const float *scales = args->queries + words * ROW_TILE;
  work->key_scales = (const float *)args->keys + FOVEA_BLOCK_KEYS * words;
  work->key_logs = args->key_logs ? args->key_logs - args->key : NULL;
  FOVEA_UNROLL
  for (int v = 0; v < columns; v++) {
    const int row = (args->vectors.first + v) * LANES;
    const vec c = args->row_scales ? vec_load(args->row_scales + row) : vec_set1(args->c);
    vec_store(work->c + v * LANES, vec_mul(vec_load(scales + row), c));
  }
}

FOVEA_INLINE void place_scores(score_sums *work, tile_room *room, const int columns) {
  (void)work, (void)room, (void)columns;
}

#define SCORE_KIND TILE_S8
#include "score_columns.h"

#endif

/* Products of weights and values of int8 by AMX: dims lie in the rows of tiles, rows in their columns. Included
 * after int8_operands.h. */
#ifndef FOVEA_ARCH_AMX_INT8_VALUES_H
#define FOVEA_ARCH_AMX_INT8_VALUES_H

#include "../shared/fetch.h"
#include "../shared/state.h"

/* Sums to finish: of dims from `dim` on. */
typedef struct value_sums {
  const fovea_value_args *args;
  int64_t dim;
  int columns;
  tile_home home;
} value_sums;

/* Where the sum of weights is not finite the outputs are NaN. */
FOVEA_INLINE void finish_dims(const fovea_value_args *args, int64_t dim, int64_t count, const int columns,
                              const float *sums) {
  const int row = args->vectors.first * LANES, merges = args->flags & FOVEA_VALUE_MERGE;
  float *to = args->output + dim * ROW_TILE + row;
  vec old_part[4], new_part[4], poison[4];
  FOVEA_UNROLL
  for (int v = 0; v < columns; v++) {
    const vec total = vec_load(args->block_sum + row + v * LANES);
    poison[v] = vec_sub(total, total); /* 0 or NaN */
    old_part[v] = vec_load(args->old_part + row + v * LANES);
    new_part[v] = vec_load(args->new_part + row + v * LANES);
  }
  FOVEA_NO_UNROLL
  for (; count > 0; count--, to += ROW_TILE, sums += TILE) {
    FOVEA_UNROLL
    for (int v = 0; v < columns; v++) {
      const vec number = _mm512_cvtepi32_ps(_mm512_castps_si512(vec_load(sums + v * TILE * TILE)));
      const vec sum = vec_add(number, poison[v]);
      vec_store(to + v * LANES, merges ? state_join(vec_load(to + v * LANES), old_part[v], sum, new_part[v]) : sum);
    }
  }
}

FOVEA_INLINE void finish_values(const void *data, int begin, int end) {
  const value_sums *work = data;
  for (int i = 0; i < tiles_of_a(work->columns); i++) {
    const int64_t dim = work->dim + i * TILE + begin, rest = work->args->dim - dim, count = end - begin;
    finish_dims(work->args, dim, rest < count ? rest : count, work->columns,
                work->home.sums + i * work->home.a + begin * TILE);
  }
}

FOVEA_INLINE void value_columns(const fovea_value_args *args, const int columns) {
  const int64_t begin = args->key / TILE_CODES, step = TILE * tiles_of_a(columns);
  const float *words = args->weights + begin * TILE_WORDS * ROW_TILE + args->vectors.first * LANES;
  tile_room room;
  tile_operands x = {.b = (const uint32_t *)(const void *)words,
                     .a_row = INT8_KEY_WORDS,
                     .a_tile = INT8_KEY_WORDS * TILE,
                     .b_row = ROW_TILE,
                     .b_group = TILE_WORDS * ROW_TILE,
                     .groups = (int)((args->key + args->key_count - 1) / TILE_CODES + 1 - begin)};
  value_sums before = {
      .args = args, .dim = args->dim, .columns = columns, .home = tiles_in_room(&room, columns)}; /* none */
  const int64_t steps = (args->dim + step - 1) / step;
  row_fetch fetch = fetch_rows(args->prefetch, args->prefetch_count);
  const int64_t lines = fetch_share_of(args->prefetch, args->prefetch_count, steps);
  FOVEA_NO_UNROLL
  for (int64_t dim = 0; dim < args->dim; dim += step) {
    fetch_lines(lines, &fetch);
    x.a = (const uint32_t *)(const void *)args->values + dim * INT8_KEY_WORDS + begin * TILE_WORDS;
    tiles_multiply(&x, TILE_S8_U8, columns, &before.home, finish_values, &before);
    before.dim = dim;
  }
  tiles_keep(&before.home, columns);
  finish_values(&before, 0, TILE);
}

FOVEA_NOINLINE void value_4(const fovea_value_args *args) {
  value_columns(args, 4);
}
FOVEA_NOINLINE void value_3(const fovea_value_args *args) {
  value_columns(args, 3);
}
FOVEA_NOINLINE void value_2(const fovea_value_args *args) {
  value_columns(args, 2);
}
FOVEA_NOINLINE void value_1(const fovea_value_args *args) {
  value_columns(args, 1);
}

FOVEA_KERNEL static void amx_value(const fovea_value_args *args) {
  static void (*const of[])(const fovea_value_args *) = {value_1, value_2, value_3, value_4};
  of[args->vectors.count - 1](args);
}

#endif

/* Products of weights and values by AMX: dims lie in the rows of tiles, rows in their columns. Shared by values.h
 * and int8_values.h, which have before it
 *
 *   VALUE_KIND      what is multiplied
 *   finish_dims()   makes outputs of the sums of some dims, `columns` vectors of rows */
#ifndef FOVEA_ARCH_AMX_VALUE_COLUMNS_H
#define FOVEA_ARCH_AMX_VALUE_COLUMNS_H

#include "../shared/fetch.h"

enum { BLOCK_WORDS = FOVEA_BLOCK_KEYS / TILE_ITEMS * TILE_WORDS };

/* Sums to finish: of dims from `dim` on. */
typedef struct value_sums {
  const fovea_value_args *args;
  int64_t dim;
  int columns;
  tile_home home;
} value_sums;

FOVEA_INLINE void finish_values(const void *data, int begin, int end) {
  const value_sums *work = data;
  for (int i = 0; i < tiles_of_a(work->columns); i++) {
    const int64_t dim = work->dim + i * TILE + begin, rest = work->args->dim - dim, count = end - begin;
    finish_dims(work->args, dim, rest < count ? rest : count, work->columns,
                work->home.sums + i * work->home.a + begin * TILE);
  }
}

FOVEA_INLINE void value_columns(const fovea_value_args *args, const int columns) {
  const int64_t begin = args->key / TILE_ITEMS, step = TILE * tiles_of_a(columns);
  const float *words = args->weights + begin * TILE_WORDS * ROW_TILE + args->vectors.first * LANES;
  tile_room room;
  tile_operands x = {.b = (const uint32_t *)(const void *)words,
                     .a_row = BLOCK_WORDS,
                     .a_tile = BLOCK_WORDS * TILE,
                     .b_row = ROW_TILE,
                     .b_group = TILE_WORDS * ROW_TILE,
                     .groups = (int)((args->key + args->key_count - 1) / TILE_ITEMS + 1 - begin)};
  value_sums before = {
      .args = args, .dim = args->dim, .columns = columns, .home = tiles_in_room(&room, columns)}; /* none */
  const int64_t steps = (args->dim + step - 1) / step;
  row_fetch fetch = fetch_rows(args->prefetch, args->prefetch_count);
  const int64_t lines = fetch_share_of(args->prefetch, args->prefetch_count, steps);
  FOVEA_NO_UNROLL
  for (int64_t dim = 0; dim < args->dim; dim += step) {
    fetch_lines(lines, &fetch);
    x.a = (const uint32_t *)(const void *)args->values + dim * BLOCK_WORDS + begin * TILE_WORDS;
    tiles_multiply(&x, VALUE_KIND, columns, &before.home, finish_values, &before);
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

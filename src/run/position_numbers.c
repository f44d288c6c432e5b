#include "position_numbers.h"

#include "../plan/scratch_layout.h"
#include "../visible/entry.h"

#include <string.h>

static int is_hiding(float number) {
  return number == -__builtin_inff();
}

/* Numbers that are all alike. */
static int repeat(float number, int64_t count, float *to, int64_t step) {
  for (int64_t i = 0; i < count; i++) to[i * step] = number;
  return is_hiding(number);
}

static void distances(const fovea_key_range *keys, int symmetric, float *to, int64_t step) {
  const int64_t first = keys->key - keys->own;
  if (symmetric) {
    for (int64_t i = 0; i < keys->count; i++) to[i * step] = -(float)(first + i < 0 ? -(first + i) : first + i);
  } else {
    for (int64_t i = 0; i < keys->count; i++) to[i * step] = (float)(first + i);
  }
}

/* Keys before the table, keys that it has numbers for, keys after it. */
static int relative(const fovea_position_term *term, const float *numbers, const fovea_key_range *keys, float *to,
                    int64_t step) {
  int hides = 0;
  const int64_t first = keys->key - keys->own + term->before, last = term->before + term->after;
  const int64_t begin = fovea_least(fovea_most(-first, 0), keys->count);
  const int64_t end = fovea_least(fovea_most(last + 1 - first, begin), keys->count);
  if (begin > 0) hides = repeat(numbers[0], begin, to, step);
  for (int64_t i = begin; i < end; i++) {
    const float number = numbers[(first + i) * term->place];
    to[i * step] = number;
    hides |= is_hiding(number);
  }
  if (end < keys->count) hides |= repeat(numbers[last * term->place], keys->count - end, to + end * step, step);
  return hides;
}

/* The bucket of a distance among the buckets of a direction; the bucket's first distance and the next bucket's. */
static int bucket_at(const fovea_position_rule *rule, const int32_t *borders, int64_t distance, int64_t *low,
                     int64_t *high) {
  int k = 0;
  if (distance < rule->exact) {
    *low = distance;
    *high = distance + 1;
    return (int)distance;
  }
  while (k + 1 < rule->wide && borders[k + 1] <= distance) k++;
  *low = borders[k];
  *high = k + 1 < rule->wide ? borders[k + 1] : INT64_MAX;
  return rule->exact + k;
}

/* Runs of keys with the same bucket. */
static int buckets(const fovea_positions *positions, const fovea_position_rule *rule, const float *numbers,
                   const fovea_key_range *keys, float *to, int64_t step) {
  const int32_t *borders = positions->borders + rule->first_border;
  int hides = 0;
  for (int64_t i = 0, run; i < keys->count; i += run) {
    const int64_t d = keys->key + i - keys->own;
    int64_t low, high, bucket = 0;
    if (d <= 0) {
      bucket = bucket_at(rule, borders, -d, &low, &high);
      run = -d - low + 1;
    } else if (rule->term.bidirectional) {
      bucket = rule->direction + bucket_at(rule, borders, d, &low, &high);
      run = high - d;
    } else {
      run = keys->count;
    }
    run = fovea_least(run, keys->count - i);
    hides |= repeat(numbers[bucket * rule->term.place], run, to + i * step, step);
  }
  return hides;
}

static int cells(const fovea_position_rule *rule, const float *numbers, const fovea_key_range *keys, float *to,
                 int64_t step) {
  int hides = 0;
  const fovea_position_term *grid = &rule->term;
  const int64_t own = fovea_cell_place(grid, keys->own) + fovea_cell_place(grid, rule->cells - 1);
  for (int64_t i = 0; i < keys->count; i++) {
    const int64_t key = keys->key + i;
    to[i * step] = key < rule->cells ? numbers[(own - fovea_cell_place(grid, key)) * grid->place] : 0;
    hides |= is_hiding(to[i * step]);
  }
  return hides;
}

int fovea_position_numbers(const fovea_positions *positions, const fovea_position_rule *rule, const float *numbers,
                           fovea_key_range keys, float *to, int64_t step) {
  switch (rule->term.kind) {
  case FOVEA_POSITION_RELATIVE:
    return relative(&rule->term, numbers, &keys, to, step);
  case FOVEA_POSITION_T5:
    return buckets(positions, rule, numbers, &keys, to, step);
  case FOVEA_POSITION_GRID:
    return cells(rule, numbers, &keys, to, step);
  default:
    distances(&keys, rule->term.kind == FOVEA_POSITION_ALIBI_SYMMETRIC, to, step);
    return 0;
  }
}

/* Rows of a tile that are in one row of the grid: their numbers lie together. */
typedef struct cell_run {
  int row, count;
  int64_t place; /* of the first, in the window, for a key at cell 0 */
} cell_run;

/* Floats that are copied at a time: fewer instructions than a call for each run. */
enum { COPIED = 8 };

static int list_runs(const fovea_position_term *grid, const fovea_grid_tile *tile, int64_t first_place,
                     cell_run *runs) {
  int count = 0;
  for (int row = 0; row < tile->rows;) {
    const int64_t cell = tile->own + row, across = grid->width - cell % grid->width;
    const int length = (int)fovea_least(across, tile->rows - row);
    runs[count++] = (cell_run){row, length, fovea_cell_place(grid, cell) - first_place};
    row += length;
  }
  return count;
}

int fovea_grid_numbers(const fovea_position_rule *rule, const float *numbers, const fovea_grid_tile *tile,
                       int *hides) {
  const fovea_position_term *grid = &rule->term;
  const int64_t last_place = fovea_cell_place(grid, rule->cells - 1);
  const int64_t low = fovea_cell_place(grid, tile->own) - fovea_cell_place(grid, tile->key + tile->keys - 1);
  const int64_t high = fovea_cell_place(grid, tile->own + tile->rows - 1) - fovea_cell_place(grid, tile->key);
  const int64_t places = high - low + 1;
  cell_run runs[FOVEA_ROW_TILE_LIMIT];
  if (places > FOVEA_GRID_FLOATS - COPIED) return 0;
  for (int64_t i = 0; i < places; i++) {
    tile->window[i] = numbers[(low + last_place + i) * grid->place];
    *hides |= is_hiding(tile->window[i]);
  }
  memset(tile->window + places, 0, COPIED * sizeof(float)); /* copied after the last rows */
  const int count = list_runs(grid, tile, low, runs);
  for (int key = 0; key < tile->keys; key++) {
    const int64_t shift = fovea_cell_place(grid, tile->key + key);
    float *to = tile->to + key * tile->step;
    /* What is copied after a run is in the place of the next one, or of the next key. */
    for (const cell_run *run = runs; run < runs + count; run++) {
      for (int i = 0; i < run->count; i += COPIED)
        memcpy(to + run->row + i, tile->window + (run->place - shift + i), COPIED * sizeof(float));
    }
  }
  return 1;
}

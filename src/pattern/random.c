/* Blocks of keys that are chosen at random. */
#include "../base/error.h"
#include "../base/groups.h"
#include "../base/philox.h"
#include "../base/validate.h"
#include "node.h"

#include <string.h>

#if FOVEA_BUILDS_LISTS
/* A number from 0 to below - 1: 64 random bits as a fraction of `below`, which is at most 2^31. */
static int64_t random_below(uint64_t seed, int64_t row, int64_t draw, int64_t below) {
  const fovea_philox counter = {{(uint32_t)draw, 0, (uint32_t)row, 0}};
  const fovea_philox random = fovea_philox_at(counter, (uint32_t)seed, (uint32_t)(seed >> 32));
  const uint64_t low = (uint64_t)random.word[0] * (uint64_t)below,
                 high = (uint64_t)random.word[1] * (uint64_t)below;
  return (int64_t)((high + (low >> 32)) >> 32);
}

/* The first of `count` ascending numbers that is not below `number`. */
static int64_t place_of(const int64_t *numbers, int64_t count, int64_t number) {
  int64_t begin = 0;
  while (begin < count) {
    const int64_t middle = begin + (count - begin) / 2;
    if (numbers[middle] < number)
      begin = middle + 1;
    else
      count = middle;
  }
  return begin;
}

/* Floyd's algorithm: each draw has one more number to choose from, and takes it if its choice is taken. */
static void choose_row(uint64_t seed, int64_t row, int64_t key_blocks, int64_t chosen, int64_t *columns) {
  for (int64_t count = 0; count < chosen; count++) {
    const int64_t last = key_blocks - chosen + count;
    int64_t column = random_below(seed, row, count, last + 1), place = place_of(columns, count, column);
    if (place < count && columns[place] == column) {
      column = last;
      place = count;
    }
    memmove(&columns[place + 1], &columns[place], (size_t)(count - place) * sizeof *columns);
    columns[place] = column;
  }
}

fovea_status fovea_random_blocks(uint64_t seed, int64_t blocks, int64_t key_blocks, int64_t chosen, int64_t *starts,
                                 int64_t *columns, fovea_error *error) {
  const fovea_bounded sizes[] = {{"blocks", blocks, 0, FOVEA_NO_KEY},
                                 {"key_blocks", key_blocks, 0, FOVEA_NO_KEY},
                                 {"chosen", chosen, 0, key_blocks}};
  const fovea_status status = fovea_validate_bounds(NULL, sizes, 3, error);
  if (status) return status;
  if (!starts) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "starts is NULL");
  if (!columns && blocks > 0 && chosen > 0) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "columns is NULL");
  starts[0] = 0;
  for (int64_t row = 0; row < blocks; row++) {
    if (chosen > 0) choose_row(seed, row, key_blocks, chosen, &columns[row * chosen]);
    starts[row + 1] = (row + 1) * chosen;
  }
  return FOVEA_OK;
}
#else
fovea_status fovea_random_blocks(uint64_t seed, int64_t blocks, int64_t key_blocks, int64_t chosen, int64_t *starts,
                                 int64_t *columns, fovea_error *error) {
  (void)seed, (void)blocks, (void)key_blocks, (void)chosen, (void)starts, (void)columns;
  return fovea_fail_left_out(FOVEA_GROUP_PLACE_LISTS, error);
}
#endif

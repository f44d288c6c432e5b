/* Tensors and digests of the self test's rotary embeddings. */
#include "selftest_numbers.h"
#include "selftest_rotary.h"

#include <stdlib.h>

enum { TENSOR_FROM = 16, TENSOR_COSINES, TENSOR_SINES };

static void describe(const selftest_rotary *from, selftest_rotary_run *run) {
  fovea_rotary_init(&run->rotary, from->layout, from->dims);
  fovea_rotation_init(&run->rotation, from->batch, from->heads, from->rows, from->dim, NULL, NULL);
  if (from->base > 0.0) run->rotary.base = from->base;
  run->rotary.frequencies = from->frequencies;
  run->rotation.from_type = from->from;
  run->rotation.to_type = from->to;
  run->rotation.first_position = from->first;
}

/* Eight bytes for every position and four for every number, whatever its type. */
bool selftest_prepare_rotary(const selftest_rotary *description, selftest_rotary_run *run) {
  describe(description, run);
  fovea_rotary *rotary = &run->rotary;
  fovea_rotation *rotation = &run->rotation;
  const int64_t positions = description->batch * description->rows;
  const int64_t count = positions * description->heads * description->dim;
  const int64_t table = description->tables ? positions * description->dims / 2 : 0;
  run->memory = calloc((size_t)(positions + count + table), 8);
  if (!run->memory) return false;
  int64_t *listed = run->memory;
  float *numbers = (float *)(listed + positions);
  selftest_fill_uniform(numbers, description->from, TENSOR_FROM, count);
  rotation->from = numbers;
  rotation->to = numbers + count;
  for (int64_t i = 0; i < positions && description->step != 0; i++)
    listed[i] = description->first + i * description->step;
  if (description->step != 0) {
    rotation->positions = listed;
    rotation->first_position = 0;
  }
  if (!description->tables) return true;
  selftest_fill_uniform(numbers + 2 * count, FOVEA_F32, TENSOR_COSINES, table);
  selftest_fill_uniform(numbers + 2 * count + table, FOVEA_F32, TENSOR_SINES, table);
  rotary->cosines = numbers + 2 * count;
  rotary->sines = numbers + 2 * count + table;
  rotary->table_rows = positions;
  return true;
}

void selftest_release_rotary(selftest_rotary_run *run) {
  free(run->memory);
}

uint64_t selftest_rotary_digest(const selftest_rotary_run *run) {
  const fovea_rotation *rotation = &run->rotation;
  return selftest_digest_of(rotation->to, rotation->to_type,
                            rotation->batch * rotation->heads * rotation->rows * rotation->dim);
}

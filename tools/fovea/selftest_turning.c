/* Tensors and digests of the self test's rotary embeddings. */
#include "selftest_problems.h"
#include "selftest_rotary.h"

#include <stdlib.h>

enum { TENSOR_FROM = 16, TENSOR_COSINES, TENSOR_SINES };

static void describe(const selftest_rotary *from, selftest_turning *turning) {
  fovea_rotary_init(&turning->rotary, from->layout, from->dims);
  fovea_rotation_init(&turning->rotation, from->batch, from->heads, from->rows, from->dim, NULL, NULL);
  if (from->base > 0.0) turning->rotary.base = from->base;
  turning->rotary.frequencies = from->frequencies;
  turning->rotation.from_type = from->from;
  turning->rotation.to_type = from->to;
  turning->rotation.first_position = from->first;
}

/* Eight bytes for every position and four for every number, whatever its type. */
bool selftest_prepare_rotary(const selftest_rotary *description, selftest_turning *turning) {
  describe(description, turning);
  fovea_rotary *rotary = &turning->rotary;
  fovea_rotation *rotation = &turning->rotation;
  const int64_t positions = description->batch * description->rows;
  const int64_t count = positions * description->heads * description->dim;
  const int64_t table = description->tables ? positions * description->dims / 2 : 0;
  turning->memory = calloc((size_t)(positions + count + table), 8);
  if (!turning->memory) return false;
  int64_t *listed = turning->memory;
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

void selftest_release_rotary(selftest_turning *turning) {
  free(turning->memory);
}

uint64_t selftest_rotary_digest(const selftest_turning *turning) {
  const fovea_rotation *rotation = &turning->rotation;
  return selftest_digest_of(rotation->to, rotation->to_type,
                            rotation->batch * rotation->heads * rotation->rows * rotation->dim);
}

#include "masks.h"

#include "rules.h"

#include <math.h>
#include <stdlib.h>

const char *mask_type_name(fovea_mask_type type) {
  static const char *const names[] = {"none", "bool", "bits", "f32", "f16", "bf16"};
  return names[type];
}

int mask_is_additive(fovea_mask_type type) {
  return type >= FOVEA_MASK_F32;
}

static fovea_type number_type(const struct mask *mask) {
  return mask->type == FOVEA_MASK_F32 ? FOVEA_F32 : mask->type == FOVEA_MASK_F16 ? FOVEA_F16 : FOVEA_BF16;
}

static int64_t bits_each(const struct mask *mask) {
  if (mask->type == FOVEA_MASK_BITS) return 1;
  return mask->type == FOVEA_MASK_BOOL ? 8 : 8 * (int64_t)type_size(number_type(mask));
}

struct mask mask_create(const fovea_problem *problem, enum guarded_edge edge) {
  struct mask mask = {.type = problem->mask.type, .strides = problem->mask.strides};
  if (mask.type == FOVEA_MASK_NONE) return mask;
  mask.batch = problem->batch;
  mask.heads = problem->heads;
  mask.rows = problem_mask_rows(problem);
  mask.keys = problem_mask_keys(problem);
  const int64_t lasts[] = {mask.batch - 1, mask.heads - 1, mask.rows - 1, mask.keys - 1};
  const int64_t strides[] = {mask.strides.batch, mask.strides.head, mask.strides.row, mask.strides.key};
  int64_t lowest = 0, highest = 1;
  for (int axis = 0; axis < 4; axis++)
    if (lasts[axis] > 0) *(strides[axis] < 0 ? &lowest : &highest) += lasts[axis] * strides[axis];
  if (mask.rows == 0 || mask.keys == 0) lowest = highest = 0;
  const int64_t first_byte = lowest * bits_each(&mask) / 8; /* rows of bits begin at whole bytes */
  mask.memory = guarded_create((size_t)((highest * bits_each(&mask) + 7) / 8 - first_byte), edge);
  memset(mask.memory.data, 0xff, mask.memory.size);
  mask.data = mask.memory.data - first_byte;
  return mask;
}

void mask_destroy(struct mask *mask) {
  guarded_destroy(&mask->memory);
}

/* The byte in which an element begins; the bit of the element in it. */
static unsigned char *element(const struct mask *mask, int64_t batch, int64_t head, int64_t row, int64_t key,
                              int *bit) {
  const fovea_mask_strides *strides = &mask->strides;
  const int64_t row_start = batch * strides->batch + head * strides->head + row * strides->row;
  const int64_t in_row = key * strides->key;
  *bit = mask->type == FOVEA_MASK_BITS ? (int)(in_row % 8) : 0;
  return mask->data + row_start * bits_each(mask) / 8 + in_row * bits_each(mask) / 8;
}

void mask_set(struct mask *mask, int64_t batch, int64_t head, int64_t row, int64_t key, float value) {
  int bit;
  unsigned char *at = element(mask, batch, head, row, key, &bit);
  const int seen = value != -INFINITY;
  if (mask->type == FOVEA_MASK_BOOL) {
    *at = (unsigned char)(seen ? 1 << (row + key) % 8 : 0); /* any value but 0 is visible */
  } else if (mask->type == FOVEA_MASK_BITS) {
    *at = (unsigned char)((*at & ~(1 << bit)) | seen << bit);
  } else if (mask->type == FOVEA_MASK_F32) {
    memcpy(at, &value, sizeof value);
  } else {
    const uint16_t half = rounded(number_type(mask), value);
    memcpy(at, &half, sizeof half);
  }
}

float mask_get(const struct mask *mask, int64_t batch, int64_t head, int64_t row, int64_t key) {
  int bit;
  const unsigned char *at = element(mask, batch, head, row, key, &bit);
  if (mask->type == FOVEA_MASK_BOOL) return *at != 0 ? 0.0f : -INFINITY;
  if (mask->type == FOVEA_MASK_BITS) return *at >> bit & 1 ? 0.0f : -INFINITY;
  uint32_t bits = 0;
  uint16_t half = 0;
  if (mask->type == FOVEA_MASK_F32)
    memcpy(&bits, at, sizeof bits);
  else
    memcpy(&half, at, sizeof half);
  return from_bits(mask->type == FOVEA_MASK_F32 ? bits : widened(number_type(mask), half));
}

/* A random number that depends on the arguments only. */
static int64_t chance(uint64_t seed, int64_t a, int64_t b, int64_t limit) {
  struct generator generator = {seed * 1000003 + (uint64_t)a * 7919 + (uint64_t)b};
  generator_bits(&generator);
  return generator_below(&generator, limit);
}

static int pattern_shows(enum mask_pattern pattern, uint64_t seed, int64_t row, int64_t key) {
  switch (pattern) {
  case MASK_HALF:
    return chance(seed, row, key, 2) == 0;
  case MASK_FEW:
    return chance(seed, row, key, 40) == 0;
  case MASK_ROWS:
    return chance(seed, row, -1, 2) == 0 && chance(seed, row, key, 2) == 0;
  case MASK_PIECES:
    if (chance(seed, row, key / 16 + 100000, 8) == 0) return chance(seed, row, key, 2) == 0;
    return chance(seed, row, key / 16, 2) == 0;
  case MASK_TILES:
    if (chance(seed, row / 64, key / 64 + 100000, 8) == 0) return chance(seed, row, key, 2) == 0;
    return chance(seed, row / 64, key / 64, 2) == 0;
  case MASK_BLOCKS:
    return chance(seed, 0, key / 128, 5) == 0;
  case MASK_PREFIX:
    return key <= row + chance(seed, row / 10, 0, 50);
  default:
    return pattern == MASK_ALL;
  }
}

/* The number of different elements along an axis. */
static int64_t extent(int64_t length, int64_t stride) {
  return stride == 0 && length > 1 ? 1 : length;
}

void mask_fill_random(struct mask *mask, uint64_t seed, enum mask_pattern pattern) {
  struct generator generator = {seed};
  for (int64_t b = 0; b < extent(mask->batch, mask->strides.batch); b++)
    for (int64_t h = 0; h < extent(mask->heads, mask->strides.head); h++)
      for (int64_t i = 0; i < extent(mask->rows, mask->strides.row); i++)
        for (int64_t j = 0; j < extent(mask->keys, mask->strides.key); j++) {
          const float number = 4.0f * generator_uniform(&generator);
          const int seen = pattern_shows(pattern, seed + (uint64_t)(b * mask->heads + h), i, j);
          mask_set(mask, b, h, i, j, !seen ? -INFINITY : j % 3 == 0 ? 0.0f : number);
        }
}

void mask_copy_part(struct mask *to, const struct mask *from, int64_t batch, int64_t head, int64_t row) {
  for (int64_t b = 0; b < extent(to->batch, to->strides.batch); b++)
    for (int64_t h = 0; h < extent(to->heads, to->strides.head); h++)
      for (int64_t i = 0; i < extent(to->rows, to->strides.row); i++)
        for (int64_t j = 0; j < extent(to->keys, to->strides.key); j++)
          mask_set(to, b, h, i, j, mask_get(from, batch + b, head + h, row + i, j));
}

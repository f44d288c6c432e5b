/* Masks of some rows and one block. */
#ifndef FOVEA_TESTS_OPERATION_MASKS_H
#define FOVEA_TESTS_OPERATION_MASKS_H

#include "operation.h"

static inline fovea_type type_of_mask(fovea_mask_type type) {
  return type == FOVEA_MASK_F16 ? FOVEA_F16 : type == FOVEA_MASK_BF16 ? FOVEA_BF16 : FOVEA_F32;
}

/* What the mask adds to the score of a row and a key; a boolean mask adds 0 or -Inf. */
static inline float mask_bias(const fovea_mask_tile *mask, int row, int key) {
  const unsigned char *bytes = mask->rows[row];
  const int at = mask->repeats ? 0 : key;
  if (mask->type == FOVEA_MASK_BOOL) return bytes[at] != 0 ? 0.0f : -INFINITY;
  if (mask->type == FOVEA_MASK_BITS) return bytes[at / 8] >> at % 8 & 1 ? 0.0f : -INFINITY;
  return element(type_of_mask(mask->type), bytes, at);
}

/* Fills one key of a mask row. A piece of 16 keys is all visible, all hidden, or mixed. */
static inline void fill_key(struct generator *generator, fovea_mask_type type, unsigned char *row, int key,
                            int kind) {
  const int seen = kind == 0 || (kind == 2 && generator_below(generator, 3) > 0);
  const float added = kind == 0 ? (generator_below(generator, 2) ? 0.0f : -0.0f)
                                : random_number(generator, random_numbers(generator));
  if (type == FOVEA_MASK_BOOL) {
    row[key] = seen ? (unsigned char)(1 + generator_below(generator, 255)) : 0;
  } else if (type == FOVEA_MASK_BITS) {
    row[key / 8] = (unsigned char)((row[key / 8] & ~(1 << key % 8)) | seen << key % 8);
  } else if (type == FOVEA_MASK_F32) {
    ((float *)(void *)row)[key] = seen ? added : -INFINITY;
  } else {
    const fovea_type half = type_of_mask(type);
    ((uint16_t *)(void *)row)[key] = rounded(half, seen ? added : -INFINITY);
  }
}

/* `rows` rows in one piece of memory, the last row at its end. Rows may be the same. */
static inline fovea_mask_tile place_mask(struct generator *generator, int rows, int key_count) {
  static const fovea_mask_type types[] = {FOVEA_MASK_BOOL, FOVEA_MASK_BITS, FOVEA_MASK_F32, FOVEA_MASK_F16,
                                          FOVEA_MASK_BF16};
  fovea_mask_tile mask = {.type = types[generator_below(generator, 5)],
                          .repeats = generator_below(generator, 6) == 0,
                          .key_count = key_count};
  const int keys = mask.repeats ? 1 : key_count, shared = generator_below(generator, 4) == 0;
  const int64_t size = mask.type == FOVEA_MASK_BOOL   ? keys
                       : mask.type == FOVEA_MASK_BITS ? (keys + 7) / 8
                                                      : keys * (int64_t)type_size(type_of_mask(mask.type));
  unsigned char *bytes = place_bytes(shared ? size : rows * size);
  const void **pointers = place_pointers(rows);
  int kinds[FOVEA_BLOCK_KEYS / FOVEA_MASK_PIECE];
  for (int p = 0; p < FOVEA_BLOCK_KEYS / FOVEA_MASK_PIECE; p++) kinds[p] = (int)generator_below(generator, 3);
  for (int row = 0; row < rows; row++) {
    unsigned char *first = bytes + (shared ? 0 : row * size);
    for (int key = 0; key < keys; key++) fill_key(generator, mask.type, first, key, kinds[key / FOVEA_MASK_PIECE]);
    pointers[row] = first;
  }
  /* One different element, which a scan of whole vectors may overlook. */
  if (generator_below(generator, 2) == 0)
    fill_key(generator, mask.type, bytes + (shared ? 0 : generator_below(generator, rows) * size),
             (int)generator_below(generator, keys), (int)generator_below(generator, 3));
  mask.rows = pointers;
  return mask;
}

/* What a mask's number is multiplied by: in units of log2, in natural units, or not at all. */
static inline float random_unit(struct generator *generator) {
  static const float units[] = {0x1.715476p+0f, 1.0f, 0.0f};
  return units[generator_below(generator, 3)];
}

static inline float biased_score(float score, float bias, float unit) {
  if (bias == -INFINITY) return bias;
  return unit == 0.0f ? score : fmaf(bias, unit, score);
}

#endif

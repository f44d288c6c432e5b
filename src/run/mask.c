#include "mask.h"

#include <string.h>

const char *fovea_mask_row(const fovea_task_context *context, fovea_row_place place, int64_t key) {
  const fovea_problem *problem = &context->plan->problem;
  const fovea_entry *entry = context->task->entry;
  fovea_mask_strides strides = problem->mask_strides;
  int64_t row = fovea_least(place.row, entry->q_seen - 1); /* later rows see nothing, and the mask may lack them */
  int64_t element = entry->batch * strides.batch + place.head * strides.head + row * strides.row;
  int bits = fovea_mask_type_bits(problem->mask_type); /* rows of bits begin at whole bytes */
  return (const char *)context->tensors->mask + element * bits / 8 +
         (key - entry->mask_begin) * strides.key * bits / 8;
}

/* A copied row: `before` keys that are seen with nothing added, then `count` elements. */
typedef struct row_copy {
  fovea_mask_type type;
  int repeats; /* one element stands for all keys */
  int before, count;
  int shift; /* of bits: the place of the first in its byte */
} row_copy;

static void copy_elements(const row_copy *copy, const char *from, char *to) {
  size_t size = (size_t)fovea_mask_bytes(copy->type, 1), count = (size_t)copy->count;
  memset(to, copy->type == FOVEA_MASK_BOOL, (size_t)copy->before * size);
  to += (size_t)copy->before * size;
  if (!copy->repeats) memcpy(to, from, count * size);
  for (size_t i = 0; copy->repeats && i < count; i++) memcpy(to + i * size, from, size);
}

/* A byte of a row of bits. Bytes behind `last` must not be read and are 0. Keys before the row are seen. */
static unsigned byte_of_bits(const row_copy *copy, const char *from, int byte, int last) {
  if (byte < 0) return 0xff;
  if (copy->repeats) return from[0] & 1 ? 0xff : 0;
  return byte <= last ? (unsigned char)from[byte] : 0;
}

static void copy_bits(const row_copy *copy, const char *from, char *to) {
  int last = (copy->shift + copy->count - 1) / 8;
  for (int byte = 0; 8 * byte < copy->before + copy->count; byte++) {
    int bit = 8 * byte - copy->before + copy->shift; /* of the row, the lowest bit of this byte */
    int source = bit >= 0 ? bit / 8 : -((7 - bit) / 8);
    unsigned both = byte_of_bits(copy, from, source, last) | byte_of_bits(copy, from, source + 1, last) << 8;
    to[byte] = (char)(unsigned char)(both >> (bit - 8 * source));
  }
}

/* Copies a row so that it has an element for every key of the block. The first bit is the lowest of a byte. */
static const char *copy_row(const fovea_task_context *context, const row_copy *copy, const char *from, int row) {
  char *to = context->memory.mask + row * fovea_mask_bytes(copy->type, FOVEA_BLOCK_KEYS);
  (copy->type == FOVEA_MASK_BITS ? copy_bits : copy_elements)(copy, from, to);
  return to;
}

void fovea_read_mask(const fovea_task_context *context, const fovea_tile *t, int64_t base, fovea_mask_block *mask) {
  const fovea_plan *plan = context->plan;
  const fovea_problem *problem = &plan->problem;
  int64_t begin = context->task->entry->mask_begin, end = fovea_least(t->view.any.end, base + FOVEA_BLOCK_KEYS);
  mask->present = problem->mask_type != FOVEA_MASK_NONE && begin < end;
  if (!mask->present) return;
  int64_t first = base > begin ? base : begin;
  row_copy copy = {.type = problem->mask_type,
                   .repeats = problem->mask_strides.key == 0,
                   .before = (int)(first - base),
                   .count = (int)(end - first)};
  if (copy.type == FOVEA_MASK_BITS && !copy.repeats) copy.shift = (int)((first - begin) % 8);
  int copied = copy.before > 0 || copy.shift > 0;
  const char *row = NULL, *row_before;
  int count = 0, lanes = t->view.vectors * context->kernels->lanes;
  for (; count < t->rows.count; count++) {
    row_before = row;
    row = fovea_mask_row(context, t->places[count], first);
    mask->rows[count] = !copied             ? row
                        : row == row_before ? mask->rows[count - 1]
                                            : copy_row(context, &copy, row, count);
  }
  for (; count < lanes; count++)
    mask->rows[count] = mask->rows[t->rows.count - 1]; /* padding sees the keys of the last row */
  mask->tile = (fovea_mask_tile){
      .rows = mask->rows,
      .type = copy.type,
      .repeats = copy.repeats && !copied,
      .key_count = (int)(end - base),
  };
  context->kernels->scan_mask(&mask->tile, t->view.vectors, mask->pieces);
}

int fovea_mask_hides(const fovea_mask_tile *mask, int row, int key) {
  const char *elements = mask->rows[row];
  uint32_t wide;
  uint16_t half;
  if (mask->repeats) key = 0;
  switch (mask->type) {
  case FOVEA_MASK_BITS:
    return !(elements[key / 8] >> key % 8 & 1);
  case FOVEA_MASK_F32:
    memcpy(&wide, elements + 4 * key, sizeof wide);
    return wide == 0xff800000u;
  case FOVEA_MASK_F16:
    memcpy(&half, elements + 2 * key, sizeof half);
    return half == 0xfc00u;
  case FOVEA_MASK_BF16:
    memcpy(&half, elements + 2 * key, sizeof half);
    return half == 0xff80u;
  default:
    return elements[key] == 0;
  }
}

/* Counts numbers of 16 or 32 bits that are not `hidden`, in loops that compilers make vectors of. */
static int count_halves(const char *elements, int begin, int end, uint16_t hidden) {
  int shown = 0;
  for (int key = begin; key < end; key++) {
    uint16_t half;
    memcpy(&half, elements + 2 * key, sizeof half);
    shown += half != hidden;
  }
  return shown;
}

static int count_words(const char *elements, int begin, int end, uint32_t hidden) {
  int shown = 0;
  for (int key = begin; key < end; key++) {
    uint32_t word;
    memcpy(&word, elements + 4 * key, sizeof word);
    shown += word != hidden;
  }
  return shown;
}

int fovea_mask_shows(const fovea_mask_tile *mask, int row, int begin, int end) {
  const char *elements = mask->rows[row];
  int shown = 0;
  if (begin >= end) return 0;
  if (mask->repeats) return fovea_mask_hides(mask, row, 0) ? 0 : end - begin;
  switch (mask->type) {
  case FOVEA_MASK_BITS:
    for (int key = begin; key < end; key++) shown += elements[key / 8] >> key % 8 & 1;
    return shown;
  case FOVEA_MASK_F32:
    return count_words(elements, begin, end, 0xff800000u);
  case FOVEA_MASK_F16:
    return count_halves(elements, begin, end, 0xfc00u);
  case FOVEA_MASK_BF16:
    return count_halves(elements, begin, end, 0xff80u);
  default:
    for (int key = begin; key < end; key++) shown += elements[key] != 0;
    return shown;
  }
}

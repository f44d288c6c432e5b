#include "visible_mask.h"

#include "../base/types.h"

#include <string.h>

const char *fovea_mask_row(const fovea_visibility *by, fovea_row_place place, int64_t key) {
  const fovea_problem *problem = by->problem;
  const fovea_entry *entry = by->entry;
  fovea_mask_strides strides = problem->mask.strides;
  int64_t row = fovea_least(place.row, entry->q_seen - 1); /* later rows see nothing, and the mask may lack them */
  int64_t element = entry->batch * strides.batch + place.head * strides.head + row * strides.row;
  int bits = fovea_mask_type_bits(problem->mask.type); /* rows of bits begin at whole bytes */
  return (const char *)by->mask + element * bits / 8 + (key - entry->mask_begin) * strides.key * bits / 8;
}

/* A copied row: `before` keys that are visible with nothing added, then `count` elements. */
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

/* A byte of a row of bits. Bytes after `last` must not be read and are 0. Keys before the row are visible. */
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

/* Rows are copied so that they have an element for every key of the block. The first bit is the lowest of a byte.
 */

static int words_differ(const fovea_row_words *a, const fovea_row_words *b) {
  return a->of[0] != b->of[0] || a->of[1] != b->of[1];
}

/* Eight keys of a row, the first in the lowest bit. */
static unsigned byte_of_words(const fovea_row_words *words, int byte) {
  return (unsigned)(words->of[byte / 8] >> byte % 8 * 8 & 0xff);
}

/* Hides keys of a copied row. */
static void hide_elements(fovea_mask_type type, const fovea_row_words *words, int count, char *row) {
  const uint32_t wide = 0xff800000u;
  const uint16_t half = type == FOVEA_MASK_F16 ? 0xfc00u : 0xff80u;
  for (int key = 0; key < count; key++) {
    if (words->of[key / FOVEA_WORD_KEYS] >> key % FOVEA_WORD_KEYS & 1) continue;
    switch (type) {
    case FOVEA_MASK_F32:
      memcpy(row + 4 * key, &wide, sizeof wide);
      break;
    case FOVEA_MASK_F16:
    case FOVEA_MASK_BF16:
      memcpy(row + 2 * key, &half, sizeof half);
      break;
    default:
      row[key] = 0;
      break;
    }
  }
}

static void hide_bits(const fovea_row_words *words, int count, char *row) {
  for (int byte = 0; 8 * byte < count; byte++)
    row[byte] = (char)((unsigned char)row[byte] & byte_of_words(words, byte));
}

/* Without a mask tensor the words are the mask. A vector's rows joined say what its pieces are. */
static void read_words(const fovea_visibility *by, const fovea_visible_tile *tile, const fovea_row_words *words,
                       fovea_mask_block *mask) {
  enum { BYTES = FOVEA_BLOCK_KEYS / 8, PIECE_BYTES = FOVEA_MASK_PIECE / 8 };
  const int lanes = by->kernels->lanes;
  mask->tile = (fovea_mask_tile){.rows = mask->rows, .type = FOVEA_MASK_BITS, .key_count = FOVEA_BLOCK_KEYS};
  for (int v = 0; v < tile->vectors; v++) {
    fovea_row_words some = {{0, 0}}, all = {{~UINT64_C(0), ~UINT64_C(0)}};
    for (int i = v * lanes; i < (v + 1) * lanes; i++) {
      char *row = by->copies + i * BYTES;
      mask->rows[i] = row;
      for (int byte = 0; byte < BYTES; byte++) row[byte] = (char)(unsigned char)byte_of_words(&words[i], byte);
      for (int half = 0; half < 2; half++) {
        some.of[half] |= words[i].of[half];
        all.of[half] &= words[i].of[half];
      }
    }
    unsigned seen = 0, plain = 0;
    for (int piece = 0; piece < FOVEA_BLOCK_KEYS / FOVEA_MASK_PIECE; piece++) {
      unsigned any = 0, every = 0xff;
      for (int byte = piece * PIECE_BYTES; byte < (piece + 1) * PIECE_BYTES; byte++) {
        any |= byte_of_words(&some, byte);
        every &= byte_of_words(&all, byte);
      }
      seen |= (unsigned)(any != 0) << piece;
      plain |= (unsigned)(every == 0xff) << piece;
    }
    mask->pieces[v] = (fovea_mask_pieces){(uint8_t)seen, (uint8_t)plain};
  }
}

/* Copies the row of a lane, and hides what the words hide. */
static const void *copy_lane(const fovea_visibility *by, const row_copy *copy, const char *from,
                             const fovea_row_words *words, int lane) {
  char *to = by->copies + lane * fovea_mask_bytes(copy->type, FOVEA_BLOCK_KEYS);
  const int count = copy->before + copy->count;
  (copy->type == FOVEA_MASK_BITS ? copy_bits : copy_elements)(copy, from, to);
  if (words && copy->type == FOVEA_MASK_BITS) hide_bits(words, count, to);
  if (words && copy->type != FOVEA_MASK_BITS) hide_elements(copy->type, words, count, to);
  return to;
}

/* Finds the row of each lane, in the tensor or copied. Padding sees the keys of the last row. */
static void find_rows(const fovea_visibility *by, const fovea_visible_tile *tile, const fovea_row_words *words,
                      const row_copy *copy, int64_t first, int copied, fovea_mask_block *mask) {
  const char *row = NULL, *row_before;
  int count = 0, lanes = tile->vectors * by->kernels->lanes;
  for (; count < tile->count; count++) {
    row_before = row;
    row = fovea_mask_row(by, tile->places[count], first);
    const int same = row == row_before && !(words && words_differ(&words[count], &words[count - 1]));
    mask->rows[count] = !copied ? row
                        : same  ? mask->rows[count - 1]
                                : copy_lane(by, copy, row, words ? &words[count] : NULL, count);
  }
  for (; count < lanes; count++) mask->rows[count] = mask->rows[tile->count - 1];
}

void fovea_read_mask(const fovea_visibility *by, const fovea_visible_tile *tile, const fovea_row_words *words,
                     int64_t base, fovea_mask_block *mask) {
  const fovea_problem *problem = by->problem;
  int64_t begin = by->entry->mask_begin, end = fovea_least(tile->any.end, base + FOVEA_BLOCK_KEYS);
  const int tensor = by->mask && begin < end;
  mask->present = tensor || words;
  if (!tensor) {
    if (words) read_words(by, tile, words, mask);
    return;
  }
  int64_t first = base > begin ? base : begin;
  row_copy copy = {.type = problem->mask.type,
                   .repeats = problem->mask.strides.key == 0,
                   .before = (int)(first - base),
                   .count = (int)(end - first)};
  if (copy.type == FOVEA_MASK_BITS && !copy.repeats) copy.shift = (int)((first - begin) % 8);
  int copied = words || copy.before > 0 || copy.shift > 0;
  find_rows(by, tile, words, &copy, first, copied, mask);
  mask->tile = (fovea_mask_tile){
      .rows = mask->rows,
      .type = copy.type,
      .repeats = copy.repeats && !copied,
      .key_count = (int)(end - base),
  };
  by->kernels->scan_mask(&mask->tile, tile->vectors, mask->pieces);
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

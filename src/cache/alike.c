#include "alike.h"

#include "../../arch/formats.h"
#include "../base/validate.h"
#include "segment_reach.h"

/* Of a function that is called for few segments, or none: it need not be fast. */
#define SELDOM __attribute__((cold))

/* Two words, which compilers compare at once where a CPU can. */
typedef uint64_t word_pair __attribute__((vector_size(16)));

static inline __attribute__((always_inline)) word_pair differ_at(const fovea_segment *a, const fovea_segment *b,
                                                                 size_t at) {
  word_pair x, y;
  memcpy(&x, (const char *)a + at, sizeof x);
  memcpy(&y, (const char *)b + at, sizeof y);
  return x ^ y;
}

/* The bits in which two segments differ from byte `begin` to `end`, all pairs together. The last pair may overlap
 * the one before. */
static inline __attribute__((always_inline)) word_pair differ(const fovea_segment *a, const fovea_segment *b,
                                                              size_t begin, size_t end) {
  word_pair bits = differ_at(a, b, end - sizeof bits);
#pragma GCC unroll 8 /* else half of all instructions count the pairs */
  for (size_t at = begin; at + sizeof bits < end; at += sizeof bits) bits |= differ_at(a, b, at);
  return bits;
}

enum {
  K_STRIDES = offsetof(fovea_segment, k_scales) + offsetof(fovea_code_scales, layer), /* of scales */
  V_STRIDES = offsetof(fovea_segment, v_scales) + offsetof(fovea_code_scales, layer)
};

static inline __attribute__((always_inline)) int is_alike(const fovea_alike *alike, const fovea_segment *segment) {
  const fovea_segment *of = alike->of;
  const fovea_code_scales *k = &segment->k_scales, *v = &segment->v_scales;
  const uintptr_t set[] = {(uintptr_t)k->scales, (uintptr_t)v->scales, (uintptr_t)k->zeros, (uintptr_t)v->zeros};
  word_pair pair = differ(segment, of, offsetof(fovea_segment, k_head), offsetof(fovea_segment, k_scales));
  uint64_t bits = 0;
  if (alike->coded) {
    pair |= differ(segment, of, K_STRIDES, offsetof(fovea_segment, v_scales)) |
            differ(segment, of, V_STRIDES, sizeof *of);
    for (int i = 0; i < 4; i++) bits |= set[i] & alike->not_set[i + 2];
  } else { /* strides of scales that are not there are not looked at */
    pair |= differ(segment, of, offsetof(fovea_segment, kv_heads), sizeof *of);
    bits = set[0] | set[1] | set[2] | set[3] | (uintptr_t)k->centre | (uintptr_t)v->centre;
  }
  return !(bits | pair[0] | pair[1]);
}

/* Where the pointers of parts lie in a segment: keys, values, keys, ... */
#define SCALES(scales, field) offsetof(fovea_segment, scales) + offsetof(fovea_code_scales, field)
static const unsigned char places[FOVEA_SEGMENT_PARTS] = {
    offsetof(fovea_segment, k), offsetof(fovea_segment, v), SCALES(k_scales, scales), SCALES(v_scales, scales),
    SCALES(k_scales, zeros),    SCALES(v_scales, zeros),    SCALES(k_scales, centre), SCALES(v_scales, centre)};

/* Elements are aligned to their size; codes lie anywhere, and so do their scales, which are read byte by byte. A
 * centre is the same of all segments. */
static uintptr_t unaligned_bits(const fovea_segment *segment, int values) {
  const fovea_type type = values ? segment->v_type : segment->k_type;
  return fovea_segment_format(segment, values) ? 0 : (uintptr_t)fovea_alignment(type) - 1;
}

SELDOM void fovea_begin_alike(fovea_alike *alike, const fovea_segment *segment) {
  alike->of = segment;
  alike->count = 0;
  alike->coded = fovea_segment_format(segment, 0) || fovea_segment_format(segment, 1);
  alike->unaligned = segment->k_layout == FOVEA_KEYS_IN_PANELS ? FOVEA_PANEL_ROWS - 1 : 0;
  for (int i = 0; i < FOVEA_SEGMENT_PARTS; i++) {
    fovea_alike_part *part = &alike->parts[alike->count];
    part->number = i;
    part->at = places[i];
    part->unaligned = i < 2 ? unaligned_bits(segment, i) : 0;
    part->low = part->high = (uintptr_t)fovea_part_pointer(segment, part);
    alike->not_set[i] = part->low ? 0 : UINTPTR_MAX;
    alike->count += part->low != 0;
  }
}

/* Counts a pointer in. Returns 0 if it is wrong. */
static inline __attribute__((always_inline)) int count_pointer(fovea_alike_part *part, const void *pointer) {
  const uintptr_t address = (uintptr_t)pointer;
  if (address > part->high) part->high = address;
  if (address < part->low) part->low = address;
  return address && !(address & part->unaligned);
}

/* Whether positions and pointers of a segment are right that is alike. Counts its pointers in. */
static inline __attribute__((always_inline)) int is_right(fovea_alike *alike, const fovea_segment *segment) {
  if (!count_pointer(&alike->parts[0], segment->k) || !count_pointer(&alike->parts[1], segment->v)) return 0;
  for (int i = 2; i < alike->count; i++) {
    const void *pointer = fovea_part_pointer(segment, &alike->parts[i]);
    if (!count_pointer(&alike->parts[i], pointer)) return 0;
  }
  /* Negative numbers are great ones. */
  return !((uint64_t)segment->first & alike->unaligned) && (uint64_t)segment->first <= FOVEA_LENGTH_LIMIT &&
         (uint64_t)segment->rows - 1 < (uint64_t)alike->of->rows;
}

int64_t fovea_pass_alike(fovea_alike *alike, const fovea_sequence *sequence, int64_t number, int64_t *position,
                         fovea_segment_kind *kind) {
  const fovea_segment *segment = fovea_segment_at(sequence, number);
  for (; number < sequence->count; number++, segment = fovea_segment_after(sequence, segment)) {
    *kind = FOVEA_SEGMENT_UNLIKE;
    if (!is_alike(alike, segment)) break;
    *kind = FOVEA_SEGMENT_WRONG;
    if (!is_right(alike, segment)) break;
    *kind = FOVEA_SEGMENT_RIGHT;
    if (segment->first != *position) break;
    *position += segment->rows;
  }
  return number;
}

SELDOM void fovea_reach_alike(fovea_alike *alike, const fovea_segment_shape *shape) {
  for (int i = 0; i < alike->count; i++) {
    fovea_alike_part *part = &alike->parts[i];
    fovea_part_reach(alike->of, shape, part->number % 2, part->number / 2, &part->begin, &part->end);
  }
}

/* An address some bytes away; the first or the last that there is, if it would lie outside of all memory. */
static uintptr_t moved(uintptr_t address, int64_t bytes) {
  if (bytes < 0 && (uint64_t)-bytes > address) return 0;
  if (bytes > 0 && (uint64_t)bytes > UINTPTR_MAX - address) return UINTPTR_MAX;
  return address + (uintptr_t)bytes;
}

SELDOM void fovea_add_alike(fovea_alike *alike, const fovea_segment_shape *shape, fovea_segment_memory *memory) {
  fovea_reach_alike(alike, shape);
  for (int i = 0; i < alike->count; i++) {
    const fovea_alike_part *part = &alike->parts[i];
    uintptr_t *begin = &memory->begin[part->number], *end = &memory->end[part->number];
    const uintptr_t low = moved(part->low, part->begin), high = moved(part->high, part->end);
    if (!*end || low < *begin) *begin = low;
    if (high > *end) *end = high;
  }
}

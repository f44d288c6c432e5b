/* Segments that are alike: they differ in nothing but their positions and the memory of their rows, as pages do. What
 * was found of the strides, types and formats of one is true of all. Pages of one row have thousands of segments, so
 * of each of them only this is looked at: that it is like the one before, its positions, and its pointers. */
#ifndef FOVEA_SRC_CACHE_ALIKE_H
#define FOVEA_SRC_CACHE_ALIKE_H

#include "coded_parts.h"
#include "segments.h"

/* The parts of both sides of a segment, by numbers: 2 * part + values. */
enum { FOVEA_SEGMENT_PARTS = 2 * FOVEA_PARTS };

/* A part, in all segments that are alike. */
typedef struct fovea_alike_part {
  int number;
  size_t at;           /* of the part's pointer, in a segment */
  uintptr_t unaligned; /* bits of an address that is not aligned */
  uintptr_t low, high; /* the least and the greatest pointer so far */
  int64_t begin, end;  /* the bytes that a segment reaches from its pointer, if fovea_reach_alike() was called */
} fovea_alike_part;

static inline const void *fovea_part_pointer(const fovea_segment *segment, const fovea_alike_part *part) {
  const void *pointer;
  memcpy(&pointer, (const char *)segment + part->at, sizeof pointer);
  return pointer;
}

/* All zero: there are none yet. */
typedef struct fovea_alike {
  const fovea_segment *of; /* the first of them, which was checked by itself; no other one has more rows */
  int count;
  fovea_alike_part parts[FOVEA_SEGMENT_PARTS]; /* those whose pointers are set: k, v, then the others */
  uintptr_t not_set[FOVEA_SEGMENT_PARTS];      /* of each: all bits if no segment sets its pointer; else 0 */
  int coded;                                   /* a side has a format */
  uint64_t unaligned;                          /* bits of the first position of a segment that it must not have */
} fovea_alike;

/* Begins with a segment that is right. */
void fovea_begin_alike(fovea_alike *alike, const fovea_segment *segment);

/* Passes segments `number` and after that are alike and right, each of which begins at *position, where the one
 * before it ends; moves *position. Returns the number of the segment after the last that it passed. *kind tells of
 * that one, if it is there: */
typedef enum fovea_segment_kind {
  FOVEA_SEGMENT_UNLIKE, /* it must be checked by itself */
  FOVEA_SEGMENT_WRONG,  /* it is alike, but must be checked by itself, too: it may have more rows, or be wrong */
  FOVEA_SEGMENT_RIGHT   /* it is right, but does not begin at the position */
} fovea_segment_kind;
int64_t fovea_pass_alike(fovea_alike *alike, const fovea_sequence *sequence, int64_t number, int64_t *position,
                         fovea_segment_kind *kind);

/* Sets what each part reaches in the layer of the call. */
void fovea_reach_alike(fovea_alike *alike, const fovea_segment_shape *shape);

/* For each part the bytes from the first to after the last that segments reach, whatever lies between; the end is 0
 * if no segment has the part. */
typedef struct fovea_segment_memory {
  uintptr_t begin[FOVEA_SEGMENT_PARTS], end[FOVEA_SEGMENT_PARTS];
} fovea_segment_memory;

/* Adds segments that are alike to the memory. */
void fovea_add_alike(fovea_alike *alike, const fovea_segment_shape *shape, fovea_segment_memory *memory);

#endif

/* Copies rows of one cache to another, or to other positions of the same one, where keys may be rotated on. */
#ifndef FOVEA_SRC_CACHE_COPY_H
#define FOVEA_SRC_CACHE_COPY_H

#include "../rotary/rotary.h"
#include "quantisers.h"
#include "segments.h"

/* A rotation that all keys of a call share. */
enum { FOVEA_TURN_PIECES = FOVEA_QUANTISED_DIMS / 2 / FOVEA_ROTATE_PAIRS };
typedef struct fovea_turn {
  const fovea_rotary *rotary;
  int64_t hadamard; /* keys lie in the cache rotated by it, in blocks of this size; 0: not */
  fovea_rotary_angles angles[FOVEA_TURN_PIECES];
} fovea_turn;

typedef struct fovea_copy {
  const fovea_sequence *sequences[2]; /* from, to */
  const fovea_segment_shape *shape;
  int64_t layers;
  int64_t begin, end;     /* positions that are written */
  int64_t shift;          /* they come from positions that are smaller by this */
  int in_place;           /* 1: both are one sequence, so rows are written in an order that spoils none */
  const fovea_turn *turn; /* NULL: keys stay as they are */
} fovea_copy;

/* Copies the rows. All of it must have been checked, and there must be a row. */
void fovea_copy_rows(const fovea_copy *copy, const fovea_kernels *kernels, const fovea_execution *execution);

#endif

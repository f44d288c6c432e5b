/* Makes the f32 row that is written for a new key or value: converted, rotated for its position, rotated by
 * Hadamard. Nothing is rounded in between but the steps themselves. */
#ifndef FOVEA_SRC_CACHE_ROW_MAKER_H
#define FOVEA_SRC_CACHE_ROW_MAKER_H

#include "../rotary/rotary.h"

/* Positions, or pieces of one position, whose angles are kept. They lie on the stack. */
enum { FOVEA_KEPT_ANGLES = 16 };

typedef struct fovea_row_maker {
  const fovea_kernels *kernels;
  const fovea_rotary_piece *piece; /* the first; no pairs: rows are not rotated */
  fovea_type type;
  int64_t dim, hadamard;
  /* What rows are rotated to: NULL for their own positions, or numbers of a list, of which `list_count` stand for
   * each axis, and the number of position p is element p - list_first. */
  const int64_t *list;
  int64_t list_count, list_first;
  int known[FOVEA_KEPT_ANGLES]; /* 0: there are no angles; else how their position is known */
  fovea_rotary_position kept[FOVEA_KEPT_ANGLES];
  fovea_rotary_angles angles[FOVEA_KEPT_ANGLES];
} fovea_row_maker;

/* The dim is at most 4096. */
void fovea_begin_rows(fovea_row_maker *maker, const fovea_rotary_piece *piece, fovea_type type, int64_t dim,
                      int64_t hadamard);

/* What the row at a position of the cache is rotated to. */
fovea_rotary_position fovea_rotated_position(const fovea_row_maker *maker, int64_t position);

/* The rows of `count` positions, `from_stride` elements apart: returns `room` or, if they are the rows already,
 * `from`; sets their distance. */
const float *fovea_make_new_rows(fovea_row_maker *maker, const void *from, int64_t from_stride, int64_t position,
                                 int64_t count, float *room, int64_t *stride);

/* How many positions may be gone through once for each head, and keep their angles: any number if rows are not
 * rotated. */
int64_t fovea_kept_positions(const fovea_row_maker *maker);

#endif

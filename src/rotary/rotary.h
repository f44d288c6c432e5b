/* Rotary position embedding, row by row. The angles of a piece of FOVEA_ROTATE_PAIRS pairs are kept at a time, so
 * they fit on the stack with any dims:
 *
 *   fovea_rotary_begin(&piece, rotary, kernels);
 *   do
 *     for each position
 *       fovea_rotary_at(&piece, position, &angles);
 *       for each row there: fovea_rotary_row(&piece, &angles, ...);
 *   while (fovea_rotary_next(&piece));
 *
 * The loop writes every element of the rows. No other piece reads what a piece writes, so rows may be rotated in
 * place. */
#ifndef FOVEA_SRC_ROTARY_ROTARY_H
#define FOVEA_SRC_ROTARY_ROTARY_H

#include "../../arch/kernels.h"
#include "../base/shapes.h"
#include "fraction.h"
#include <fovea/fovea.h>

typedef struct fovea_rotary_piece {
  const fovea_rotary *rotary;
  const fovea_kernels *kernels;
  int64_t first; /* the first pair */
  int count;
  fovea_fraction
      ratio; /* each pair's frequency over the frequency of the pair before, if they come from the base */
  fovea_fraction turns[FOVEA_ROTATE_PAIRS]; /* of one position to the next, for each pair of this piece */
} fovea_rotary_piece;

/* A position: a number for each axis of the embedding. */
typedef struct fovea_rotary_position {
  int64_t on[FOVEA_ROTARY_AXES];
} fovea_rotary_position;

/* The position of a row, which is element `index` of a list that has `count` numbers for each axis. */
fovea_rotary_position fovea_listed_position(const fovea_rotary *rotary, const int64_t *list, int64_t count,
                                            int64_t index);

/* The same number on every axis. */
fovea_rotary_position fovea_plain_position(int64_t position);

/* Cosines and sines at one position, for each pair of a piece. */
typedef struct fovea_rotary_angles {
  float cosines[FOVEA_ROTATE_PAIRS], sines[FOVEA_ROTATE_PAIRS];
} fovea_rotary_angles;

/* Begins with the first piece. fovea_validate_rotary() must have checked `rotary`, which must live as long as
 * `piece`. If dims is 0, rows are only converted. */
void fovea_rotary_begin(fovea_rotary_piece *piece, const fovea_rotary *rotary, const fovea_kernels *kernels);
/* Goes on to the next piece. Returns 0 if there is none. */
int fovea_rotary_next(fovea_rotary_piece *piece);

/* Sets the angles at a position, which fovea_validate_position() must have checked. */
void fovea_rotary_at(const fovea_rotary_piece *piece, const fovea_rotary_position *position,
                     fovea_rotary_angles *angles);

/* Rotates the piece's pairs of a row of `dim` elements; with the first piece, also passes on the elements that are
 * not rotated. `to` may be `from` if the types are the same. */
void fovea_rotary_row(const fovea_rotary_piece *piece, const fovea_rotary_angles *angles, const void *from,
                      fovea_type from_type, void *to, fovea_type to_type, int64_t dim);

/* Passes on elements that are not rotated: copies them, or converts them as results are if the types differ. */
void fovea_pass_on(const fovea_kernels *kernels, const void *from, fovea_type from_type, void *to,
                   fovea_type to_type, int64_t count);

#endif

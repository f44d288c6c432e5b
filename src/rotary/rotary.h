/* Rotary position embedding, row by row. Angles are kept for a piece of FOVEA_ROTATE_PAIRS pairs at a time, so that
 * they lie on the stack, whatever the dims:
 *
 *   fovea_rotary_begin(&piece, rotary, kernels);
 *   do
 *     for each position
 *       fovea_rotary_at(&piece, position, &angles);
 *       for each row there: fovea_rotary_row(&piece, &angles, ...);
 *   while (fovea_rotary_next(&piece));
 *
 * which has written every element of the rows. Each piece writes what it alone has read, so rows may be turned in
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
  int64_t first; /* pair */
  int count;
  fovea_fraction ratio; /* of a pair's frequency to the one before, where they come from the base */
  fovea_fraction turns[FOVEA_ROTATE_PAIRS]; /* a position's, by pairs of this piece */
} fovea_rotary_piece;

/* Cosines and sines of one position, by pairs of a piece. */
typedef struct fovea_rotary_angles {
  float cosines[FOVEA_ROTATE_PAIRS], sines[FOVEA_ROTATE_PAIRS];
} fovea_rotary_angles;

/* The embedding has been checked, by fovea_validate_rotary(); `rotary` stays the caller's. With dims of 0 rows are
 * only converted. */
void fovea_rotary_begin(fovea_rotary_piece *piece, const fovea_rotary *rotary, const fovea_kernels *kernels);
/* Goes on to the next piece; 0 when there is none. */
int fovea_rotary_next(fovea_rotary_piece *piece);

/* The position has been checked, by fovea_validate_position(). */
void fovea_rotary_at(const fovea_rotary_piece *piece, int64_t position, fovea_rotary_angles *angles);

/* A row of `dim` elements as far as the piece goes; with the first piece also the elements that are not turned.
 * `to` may be `from`, in the same type. */
void fovea_rotary_row(const fovea_rotary_piece *piece, const fovea_rotary_angles *angles, const void *from,
                      fovea_type from_type, void *to, fovea_type to_type, int64_t dim);

/* Elements that are not turned: copied, or converted as results are where the types differ. */
void fovea_pass_on(const fovea_kernels *kernels, const void *from, fovea_type from_type, void *to,
                   fovea_type to_type, int64_t count);

#endif

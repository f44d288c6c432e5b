/* Checks of what a caller hands in for a rotary embedding. */
#ifndef FOVEA_SRC_ROTARY_VALIDATE_ROTARY_H
#define FOVEA_SRC_ROTARY_VALIDATE_ROTARY_H

#include "../base/shapes.h"

#include <fovea/rotary.h>

/* An array of the caller's, and the reach that its pointer is checked for. */
typedef struct fovea_read_array {
  const void *pointer;
  fovea_reach reach;
} fovea_read_array;

/* A list of positions with `count` numbers for each axis. */
fovea_read_array fovea_position_array(const fovea_rotary *rotary, const char *name, const int64_t *list,
                                      int64_t count);

/* Sets the arrays that an embedding reads, cosines, sines, frequencies, axes, and checks their pointers. */
enum { FOVEA_ROTARY_ARRAYS = 4 };
fovea_status fovea_validate_rotary_arrays(const fovea_rotary *rotary, fovea_read_array arrays[FOVEA_ROTARY_ARRAYS],
                                          fovea_error *error);

/* The number of rows of one batch element. */
static inline int64_t fovea_rotation_rows(const fovea_rotation *rotation, int64_t batch) {
  if (!rotation->cu_seqlens) return rotation->rows;
  return (int64_t)rotation->cu_seqlens[batch + 1] - rotation->cu_seqlens[batch];
}

/* Checks an embedding for rows of `dim` elements. */
fovea_status fovea_validate_rotary(const fovea_rotary *rotary, int64_t dim, fovea_error *error);
/* Checks the position of a row, which element `index` of the caller's list `name` says; -1: the number `name`. */
fovea_status fovea_validate_position(const fovea_rotary *rotary, const char *name, int64_t index, int64_t batch,
                                     int64_t row, int64_t position, fovea_error *error);
/* Checks that the rows of the whole batch can be counted. */
fovea_status fovea_validate_row_count(int64_t batch, int64_t rows, fovea_error *error);
/* Checks `rows` positions of a batch element, from element `first` of the list `name` on, which has `count` numbers
 * for each axis. */
fovea_status fovea_validate_positions(const fovea_rotary *rotary, const char *name, int64_t batch, int64_t rows,
                                      const int64_t *list, int64_t count, int64_t first, fovea_error *error);
/* Checks all arguments of a call. */
fovea_status fovea_validate_rotation(const fovea_rotary *rotary, const fovea_rotation *rotation,
                                     fovea_error *error);

#endif

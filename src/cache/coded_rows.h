/* Rows of a side with a format: written from f32, read as f32, and moved as they are. */
#ifndef FOVEA_SRC_CACHE_CODED_ROWS_H
#define FOVEA_SRC_CACHE_CODED_ROWS_H

#include "../../arch/kernels.h"
#include "quantisers.h"
#include "sequences.h"

/* A side of a segment. */
typedef struct fovea_coded_side {
  const fovea_segment *segment;
  const fovea_format *format; /* NULL: the side has none, and no layout and rule are set */
  fovea_code_layout layout;
  fovea_quantise_rule rule;
  int64_t dim;
  int values;
} fovea_coded_side;

void fovea_open_side(const fovea_segment *segment, int values, int64_t dim, fovea_coded_side *side);

/* Positions whose rows are made for one head after the other. */
enum { FOVEA_ROWS_AT_ONCE = 32 };

/* Room for rows: whole vectors are written. */
enum { FOVEA_QUANTISED_ROOM = FOVEA_QUANTISED_DIMS + 16 };

/* Makes rows of neighbouring positions: returns `room`, or where else they lie, and sets their distance. */
typedef const float *fovea_make_rows(void *maker, int64_t position, int64_t count, float *room, int64_t *stride);

/* Rows that fit in a room, and that are made at once. */
static inline int64_t fovea_rows_of_room(int64_t dim) {
  const int64_t rows = FOVEA_QUANTISED_DIMS / ((dim + 15) / 16 * 16);
  return rows < 1 ? 1 : rows < FOVEA_ROWS_AT_ONCE ? rows : FOVEA_ROWS_AT_ONCE;
}

/* Writes the rows of positions begin to end - 1, which are one group if keys are written in groups. */
void fovea_write_coded(const fovea_kernels *kernels, const fovea_coded_side *side, int64_t layer, int64_t head,
                       int64_t begin, int64_t end, fovea_make_rows *make, void *maker);

/* Reads the row of a position into `room`. */
void fovea_read_coded(const fovea_kernels *kernels, const fovea_coded_side *side, int64_t layer, int64_t head,
                      int64_t position, float *room);

/* Moves the codes and scales of positions begin - shift to end - shift - 1 to positions begin to end - 1, which are
 * one group if keys are written in groups. Returns 0, and writes nothing, if the numbers would not be the same. */
int fovea_move_coded(const fovea_coded_side *from, const fovea_coded_side *to, int64_t layer, int64_t head,
                     int64_t begin, int64_t end, int64_t shift);

/* Refuses what cannot be written to positions begin to end - 1, or, if not `written`, not be read in rows. */
fovea_status fovea_check_coded_rows(const fovea_sequence *sequence, const fovea_segment_shape *shape, int written,
                                    int64_t entry, int64_t begin, int64_t end, fovea_error *error);

#endif

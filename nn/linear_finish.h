/* What the ways of a linear layer share: how work is cut into parts, and results from sums that are done. */
#ifndef FOVEA_NN_LINEAR_FINISH_H
#define FOVEA_NN_LINEAR_FINISH_H

#include "../arch/nn_kernels.h"

/* How many parts of at most `most` there are in `count`. */
static inline int64_t fovea_nn_parts_of(int64_t count, int64_t most) {
  return count / most + (count % most > 0);
}

/* Where part `part` of `parts` even parts of `count` begins. */
static inline int64_t fovea_nn_part_begin(int64_t count, int64_t parts, int64_t part) {
  const int64_t more = count % parts;
  return count / parts * part + (part < more ? part : more);
}

/* A tile of sums that are done. */
typedef struct fovea_nn_done {
  const float *sums;
  int64_t sum_stride; /* from row to row */
  int64_t row, out;   /* the first */
  int64_t rows, outs; /* outputs that do not exist may be among them */
} fovea_nn_done;

/* Whether results are so many that no cache near the core keeps them; there are rows. Then it pays to fetch the lines
 * of a tile's results while the tile is computed. */
int fovea_nn_are_far(const fovea_nn_linear_rows *rows);
fovea_nn_fetched fovea_nn_far_results(const fovea_nn_linear *linear, const fovea_nn_linear_rows *rows,
                                      const fovea_nn_done *done);

/* The arguments with which finish() makes results of a tile. */
fovea_nn_finish_args fovea_nn_finish_of(const fovea_nn_linear *linear, const fovea_nn_linear_rows *rows,
                                        const fovea_nn_done *done);

/* Writes the results of a tile. */
void fovea_nn_finish(const fovea_nn_linear *linear, const fovea_nn_linear_rows *rows,
                     const fovea_nn_kernels *kernels, const fovea_nn_done *done);

#endif

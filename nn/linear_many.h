/* Linear layers of many rows: how rows and outputs are cut, and what a task needs of memory. */
#ifndef FOVEA_NN_LINEAR_MANY_H
#define FOVEA_NN_LINEAR_MANY_H

#include "linear.h"

/* The most tiles of a task, of any instruction set. */
enum { FOVEA_NN_TASK_TILES_LIMIT = 16 };

/* Tasks are blocks of rows beside blocks of outputs. Rows are cut into blocks, and each block into tiles, as evenly as
 * pairs of rows allow. */
typedef struct fovea_nn_many {
  const fovea_nn_linear *linear;
  const fovea_nn_linear_rows *rows;
  const fovea_nn_kernels *kernels;
  int64_t pairs, tiles;                      /* of all rows */
  int64_t row_blocks, columns;               /* tasks: row_blocks * columns */
  int64_t groups;                            /* of fovea_nn_kernels.tile_outs outputs */
  size_t sums, x, wide, weights, task_bytes; /* where the parts of a task's memory begin, and its size */
  char *memory;                              /* task_bytes for each worker */
} fovea_nn_many;

/* Cuts a layer for so many workers. Returns 0 if it has too few rows, or the instruction set has no tiles. */
int fovea_nn_cut_many(const fovea_nn_linear *linear, const fovea_nn_linear_rows *rows,
                      const fovea_nn_kernels *kernels, int workers, fovea_nn_many *many);

int64_t fovea_nn_many_tasks(const fovea_nn_many *many);

/* Computes one task of `data`, a fovea_nn_many. */
void fovea_nn_many_task(const void *data, int64_t task, int worker);

#endif

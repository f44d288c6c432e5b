/* Linear layers in int8 mode: how rows and outputs are cut, and what a task needs of memory. */
#ifndef FOVEA_NN_LINEAR_INT8_H
#define FOVEA_NN_LINEAR_INT8_H

#include "../arch/args/nn_int8.h"
#include "linear.h"
#include "quantised.h"

/* The most dims of a layer whose dims are all one group: sums of products of codes are int32. */
#define FOVEA_NN_INT8_MOST_DIMS INT64_C(131072)

/* Where the parts of a task's memory begin, and its size. */
typedef struct fovea_nn_int8_memory {
  size_t x, scales, factors, x_sums, words, starts, sums, size;
} fovea_nn_int8_memory;

/* Tasks are blocks of row tiles beside blocks of tiles of outputs. Rows are cut into tiles as evenly as steps of rows
 * allow. */
typedef struct fovea_nn_int8 {
  const fovea_nn_linear *linear;
  const fovea_nn_linear_rows *rows;
  const fovea_nn_kernels *kernels;
  const fovea_nn_int8_kernels *codes;
  fovea_nn_quantised_header header;
  int64_t tiles, tile_steps,
      taller;                  /* of all rows; steps of rows of a tile; the first tiles, which have one more */
  int64_t groups;              /* of fovea_nn_int8_kernels.tile_outs outputs */
  int64_t row_blocks, columns; /* tasks: row_blocks * columns */
  int64_t dims;                /* that are multiplied at a time: all, or without scratch some pieces */
  fovea_nn_int8_memory parts;
  char *memory; /* parts.size for each worker; NULL: on the stack */
} fovea_nn_int8;

/* Cuts a layer for so many workers with scratch, or for tasks that need none. Rows may be known by their number
 * only. */
void fovea_nn_cut_int8(const fovea_nn_linear *linear, const fovea_nn_linear_rows *rows,
                       const fovea_nn_kernels *kernels, const fovea_nn_int8_kernels *codes, int workers,
                       int has_scratch, fovea_nn_int8 *int8);

/* A row whose codes are made, and outputs of a task: `out`, the first of a panel, up to `end`. */
typedef struct fovea_nn_int8_row {
  const fovea_nn_int8 *int8;
  const char *codes; /* plain, with a word of zeros after them */
  const float *sums; /* of the codes: [group] */
  float scale;
  int64_t out, end;
} fovea_nn_int8_row;

/* Computes the outputs, piece by piece of the dims. */
void fovea_nn_run_int8_row(const fovea_nn_int8_row *row);

int64_t fovea_nn_int8_tasks(const fovea_nn_int8 *int8);

/* Computes one task of `data`, a fovea_nn_int8. */
void fovea_nn_int8_task(const void *data, int64_t task, int worker);

#endif

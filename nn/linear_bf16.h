/* Linear layers in bf16 mode (docs/numerics.md, L1): weights are panels of bf16, rows are rounded to bf16. */
#ifndef FOVEA_NN_LINEAR_BF16_H
#define FOVEA_NN_LINEAR_BF16_H

#include "../arch/args/nn_bf16.h"
#include "linear.h"

/* How a layer is cut into tasks: blocks of rows beside blocks of groups of FOVEA_NN_OUTS outputs. With memory, a task
 * packs its rows once; without, it packs few rows for each group, on the stack. */
typedef struct fovea_nn_bf16_job {
  const fovea_nn_linear *linear;
  const fovea_nn_linear_rows *rows;
  const fovea_nn_kernels *kernels;
  const fovea_nn_bf16_kernels *bf16;
  int64_t block_rows, row_blocks;
  int64_t groups, columns;          /* of outputs; blocks of them */
  int64_t chunk;                    /* groups whose sums a task keeps while parts of the dims pass */
  int64_t x_stride;                 /* bytes of a packed row */
  size_t weights, sums, task_bytes; /* where parts of a task's memory begin, after packed rows; its size */
  char *memory;                     /* task_bytes for each worker; NULL: the stack */
} fovea_nn_bf16_job;

/* Cuts a layer for so many workers, with memory for each, or without. */
void fovea_nn_cut_bf16(const fovea_nn_linear *linear, const fovea_nn_linear_rows *rows,
                       const fovea_nn_kernels *kernels, const fovea_nn_bf16_kernels *bf16, int workers,
                       int has_memory, fovea_nn_bf16_job *job);

int64_t fovea_nn_bf16_tasks(const fovea_nn_bf16_job *job);

/* Computes one task of `data`, a fovea_nn_bf16_job. */
void fovea_nn_bf16_task(const void *data, int64_t task, int worker);

#endif

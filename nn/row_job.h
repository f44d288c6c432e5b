/* Runs an operation that maps rows to rows, in tasks of some rows. */
#ifndef FOVEA_NN_ROW_JOB_H
#define FOVEA_NN_ROW_JOB_H

#include "../arch/nn_kernels.h"

typedef struct fovea_nn_row_job {
  int64_t rows, dim;
  int64_t work; /* multiply-adds for each number */
  const void *data;
  /* Computes `count` rows from `first` on. */
  void (*run)(const void *data, int64_t first, int64_t count);
} fovea_nn_row_job;

void fovea_nn_run_rows(const fovea_nn_row_job *job, const fovea_execution *execution);

/* The rows of a tensor from row `first` on. NULL data stays NULL. */
fovea_nn_rows fovea_nn_rows_from(const void *data, fovea_type type, int64_t stride, int64_t first);

#endif

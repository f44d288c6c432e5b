/* A linear layer that was checked, as tasks see it. */
#ifndef FOVEA_NN_LINEAR_H
#define FOVEA_NN_LINEAR_H

#include "../arch/nn_kernels.h"
#include "../src/base/types.h"
#include "matrix.h"
#include "panels.h"

/* The most rows of a task; rows of x, and panels of W, of which a piece is copied at a time. Sums and copies lie on
 * the stack: 41 KB. */
enum {
  FOVEA_NN_MANY_LEAST_ROWS = 8,
  FOVEA_NN_TASK_ROWS = 84,
  FOVEA_NN_COPIED_ROWS = 8,
  FOVEA_NN_COPIED_PANELS = 2,
  /* The most groups of outputs of a task of few rows. */
  FOVEA_NN_FEW_GROUPS = FOVEA_NN_TASK_ROWS / FOVEA_NN_FEW_ROWS
};

typedef struct fovea_nn_linear_job {
  const fovea_nn_linear *linear;
  const fovea_nn_linear_rows *rows;
  const fovea_nn_kernels *kernels;
  const fovea_nn_pair_kernels *pairs; /* NULL: types or layout are not for pairs, or there are none */
  int64_t block_rows, row_blocks;     /* rows of a task */
  int few;                            /* rows, and weights in panels, for fovea_nn_few_task() */
  int few_panels;                     /* that it multiplies at a time */
  int in_place;                       /* nothing is copied as f32; else: */
  int x_rows, weight_panels;          /* that are multiplied at a time */
  int64_t column_groups;              /* FOVEA_NN_OUTS outputs each */
  int64_t task_groups;
  int64_t tasks;
} fovea_nn_linear_job;

/* The weights as one matrix, rows of W or panels; and the bias. */
fovea_nn_matrix fovea_nn_weights_of(const fovea_nn_linear *linear);
fovea_nn_matrix fovea_nn_bias_of(const fovea_nn_linear *linear);

/* Checks a layer that was read. `name` is the caller's name of it. */
fovea_status fovea_nn_check_linear(const char *name, const fovea_nn_linear *linear, fovea_error *error);
/* Reads and checks a caller's layer that is part of something, with its instruction set. It may not be NULL. */
fovea_status fovea_nn_check_layer(const char *name, const fovea_nn_linear *given, fovea_error *error);
/* Checks the rows of a layer that was checked. */
fovea_status fovea_nn_check_linear_rows(const fovea_nn_linear *linear, const fovea_nn_linear_rows *rows,
                                        fovea_error *error);
/* Reads and checks a caller's layer and rows that this library made, before anything changes. */
fovea_status fovea_nn_check_output(const fovea_nn_linear *given, const fovea_nn_linear_rows *given_rows,
                                   fovea_error *error);
/* Checks where its weights are to be packed. */
fovea_status fovea_nn_check_packing(const fovea_nn_linear *linear, const void *panels, fovea_error *error);

/* As fovea_nn_linear_run(), but it allocates nothing: without scratch, or with too little of it, many rows go
 * through in small tiles, as few rows do. For calls that have layers as parts. */
fovea_status fovea_nn_run_linear(const fovea_nn_linear *linear, const fovea_nn_linear_rows *rows,
                                 const fovea_execution *execution, fovea_error *error);
/* The same for a layer and rows that were checked. */
fovea_status fovea_nn_multiply(const fovea_nn_linear *linear, const fovea_nn_linear_rows *rows,
                               const fovea_execution *execution, fovea_error *error);
/* The bytes of scratch that they use for so many rows. 0: none, or the layer is NULL or not valid. */
uint64_t fovea_nn_linear_bytes(const fovea_nn_linear *given, int64_t row_count, const fovea_execution *execution);

/* Layers of a call that have one piece of scratch one after the other, each with the most rows that go through it. */
typedef struct fovea_nn_layer_use {
  const fovea_nn_linear *linear; /* NULL: there is none */
  int64_t rows;
} fovea_nn_layer_use;

/* The bytes of that scratch. */
uint64_t fovea_nn_layers_bytes(const fovea_nn_layer_use *layers, int count, const fovea_execution *execution);

/* Computes one task of `data`, a fovea_nn_linear_job. */
void fovea_nn_linear_task(const void *data, int64_t task, int worker);
/* The same for few rows, where the time goes into reading weights. */
void fovea_nn_few_task(const void *data, int64_t task, int worker);

#endif

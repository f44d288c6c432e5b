/* A layer of attention that was read and checked. */
#ifndef FOVEA_NN_ATTENTION_H
#define FOVEA_NN_ATTENTION_H

#include "../src/base/shapes.h"
#include "call_plan.h"
#include "matrix.h"

/* The projections, in f32 rows in scratch: heads side by side. */
typedef struct fovea_nn_heads {
  int64_t rows; /* of all batch elements */
  int64_t heads, dim;
  float *numbers;
} fovea_nn_heads;

/* An output beside y. All have elements of 32 bits. Scores have one head if they are averaged. */
typedef struct fovea_nn_output {
  const float *data; /* NULL: it is not wanted, or has no elements */
  fovea_shape shape;
  fovea_reach reach;
} fovea_nn_output;

/* The outputs beside O, in the order of their shapes. */
enum {
  FOVEA_NN_OUTPUT_COUNT = FOVEA_SHAPES - FOVEA_SHAPE_O - 1,
  FOVEA_NN_OUTPUT_SCORES = FOVEA_SHAPE_SCORES - FOVEA_SHAPE_O - 1
};

typedef struct fovea_nn_attention_call {
  fovea_nn_attention attention;
  fovea_nn_attention_tensors tensors;
  fovea_problem problem;       /* with the strides of the projections */
  fovea_strides score_strides; /* as the caller gave them */
  fovea_execution execution;
  fovea_execution rows, layers; /* of the steps: without scratch, and with scratch for linear layers */
  fovea_nn_heads q, k, v, o;
  int64_t memory_rows;
  fovea_nn_output outputs[FOVEA_NN_OUTPUT_COUNT]; /* the caller's */
  /* If scores are averaged: the scores of all heads, in scratch; keys of a row; where the averages lie. */
  float *score_numbers;
  int64_t score_keys;
  fovea_strides average_strides;
  int from_rows; /* 1: there is no memory, so keys are at the positions of the rows */
} fovea_nn_attention_call;

/* Reads and checks what the caller gave, and sets the sizes and strides of the projections. */
fovea_status fovea_nn_check_attention(const fovea_nn_attention *attention, const fovea_problem *problem,
                                      const fovea_nn_attention_tensors *tensors, const fovea_execution *execution,
                                      fovea_nn_attention_call *call, fovea_error *error);
/* Checks that y and scratch lie apart from weights, tables and lists, of a call that was checked. */
fovea_status fovea_nn_check_read_places(const fovea_nn_attention_call *call, fovea_error *error);

/* Reads a problem: refuses what a layer of attention does not use, and resolves the defaults, all but the defaults
 * of scores.strides. */
fovea_status fovea_nn_read_attention_problem(const fovea_problem *given, fovea_nn_attention_call *call,
                                             fovea_error *error);

/* As fovea_nn_attention_run(). `only_checked`: it ends before it writes anything but scratch. A plan that was made
 * before is of this problem, with tensors of the same order. */
fovea_status fovea_nn_run_attention(const fovea_nn_attention *attention, const fovea_problem *problem,
                                    const fovea_nn_attention_tensors *tensors, const fovea_execution *execution,
                                    fovea_nn_plan *plan, int only_checked, fovea_error *error);

/* Checks the sizes of a complete problem, so that products of them do not overflow. */
fovea_status fovea_nn_check_sizes(const fovea_problem *problem, fovea_error *error);

/* Lays out the scratch of a layer, beside the plan. */
fovea_status fovea_nn_measure_attention(const fovea_nn_attention *attention, const fovea_problem *problem,
                                        int rows_first, int workers, fovea_nn_plan *plan, fovea_nn_scratch *all,
                                        fovea_error *error);

/* Sets the problem's strides to the strides of the projections, and their sizes. */
void fovea_nn_place_heads(fovea_problem *problem, int rows_first, fovea_nn_attention_call *call);

#endif

/* A call of a stack of layers, as its checks and its run see it. */
#ifndef FOVEA_NN_ENCODER_CALL_H
#define FOVEA_NN_ENCODER_CALL_H

#include "encoder.h"
#include "layer_scratch.h"
#include "positions.h"
#include "transformer_block.h"

/* A call that was read. */
typedef struct fovea_nn_encoder_call {
  fovea_nn_stack_names names;
  fovea_nn_encoder encoder;
  fovea_nn_encoder_rows rows;
  fovea_nn_embedding embedding;
  fovea_nn_attention_tensors self, cross;
  fovea_problem problem, cross_problem; /* of self and cross, complete */
  fovea_execution execution;
  int64_t row_count, dim;
  int64_t y_dim; /* of a row of y, if it is not dim; else 0 */
  int numbered;  /* position ids are the positions of the rows */
  fovea_nn_scratch all;
  size_t block_size, hidden_begin, position_ids_begin; /* scratch of a layer; what lies after it */
  float *hidden;                                       /* (row_count, dim) */
} fovea_nn_encoder_call;

/* One layer of it, with pointers into itself. */
typedef struct fovea_nn_layer_call {
  fovea_nn_block block;
  fovea_nn_attention filled; /* cross-attention over caches that hold the memory */
  fovea_nn_attention_tensors self_tensors, cross_tensors;
  fovea_nn_attending self, cross;
  const fovea_nn_attending *crossing; /* &cross or NULL */
} fovea_nn_layer_call;

/* Reads a call, and checks all but its layers, y and positions. */
fovea_status fovea_nn_read_encoder_call(const fovea_nn_encoder *encoder, const fovea_nn_encoder_rows *rows,
                                        const fovea_execution *execution, fovea_nn_encoder_call *call,
                                        fovea_error *error);

/* Sets up layer i. Each has its own layer of the caches. */
fovea_status fovea_nn_make_layer(const fovea_nn_encoder_call *call, int64_t i, fovea_nn_layer_call *layer,
                                 fovea_error *error);

/* Checks the layers, and lays out scratch beside the plans: a layer's scratch, the rows, their positions. */
fovea_status fovea_nn_measure_encoder(fovea_nn_encoder_call *call, int workers, fovea_nn_plans *plans,
                                      fovea_error *error);

/* Checks y, and the positions of a call that was measured. */
fovea_status fovea_nn_check_encoder_output(const fovea_nn_encoder_call *call, fovea_error *error);

fovea_nn_positions fovea_nn_positions_of(const fovea_nn_encoder_call *call);

#endif

/* Stacks of layers, as models of two of them see them. */
#ifndef FOVEA_NN_ENCODER_H
#define FOVEA_NN_ENCODER_H

#include "transformer_block.h"

#include <fovea/encoder.h>

/* The rows of a call that was checked, about as many multiply-adds as its layers make, and its scratch. */
typedef struct fovea_nn_encoder_shape {
  int64_t rows, dim;
  double work;
  fovea_nn_scratch all;
} fovea_nn_encoder_shape;

/* Where a stack and its rows are in a model of two stacks: "decoder" and "target". NULL: they are the call's own. */
typedef struct fovea_nn_stack_names {
  const char *stack, *rows;
} fovea_nn_stack_names;

/* Names the part of a model that has the field; NULL: the field is the call's own. Returns the status. */
fovea_status fovea_nn_fail_in_part(const char *part, fovea_status status, fovea_error *error);

fovea_status fovea_nn_read_encoder(const char *name, const fovea_nn_encoder *given, fovea_nn_encoder *encoder,
                                   fovea_error *error);
fovea_status fovea_nn_read_encoder_rows(const char *name, const fovea_nn_encoder_rows *given,
                                        fovea_nn_encoder_rows *rows, fovea_error *error);
fovea_status fovea_nn_read_encoder_decoder(const fovea_nn_encoder_decoder *given, fovea_nn_encoder_decoder *model,
                                           fovea_error *error);

/* Reads block i of an encoder that was read. */
fovea_status fovea_nn_block_at(const fovea_nn_encoder *encoder, int64_t i, fovea_nn_block *block,
                               fovea_error *error);

/* Makes the checks of fovea_nn_encoder_run() that read no ids, masks or segments, and lays out its scratch beside
 * the plans. y has rows of y_dim, or of the stack's dim if y_dim is 0. */
fovea_status fovea_nn_measure_stack(fovea_nn_stack_names names, const fovea_nn_encoder *encoder,
                                    const fovea_nn_encoder_rows *rows, int64_t y_dim, int workers,
                                    const fovea_execution *execution, fovea_nn_plans *plans,
                                    fovea_nn_encoder_shape *shape, fovea_error *error);

/* As fovea_nn_encoder_run(). */
fovea_status fovea_nn_run_stack(fovea_nn_stack_names names, const fovea_nn_encoder *encoder,
                                const fovea_nn_encoder_rows *rows, const fovea_execution *execution,
                                fovea_nn_plans *plans, fovea_error *error);

#endif

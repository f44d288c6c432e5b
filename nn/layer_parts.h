/* What layers read beside their rows: weights, biases, norms, rotary tables. Nothing may be written over it. */
#ifndef FOVEA_NN_LAYER_PARTS_H
#define FOVEA_NN_LAYER_PARTS_H

#include "attention.h"
#include "matrix.h"

/* The most matrices of a layer of attention with its lists of positions, and of a layer of a transformer. */
enum { FOVEA_NN_ATTENTION_PARTS = 17, FOVEA_NN_BLOCK_PARTS = 2 * FOVEA_NN_ATTENTION_PARTS + 12 };

/* Each adds the matrices of something that was checked, or of NULL, to a list of `count`. Returns the new count. */
int fovea_nn_add_linear(const fovea_nn_linear *linear, fovea_nn_matrix *parts, int count);
int fovea_nn_add_norm(const fovea_nn_norm *norm, fovea_nn_matrix *parts, int count);
int fovea_nn_add_attention(const fovea_nn_attention *attention, fovea_nn_matrix *parts, int count);
/* The lists of positions of a call that was checked. */
int fovea_nn_add_positions(const fovea_nn_attention_call *call, fovea_nn_matrix *parts, int count);
int fovea_nn_add_block(const fovea_nn_block *block, fovea_nn_matrix *parts, int count);

#endif

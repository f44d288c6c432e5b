/* What multi-head attention and layers of transformers must give, from their descriptors: functions of the
 * contract, one after the other (docs/numerics.md, clauses L9 and L12). All rows are contiguous. */
#ifndef FOVEA_TESTS_EXPECTED_MODEL_H
#define FOVEA_TESTS_EXPECTED_MODEL_H

#include <fovea/nn.h>

/* Numbers of a tensor as f32. The caller frees them. */
float *expected_numbers(const void *tensor, fovea_type type, int64_t count);

/* Rows through a layer, as its results have them; gate and residual may be NULL. The caller frees the rows. */
float *expected_linear(const fovea_nn_linear *linear, const float *x, int64_t rows, const float *gate,
                       const float *residual);

/* Attention of x over memory (NULL: x), with causal rules and windows, with or without rotary embedding or a
 * bias of keys and values. */
float *expected_attention(const fovea_nn_attention *attention, const fovea_problem *problem,
                          const fovea_nn_attention_tensors *tensors, const float *x, const float *memory,
                          const float *residual);

/* With the average of its scores over heads, (rows, keys); a bias is the first key. NULL: not wanted. */
float *expected_attention_scores(const fovea_nn_attention *attention, const fovea_problem *problem,
                                 const fovea_nn_attention_tensors *tensors, const float *x, const float *memory,
                                 const float *residual, float *scores);

/* y from x. */
float *expected_block(const fovea_nn_block *block, const fovea_nn_attending *self, const fovea_nn_attending *cross,
                      const float *x);

#endif

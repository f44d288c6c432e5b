/* The parts of a layer but attention, in plain C: for each row the same additions in the same order, however many
 * rows a call has. */
#ifndef STORIES_LAYERS_H
#define STORIES_LAYERS_H

#include <stdint.h>

/* to = from W^T: rows of `outputs` numbers from rows of `inputs`; the weights are (outputs, inputs). */
void layer_product(float *to, const float *from, const float *weights, int64_t rows, int64_t outputs,
                   int64_t inputs);

/* RMSNorm: each row over its root mean square, times the weights. */
void layer_norm(float *to, const float *from, const float *weights, int64_t rows, int64_t dim);

/* to += from. */
void layer_add(float *to, const float *from, int64_t count);

/* SwiGLU: gate = silu(gate) * up. */
void layer_gate(float *gate, const float *up, int64_t count);

#endif

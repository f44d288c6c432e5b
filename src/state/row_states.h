/* States in the caller's memory. A row has a row state for each node of its range of keys, nodes.h: its output, not
 * normalised, its maximum, and its sum. */
#ifndef FOVEA_SRC_STATE_ROW_STATES_H
#define FOVEA_SRC_STATE_ROW_STATES_H

#include "../../arch/kernels.h"

#include "../base/nodes.h"

static inline fovea_spans fovea_state_spans(const fovea_state *state) {
  return fovea_spans_of(state->keys.begin, state->keys.end);
}

/* The number that states and results have in place of `number`: there is one NaN, and no negative zero. */
float fovea_canonical(float number);

/* Writes `count` dims of the outputs of a tile's rows, canonical as in states. */
void fovea_write_outputs(const fovea_kernels *kernels, const fovea_tile_state *from, int64_t count, int row_count,
                         float *const *rows);
/* Writes the maxima and sums of a tile's rows, two numbers for each row. */
void fovea_write_sums(const fovea_tile_state *from, int row_count, float *const *rows);

/* Makes the outputs of rows whose divisor is 0 zeros, before store(): they may be NaN, weights of 0 times values
 * that are NaN or infinite. `row_stride` as in fovea_store_args. */
void fovea_clear_undivided(const fovea_kernels *kernels, const fovea_tile_state *state, int64_t row_stride,
                           int64_t dim, int row_count, const float *divisors);

/* A head's sink in the units of scores, log2. */
static inline float fovea_sink_of_head(const fovea_tensors *tensors, int64_t head) {
  return tensors->sink[head] * (float)FOVEA_LOG2E;
}

#endif

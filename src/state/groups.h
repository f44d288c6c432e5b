/* States in the caller's memory. A row has a group of numbers for each node of its range of keys, nodes.h: its
 * output, not normalised, its maximum, and its sum. */
#ifndef FOVEA_SRC_STATE_GROUPS_H
#define FOVEA_SRC_STATE_GROUPS_H

#include "../../arch/kernels.h"

#include "../base/nodes.h"

static inline fovea_spans fovea_state_spans(const fovea_state *state) {
  return fovea_spans_of(state->keys_begin, state->keys_end);
}

/* The number that states, and results, have in place of this one: there is one NaN, and no negative zero. */
float fovea_canonical(float number);

/* Writes `count` dims of a tile's rows to `rows`, with the bits that states have. */
void fovea_write_outputs(const fovea_kernels *kernels, const fovea_tile_state *from, int64_t count, int row_count,
                         float *const *rows);
/* Writes their maxima and sums, two numbers a row. */
void fovea_write_sums(const fovea_tile_state *from, int row_count, float *const *rows);

/* A sink in the units of scores, log2. */
static inline float fovea_sink_of_head(const fovea_tensors *tensors, int64_t head) {
  return tensors->sinks[head] * (float)FOVEA_LOG2E;
}

#endif

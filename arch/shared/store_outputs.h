/* The entropy of rows, and weights in the place of kept scores, at the end of a tile. Part of bodies.h; store.h
 * calls it. */

#include "../kernels.h"
#include "keep.h"
#include "state.h"
#include "store_state.h"
#include "tile.h"
#include "types.h"

#if FOVEA_BUILDS_TERMS
void FOVEA_NAME(normalise_kept)(float *scores, int64_t count, const fovea_weighting *weighting, float part,
                                float inverse);

/* The weights of the rows of one vector, of another normaliser than the softmax. */
FOVEA_SHORT FOVEA_NOINLINE void store_normalised(const fovea_store_args *args, int row, const store_state *state) {
  float part[LANES], inverse[LANES];
  const int rows = args->row_count - row < LANES ? args->row_count - row : LANES;
  vec_store(part, state->part);
  vec_store(inverse, state->inverse);
  for (int i = 0; i < rows; i++) {
    if (!args->scores[row + i]) continue; /* not wanted */
    FOVEA_NAME(normalise_kept)(args->scores[row + i], args->score_count, args->weighting, part[i], inverse[i]);
  }
}

#endif

/* Of the softmax. */
FOVEA_NOINLINE void store_weights(const fovea_store_args *args, int row, const store_state *state) {
  float reference[LANES], inverse[LANES];
  const int rows = args->row_count - row < LANES ? args->row_count - row : LANES;
  vec_store(reference, state_reference(state->maximum));
  vec_store(inverse, state->inverse);
  FOVEA_NO_UNROLL
  for (int i = 0; i < rows; i++) {
    if (!args->scores[row + i]) continue;
    keep_weights_of_row(args->scores[row + i], args->score_count, vec_set1(reference[i]), vec_set1(inverse[i]));
  }
}

/* entropy = ln 2 * (log2(l) - e / l), both not negative; 0 if there is no state. */
FOVEA_SHORT FOVEA_NOINLINE void store_entropy(const fovea_store_args *args, int row, const store_state *state) {
  state_entropy keys = {vec_load(args->state.row_max + row), vec_load(args->state.row_sum + row),
                        vec_load(args->state.row_spread + row)};
  if (args->sinks) {
    const volatile float one = 1.0f; /* as in store_begin() */
    const state_entropy sink = {vec_load(args->sinks + row), vec_set1(one), vec_set1(0.0f)};
    keys.spread = state_join_spread(&keys, &sink);
  }
  const volatile float zero = 0.0f; /* for the same reason: the product is rounded before it is subtracted */
  vec entropy = vec_sub(vec_log2(state->sum), vec_fma(keys.spread, state->inverse, vec_set1(zero)));
  entropy = vec_mul(vec_set1(0x1.62e43p-1f), entropy);
  entropy = vec_select(vec_is_nan(state->sum), state->sum, entropy);
  entropy = vec_select(vec_equal(state->sum, vec_set1(0.0f)), vec_set1(0.0f), entropy);
  float lanes[LANES];
  vec_store(lanes, canonical(entropy));
  for (int i = 0; i < LANES && row + i < args->row_count; i++) *args->entropy[row + i] = lanes[i];
}

FOVEA_KERNEL void FOVEA_NAME(store_outputs)(const fovea_store_args *args, int row, const store_state *state) {
  if (args->entropy) store_entropy(args, row, state);
  if (!args->scores) return;
#if FOVEA_BUILDS_TERMS
  if (args->divisors) {
    store_normalised(args, row, state);
    return;
  }
#endif
  store_weights(args, row, state);
}

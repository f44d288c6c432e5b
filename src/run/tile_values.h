/* Weights times the values of a block in exact mode, with rows in the lanes. */
#ifndef FOVEA_SRC_RUN_TILE_VALUES_H
#define FOVEA_SRC_RUN_TILE_VALUES_H

#include "fetch.h"
#include "positions.h"

/* Whether V has a NaN or Inf that weight 0 would not hide: some row does not see all keys, or has no state.
 * `stateless` is 1 if that is known already. */
int fovea_values_need_care(const fovea_plan *plan, fovea_block_rows *block, const fovea_sliced_block *sliced,
                           int stateless);

/* What all calls of the value kernel in a block have. */
fovea_value_args fovea_tile_value_args(const fovea_block_memory *memory, const fovea_block_rows *block,
                                       const fovea_tile_state *state, int64_t v_dim);

/* Multiplies weights and values. `end_flag`: what ends the chains, FOVEA_VALUE_ASSIGN or FOVEA_VALUE_MERGE; 0:
 * other calls follow. `careful`: NaN-safe, as fovea_values_need_care() says. */
void fovea_add_tile_values(const fovea_kernels *kernels, const fovea_value_args *common,
                           const fovea_visible_block *visible, const fovea_position_block *positions,
                           const fovea_fetch *fetch, int end_flag, int careful);

#endif

/* Shaw's values: the weights of a block, added up by distances, times the vectors of these. */
#ifndef FOVEA_SRC_RUN_SHAW_VALUES_H
#define FOVEA_SRC_RUN_SHAW_VALUES_H

#include "positions.h"

/* Ends the chains of the block's values, which are in `partial`: adds Shaw's values, and merges the chains into the
 * output. */
void fovea_add_shaw_values(const fovea_task_context *context, const fovea_tile *t, const fovea_tile_state *state,
                           const fovea_visible_block *visible, const fovea_position_block *positions, int first);

/* The same for a tile that is decoded, and the block's keys `keys`. */
void fovea_decode_shaw_values(const fovea_task_context *context, const fovea_tile *t,
                              const fovea_visible_block *visible, const fovea_position_block *positions,
                              fovea_interval keys, int first);

#endif

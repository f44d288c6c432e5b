/* Shaw's relative position representations, for one tile and one block: what keys add to products, and the sums of
 * weights that values are multiplied by. All keys of one distance have the same vector, so nothing of rows times
 * keys times dims is computed. */
#ifndef FOVEA_SRC_RUN_SHAW_H
#define FOVEA_SRC_RUN_SHAW_H

#include "positions.h"

/* Multiplies the queries of a tile, which were loaded, by the vectors of the distances that the tile sees. */
void fovea_read_shaw_keys(fovea_task_context *context, fovea_tile *t);

/* What is added to the products of the block's keys `keys`, counted from its first. */
void fovea_place_shaw_keys(const fovea_task_context *context, const fovea_tile *t, fovea_interval keys,
                           fovea_shaw_numbers *numbers);

/* Ends the chains of the block's values, which are in `partial`: adds Shaw's values, and merges the chains into the
 * output. */
void fovea_add_shaw_values(const fovea_task_context *context, const fovea_tile *t, const fovea_tile_state *state,
                           const fovea_sight *sight, const fovea_position_block *positions, int first);

/* The same for a tile that is decoded, and the block's keys `keys`. */
void fovea_decode_shaw_values(const fovea_task_context *context, const fovea_tile *t, const fovea_sight *sight,
                              const fovea_position_block *positions, fovea_interval keys, int first);

#endif

/* The values of a block by another arithmetic than exact mode's. */
#ifndef FOVEA_SRC_RUN_OPERAND_VALUES_H
#define FOVEA_SRC_RUN_OPERAND_VALUES_H

#include "mode_operands.h"
#include "positions.h"

/* Adds a block's values to the state, with the weights that the arithmetic's softmax has left. `visible` and
 * `positions` say which keys rows see. */
void fovea_add_operand_values(const fovea_operand_maker *maker, fovea_block_rows *block,
                              const fovea_row_terms *terms, const fovea_tile *t, const fovea_tile_state *state,
                              const fovea_visible_block *visible, fovea_position_block *positions,
                              const fovea_fetch_list *fetch, int first);

#endif

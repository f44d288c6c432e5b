/* Shaw's values: the weights of a block, added up by distances, times the vectors of the distances. */
#ifndef FOVEA_SRC_RUN_SHAW_VALUES_H
#define FOVEA_SRC_RUN_SHAW_VALUES_H

#include "positions.h"

/* The weights of a block, and the chains of its values in `partial`. */
typedef struct fovea_shaw_block {
  const fovea_row_terms *terms;
  const fovea_tile *tile;
  const fovea_visible_block *visible;
  const fovea_position_block *positions;
  int last; /* FOVEA_VALUE_ASSIGN or FOVEA_VALUE_MERGE: what ends the chains */
} fovea_shaw_block;

/* Ends the chains of the block's values: adds Shaw's values, and merges the chains into the output. `common` is
 * what all calls of the value kernel in the block have. */
void fovea_add_shaw_values(const fovea_shaw_block *block, const fovea_value_args *common);

/* The same for a tile that is decoded, and the block's keys `keys`. */
void fovea_decode_shaw_values(const fovea_shaw_block *block, const fovea_decode_state *state, fovea_interval keys);

#endif

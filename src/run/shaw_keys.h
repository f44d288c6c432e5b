/* Shaw's keys: what the vectors of distances add to the products of a tile. All keys of one distance have the same
 * vector, so each is multiplied once a tile. */
#ifndef FOVEA_SRC_RUN_SHAW_KEYS_H
#define FOVEA_SRC_RUN_SHAW_KEYS_H

#include "task.h"

/* Multiplies the queries of a tile, which were loaded, by the vectors of the distances that the tile sees. */
void fovea_read_shaw_keys(fovea_task_context *context, fovea_tile *t);

/* What is added to the products of the block's keys `keys`, counted from its first. */
void fovea_place_shaw_keys(const fovea_task_context *context, const fovea_tile *t, fovea_interval keys,
                           fovea_shaw_numbers *numbers);

#endif

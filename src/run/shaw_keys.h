/* Shaw's keys: what the vectors of distances add to the products of a tile. All keys of one distance have the same
 * vector, so each is multiplied once a tile. */
#ifndef FOVEA_SRC_RUN_SHAW_KEYS_H
#define FOVEA_SRC_RUN_SHAW_KEYS_H

#include "task.h"

/* Multiplies the queries of a tile, which were loaded as f32, by the vectors of the distances that the tile sees.
 * Uses the places of scores. */
void fovea_multiply_shaw_keys(const fovea_row_terms *terms, fovea_tile *t, float *unused_maxima);

/* The same for a tile that is decoded, whose queries lie row by row. */
void fovea_decode_shaw_keys(const fovea_row_terms *terms, fovea_tile *t, const float *queries);

/* What is added to the products of the keys `keys` of the block at `base`, counted from its first. */
void fovea_place_shaw_keys(const fovea_row_terms *terms, const fovea_tile *t, int64_t base, fovea_interval keys,
                           fovea_shaw_numbers *numbers);

#endif

/* Counts the pairs of a row and a key in a block of a tile. */
#ifndef FOVEA_SRC_VISIBLE_VISIBLE_PAIRS_H
#define FOVEA_SRC_VISIBLE_VISIBLE_PAIRS_H

#include "visible_block.h"

/* The pairs of which the row sees the key. `lanes`: rows of a vector. */
int64_t fovea_visible_pairs(const fovea_visible_block *block, int lanes);

/* The pairs of all slices, with lanes of padding: as many as a tile with rows in the lanes computes. */
int64_t fovea_pairs_of_slices(const fovea_visible_block *block, int lanes);

/* The keys of the whole vectors in which some row sees a key: as many as a tile with keys in the lanes computes. */
int64_t fovea_keys_of_vectors(const fovea_visible_block *block, int lanes);

/* Adds the keys of the block that each row sees, whatever their scores are, to counts[row]. */
void fovea_count_visible_keys(const fovea_visible_block *block, int lanes, int64_t *counts);

#endif

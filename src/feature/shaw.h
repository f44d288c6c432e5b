/* Shaw's relative position representations: checked, and the scratch that they take. */
#ifndef FOVEA_SRC_FEATURE_SHAW_H
#define FOVEA_SRC_FEATURE_SHAW_H

#include "../../arch/kernels.h"

static inline int fovea_has_shaw_keys(const fovea_problem *problem) {
  return (problem->shaw.kind & FOVEA_SHAW_KEYS) != 0;
}

static inline int fovea_has_shaw_values(const fovea_problem *problem) {
  return (problem->shaw.kind & FOVEA_SHAW_VALUES) != 0;
}

/* Vectors of a table for one head. */
static inline int64_t fovea_shaw_vectors(const fovea_problem *problem) {
  return 2 * problem->shaw.distance + 1;
}

/* Floats for what the keys of a table add to the products of a tile of `rows` rows. */
static inline uint64_t fovea_shaw_tile_floats(const fovea_problem *problem, uint64_t rows) {
  return ((2 * (uint64_t)problem->shaw.distance + rows) * rows + 15) / 16 * 16;
}

/* Arrays for a tile and a block, run/shaw_distances.h. The keys of a block have fewer distances from the rows of a
 * tile than there are keys and rows. */
enum { FOVEA_SHAW_ARRAYS = 3 };

static inline uint64_t fovea_shaw_floats(uint64_t rows) {
  return ((rows + FOVEA_BLOCK_KEYS) * rows + 15) / 16 * 16;
}

static inline uint64_t fovea_shaw_block_floats(uint64_t rows) {
  return FOVEA_SHAW_ARRAYS * fovea_shaw_floats(rows);
}

#endif

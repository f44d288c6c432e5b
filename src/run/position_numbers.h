/* The numbers of one position term for neighbouring keys. */
#ifndef FOVEA_SRC_RUN_POSITION_NUMBERS_H
#define FOVEA_SRC_RUN_POSITION_NUMBERS_H

#include "../feature/position_terms.h"

/* Consecutive keys as one row sees them. */
typedef struct fovea_key_range {
  int64_t own, key; /* positions: of the row's own key, of the first key */
  int64_t count;
} fovea_key_range;

/* Writes the numbers of these keys, `step` floats apart: of ALIBI the distance, which kernels multiply by slopes.
 * `numbers` belong to the row's batch element and head. Keys after a GRID get any number. Returns 1 if a number is
 * -Inf. */
int fovea_position_numbers(const fovea_positions *positions, const fovea_position_rule *rule, const float *numbers,
                           fovea_key_range keys, float *to, int64_t step);

/* A tile of rows that are neighbours in a GRID. */
typedef struct fovea_grid_tile {
  int64_t own; /* of the first row */
  int rows;
  int64_t key; /* of the first key */
  int keys;
  float *to;     /* [key][row], the first key's */
  int64_t step;  /* from key to key, at least `rows`. Seven floats after the last row of the last key are written */
  float *window; /* room for FOVEA_GRID_FLOATS numbers */
} fovea_grid_tile;

/* Writes the numbers of a tile of a GRID, and sets *hides to 1 if one is -Inf. Returns 0, and writes nothing, if
 * `window` has no room for the part of the table that they lie in. */
int fovea_grid_numbers(const fovea_position_rule *rule, const float *numbers, const fovea_grid_tile *tile,
                       int *hides);

#endif

/* Writes the results of a tile: rows of O and LSE, or of a state. */
#ifndef FOVEA_SRC_RUN_RESULTS_H
#define FOVEA_SRC_RUN_RESULTS_H

#include "engine.h"

/* `state` NULL: no row of the tile sees a key. */
void fovea_write_results(const fovea_task_context *context, fovea_tile *t, const fovea_tile_state *state);

/* Writes rows first to first + rows - 1 of the tile, whose outputs lie row_stride floats apart; 0: as in a tile.
 * Other outputs than O and LSE want all rows of the tile. */
void fovea_write_rows(const fovea_task_context *context, fovea_tile *t, int first, int rows,
                      const fovea_tile_state *state, int64_t row_stride);

#endif

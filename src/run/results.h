/* Writes the results of a tile: rows of O and LSE, or of a state. */
#ifndef FOVEA_SRC_RUN_RESULTS_H
#define FOVEA_SRC_RUN_RESULTS_H

#include "task.h"

/* `state` NULL: no row of the tile has seen a key. */
void fovea_write_results(const fovea_task_context *context, fovea_tile *t, const fovea_tile_state *state);

#endif

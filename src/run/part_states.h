/* The states of the parts of a tile: kept by the tasks of the first phase, merged by those of the second. */
#ifndef FOVEA_SRC_RUN_PART_STATES_H
#define FOVEA_SRC_RUN_PART_STATES_H

#include "task.h"

/* Keeps the state of a part for the second phase; NULL: no row of the tile has looked at a key. */
void fovea_keep_part(const fovea_task_context *context, const fovea_tile *t, const fovea_tile_state *state);

/* Merges the parts of a tile. Returns NULL when none has a state. */
fovea_tile_state *fovea_merge_parts(const fovea_task_context *context, fovea_tile *t);

#endif

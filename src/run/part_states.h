/* The states of the parts of a tile. Tasks of the first phase keep them, tasks of the second phase merge them. */
#ifndef FOVEA_SRC_RUN_PART_STATES_H
#define FOVEA_SRC_RUN_PART_STATES_H

#include "task.h"

/* Keeps the state of a part for the second phase; NULL: no row of the tile sees a key of the part. */
void fovea_keep_part(const fovea_task_context *context, fovea_tile *t, const fovea_tile_state *state);

/* Merges the parts of a tile. Returns NULL if no part has a state. */
fovea_tile_state *fovea_merge_parts(const fovea_task_context *context, fovea_tile *t);

#endif

/* Few tiles and many keys: the keys of a tile are dealt to several tasks, and what comes of them is merged in a
 * second phase. Parts are single blocks, or aligned ranges of 2^k spans, whose states are nodes of the tree of
 * spans: merged in its order they give the bits that one task gives. Where the result is a state, its nodes are the
 * parts, each the result of its task. */
#ifndef FOVEA_SRC_PLAN_PARTS_H
#define FOVEA_SRC_PLAN_PARTS_H

#include "../run/task.h"

/* Sets part_keys, the parts of every entry, and the memory for their states. The number of tiles is known, the
 * tasks are not counted yet. */
void fovea_plan_parts(fovea_plan *plan, int64_t tiles);

/* The keys of one part, where fovea_has_parts(). */
fovea_interval fovea_part_keys(const fovea_plan *plan, const fovea_task *task);

/* Keeps the state of a part for the second phase; NULL: no row of the tile has looked at a key. */
void fovea_keep_part(const fovea_task_context *context, const fovea_tile *t, const fovea_tile_state *state);

/* Merges the parts of a tile. Returns NULL when none has a state. */
fovea_tile_state *fovea_merge_parts(const fovea_task_context *context, fovea_tile *t);

#endif

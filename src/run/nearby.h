/* Brings near what the tiles of a task read: copies of blocks that are not f32 or whose rows lie badly. Nothing
 * here can be seen in results. */
#ifndef FOVEA_SRC_RUN_NEARBY_H
#define FOVEA_SRC_RUN_NEARBY_H

#include "rows.h"

/* Sets where the keys and values of the block at work are read: where they lie, or in scratch if they are not f32
 * or lie badly and enough tiles share the copy. Once a block. */
void fovea_place_block(fovea_task_context *context);

/* Sets where the keys are read as f32 for a tile that cannot take them as pairs. */
void fovea_widen_block(fovea_task_context *context);

/* Whether the values of the block's keys that the task meets hold neither NaN nor Inf. Looked at once a block. */
int fovea_block_is_finite(fovea_task_context *context);

/* The keys of the block at `base` that the task meets, counted from the block's first. */
fovea_interval fovea_met_keys(const fovea_task_context *context, int64_t base);

/* Copies those as f32, fovea_copied_stride() apart, the block's first key at `to`. */
void fovea_widen_rows(const fovea_task_context *context, fovea_find_run *find, int64_t dim, int64_t base,
                      float *to);

#endif

/* The walk of a task: block by block through the keys that its tiles meet, and tile by tile through each block. */
#ifndef FOVEA_SRC_RUN_WALK_H
#define FOVEA_SRC_RUN_WALK_H

#include "engine.h"
#include "run.h"

/* Begins a task. Its engine is not set. `found` must live as long as the context. */
void fovea_begin_task(const fovea_run *run, const fovea_task *task, char *worker_scratch,
                      fovea_found_segment found[2], fovea_task_context *context);

/* Gives the engine `decode`, in which engines with keys in the lanes keep what they need from block to block. It
 * must live as long as the context. */
void fovea_begin_decoding(fovea_task_context *context, fovea_decode_state *decode, void *worker_scratch);

/* Prepares tile `number` of the task, one of context->memory.tiles: its rows, what they see, its arrays. */
fovea_tile *fovea_begin_tile(const fovea_task_context *context, int number, void *worker_scratch);

/* Prepares the task's tiles, and stands before the first block. Returns the first. A tile whose `block` is
 * FOVEA_NO_BLOCK meets no block. */
fovea_tile *fovea_begin_walk(fovea_task_context *context, void *worker_scratch);

/* Goes to the next block that some tile meets. Returns 0 if there is none. */
int fovea_next_block_of_walk(fovea_task_context *context, fovea_tile *tiles);

/* Goes to the next tile that meets the block. Returns NULL if there is none. */
fovea_tile *fovea_next_tile_of_walk(fovea_task_context *context, fovea_tile *tiles);

/* Keeps of the walk only `keys`, before its first block. It has one tile. */
void fovea_narrow_walk(fovea_task_context *context, fovea_tile *t, fovea_interval keys);

/* Finds what the tile sees of the current block, of keys that exist. Returns 0 if no row sees a key. */
int fovea_see_block(const fovea_task_context *context, const fovea_tile *t, fovea_visible_block *visible);

/* Loads the queries of a tile, if the current block is its first, and finds what it sees of the block. Returns 0 if
 * no row sees a key. */
int fovea_enter_block(fovea_task_context *context, fovea_tile *t, fovea_visible_block *visible);

#endif

/* Decoding: the tile has so few rows that keys lie in the lanes. It goes block by block through keys of any cache.
 */
#ifndef FOVEA_SRC_RUN_DECODE_H
#define FOVEA_SRC_RUN_DECODE_H

#include "task.h"

/* Lets the task keep in `decode` what decoding needs from block to block. `decode` must live as
 * long as the context. */
void fovea_begin_decode_task(fovea_task_context *context, fovea_decode_state *decode, void *worker_scratch);

/* Prepares the queries of a tile that is decoded. */
void fovea_begin_decoding(fovea_task_context *context, fovea_tile *t);

/* Takes the tile through the current block, of which it sees some key. `first`: no block of this span came before.
 */
void fovea_decode_block(fovea_task_context *context, fovea_tile *t, const fovea_visible_block *visible, int first);

/* Computes the scores of the current block, and nothing else. Returns which keys have one: whole vectors, counted
 * from the block's first. */
fovea_interval fovea_score_decoded(fovea_task_context *context, fovea_tile *t, const fovea_visible_block *visible);

/* Copies the state of the current span to the tile's tree, as its current state. */
void fovea_end_decoded_span(const fovea_task_context *context, fovea_tile *t);

#endif

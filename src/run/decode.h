/* Decoding: a tile of so few rows that keys lie in the lanes, one block of keys at a time, from any cache. */
#ifndef FOVEA_SRC_RUN_DECODE_H
#define FOVEA_SRC_RUN_DECODE_H

#include "sight.h"

/* Prepares the queries of a tile, where fovea_is_decoded(). */
void fovea_begin_decoding(fovea_task_context *context, fovea_tile *t);

/* Takes the tile through the block at work, of which it sees something. `first`: it is the first of its
 * span. */
void fovea_decode_block(fovea_task_context *context, fovea_tile *t, const fovea_sight *sight, int first);

/* The keys of a block whose scores are computed, before they are rounded to whole vectors: from the first that some
 * row looks at to the last. */
fovea_interval fovea_keys_decoded(const fovea_tile *t, const fovea_block_view *view);

/* Hands the state of the span at work to the tile's tree as its current state. */
void fovea_end_decoded_span(const fovea_task_context *context, fovea_tile *t);

#endif

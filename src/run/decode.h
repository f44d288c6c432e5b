/* A tile of few rows: keys in the lanes, one block of keys at a time, from any cache. */
#ifndef FOVEA_SRC_RUN_DECODE_H
#define FOVEA_SRC_RUN_DECODE_H

#include "task.h"

/* Prepares the queries of a tile, where fovea_has_few_rows(). */
void fovea_begin_decoding(fovea_task_context *context, fovea_tile *t);

/* Takes the tile through the block that begins at position `base`. */
void fovea_decode_block(fovea_task_context *context, fovea_tile *t, int64_t base);

/* Hands the state of the span at work to the tile's tree as its current state. */
void fovea_end_decoded_span(const fovea_task_context *context, fovea_tile *t);

#endif

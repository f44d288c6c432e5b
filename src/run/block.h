/* One row tile and one block of keys: scores, softmax, values. */
#ifndef FOVEA_SRC_RUN_BLOCK_H
#define FOVEA_SRC_RUN_BLOCK_H

#include "fetch.h"
#include "task.h"

/* Takes the tile through the current block, of which it sees some key. `first`: no block of this span came before.
 */
void fovea_run_block(fovea_task_context *context, fovea_tile *t, const fovea_visible_block *visible,
                     fovea_fetch *fetch, int first);

/* Computes the scores of the current block as the softmax takes them, and nothing else. */
void fovea_score_block(fovea_task_context *context, fovea_tile *t, const fovea_visible_block *visible);

/* Sets a state of rows that have seen no keys. */
void fovea_clear_state(const fovea_task_context *context, const fovea_tile_state *state);

#endif

/* Scores and weights of a block, with rows in the lanes. */
#ifndef FOVEA_SRC_RUN_TILE_SCORES_H
#define FOVEA_SRC_RUN_TILE_SCORES_H

#include "fetch.h"
#include "positions.h"

/* Computes the scores of the current block: products, terms, mask, rules. */
void fovea_score_tile(fovea_task_context *context, fovea_tile *t, const fovea_visible_block *visible,
                      const fovea_score_terms *terms, fovea_position_block *positions, fovea_fetch *fetch);

/* The softmax, or what stands for it, of every vector that has keys in the block. Returns 1 if some row gets no
 * state from the block. */
int fovea_weigh_tile(const fovea_plan *plan, const fovea_block_memory *memory, const fovea_tile_state *state,
                     const fovea_visible_block *visible, const fovea_position_block *positions, int vectors,
                     int first);

#endif

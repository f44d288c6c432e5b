/* The largest score of each head, from the maxima of its rows. */
#ifndef FOVEA_SRC_RUN_MAX_LOGITS_H
#define FOVEA_SRC_RUN_MAX_LOGITS_H

#include "task.h"

/* Keeps the maxima of a tile's rows, of their state without the sink, for the phase that takes the largest. */
void fovea_keep_maxima(const fovea_plan *plan, const fovea_entry *entry, const fovea_tile *t,
                       const fovea_tile_state *state, float *shared);

/* A task of that phase: one head of one entry. */
void fovea_max_logits_task(const void *run, int64_t number, int worker);

#endif

/* The engine of rows that see few keys here and there, as the nodes of a graph do: each goes through the keys of
 * its own list. */
#ifndef FOVEA_SRC_RUN_GATHER_H
#define FOVEA_SRC_RUN_GATHER_H

#include "engine.h"

extern const fovea_engine fovea_gathered_engine;

/* Adds the pairs of a tile. */
void fovea_count_gathered(const fovea_visibility *by, const fovea_visible_tile *tile, fovea_counts *counts);

#endif

/* The engines with rows in the lanes: one row tile and one block of keys. */
#ifndef FOVEA_SRC_RUN_BLOCK_H
#define FOVEA_SRC_RUN_BLOCK_H

#include "engine.h"

extern const fovea_engine fovea_tiled_engine; /* values in exact mode; scores in any */
extern const fovea_engine fovea_mode_engine;  /* values by the arithmetic of a mode */

#endif

/* The engines with keys in the lanes: the tile has so few rows that rows would leave the lanes empty. They go block
 * by block through keys of any cache. */
#ifndef FOVEA_SRC_RUN_DECODE_H
#define FOVEA_SRC_RUN_DECODE_H

#include "engine.h"

extern const fovea_engine fovea_decoded_engine; /* in exact mode */
extern const fovea_engine fovea_code_engine;    /* in int8 mode, of rows as codes */

#endif

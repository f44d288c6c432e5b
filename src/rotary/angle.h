/* The angles of a rotary embedding: how far pair i rotates from one position to the next, and cosine and sine at a
 * position. All steps use integers, so the bits do not depend on compiler, flags or mathematical library.
 * docs/numerics.md, section 12, states each step. */
#ifndef FOVEA_SRC_ROTARY_ANGLE_H
#define FOVEA_SRC_ROTARY_ANGLE_H

#include "fraction.h"

/* The largest frequency. An angle's error stays below 2^-85 turns up to the last position. */
#define FOVEA_FREQUENCY_LIMIT 4294967296.0

/* log2(x) of a finite x of at least 1. Returns the integer part, and sets the rest. */
uint64_t fovea_angle_log2(double x, fovea_fraction *part);

/* base^(-1 / pairs), for a finite base of at least 1 and fewer than 2^32 pairs. */
fovea_fraction fovea_angle_ratio(double base, int64_t pairs);

/* A frequency, in radians for each position, as turns without whole turns. It must be at most
 * FOVEA_FREQUENCY_LIMIT. */
fovea_fraction fovea_angle_turn(double frequency);

/* Cosine and sine of position * turn, rounded to float. */
void fovea_angle_at(fovea_fraction turn, int64_t position, float *cosine, float *sine);

#endif

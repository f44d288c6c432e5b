/* The angles of a rotary embedding: what pair i turns by from one position to the next, and cosine and sine of a
 * position's angle. Integers throughout, so that no compiler, flag or mathematical library can be seen in a bit;
 * docs/numerics.md, section 12, states each step. */
#ifndef FOVEA_SRC_ROTARY_ANGLE_H
#define FOVEA_SRC_ROTARY_ANGLE_H

#include "fraction.h"

/* Largest frequency: an angle's error stays below 2^-85 turns up to the last position. */
#define FOVEA_FREQUENCY_LIMIT 4294967296.0

/* base^(-1 / pairs), for a finite base of at least 1 and less than 2^32 pairs. */
fovea_fraction fovea_angle_ratio(double base, int64_t pairs);

/* A frequency, in radians, as the part of a turn that it leaves; at most FOVEA_FREQUENCY_LIMIT. */
fovea_fraction fovea_angle_turn(double frequency);

/* Cosine and sine of position * turn, rounded to float. */
void fovea_angle_at(fovea_fraction turn, int64_t position, float *cosine, float *sine);

#endif

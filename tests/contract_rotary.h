/* Section 12 of docs/numerics.md in plain C, without a line of the library. */
#ifndef FOVEA_TESTS_CONTRACT_ROTARY_H
#define FOVEA_TESTS_CONTRACT_ROTARY_H

#include <stdint.h>

/* A number from 0 to below 1: digits to the base 2^32, the highest first. */
struct fraction {
  uint32_t digit[4];
};

/* What each of the pairs turns by from one position to the next, in turns, by a base or (not NULL) by frequencies.
 */
void contract_turns(double base, const double *frequencies, int64_t pairs, struct fraction *turns);

/* Cosine and sine at a position. */
void contract_angle(struct fraction turn, int64_t position, float *cosine, float *sine);

/* The pair (x, y), turned; in f32, before it is rounded to another type. */
void contract_turn_pair(float *x, float *y, float cosine, float sine);

#endif

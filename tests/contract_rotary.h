/* Section 12 of docs/numerics.md in plain C. It shares no code with the library. */
#ifndef FOVEA_TESTS_CONTRACT_ROTARY_H
#define FOVEA_TESTS_CONTRACT_ROTARY_H

#include <stdint.h>

/* A number from 0 to less than 1: digits to the base 2^32, the highest first. */
struct fraction {
  uint32_t digit[4];
};

/* The integer part of log2(x), of an x from 1 up, and the rest. */
int64_t contract_log2_parts(double x, struct fraction *rest);

/* base^(-1 / pairs) */
struct fraction contract_ratio(double base, uint64_t pairs);

struct fraction contract_product(struct fraction a, struct fraction b);

/* How far each pair rotates from one position to the next, in turns, for a base or, if not NULL, for frequencies.
 */
void contract_turns(double base, const double *frequencies, int64_t pairs, struct fraction *turns);

/* The turns of `count` waves with frequencies base^(-power i / whole). */
void contract_wave_turns(double base, int64_t whole, int power, int64_t count, struct fraction *turns);

/* Cosine and sine at a position. */
void contract_angle(struct fraction turn, int64_t position, float *cosine, float *sine);

/* Rotates the pair (x, y), in f32, before it is rounded to another type. */
void contract_rotate_pair(float *x, float *y, float cosine, float sine);

#endif

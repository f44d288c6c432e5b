/* Positions, buckets and dropout of docs/numerics.md, clauses L5, L6 and L8, in plain C. Shares no code with the
 * library. */
#ifndef FOVEA_TESTS_CONTRACT_ROWS_H
#define FOVEA_TESTS_CONTRACT_ROWS_H

#include "contract_rotary.h"

#include <fovea/embedding.h>
#include <fovea/nn.h>

/* The turns of the waves of a row of `dim`; there is room for dim + 1. */
void contract_waves(int64_t dim, double base, fovea_nn_wave_exponent exponent, struct fraction *turns);

/* One row of sines and cosines. */
void contract_sinusoids(int64_t dim, fovea_nn_wave_layout layout, fovea_nn_wave_exponent exponent,
                        const struct fraction *turns, int64_t position, float *row);

/* The bucket of a relative position, for distances and max_distance below 2^31. */
int64_t contract_t5_bucket(int64_t relative, int bidirectional, int64_t buckets, int64_t max_distance);

/* The number of an element by Philox4x32-10. */
uint32_t contract_random(uint64_t seed, uint64_t stream, uint64_t index);

float contract_dropout(float x, float p, uint32_t number);

#endif

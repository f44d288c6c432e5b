/* Performer attention by docs/numerics.md, clause L15, in plain C. Shares no code with the library. */
#ifndef FOVEA_TESTS_CONTRACT_PERFORMER_H
#define FOVEA_TESTS_CONTRACT_PERFORMER_H

#include <fovea/performer.h>

/* Gaussian numbers 2 index and 2 index + 1 of a stream. */
void contract_gaussian_pair(uint64_t seed, uint64_t stream, uint64_t index, double pair[2]);

/* The whole projection. */
void contract_random_features(const fovea_nn_random_features *random, float *projection);

/* Features of rows, contiguous f32. `keys`: all rows share a stabiliser, if there is one. */
void contract_performer_features(const fovea_nn_performer *performer, const float *x, int64_t rows, int keys,
                                 float *phi);

/* One head: contiguous f32 rows. `state`, with `causal` alone, may be NULL. o is f32, as it is before it is
 * rounded. */
void contract_performer(const fovea_nn_performer *performer, const float *q, int64_t q_len, const float *k,
                        const float *v, int64_t kv_len, int64_t v_dim, float *state, float *o);

#endif

/* docs/numerics.md, part "Layers", number by number in plain C. Shares no code with the library. */
#ifndef FOVEA_TESTS_CONTRACT_NN_H
#define FOVEA_TESTS_CONTRACT_NN_H

#include <stdint.h>

/* A dot product: pieces of 128 dims, each one chain from +0 in the order 1, 0, 3, 2, ... */
float contract_nn_dot(const float *x, const float *w, int64_t dims);

/* NaN and zeros as results have them. */
float contract_nn_result(float x);

/* max(x, 0); NaN stays. */
float contract_nn_relu(float x);

#endif

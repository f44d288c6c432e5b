/* Sums over positions of docs/numerics.md, clause L19, in plain C. Shares no code with the library. */
#ifndef FOVEA_TESTS_CONTRACT_SUMS_H
#define FOVEA_TESTS_CONTRACT_SUMS_H

#include <stdint.h>

/* The sum over positions p from 0 to count - 1 of a[p * a_stride] * b[p * b_stride]. */
float contract_sum(const float *a, int64_t a_stride, const float *b, int64_t b_stride, int64_t count);

#endif

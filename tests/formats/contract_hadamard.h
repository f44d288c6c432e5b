/* Hadamard rotation: section 14 of docs/numerics.md in plain C. It shares no code with the library. */
#ifndef FOVEA_TESTS_FORMATS_CONTRACT_HADAMARD_H
#define FOVEA_TESTS_FORMATS_CONTRACT_HADAMARD_H

#include <stdint.h>

/* The normalised Walsh-Hadamard matrix on each block of a row, step by step; block 0: nothing. */
void contract_hadamard(float *x, int64_t dim, int64_t block);

#endif

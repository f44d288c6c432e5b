/* Random numbers for the vector that is open. */
#ifndef FOVEA_TESTS_SPEC_INPUTS_H
#define FOVEA_TESTS_SPEC_INPUTS_H

#include <stdint.h>

/* Begins a sequence of numbers. The numbers before it are gone. */
void inputs_begin(uint64_t seed);

/* The next numbers, from -1 to below 1. */
float *drawn(int64_t count);

/* The same, rounded to f16. */
float *drawn_f16(int64_t count);

/* The next numbers, written as an input of `prefix` and `name`; with 0 columns of `rows` elements. */
float *input(const char *prefix, const char *name, int64_t rows, int64_t columns);

#endif

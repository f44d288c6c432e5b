/* Tensors of random numbers in several layouts and types, for the tests of variants of attention. */
#ifndef FOVEA_TESTS_VARIANTS_PLACES_H
#define FOVEA_TESTS_VARIANTS_PLACES_H

#include "support/tensor.h"

/* How a tensor lies: in the order of the shape; heads side by side in a row; with gaps between rows. */
enum place { IN_ORDER, ROWS_FIRST, WITH_GAPS, PLACES };

/* A tensor in guarded memory; sets the strides for the library. */
struct tensor place(enum place kind, fovea_type type, int64_t batch, int64_t heads, int64_t rows, int64_t dim,
                    uint64_t seed, fovea_strides *strides);

/* Asserts that the row holds these numbers, rounded to the tensor's type as results are, bit for bit. The tensor
 * was loaded. */
void assert_row(const struct tensor *tensor, int64_t batch, int64_t head, int64_t row, const float *expected);

#endif

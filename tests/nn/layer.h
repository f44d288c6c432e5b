/* Matrices for the tests of fovea_nn: in guarded memory, with padding between their rows. */
#ifndef FOVEA_TESTS_NN_LAYER_H
#define FOVEA_TESTS_NN_LAYER_H

#include "support/generator.h"
#include "support/guarded.h"
#include "support/types.h"

/* Rows of numbers of a type, with the same numbers as f32 beside them. */
struct matrix {
  int64_t rows, dim, stride;
  fovea_type type;
  struct guarded memory; /* ends at a guard page after the last element */
  float *numbers;        /* rows x dim, contiguous, as the type holds them */
};

/* `special`: one of so many numbers is NaN, infinite, zero, tiny or huge; 0: none. */
struct matrix matrix_create(int64_t rows, int64_t dim, int64_t stride, fovea_type type, int special,
                            struct generator *generator);
/* Draws a row anew: numbers from `least` to twice as much, of either sign. */
void matrix_fill_row(struct matrix *matrix, int64_t row, float least, struct generator *generator);

void matrix_destroy(struct matrix *matrix);
/* Fills elements and gaps with 0xa5. */
void matrix_spoil(struct matrix *matrix);

/* Asserts that a matrix holds these numbers, rounded to its type as results are, and that its gaps are spoilt. */
void assert_matrix(const struct matrix *matrix, const float *numbers);

#endif

/* A matrix as a file has it: numbers, or codes. */
#ifndef LLM_MATRIX_H
#define LLM_MATRIX_H

#include <fovea/weights.h>

#include <stdbool.h>

struct matrix {
  int64_t rows, columns;
  const void *data;
  size_t row_bytes;
  bool has_codes;
  fovea_type type;      /* of numbers */
  fovea_nn_codes codes; /* of codes, ready to be packed */
};

/* Writes the numbers of a row, each rounded once. Codes must be in blocks. */
void matrix_row(const struct matrix *matrix, int64_t row, float *numbers);

#endif

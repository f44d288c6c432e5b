#include "nn/layer.h"

#include "support/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static float special_number(struct generator *generator) {
  static const float numbers[] = {0.0f,      -0.0f,    0x1p-149f, -0x1p-130f, 0x1p100f,
                                  -0x1p120f, INFINITY, -INFINITY, NAN};
  return numbers[generator_below(generator, (int64_t)(sizeof numbers / sizeof *numbers))];
}

static unsigned char *element_at(const struct matrix *m, int64_t row, int64_t d) {
  return m->memory.data + (size_t)(row * m->stride + d) * type_size(m->type);
}

static void store(struct matrix *m, int64_t row, int64_t d, float number) {
  const uint16_t half = m->type == FOVEA_F32 ? 0 : rounded(m->type, number);
  if (m->type == FOVEA_F32) {
    memcpy(element_at(m, row, d), &number, sizeof number);
  } else {
    memcpy(element_at(m, row, d), &half, sizeof half);
    number = from_bits(widened(m->type, half));
  }
  m->numbers[row * m->dim + d] = number;
}

struct matrix matrix_create(int64_t rows, int64_t dim, int64_t stride, fovea_type type, int special,
                            struct generator *generator) {
  struct matrix m = {rows, dim, stride, type, {0}, NULL};
  const int64_t elements = rows > 0 ? (rows - 1) * stride + dim : 0;
  m.memory = guarded_create((size_t)elements * type_size(type), GUARD_AT_END);
  m.numbers = malloc((size_t)(rows * dim + 1) * sizeof *m.numbers);
  assert_non_null(m.numbers);
  for (int64_t row = 0; row < rows; row++)
    for (int64_t d = 0; d < dim; d++) {
      const int is_special = special > 0 && generator_below(generator, special) == 0;
      store(&m, row, d, is_special ? special_number(generator) : generator_uniform(generator));
    }
  return m;
}

void matrix_fill_row(struct matrix *matrix, int64_t row, float least, struct generator *generator) {
  for (int64_t d = 0; d < matrix->dim; d++) {
    const float number = generator_uniform(generator);
    store(matrix, row, d, copysignf(least * (1 + 0.9f * fabsf(number)), number));
  }
}

void matrix_destroy(struct matrix *matrix) {
  guarded_destroy(&matrix->memory);
  free(matrix->numbers);
}

void matrix_spoil(struct matrix *matrix) {
  memset(matrix->memory.data, 0xa5, matrix->memory.size);
}

void assert_matrix(const struct matrix *matrix, const float *numbers) {
  struct matrix expected = *matrix;
  expected.memory = guarded_create(matrix->memory.size, GUARD_AT_END);
  matrix_spoil(&expected); /* a new one of whole pages holds zeros */
  expected.numbers = malloc((size_t)(matrix->rows * matrix->dim + 1) * sizeof *numbers);
  assert_non_null(expected.numbers);
  for (int64_t row = 0; row < matrix->rows; row++)
    for (int64_t d = 0; d < matrix->dim; d++) {
      const float number = numbers[row * matrix->dim + d];
      store(&expected, row, d, matrix->type == FOVEA_F32 ? rounded_number(FOVEA_F32, number) : number);
    }
  assert_memory_equal(matrix->memory.data, expected.memory.data, matrix->memory.size);
  assert_true(guarded_slack_intact(&matrix->memory));
  matrix_destroy(&expected);
}

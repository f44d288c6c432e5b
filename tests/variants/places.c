#include "places.h"

#include "support/check.h"

struct tensor place(enum place kind, fovea_type type, int64_t batch, int64_t heads, int64_t rows, int64_t dim,
                    uint64_t seed, fovea_strides *strides) {
  struct tensor tensor;
  *strides = (fovea_strides){heads * rows * dim, rows * dim, dim};
  if (kind == ROWS_FIRST) *strides = (fovea_strides){heads * rows * dim, dim, heads * dim};
  if (kind == WITH_GAPS) *strides = (fovea_strides){heads * (rows * (dim + 3) + 1), rows * (dim + 3) + 1, dim + 3};
  tensor_create_of(type, &tensor, batch, heads, rows, dim, *strides, GUARD_AT_END);
  tensor_fill_untouched(&tensor);
  tensor_fill_random(&tensor, seed, 1);
  tensor_store(&tensor);
  return tensor;
}

void assert_row(const struct tensor *tensor, int64_t batch, int64_t head, int64_t row, const float *expected) {
  const float *actual = tensor_row(tensor, batch, head, row);
  for (int64_t d = 0; d < tensor->dim; d++) {
    const float wanted = rounded_number(tensor->type, expected[d]);
    if (bits_of(actual[d]) == bits_of(wanted)) continue;
    fail_msg("batch %d head %d row %d dim %d: %a, expected %a", (int)batch, (int)head, (int)row, (int)d,
             (double)actual[d], (double)wanted);
  }
}

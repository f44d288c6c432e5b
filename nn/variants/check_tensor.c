/* Tensors of variants: strides, pointers, overlaps. */
#include "../../src/base/claim.h"
#include "../../src/base/error.h"
#include "../../src/base/types.h"
#include "../../src/base/validate.h"
#include "../matrix.h"
#include "tensor.h"

static int is_empty(const fovea_nn_tensor *t) {
  return t->batch == 0 || t->heads == 0 || t->rows == 0 || t->dim == 0;
}

static fovea_shape shape_of(const fovea_nn_tensor *t) {
  return fovea_make_shape(fovea_nn_singular(t->name), t->batch, t->heads, t->rows, t->dim, t->strides, t->bits);
}

fovea_status fovea_nn_check_tensor(const fovea_nn_tensor *tensor, int is_output, fovea_error *error) {
  const fovea_shape shape = shape_of(tensor);
  fovea_reach reach;
  if (is_empty(tensor)) return FOVEA_OK;
  const fovea_status status = fovea_validate_strides(&shape, is_output, &reach, error);
  reach.name = tensor->name;
  return status ? status : fovea_validate_pointer(&reach, tensor->data, error);
}

/* One batch element. */
static fovea_claim claim_of(const fovea_nn_tensor *t, int64_t entry) {
  const char *first =
      (const char *)t->data + fovea_bytes_of_bits(t->bits, t->batch > 1 ? entry * t->strides.batch : 0);
  return fovea_claim_rows(first, t->bits, t->heads, t->strides.head, t->rows, t->strides.row, t->dim);
}

/* Most ranges are apart; other tensors are compared batch element by batch element. */
fovea_status fovea_nn_check_tensors_apart(const fovea_nn_tensor *output, const fovea_nn_tensor *other,
                                          fovea_error *error) {
  const fovea_shape a = shape_of(output), b = shape_of(other);
  fovea_reach x, y;
  if (is_empty(output) || is_empty(other) || !output->data || !other->data) return FOVEA_OK;
  if (fovea_validate_strides(&a, 0, &x, NULL) || fovea_validate_strides(&b, 0, &y, NULL)) return FOVEA_OK;
  if (fovea_validate_apart(&x, output->data, &y, other->data, NULL) == FOVEA_OK) return FOVEA_OK;
  for (int64_t i = 0; i < output->batch; i++) {
    for (int64_t j = 0; j < other->batch; j++) {
      const fovea_claim mine = claim_of(output, i), theirs = claim_of(other, j);
      if (!fovea_claims_overlap(&mine, &theirs)) continue;
      return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s shares memory with %s", output->name, other->name);
    }
  }
  return FOVEA_OK;
}

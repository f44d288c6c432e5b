#include "matrix.h"

#include "../src/base/error.h"
#include "../src/base/types.h"
#include "../src/base/validate.h"

#include <string.h>

const char *fovea_nn_singular(const char *name) {
  static const char *const names[][2] = {{"weights", "weight"}, {"features", "feature"}};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcmp(name, names[i][0]) == 0) return names[i][1];
  return name;
}

static int is_empty(const fovea_nn_matrix *matrix) {
  return matrix->rows == 0 || matrix->dim == 0;
}

/* What the caller's names of type and stride begin with. */
static const char *prefix_of(const fovea_nn_matrix *matrix, int is_table) {
  return is_table ? "" : fovea_nn_singular(matrix->name);
}

static fovea_status check(const fovea_nn_matrix *matrix, int is_table, int is_output, fovea_error *error) {
  const char *joint = is_table ? "" : "_";
  const int type = (int)matrix->type;
  if (type < 0 || type >= FOVEA_TYPES) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s%stype is %jd; it must be from 0 to %jd",
                      prefix_of(matrix, is_table), joint, (int64_t)type, (int64_t)FOVEA_TYPES - 1);
  }
  if (is_empty(matrix)) return FOVEA_OK;
  const fovea_strides strides = {0, 0, matrix->stride};
  const fovea_shape shape =
      fovea_make_shape(matrix->name, 1, 1, matrix->rows, matrix->dim, strides, fovea_type_bits(matrix->type));
  fovea_reach reach;
  if (!fovea_validate_strides(&shape, is_output, &reach, NULL))
    return fovea_validate_pointer(&reach, matrix->data, error);
  /* The field is a stride of rows, not strides of axes. */
  if (is_output && matrix->rows > 1 && matrix->stride > -matrix->dim && matrix->stride < matrix->dim) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s%sstride is %jd; rows of %jd numbers share memory",
                      prefix_of(matrix, is_table), joint, matrix->stride, matrix->dim);
  }
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                    "%s%sstride is %jd; %jd rows of %jd numbers reach further than 2^57 from the first",
                    prefix_of(matrix, is_table), joint, matrix->stride, matrix->rows, matrix->dim);
}

fovea_status fovea_nn_check_matrix(const fovea_nn_matrix *matrix, int is_output, fovea_error *error) {
  return check(matrix, 0, is_output, error);
}

fovea_status fovea_nn_check_table(const fovea_nn_matrix *table, fovea_error *error) {
  fovea_nn_matrix rows = *table;
  rows.name = "data";
  return fovea_fail_within(table->name, check(&rows, 1, 0, error), error);
}

fovea_claim fovea_nn_claim_of(const fovea_nn_matrix *matrix) {
  return fovea_claim_rows(matrix->data, fovea_type_bits(matrix->type), 1, 0, matrix->rows, matrix->stride,
                          matrix->dim);
}

fovea_status fovea_nn_check_apart(const fovea_nn_matrix *output, const fovea_nn_matrix *other, fovea_error *error) {
  if (is_empty(output) || is_empty(other) || !other->data) return FOVEA_OK;
  const fovea_claim a = fovea_nn_claim_of(output), b = fovea_nn_claim_of(other);
  return fovea_claims_overlap(&a, &b)
             ? fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s shares memory with %s", output->name, other->name)
             : FOVEA_OK;
}

int fovea_nn_is_same(const fovea_nn_matrix *a, const fovea_nn_matrix *b) {
  return a->data == b->data && a->type == b->type && (a->stride == b->stride || a->rows == 1);
}

/* Tensors of rows, as checks see them. */
#ifndef FOVEA_NN_MATRIX_H
#define FOVEA_NN_MATRIX_H

#include "../arch/strict_math.h"
#include "../src/base/claim.h"

#include <fovea/nn.h>

typedef struct fovea_nn_matrix {
  const char *name;
  const void *data;
  fovea_type type;
  int64_t rows, dim;
  int64_t stride; /* elements from row to row */
} fovea_nn_matrix;

/* By which name the caller knows the strides and the type of the tensor `name`: "weight" for "weights"
 * (weight_strides). */
const char *fovea_nn_singular(const char *name);

/* Checks type, stride and pointer. Rows of an output must not share memory. A matrix without elements may have any
 * pointer and stride. */
fovea_status fovea_nn_check_matrix(const fovea_nn_matrix *matrix, int is_output, fovea_error *error);

/* Checks a table, a struct of the caller's with type, stride and data of its own. */
fovea_status fovea_nn_check_table(const fovea_nn_matrix *table, fovea_error *error);

/* Checks that an output shares no byte with rows of another matrix. */
fovea_status fovea_nn_check_apart(const fovea_nn_matrix *output, const fovea_nn_matrix *other, fovea_error *error);

/* Its bytes. The matrix was checked. */
fovea_claim fovea_nn_claim_of(const fovea_nn_matrix *matrix);

/* Whether they are the same elements. */
int fovea_nn_is_same(const fovea_nn_matrix *a, const fovea_nn_matrix *b);

#endif

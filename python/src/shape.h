/* Shapes of tensors: what they must be, and how they are told. */
#ifndef FOVEA_PYTHON_SHAPE_H
#define FOVEA_PYTHON_SHAPE_H

#include "tensor.h"

namespace fovea_python {

/* Axes of Q, K, V and O: batch, heads, rows, dim, of which the first two may be missing. */
int64_t size_of(const tensor &tensor, int axis);

/* Of the first three axes of (batch, heads, rows, ...), which `last` axes follow. */
fovea_strides strides_of(const tensor &tensor, int last);

/* "(2, 8, 100, 64)", for texts of errors. */
struct shape_text {
  char text[128];
  explicit shape_text(const tensor &tensor) : shape_text(tensor.shape, tensor.axes) {}
  shape_text(const int64_t *shape, int axes);
};

/* Each refuses a tensor that does not have this shape, these elements, or one that is not contiguous. */
void require_shape(const tensor &tensor, const char *name, const int64_t *shape, int axes);
void require_type(const tensor &tensor, const char *name, element type);
void require_contiguous(const tensor &tensor, const char *name);

/* Reads contiguous float32 numbers of this shape; None: none, NULL. */
const float *floats_of(tensor &to, nb::handle given, const char *name, const int64_t *shape, int axes);

} // namespace fovea_python

#endif

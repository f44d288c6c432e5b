#include "shape.h"

#include <cstdio>

namespace fovea_python {

int64_t size_of(const tensor &tensor, int axis) {
  int at = tensor.axes - 4 + axis;
  return at < 0 ? 1 : tensor.shape[at];
}

fovea_strides strides_of(const tensor &tensor, int last) {
  int row = tensor.axes - 1 - last;
  return {row >= 2 ? tensor.strides[row - 2] : 0, row >= 1 ? tensor.strides[row - 1] : 0,
          row >= 0 ? tensor.strides[row] : 0};
}

shape_text::shape_text(const int64_t *shape, int axes) {
  size_t used = static_cast<size_t>(std::snprintf(text, sizeof text, "("));
  for (int axis = 0; axis < axes && used < sizeof text; axis++)
    used += static_cast<size_t>(
        std::snprintf(text + used, sizeof text - used, axis ? ", %jd" : "%jd", static_cast<intmax_t>(shape[axis])));
  if (used < sizeof text) std::snprintf(text + used, sizeof text - used, axes == 1 ? ",)" : ")");
}

void require_shape(const tensor &tensor, const char *name, const int64_t *shape, int axes) {
  bool same = tensor.axes == axes;
  for (int axis = 0; same && axis < axes; axis++) same = tensor.shape[axis] == shape[axis];
  if (!same)
    refuse(name, "%s has the shape %s; it must be %s", name, shape_text(tensor).text, shape_text(shape, axes).text);
}

void require_contiguous(const tensor &tensor, const char *name) {
  int64_t contiguous = 1;
  for (int axis = tensor.axes - 1; axis >= 0; axis--) {
    if (tensor.shape[axis] == 0) return;
    if (tensor.shape[axis] > 1 && tensor.strides[axis] != contiguous)
      refuse(name, "%s.strides[%d] is %jd elements; it must be contiguous, %jd", name, axis,
             (intmax_t)tensor.strides[axis], (intmax_t)contiguous);
    contiguous *= tensor.shape[axis];
  }
}

void require_type(const tensor &tensor, const char *name, element type) {
  if (tensor.type != type)
    refuse(name, "%s has elements of %s; they must be %s", name, facts_of(tensor.type).name, facts_of(type).name);
}

const float *floats_of(tensor &to, nb::handle given, const char *name, const int64_t *shape, int axes) {
  if (given.is_none()) return nullptr;
  to.read(given, name);
  require_type(to, name, element::f32);
  require_shape(to, name, shape, axes);
  require_contiguous(to, name);
  return static_cast<const float *>(to.data);
}

} // namespace fovea_python

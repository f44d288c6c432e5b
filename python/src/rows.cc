#include "rows.h"

#include <algorithm>

namespace fovea_python {

void rows::set() {
  if (!memory.axes) refuse(name, "%s is a single number; it must have rows", name);
  dim = memory.shape[memory.axes - 1];
  count = 1;
  stride = dim;
  bool first = true;
  int64_t next = 0; /* the stride that the next axis outwards must have */
  for (int axis = memory.axes - 2; axis >= 0; axis--) {
    int64_t length = memory.shape[axis];
    count *= length;
    if (length == 1) continue;
    if (first) {
      stride = memory.strides[axis];
      first = false;
    } else if (memory.strides[axis] != next && count) {
      refuse(name, "%s.strides[%d] is %jd elements; rows must be equally far apart, %jd", name, axis,
             (intmax_t)memory.strides[axis], (intmax_t)next);
    }
    next = memory.strides[axis] * length;
  }
}

void rows::read(nb::handle object, const char *argument) {
  if (object.is_none()) return;
  memory.read(object, argument);
  number_type(memory.type, argument); /* before an output of this type is made */
  name = argument;
  set();
}

void rows::write(nb::handle object, const char *argument) {
  memory.write(object, argument);
  name = argument;
  set();
}

void rows::require(int64_t wanted, int64_t wanted_dim) const {
  if (exists() && (count != wanted || dim != wanted_dim))
    refuse(name, "%s has the shape %s; it must have %jd rows of %jd", name, shape_text(memory).text,
           (intmax_t)wanted, (intmax_t)wanted_dim);
}

nb::object output_rows(rows &output, nb::handle given, nb::handle like, const rows &from, int64_t dim) {
  extents shape;
  std::copy(from.memory.shape, from.memory.shape + from.memory.axes, shape);
  shape[from.memory.axes - 1] = dim;
  nb::object object =
      given.is_none() ? make_tensor(like, from.memory.type, shape, from.memory.axes) : nb::borrow(given);
  output.write(object, "out");
  require_shape(output.memory, "out", shape, from.memory.axes);
  return object;
}

} // namespace fovea_python

#include "values.h"

namespace fovea_python {

namespace {

void make_layout(layout *made, nb::handle shape, const char *dtype) {
  std::vector<int64_t> sizes = integers_of(shape, "shape");
  if (sizes.size() > most_axes)
    refuse("shape", "shape has %zu axes; at most %d are possible", sizes.size(), most_axes);
  layout layout{element_named(dtype), static_cast<int>(sizes.size()), {}};
  for (size_t axis = 0; axis < sizes.size(); axis++) {
    if (sizes[axis] < 0) refuse("shape", "shape[%zu] is %jd; it must be 0 or more", axis, (intmax_t)sizes[axis]);
    layout.shape[axis] = sizes[axis];
  }
  if (layout.type == element::other) refuse("dtype", "dtype is '%s'; no type of elements has this name", dtype);
  new (made) fovea_python::layout(layout);
}

} // namespace

void bind_layout(nb::module_ &module) {
  nb::class_<layout>(module, "Layout",
                     "A contiguous tensor without memory: what a plan or explain() needs to know of Q, K and V.")
      .def("__init__", make_layout, nb::arg("shape"), nb::arg("dtype") = "float32",
           nb::sig("def __init__(self, shape: Sequence[int], dtype: str = 'float32') -> None"));
}

} // namespace fovea_python

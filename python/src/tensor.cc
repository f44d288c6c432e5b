#include "exchange.h"
#include "shape.h"

#include <cstring>

namespace fovea_python {

namespace {

/* Python's names, made once. They live as long as the process. */
struct names {
  PyObject *dlpack = PyUnicode_InternFromString("__dlpack__");
  PyObject *gradient = PyUnicode_InternFromString("requires_grad");
};
const names &python_names() {
  static const names all;
  return all;
}

/* The element of NumPy's types that buffers do not know, those of ml_dtypes. */
element element_of_dtype(nb::handle object) {
  nb::object dtype = nb::steal(PyObject_GetAttrString(object.ptr(), "dtype"));
  nb::object name = dtype.is_valid() ? nb::steal(PyObject_GetAttrString(dtype.ptr(), "name")) : nb::object();
  if (!name.is_valid() || !nb::isinstance<nb::str>(name)) {
    PyErr_Clear();
    return element::other;
  }
  nb::str text = nb::borrow<nb::str>(name);
  for (element type : {element::bf16, element::e4m3, element::e5m2})
    if (!std::strcmp(text.c_str(), facts_of(type).name)) return type;
  return element::other;
}

/* The first line of what another library says when it has no memory to show: other devices, sparse tensors. */
[[noreturn]] void refuse_export(const char *name, const nb::python_error &error) {
  nb::str text = nb::str(error.value());
  refuse(name, "%s cannot be read: %.*s", name, static_cast<int>(std::strcspn(text.c_str(), "\n")), text.c_str());
}

} // namespace

/* ---- In ------------------------------------------------------------------------------------------------------ */

struct dlpack_view {
  const dlpack::tensor &tensor;
};

void tensor::release() {
  if (has_buffer_) PyBuffer_Release(&buffer_);
}

void tensor::read(nb::handle object, const char *name) {
  take(object, name, false);
  check_strides(name);
}

void tensor::write(nb::handle object, const char *name) {
  take(object, name, true);
  check_strides(name);
}

void tensor::take(nb::handle object, const char *name, bool written) {
  if (taken_) refuse(name, "%s is given twice", name);
  if (!take_buffer(object, name, written) && !take_exchange(object, name, written) &&
      !take_capsule(object, name, written) && !take_layout(object))
    refuse_type(name, object, "a NumPy array, or a tensor that has __dlpack__");
  taken_ = true;
}

void tensor::set(const dlpack_view &view, const char *name) {
  const dlpack::tensor &from = view.tensor;
  if (from.device.kind != dlpack::cpu)
    refuse(name, "%s is on a device of DLPack's kind %d; it must be in the CPU's memory", name,
           (int)from.device.kind);
  if (from.axes > most_axes)
    refuse(name, "%s has %d axes; at most %d are possible", name, (int)from.axes, most_axes);
  data = static_cast<char *>(from.data) + from.byte_offset;
  type = element_of_dlpack(from.type);
  axes = from.axes;
  int64_t contiguous = 1;
  for (int axis = axes - 1; axis >= 0; axis--) {
    shape[axis] = from.shape[axis];
    strides[axis] = from.strides ? from.strides[axis] : contiguous;
    contiguous *= shape[axis];
  }
}

bool tensor::take_buffer(nb::handle object, const char *name, bool written) {
  if (!PyObject_CheckBuffer(object.ptr())) return false;
  int flags = PyBUF_STRIDES | PyBUF_FORMAT | (written ? PyBUF_WRITABLE : 0);
  element known = element::other;
  if (PyObject_GetBuffer(object.ptr(), &buffer_, flags)) {
    nb::python_error why;
    known = element_of_dtype(object);
    nb::object same_bytes;
    if (known != element::other) same_bytes = object.attr("view")(facts_of(known).bytes == 2 ? "uint16" : "uint8");
    if (!same_bytes.is_valid() || PyObject_GetBuffer(same_bytes.ptr(), &buffer_, flags)) {
      PyErr_Clear();
      nb::str text = nb::str(why.value());
      refuse(name, "%s cannot be %s: %s", name, written ? "written" : "read", text.c_str());
    }
  }
  has_buffer_ = true;
  if (buffer_.ndim > most_axes)
    refuse(name, "%s has %d axes; at most %d are possible", name, buffer_.ndim, most_axes);
  data = buffer_.buf;
  type = known != element::other ? known : element_of_format(buffer_.format, buffer_.itemsize);
  axes = buffer_.ndim;
  for (int axis = 0; axis < axes; axis++) {
    shape[axis] = buffer_.shape[axis];
    strides[axis] = buffer_.strides[axis] / buffer_.itemsize;
    if (strides[axis] * buffer_.itemsize != buffer_.strides[axis])
      refuse(name, "%s.strides[%d] is %zd bytes; it must be a multiple of the %zd bytes of an element", name, axis,
             (ssize_t)buffer_.strides[axis], (ssize_t)buffer_.itemsize);
  }
  return true;
}

bool tensor::take_exchange(nb::handle object, const char *name, bool written) {
  dlpack::exchange *exchange = exchange_of(object);
  if (!exchange || !exchange->view) return false;
  nb::object gradient = nb::steal(PyObject_GetAttr(object.ptr(), python_names().gradient));
  if (!gradient.is_valid()) PyErr_Clear();
  if (gradient.ptr() == Py_True)
    refuse(name, "%s requires a gradient, which this function does not have: pass %s.detach()", name, name);
  dlpack::tensor view;
  if (exchange->view(object.ptr(), &view)) refuse_export(name, nb::python_error());
  (void)written; /* its tensors are writable */
  set({view}, name);
  return true;
}

bool tensor::view(nb::handle object) {
  dlpack::exchange *exchange = PyObject_CheckBuffer(object.ptr()) ? nullptr : exchange_of(object);
  dlpack::tensor view;
  if (!exchange || !exchange->view) return false;
  if (exchange->view(object.ptr(), &view)) {
    PyErr_Clear();
    return false;
  }
  if (view.device.kind != dlpack::cpu || view.axes > most_axes) return false;
  set({view}, "");
  taken_ = true;
  return true;
}

bool tensor::take_capsule(nb::handle object, const char *name, bool written) {
  nb::object method = nb::steal(PyObject_GetAttr(object.ptr(), python_names().dlpack));
  if (!method.is_valid()) {
    PyErr_Clear();
    return false;
  }
  try {
    capsule_ = method(nb::arg("max_version") = nb::make_tuple(1, 1));
  } catch (nb::python_error &error) {
    if (!error.matches(PyExc_TypeError)) refuse_export(name, error);
  }
  if (!capsule_.is_valid()) capsule_ = method(); /* from before DLPack 1.0 */
  uint64_t flags = 0;
  if (PyCapsule_IsValid(capsule_.ptr(), "dltensor_versioned")) {
    auto *managed =
        static_cast<dlpack::versioned_tensor *>(PyCapsule_GetPointer(capsule_.ptr(), "dltensor_versioned"));
    if (managed->version.major != 1)
      refuse(name, "%s is a tensor of DLPack %u; only versions 1 and 0 are known", name, managed->version.major);
    flags = managed->flags;
    set({managed->tensor}, name);
  } else {
    auto *managed = static_cast<dlpack::managed_tensor *>(PyCapsule_GetPointer(capsule_.ptr(), "dltensor"));
    if (!managed) throw nb::python_error();
    set({managed->tensor}, name);
  }
  if (written && flags & dlpack::flag_read_only) refuse(name, "%s is read-only", name);
  if (written && flags & dlpack::flag_copied)
    refuse(name, "%s is given as a copy, so nothing can be written to it", name);
  return true;
}

bool tensor::take_layout(nb::handle object) {
  if (!nb::isinstance<layout>(object)) return false;
  const layout &from = nb::cast<const layout &>(object);
  imagine(from.type, from.shape, from.axes);
  return true;
}

void tensor::imagine(element wanted, const int64_t *sizes, int count) {
  type = wanted;
  axes = count;
  int64_t contiguous = 1;
  for (int axis = axes - 1; axis >= 0; axis--) {
    shape[axis] = sizes[axis];
    strides[axis] = contiguous;
    contiguous *= sizes[axis];
  }
  taken_ = true;
}

void tensor::check_strides(const char *name) const {
  if (axes && shape[axes - 1] > 1 && strides[axes - 1] != 1)
    refuse(name, "%s.strides[%d] is %jd elements; elements of the last axis must lie side by side", name, axes - 1,
           (intmax_t)strides[axes - 1]);
}

} // namespace fovea_python

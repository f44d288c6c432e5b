#include "tensor.h"
#include "dlpack.h"
#include "values.h"

#include <atomic>
#include <cstdio>
#include <cstring>

namespace fovea_python {

namespace {

const element_facts all_facts[] = {{"float32", 4}, {"float16", 2},       {"bfloat16", 2},    {"float64", 8},
                                   {"bool", 1},    {"uint8", 1},         {"int8", 1},        {"int32", 4},
                                   {"int64", 8},   {"float8_e4m3fn", 1}, {"float8_e5m2", 1}, {"other", 1}};

element element_of_dlpack(dlpack::element_type type) {
  if (type.lanes != 1) return element::other;
  switch (type.code << 8 | type.bits) {
  case dlpack::floating << 8 | 32:
    return element::f32;
  case dlpack::floating << 8 | 16:
    return element::f16;
  case dlpack::floating << 8 | 64:
    return element::f64;
  case dlpack::bfloat << 8 | 16:
    return element::bf16;
  case dlpack::boolean << 8 | 8:
    return element::boolean;
  case dlpack::unsigned_integer << 8 | 8:
    return element::u8;
  case dlpack::signed_integer << 8 | 8:
    return element::i8;
  case dlpack::signed_integer << 8 | 32:
    return element::i32;
  case dlpack::signed_integer << 8 | 64:
    return element::i64;
  case dlpack::float8_e4m3fn << 8 | 8:
    return element::e4m3;
  case dlpack::float8_e5m2 << 8 | 8:
    return element::e5m2;
  default:
    return element::other;
  }
}

dlpack::element_type dlpack_of_element(element type) {
  uint8_t bits = static_cast<uint8_t>(8 * facts_of(type).bytes);
  switch (type) {
  case element::bf16:
    return {dlpack::bfloat, bits, 1};
  case element::boolean:
    return {dlpack::boolean, bits, 1};
  case element::u8:
    return {dlpack::unsigned_integer, bits, 1};
  case element::i8:
  case element::i32:
  case element::i64:
    return {dlpack::signed_integer, bits, 1};
  default:
    return {dlpack::floating, bits, 1};
  }
}

/* Of a format of the buffer protocol. */
element element_of_format(const char *format, Py_ssize_t bytes) {
  if (!format) return element::u8;
  if (*format == '@' || *format == '=') format++;
  if (!format[0] || format[1]) return element::other;
  switch (format[0]) {
  case 'f':
    return element::f32;
  case 'e':
    return element::f16;
  case 'd':
    return element::f64;
  case '?':
    return element::boolean;
  case 'B':
    return element::u8;
  case 'b':
    return element::i8;
  case 'i':
  case 'l':
  case 'q':
    return bytes == 4 ? element::i32 : element::i64;
  default:
    return element::other;
  }
}

/* Python's names, made once. They live as long as the process. */
struct names {
  PyObject *exchange = PyUnicode_InternFromString("__dlpack_c_exchange_api__");
  PyObject *dlpack = PyUnicode_InternFromString("__dlpack__");
  PyObject *gradient = PyUnicode_InternFromString("requires_grad");
};
const names &python_names() {
  static const names all;
  return all;
}

/* numpy.empty, and its dtypes by element. */
nb::handle numpy_empty() {
  static std::atomic<PyObject *> kept{nullptr};
  PyObject *function = kept.load(std::memory_order_acquire);
  if (!function) {
    function = nb::object(nb::module_::import_("numpy").attr("empty")).release().ptr();
    kept.store(function, std::memory_order_release);
  }
  return function;
}

nb::handle numpy_dtype(element type) {
  static std::atomic<PyObject *> kept[static_cast<int>(element::other)];
  std::atomic<PyObject *> &slot = kept[static_cast<int>(type)];
  PyObject *dtype = slot.load(std::memory_order_acquire);
  if (!dtype) {
    bool extra = type == element::bf16 || type == element::e4m3 || type == element::e5m2;
    nb::object named = extra ? nb::object(nb::module_::import_("ml_dtypes").attr(facts_of(type).name))
                             : nb::object(nb::str(facts_of(type).name));
    dtype = nb::object(nb::module_::import_("numpy").attr("dtype")(named)).release().ptr();
    slot.store(dtype, std::memory_order_release);
  }
  return dtype;
}

/* The functions of a tensor's type that NumPy arrays do not have and PyTorch's tensors do; NULL: none. */
dlpack::exchange *exchange_of(nb::handle object) {
  nb::object capsule =
      nb::steal(PyObject_GetAttr(reinterpret_cast<PyObject *>(Py_TYPE(object.ptr())), python_names().exchange));
  if (!capsule.is_valid()) {
    PyErr_Clear();
    return nullptr;
  }
  auto *found = static_cast<dlpack::exchange *>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  if (!found) PyErr_Clear();
  while (found && found->version.major != 1) found = found->older;
  return found;
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

} // namespace

const element_facts &facts_of(element type) {
  return all_facts[static_cast<int>(type)];
}

fovea_type number_type(element type, const char *name) {
  switch (type) {
  case element::f32:
    return FOVEA_F32;
  case element::f16:
    return FOVEA_F16;
  case element::bf16:
    return FOVEA_BF16;
  default:
    refuse(name, "%s has elements of %s; they must be float32, float16 or bfloat16", name, facts_of(type).name);
  }
}

namespace {

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

/* ---- Out ----------------------------------------------------------------------------------------------------- */

namespace {

/* Sets the exception that an allocation of another library has failed with. */
void set_error(void *, const char *kind, const char *message) {
  PyErr_Format(PyExc_RuntimeError, "%s: %s", kind, message);
}

nb::object allocate(dlpack::exchange &exchange, element type, const int64_t *shape, int axes) {
  extents sizes;
  std::memcpy(sizes, shape, sizeof(int64_t) * static_cast<size_t>(axes));
  dlpack::tensor prototype = {nullptr, {dlpack::cpu, 0}, axes, dlpack_of_element(type), sizes, nullptr, 0};
  dlpack::versioned_tensor *made = nullptr;
  void *object = nullptr;
  if (exchange.allocate(&prototype, &made, nullptr, set_error) || exchange.import_managed(made, &object))
    throw nb::python_error();
  return nb::steal(static_cast<PyObject *>(object));
}

} // namespace

nb::object make_tensor(nb::handle like, element type, const int64_t *shape, int axes) {
  if (!PyObject_CheckBuffer(like.ptr()))
    if (dlpack::exchange *exchange = exchange_of(like)) return allocate(*exchange, type, shape, axes);
  nb::object sizes = nb::steal(PyTuple_New(axes));
  for (int axis = 0; axis < axes; axis++) PyTuple_SetItem(sizes.ptr(), axis, PyLong_FromLongLong(shape[axis]));
  PyObject *made = PyObject_CallFunctionObjArgs(numpy_empty().ptr(), sizes.ptr(), numpy_dtype(type).ptr(), nullptr);
  if (!made) throw nb::python_error();
  return nb::steal(made);
}

/* ---- Layouts ------------------------------------------------------------------------------------------------- */

namespace {

void make_layout(layout *made, nb::handle shape, const char *dtype) {
  std::vector<int64_t> sizes = integers_of(shape, "shape");
  if (sizes.size() > most_axes)
    refuse("shape", "shape has %zu axes; at most %d are possible", sizes.size(), most_axes);
  layout layout{element::other, static_cast<int>(sizes.size()), {}};
  for (size_t axis = 0; axis < sizes.size(); axis++) {
    if (sizes[axis] < 0) refuse("shape", "shape[%zu] is %jd; it must be 0 or more", axis, (intmax_t)sizes[axis]);
    layout.shape[axis] = sizes[axis];
  }
  for (int type = 0; type < static_cast<int>(element::other); type++)
    if (!std::strcmp(dtype, all_facts[type].name)) layout.type = static_cast<element>(type);
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

/* ---- Shapes -------------------------------------------------------------------------------------------------- */

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

} // namespace fovea_python

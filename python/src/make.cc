/* New tensors, for outputs. */
#include "exchange.h"

#include <atomic>
#include <cstring>

namespace fovea_python {

namespace {

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

} // namespace fovea_python

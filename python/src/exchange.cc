#include "exchange.h"

namespace fovea_python {

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

dlpack::exchange *exchange_of(nb::handle object) {
  static PyObject *const attribute =
      PyUnicode_InternFromString("__dlpack_c_exchange_api__"); /* lives as the process */
  nb::object capsule = nb::steal(PyObject_GetAttr(reinterpret_cast<PyObject *>(Py_TYPE(object.ptr())), attribute));
  if (!capsule.is_valid()) {
    PyErr_Clear();
    return nullptr;
  }
  auto *found = static_cast<dlpack::exchange *>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  if (!found) PyErr_Clear();
  while (found && found->version.major != 1) found = found->older;
  return found;
}

} // namespace fovea_python

/* Types of elements of tensors. */
#ifndef FOVEA_PYTHON_ELEMENT_H
#define FOVEA_PYTHON_ELEMENT_H

#include "errors.h"

namespace fovea_python {

enum class element : uint8_t { f32, f16, bf16, f64, boolean, u8, i8, i32, i64, e4m3, e5m2, other };

/* Facts about a type of elements. */
struct element_facts {
  const char *name; /* NumPy's and ml_dtypes' name */
  int bytes;
};
const element_facts &facts_of(element type);

/* `other`: no type has this name. */
element element_named(const char *name);

/* Of a format of the buffer protocol. */
element element_of_format(const char *format, Py_ssize_t bytes);

/* The library's type of elements that it computes with. Refuses others by the name of the argument. */
fovea_type number_type(element type, const char *name);

} // namespace fovea_python

#endif

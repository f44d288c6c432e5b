/* The library's statuses as Python exceptions, with the library's texts. */
#ifndef FOVEA_PYTHON_ERRORS_H
#define FOVEA_PYTHON_ERRORS_H

#include <fovea/fovea.h>
#include <nanobind/nanobind.h>

namespace fovea_python {

namespace nb = nanobind;

/* Throws the exception of a status, with its text and the field. */
[[noreturn]] void raise(const fovea_error &error);

/* Throws if a call of the library has failed. */
inline void check(fovea_status status, const fovea_error &error) {
  if (status != FOVEA_OK) raise(error);
}

/* Throws fovea.ArgumentError, or fovea.UnusedError. The text is of printf; it begins with the name of the argument, as
 * the library's own texts do. */
#define FOVEA_PYTHON_PRINTF(at) __attribute__((format(printf, at, at + 1)))
[[noreturn]] FOVEA_PYTHON_PRINTF(2) void refuse(const char *field, const char *format, ...);
[[noreturn]] FOVEA_PYTHON_PRINTF(2) void refuse_unused(const char *field, const char *format, ...);

/* Throws TypeError: "<name> is a <type of value>; it must be <wanted>". */
[[noreturn]] void refuse_type(const char *name, nb::handle value, const char *wanted);

/* Makes the exceptions of the module. */
void bind_errors(nb::module_ &module);

} // namespace fovea_python

#endif

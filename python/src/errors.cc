#include "errors.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace fovea_python {

namespace {

/* By status; 0 is the class that all others have as a base. They live as long as the process. */
PyObject *classes[FOVEA_ERROR_MEMORY + 1];

struct description {
  fovea_status status;
  const char *name;
  PyObject **second_base; /* what programs that do not know Fovea catch; NULL: Exception */
  const char *text;
};

const description descriptions[] = {
    {FOVEA_OK, "Error", &PyExc_Exception,
     "What the library refuses. `field` is the argument or field that is wrong, or \"\"; the text begins with it, "
     "and\n"
     "says its value, the limit and what to do. Nothing has been written."},
    {FOVEA_ERROR_ARGUMENT, "ArgumentError", &PyExc_ValueError,
     "An argument is missing, out of range, or does not fit the others."},
    {FOVEA_ERROR_UNUSED, "UnusedError", &PyExc_ValueError,
     "Something is set that would not be used: another setting is missing, or excludes it."},
    {FOVEA_ERROR_UNSUPPORTED, "UnsupportedError", &PyExc_RuntimeError,
     "This build or this CPU does not have what is asked for."},
    {FOVEA_ERROR_SPACE, "SpaceError", &PyExc_ValueError, "Memory of the caller is too small."},
    {FOVEA_ERROR_MEMORY, "OutOfMemoryError", &PyExc_MemoryError,
     "An allocation failed, or a cache has too few free pages."},
};

[[noreturn]] void raise_text(fovea_status status, const char *field, const char *text) {
  nb::object error = nb::handle(classes[status])(nb::str(text));
  error.attr("field") = nb::str(field);
  PyErr_SetObject(classes[status], error.ptr());
  throw nb::python_error();
}

struct line {
  char text[512];
};

line line_of(const char *format, va_list arguments) {
  line line;
  std::vsnprintf(line.text, sizeof line.text, format, arguments);
  return line;
}

} // namespace

void raise(const fovea_error &error) {
  raise_text(error.status, error.field, error.text);
}

void refuse(const char *field, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  line line = line_of(format, arguments);
  va_end(arguments);
  raise_text(FOVEA_ERROR_ARGUMENT, field, line.text);
}

void refuse_unused(const char *field, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  line line = line_of(format, arguments);
  va_end(arguments);
  raise_text(FOVEA_ERROR_UNUSED, field, line.text);
}

void refuse_type(const char *name, nb::handle value, const char *wanted) {
  nb::str type = nb::borrow<nb::str>(value.type().attr("__name__"));
  PyErr_Format(PyExc_TypeError, "%s is a %U; it must be %s", name, type.ptr(), wanted);
  throw nb::python_error();
}

void bind_errors(nb::module_ &module) {
  std::string package = nb::cast<std::string>(module.attr("__name__"));
  package.resize(std::min(package.size(), package.rfind("._fovea"))); /* as programs know them */
  for (const description &each : descriptions) {
    nb::object bases = each.status == FOVEA_OK
                           ? nb::borrow(*each.second_base)
                           : nb::make_tuple(nb::handle(classes[FOVEA_OK]), nb::handle(*each.second_base));
    nb::dict members;
    members["field"] = nb::str("");
    std::string name = package + "." + each.name;
    PyObject *made = PyErr_NewExceptionWithDoc(name.c_str(), each.text, bases.ptr(), members.ptr());
    if (!made) throw nb::python_error();
    classes[each.status] = made;
    module.attr(each.name) = nb::handle(made);
  }
}

} // namespace fovea_python

#include "options.h"

#include <cstring>
#include <stdexcept>

namespace fovea_python {

namespace {

/* The whole table, with names as Python keeps them, so that a keyword is found by its address. */
struct table {
  std::vector<option> options;
  std::vector<PyObject *> names;
  table() {
    for (option_list list : {visibility_options(), score_options(), weight_options(), cache_options(),
                             output_options(), execution_options()})
      options.insert(options.end(), list.first, list.first + list.count);
    if (options.size() > given_options::most) throw std::length_error("the table of keywords is too long");
    for (const option &each : options) names.push_back(PyUnicode_InternFromString(each.name));
  }
};

const table &the_table() {
  static const table table;
  return table;
}

size_t index_of(PyObject *keyword) {
  const table &table = the_table();
  for (size_t i = 0; i < table.names.size(); i++)
    if (table.names[i] == keyword) return i;
  for (size_t i = 0; i < table.names.size(); i++)
    if (PyUnicode_Compare(table.names[i], keyword) == 0) return i;
  return table.names.size();
}

const char *name_of(function function) {
  return function == in_attention ? "attention"
         : function == in_plan    ? "plan"
         : function == in_run     ? "run"
         : function == in_layer   ? "layer"
                                  : "stream";
}

[[noreturn]] void refuse_keyword(PyObject *keyword, function function, bool known) {
  PyErr_Format(PyExc_TypeError,
               known && function == in_run
                   ? "%s() has no keyword '%U': a plan has its rules already, and a run brings tensors"
                   : "%s() has no keyword '%U'",
               name_of(function), keyword);
  throw nb::python_error();
}

} // namespace

given_options::given_options(nb::handle keywords, function function) {
  const table &table = the_table();
  std::memset(values_, 0, sizeof(PyObject *) * table.options.size());
  PyObject *keyword, *value;
  Py_ssize_t at = 0;
  while (PyDict_Next(keywords.ptr(), &at, &keyword, &value)) {
    size_t index = index_of(keyword);
    bool known = index < table.options.size();
    if (!known || !(table.options[index].functions & function)) refuse_keyword(keyword, function, known);
    if (value != Py_None) values_[index] = value;
  }
}

void given_options::set(attention_call &call, bool before_sizes) const {
  const std::vector<option> &options = the_table().options;
  for (size_t i = 0; i < options.size(); i++)
    if (values_[i] && options[i].before_sizes == before_sizes) options[i].set(call, values_[i], options[i].name);
}

nb::handle given_options::value(const char *name) const {
  const std::vector<option> &options = the_table().options;
  for (size_t i = 0; i < options.size(); i++)
    if (!std::strcmp(options[i].name, name)) return values_[i];
  return {};
}

std::string signature_of(const char *head, const char *result, function function) {
  std::string text = std::string("def ") + head + ", *";
  for (const option &each : the_table().options)
    if (each.functions & function) text += std::string(", ") + each.name + ": " + each.type + " | None = None";
  return text + ") -> " + result;
}

std::string text_of_options(function function) {
  std::string text;
  for (const option &each : the_table().options)
    if (each.functions & function) text += std::string("    ") + each.name + ": " + each.text + "\n";
  return text;
}

} // namespace fovea_python
